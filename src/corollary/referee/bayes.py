"""The referee of naive Bayes: every count, mean, variance and probability from the rows again, in extended precision.

Where all labels are known, the shares of rows in classes are their labels, and everything that is claimed must be what
these say. Where some are not, they are the probabilities that the claimed parameters give: counts must be those that
such shares give, and the next step of EM must be as short as claimed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from corollary.referee.rows import LONG, ROUNDED, Array, dense
from corollary.referee.verdict import Verification, measured

LARGEST, WIDEST = 4_000_000, 500_000  # rows × columns × classes, and categories × classes
CLOSE = 1e-7  # relative; what float64 does to sums is far below
ULP = LONG(2.0**-49)
LOG_2_PI = np.log(2 * LONG("3.14159265358979323846264338327950288"))


@dataclass(frozen=True)
class Group:
    """Columns of one kind, with what is claimed of them.

    ``kind`` is "gaussian", "bernoulli", "multinomial", "categorical", "poisson" or "exponential"; ``claimed`` has its
    statistics and parameters by name; ``alpha`` and ``beta`` are what smoothing adds (floors of variances, for
    Gaussians).
    """

    kind: str
    columns: Any
    claimed: dict[str, Any]
    alpha: Any = 0.0
    beta: Any = 0.0
    sizes: Any = ()


@dataclass(frozen=True)
class Claim:
    """Everything that is claimed: weights and log probabilities of the classes, and groups of columns."""

    counts: Array
    log_prior: Array
    fixed: Array | None
    groups: list[Group]
    tolerance: float | None = None  # of EM; None where every label is known
    # of what is left: name -> (claimed, true, by how much rounding may change it)
    extra: dict[str, tuple[float, float, float]] = field(default_factory=dict)


def naive_bayes(X: Any, codes: Array, weights: Array, claim: Claim) -> Verification:
    """Judge the claim from rows, the numbers of their classes (−1: not known) and their weights."""
    k = len(claim.counts)
    if strange := {group.kind for group in claim.groups} - set(JUDGES):
        return Verification(None, f"the referee has no densities of its own for {', '.join(sorted(strange))}")
    tables = k * sum(int(np.sum(group.sizes)) for group in claim.groups)
    if X.shape[0] * X.shape[1] * k > LARGEST or tables > WIDEST:
        return Verification(None, "there are too many rows, columns and classes for this arithmetic")
    live = np.asarray(weights) > 0
    X, codes, w = dense(X)[live], np.asarray(codes)[live], np.asarray(weights, dtype=LONG)[live]
    with np.errstate(all="ignore"):
        shares = _shares(X, codes, claim)
        if shares is None:
            return Verification(None, "some rows have no probability under the claimed parameters")
        shares = shares * w[:, None]
        length = LONG(0)
        for found in _differences(X, shares, claim):
            if isinstance(found, Verification):
                return found
            length += found
    if claim.tolerance is None:
        return Verification(True, "every count and every parameter is what the rows say", 0.0)
    return measured(float(np.sqrt(length)), ROUNDED * claim.tolerance + 1e-12, "the length of the next step of EM")


def _shares(X: Array, codes: Array, claim: Claim) -> Array | None:
    """(n, k): one for the label where it is known, else probabilities by the claimed parameters."""
    shares = np.zeros((len(X), len(claim.counts)), dtype=LONG)
    known = codes >= 0
    shares[np.flatnonzero(known), codes[known]] = 1
    if not known.all():
        rows = X[~known]
        joint = np.asarray(claim.log_prior, dtype=LONG) + sum(_log_prob(rows[:, g.columns], g) for g in claim.groups)
        top = joint.max(axis=1, keepdims=True)
        if not np.isfinite(top).all():
            return None
        each = np.exp(joint - top)
        shares[~known] = each / each.sum(axis=1, keepdims=True)
    return shares


def _log_prob(X: Array, group: Group) -> Array:
    """Log probabilities, of Gaussians with what the floor takes from each row; missing numbers are left out."""
    single = {name: value for name, value in group.claimed.items() if name not in ("tables", "counts")}
    claimed = {name: np.asarray(value, dtype=LONG) for name, value in single.items()}
    there = ~np.isnan(X)
    if group.kind == "categorical":
        there &= np.where(there, X, 0) < np.asarray(group.sizes)
    filled = np.where(there, X, 0)
    if group.kind == "gaussian":
        mean, variance = claimed["mean"], claimed["variance"]
        squares = (filled[:, None, :] - mean) ** 2 + LONG(group.alpha)
        parts = -(squares / variance + np.log(variance) + LOG_2_PI) / 2
        return np.where(there[:, None, :], parts, 0).sum(axis=2)
    if group.kind == "categorical":
        return sum(
            np.where(there[:, j, None], np.asarray(table, dtype=LONG).T[filled[:, j].astype(int)], 0)
            for j, table in enumerate(group.claimed["tables"])
        )
    if group.kind == "bernoulli":
        one, zero = claimed["log"], np.log(-np.expm1(claimed["log"]))
        parts = np.where(filled[:, None, :] != 0, one, zero)
    elif group.kind == "multinomial":
        parts = np.where(filled[:, None, :] != 0, filled[:, None, :] * claimed["log"], 0)
    elif group.kind == "poisson":
        rate = claimed["rate"]
        parts = np.where(filled[:, None, :] != 0, filled[:, None, :] * np.log(rate), 0) - rate
    else:
        rate = claimed["rate"]
        parts = np.log(rate) - rate * filled[:, None, :]
    return np.where(there[:, None, :], parts, 0).sum(axis=2)


def _differences(X: Array, shares: Array, claim: Claim) -> Any:
    """Squared lengths of what one more step changes; a verdict as soon as something is not what it must be."""
    counts = shares.sum(axis=0)
    yield _count("class_count_", claim.counts, counts)
    prior = counts / counts.sum() if claim.fixed is None else np.exp(np.asarray(claim.fixed, dtype=LONG))
    was = np.exp(np.asarray(claim.log_prior, dtype=LONG))
    if claim.tolerance is None:
        yield _equal("the probabilities of the classes", was, prior, CLOSE * np.maximum(prior, 1e-12))
    else:
        yield np.where(was == prior, 0, (prior - was) ** 2 / was).sum()
    for name, (said, true, blur) in claim.extra.items():
        yield _equal(name, np.asarray(said), np.asarray(true, dtype=LONG), CLOSE * abs(true) + blur)
    for group in claim.groups:
        yield from JUDGES[group.kind](X[:, group.columns], shares, was, group, claim.tolerance)


def _gaussian(X: Array, shares: Array, prior: Array, group: Group, tolerance: float | None) -> Any:
    there = ~np.isnan(X)
    filled, floor = np.where(there, X, 0), LONG(group.alpha)
    seen = shares.T @ there.astype(LONG)
    yield _count("the weights of the numbers that were there", group.claimed["seen"], seen)
    some = np.where(seen > 0, seen, 1)
    total = np.where(seen.sum(axis=0) > 0, seen.sum(axis=0), 1)
    mean = (shares.T @ filled) / some
    scatter = np.stack([shares[:, k] @ np.where(there, (filled - mean[k]) ** 2, 0) for k in range(len(mean))])
    mean = np.where(seen > 0, mean, (seen * mean).sum(axis=0) / total)
    pooled = np.where(seen.sum(axis=0) > 0, (scatter + seen * floor).sum(axis=0) / total, 1)
    variance = np.where(seen > 0, scatter / some + floor, pooled)
    said, wide = (np.asarray(group.claimed[name], dtype=LONG) for name in ("mean", "variance"))
    if tolerance is None:
        blur = (ULP * np.abs(mean)) ** 2
        spread = np.where(seen > 0, scatter / some, pooled)  # of the numbers that the mean was taken of
        yield _equal("means", said, mean, CLOSE * np.sqrt(spread) + ULP * np.abs(mean))
        yield _equal("variances", wide, variance, CLOSE * variance + 4 * blur)
        if "scatter" in group.claimed:
            yield _equal("scatters", group.claimed["scatter"], scatter, CLOSE * scatter + 4 * blur * seen)
    else:
        squares = (mean - said) ** 2 / wide + ((variance - wide) / wide) ** 2 / 2
        yield prior @ squares.sum(axis=1)


def _counted(X: Array, shares: Array, prior: Array, group: Group, tolerance: float | None) -> Any:
    there = ~np.isnan(X)
    filled, seen = np.where(there, X, 0), shares.T @ there.astype(LONG)
    totals = shares.T @ filled
    yield _count("counts of columns", group.claimed["totals"], totals)
    alpha, beta = np.asarray(group.alpha, dtype=LONG), np.asarray(group.beta, dtype=LONG)
    size: Any = LONG(1)
    if group.kind == "bernoulli":
        rows = seen + 2 * alpha
        each, said = (totals + alpha) / rows, np.exp(np.asarray(group.claimed["log"], dtype=LONG))
        each = np.where(rows > 0, each, LONG(1) / 2)
        spread = said * (1 - said)
    elif group.kind == "multinomial":
        whole = (totals + alpha).sum(axis=1, keepdims=True)
        each = np.where(whole > 0, (totals + alpha) / whole, LONG(1) / X.shape[1])
        said = np.exp(np.asarray(group.claimed["log"], dtype=LONG))
        spread, size = said, totals.sum(axis=1, keepdims=True) / np.maximum(shares.sum(axis=0), 1e-300)[:, None]
    else:
        said = np.asarray(group.claimed["rate"], dtype=LONG)
        if group.kind == "poisson":
            rows = seen + beta
            each, spread = np.where(rows > 0, (totals + alpha) / rows, 1), said
        else:
            rows = seen + alpha
            each, spread = np.where(rows > 0, rows / (totals + beta), 1), said**2
    if tolerance is None:
        yield _equal("probabilities of columns", said, each, CLOSE * each)
    else:
        yield (prior[:, None] * size * np.where(said == each, 0, (each - said) ** 2 / spread)).sum()


def _categorical(X: Array, shares: Array, prior: Array, group: Group, tolerance: float | None) -> Any:
    for j, (counts, logs, size) in enumerate(
        zip(group.claimed["counts"], group.claimed["tables"], group.sizes, strict=True)
    ):
        there = (X[:, j] >= 0) & (X[:, j] < int(size))
        states = np.zeros((int(size), shares.shape[1]), dtype=LONG)
        np.add.at(states, X[there, j].astype(int), shares[there])
        states = states.T
        yield _count(f"counts of the categories of column {j}", counts, states)
        smooth = states + LONG(group.alpha)
        whole = smooth.sum(axis=1, keepdims=True)
        each = np.where(whole > 0, smooth / whole, LONG(1) / int(size))
        said = np.exp(np.asarray(logs, dtype=LONG))
        if tolerance is None:
            yield _equal(f"probabilities of the categories of column {j}", said, each, CLOSE * each)
        else:
            yield (prior[:, None] * np.where(said == each, 0, (each - said) ** 2 / said)).sum()


JUDGES = {"gaussian": _gaussian, "categorical": _categorical}
JUDGES |= dict.fromkeys(("bernoulli", "multinomial", "poisson", "exponential"), _counted)


def _count(name: str, said: Any, true: Array) -> Any:
    said = np.broadcast_to(np.asarray(said, dtype=LONG), true.shape)
    return _equal(name, said, true, CLOSE * np.abs(true).max(initial=0) * LONG(1e-3) + CLOSE * np.abs(true))


def _equal(name: str, said: Array, true: Array, allowed: Any) -> Any:
    """Nothing, as a squared length, if it is what it must be; else a verdict."""
    said = np.asarray(said, dtype=LONG)
    if said.shape != true.shape:
        return Verification(False, f"{name} have shape {said.shape} where the rows give {true.shape}")
    off = ~((np.abs(said - true) <= allowed) | (said == true))
    if not off.any():
        return LONG(0)
    at = tuple(np.argwhere(off)[0]) if off.ndim else ()
    return Verification(False, f"{name} say {float(said[at]):.6g} where the rows give {float(true[at]):.6g}")
