"""The referee of mixtures and soft k-means: one exact iteration, in extended precision, and what it changes."""

from __future__ import annotations

from typing import Any

import numpy as np

from corollary.referee.clusters import squared_distances
from corollary.referee.delivered import blurred, wrong_labels
from corollary.referee.rows import LONG, ROUNDED, Array, dense
from corollary.referee.verdict import Verification, measured

LARGEST = 2_000_000  # rows × columns × components
NARROWEST = LONG("1e-10")  # the least variance that the documentation allows, relative to the pooled one
RESOLUTION = 4 * LONG("1e-30")


def soft_k_means(
    X: Any, weights: Array, centres: Array, stiffness: float, tolerance: float, labels: Any = None,
    energy: float | None = None,
) -> Verification:  # fmt: skip
    """By how much another iteration moves the centres: squared, over the mean variance of the columns.

    A row belongs most to the nearest centre: that must be its label; −Σ w ln Σₖ exp(−β ‖x − μₖ‖²) / β is the energy.
    """
    dtype, live = np.asarray(centres).dtype, np.asarray(weights) > 0
    X, centres = dense(X), np.asarray(centres, dtype=LONG)
    if X.size * len(centres) > LARGEST:
        return Verification(None, "there are too many rows and centres for this arithmetic")
    if not np.isfinite(centres).all():
        return Verification(False, "centres are not finite")
    w = np.asarray(weights, dtype=LONG)
    X, w = X[w > 0], w[w > 0]
    heaviest = w.max()
    w = w / heaviest
    with np.errstate(all="ignore"):
        D = squared_distances(X, centres)
        if labels is not None and len(labels) != len(live):
            return Verification(False, f"there are {len(labels)} labels of {len(live)} rows")
        allowed = blurred(X, centres, dtype, D)
        wrong = None if labels is None else wrong_labels(D, np.asarray(labels)[live], allowed)
        if wrong is not None:
            return wrong
        D = -LONG(stiffness) * D
        if energy is not None:
            each = _log_sum(D) / -LONG(stiffness)
            blur, size = w @ allowed.max(axis=1), np.abs(each).max(initial=0) * w.sum()
            blur += LONG(np.finfo(np.float64).tiny) / heaviest  # below that a float64 has few digits
            wrong = _wrong_objective("free_energy_", LONG(energy) / heaviest, w @ each, 1e-6 * size + blur)
            if wrong is not None:
                return wrong
        share = np.exp(D - D.max(axis=1, keepdims=True))
        share = w[:, None] * share / share.sum(axis=1, keepdims=True)
        mass = share.sum(axis=0)
        step = np.stack([share[:, j] @ (X - centres[j]) / mass[j] for j in range(len(centres))])
        spread = X - (w @ X) / w.sum()
        variance = (w @ (spread * spread)).sum() / w.sum() / X.shape[1]
        moved = float((step[mass > 0] ** 2).sum() / variance) if variance > 0 else 0.0
    return _near("another exact iteration moves the centres (squared, over the mean variance) by", moved, tolerance)


def gaussian_mixture(
    X: Any,
    weights: Array,
    shares: Array,
    means: Array,
    covariances: Array,
    kind: str,
    ridge: float,
    tolerance: float,
    inverses: tuple[Array, ...] = (),
    objective: float | None = None,
) -> Verification:
    r"""How far another exact iteration of EM moves the parameters: the length d of the step,

    d² = Σ (π' − π)²/π + Σ π ‖Σ^(−½)(μ' − μ)‖² + ½ Σ π ‖Σ^(−½)(Σ' − Σ)Σ^(−½)‖² (the last without π for one Σ for all).

    The M step is that of covariances plus ``ridge`` which are no narrower than ``NARROWEST`` of the pooled variances,
    nor than rounding: ``RESOLUTION`` of the squared range of a column. The mean of log Σ π N(x) less ½ ``ridge`` tr Σ⁻¹
    is the ``objective``.
    """
    X, means = dense(X), np.asarray(means, dtype=LONG)
    k, d = means.shape
    if X.size * k > LARGEST or d > 120:
        return Verification(None, "there are too many rows and components for this arithmetic")
    w, shares = np.asarray(weights, dtype=LONG), np.asarray(shares, dtype=LONG)
    if not all(np.isfinite(part).all() for part in (means, shares, covariances, *inverses)):
        return Verification(False, "parameters are not finite")
    if (shares < 0).any() or abs(shares.sum() - 1) > 1e-6:
        return Verification(False, "weights_ are negative, or do not add up to one")
    X, w = X[w > 0], w[w > 0]
    w, middle = w / w.sum(), np.median(X, axis=0)
    used = shares > 0
    X, means, shares = X - middle, (means - middle)[used], shares[used]
    full = _full(np.asarray(covariances, dtype=LONG), kind, k, d)[used]
    wrong = _wrong_inverses(full, *(_full(np.asarray(part, dtype=LONG), kind, k, d)[used] for part in inverses))
    if wrong is not None:
        return wrong
    roots = [root for root in map(_inverse_root, full) if root is not None]
    if len(roots) < len(full):
        return Verification(None, "a covariance is singular to this arithmetic, too")
    with np.errstate(all="ignore"):
        before = _log_joint(X, shares, means, roots, LONG(ridge))
        post = w[:, None] * np.exp(before - _log_sum(before)[:, None])
        mass = post.sum(axis=0)
        if not (mass > 0).all():
            return Verification(None, "a component has no rows")
        steps = np.stack([post[:, j] @ (X - mean) / mass[j] for j, mean in enumerate(means)])
        following, held = _scatter(X, post, mass, means + steps, full, kind, LONG(ridge))
        share, squares = mass / mass.sum(), LONG(0)
        for j, root in enumerate(roots):
            spread = LONG(1 if j == 0 else 0) if kind == "tied" else shares[j]
            change = root @ (following[j] - full[j]) @ root.T
            squares += (share[j] - shares[j]) ** 2 / shares[j] + shares[j] * ((root @ steps[j]) ** 2).sum()
            squares += spread * (change**2).sum() / 2
        length = float(np.sqrt(squares))
    # entries of covariances are float64: whitened, their last digits are so large
    rounding = 8 * d * float(np.finfo(np.float64).eps) * max(_conditioning(covariance) for covariance in full)
    what = "the length of another exact EM step, in standard deviations of the components,"
    own, size = w @ _log_sum(before), np.abs(_log_sum(before)).max()
    if objective is not None and rounding < 1e-9:
        # and so are means: by their last digits, in standard deviations, log-densities of their rows move
        digits = 8 * LONG(np.finfo(np.float64).eps) * np.abs(means + middle)
        moved = [np.sqrt(((np.abs(root) @ digit) ** 2).sum()) for root, digit in zip(roots, digits, strict=True)]
        blur = sum(part * (far + far**2 / 2) for part, far in zip(shares, moved, strict=True))
        wrong = _wrong_objective("lower_bound_", LONG(objective), own, 1e-6 * (size + d) + blur)
        if wrong is not None:
            return wrong
    if length > tolerance * ROUNDED + rounding and held:
        return Verification(
            None, f"{what} is {length:.2g}; but covariances are held from narrowing, how far is not known"
        )
    return measured(length, tolerance * ROUNDED, what, rounding)


def _wrong_objective(name: str, told: Any, own: Any, allowed: Any) -> Verification | None:
    """Refuted where an objective that is told is off by more than ``allowed``; an infinite one tells nothing."""
    if np.isinf(told) or not np.isfinite(own) or abs(told - own) <= allowed:
        return None
    return Verification(False, f"{name} is off by {float(abs(told - own) / max(abs(own), abs(told))):.2g} of it")


def _scatter(
    X: Array, post: Array, mass: Array, means: Array, before: Array, kind: str, ridge: Any
) -> tuple[Array, bool]:
    """The covariances that follow, and whether a bound that cannot be known exactly (it never rises) had a part in it.

    Where eigenvalues, in units of the bound, are below one they are raised to it: the best of those not narrower.
    """
    k, d = means.shape
    parts = np.stack([(post[:, j, None] * (X - means[j])).T @ (X - means[j]) for j in range(k)])
    parts = (
        np.repeat((parts.sum(axis=0) / mass.sum())[None], k, axis=0) if kind == "tied" else parts / mass[:, None, None]
    )
    if kind in ("diag", "spherical"):
        diagonals = np.stack([np.diag(part) for part in parts])
        diagonals = np.repeat(diagonals.mean(axis=1, keepdims=True), d, axis=1) if kind == "spherical" else diagonals
        parts = np.stack([np.diag(part) for part in diagonals])
    pooled = (mass / mass.sum()) @ np.stack([np.diag(part) for part in parts]) + ridge
    bound = np.maximum(NARROWEST * pooled, RESOLUTION * np.ptp(X, axis=0) ** 2)
    bound = np.full(d, bound.max()) if kind == "spherical" else bound
    parts, unit = parts + ridge * np.eye(d), np.sqrt(np.where(bound > 0, bound, 1))
    if kind in ("diag", "spherical"):
        # the bound of an earlier iteration, where that was lower, is the least variance that is left
        bound = np.minimum(bound, np.stack([np.diag(part) for part in before]).min(axis=0))
        return np.stack([np.diag(np.maximum(np.diag(part), bound)) for part in parts]), False
    raised, held = [], False
    for part in parts:
        values, vectors = np.linalg.eigh((part / np.outer(unit, unit)).astype(np.float64))
        if values.min() < 1:
            held = True
            vectors = vectors.astype(LONG)
            part = part + unit[:, None] * ((vectors * np.maximum(1 - values, 0)) @ vectors.T) * unit
        raised.append(part)
    return np.stack(raised), held


def _wrong_inverses(full: Array, precisions: Array = (), roots: Array = ()) -> Verification | None:
    """Refuted where R Rᵀ of the delivered roots R, or the precisions, are not the inverse of the covariances.

    In units of the columns, and up to what rounding does to an inverse, 10⁻⁶ and more with its conditioning.
    """
    for covariance, precision, root in zip(full, precisions, roots, strict=False):
        size = np.sqrt(np.diag(covariance))
        allowed = 1e-6 + 64 * len(size) * float(np.finfo(np.float64).eps) * _conditioning(covariance) ** 2
        for name, inverse in (("precisions_", precision), ("precisions_cholesky_", root @ root.T)):
            off = float(np.abs(covariance / size[:, None] @ inverse * size - np.eye(len(size))).max())
            if off > allowed:
                return Verification(False, f"{name} are not the inverse of covariances_: off by {off:.2g}", off)
    return None


def _conditioning(covariance: Array) -> float:
    """Of the correlations: scales of columns cost no digits."""
    size = np.sqrt(np.diag(covariance))
    return float(np.linalg.cond((covariance / np.outer(size, size)).astype(np.float64)))


def _near(what: str, number: float, tolerance: float) -> Verification:
    """A last step within ``tolerance`` is claimed; the next one may be a little larger without making that untrue."""
    if not np.isfinite(number):
        return Verification(None, f"{what} could not be computed")
    if number <= tolerance + 1e-13:
        return Verification(True, f"{what} {max(number, 0.0):.2g}", max(number, 0.0))
    if number <= 2 * tolerance + 1e-12:
        return Verification(None, f"{what} {number:.2g}, close to the {tolerance:.2g} that was claimed", number)
    return Verification(False, f"{what} {number:.3g}, where {tolerance:.2g} was claimed", number)


def _log_joint(X: Array, shares: Array, means: Array, roots: Any, ridge: Any) -> Array:
    """log πₖ + log N(x; μₖ, Σₖ) − ½ ε tr Σₖ⁻¹, from the inverses of the Cholesky factors."""
    n, d = X.shape
    out = np.empty((n, len(means)), LONG)
    for j, (mean, inverse) in enumerate(zip(means, roots, strict=True)):
        z = (X - mean) @ inverse.T
        logs = np.log(np.diag(inverse)).sum() - LONG(d) / 2 * np.log(2 * LONG(np.pi))
        out[:, j] = np.log(shares[j]) + logs - (z * z).sum(axis=1) / 2 - ridge * (inverse * inverse).sum() / 2
    return out


def _inverse_root(covariance: Array) -> Array | None:
    """L⁻¹ of the Cholesky factor L, or None."""
    d = len(covariance)
    L, inverse = np.zeros((d, d), LONG), np.eye(d, dtype=LONG)
    for j in range(d):
        pivot = covariance[j, j] - L[j, :j] @ L[j, :j]
        if not pivot > 1e-15 * covariance[j, j]:
            return None
        L[j, j] = np.sqrt(pivot)
        L[j + 1 :, j] = (covariance[j + 1 :, j] - L[j + 1 :, :j] @ L[j, :j]) / L[j, j]
        inverse[j] = (inverse[j] - L[j, :j] @ inverse[:j]) / L[j, j]
    return inverse


def _full(covariances: Array, kind: str, k: int, d: int) -> Array:
    if kind == "full":
        return covariances
    if kind == "tied":
        return np.repeat(covariances[None], k, axis=0)
    eye = np.eye(d)
    return np.stack([eye * part for part in covariances])


def _log_sum(logs: Array) -> Array:
    top = logs.max(axis=1)
    return top + np.log(np.exp(logs - top[:, None]).sum(axis=1))
