"""The referee of mixtures and soft k-means: one exact iteration, in extended precision, and what it changes."""

from __future__ import annotations

from typing import Any

import numpy as np

from corollary.referee.clusters import squared_distances
from corollary.referee.verdict import Verification

Array = Any
LONG = np.longdouble
LARGEST = 2_000_000  # rows × columns × components


def soft_k_means(X: Any, weights: Array, centres: Array, stiffness: float, tolerance: float) -> Verification:
    """By how much another iteration moves the centres: squared, over the mean variance of the columns."""
    X, centres = _dense(X).astype(LONG), np.asarray(centres, dtype=LONG)
    if X.size * len(centres) > LARGEST:
        return Verification(None, "there are too many rows and centres for this arithmetic")
    if not np.isfinite(centres).all():
        return Verification(False, "centres are not finite")
    w = np.asarray(weights, dtype=LONG)
    X, w = X[w > 0], w[w > 0]
    w = w / w.max()
    with np.errstate(all="ignore"):
        D = -LONG(stiffness) * squared_distances(X, centres)
        share = np.exp(D - D.max(axis=1, keepdims=True))
        share = w[:, None] * share / share.sum(axis=1, keepdims=True)
        mass = share.sum(axis=0)
        step = np.stack([share[:, j] @ (X - centres[j]) / mass[j] for j in range(len(centres))])
        spread = X - (w @ X) / w.sum()
        variance = (w @ (spread * spread)).sum() / w.sum() / X.shape[1]
        moved = float((step[mass > 0] ** 2).sum() / variance) if variance > 0 else 0.0
    return _near("another exact iteration moves the centres (squared, over the mean variance) by", moved, tolerance)


def gaussian_mixture(
    X: Any, weights: Array, shares: Array, means: Array, covariances: Array, kind: str, ridge: float, tolerance: float
) -> Verification:
    """What another exact iteration of EM adds to the mean log-likelihood (less the ridge's term)."""
    X, means = _dense(X).astype(LONG), np.asarray(means, dtype=LONG)
    k, d = means.shape
    if X.size * k > LARGEST or d > 60:
        return Verification(None, "there are too many rows and components for this arithmetic")
    w = np.asarray(weights, dtype=LONG)
    X, w = X[w > 0], w[w > 0]
    w = w / w.sum()
    middle = np.median(X, axis=0)
    X, means = X - middle, means - middle
    full = _full(np.asarray(covariances, dtype=LONG), kind, k, d)
    with np.errstate(all="ignore"):
        before = _log_joint(X, np.asarray(shares, dtype=LONG), means, full, LONG(ridge))
        if before is None:
            return Verification(None, "a covariance is singular to this arithmetic, too")
        score = _log_sum(before)
        post = w[:, None] * np.exp(before - score[:, None])
        mass = post.sum(axis=0)
        if not (mass > 1e-12).all():
            return Verification(None, "a component has no rows")
        new_means = (post.T @ X) / mass[:, None]
        scatter = np.stack([(post[:, j, None] * (X - new_means[j])).T @ (X - new_means[j]) for j in range(k)])
        if kind == "tied":
            scatter = np.repeat((scatter.sum(axis=0) / mass.sum())[None], k, axis=0)
        else:
            scatter = scatter / mass[:, None, None]
        if kind in ("diag", "spherical"):
            diagonals = np.stack([np.diag(part) for part in scatter])
            if kind == "spherical":
                diagonals = np.repeat(diagonals.mean(axis=1, keepdims=True), d, axis=1)
            scatter = np.stack([np.diag(part) for part in diagonals])
        after = _log_joint(X, mass / mass.sum(), new_means, scatter + LONG(ridge) * np.eye(d), LONG(ridge))
        if after is None:
            return Verification(None, "another iteration would make a covariance singular")
        gain = float(w @ _log_sum(after) - w @ score)
    return _near("another exact iteration of EM adds to the mean log-likelihood", gain, tolerance)


def _near(what: str, number: float, tolerance: float) -> Verification:
    """A last step within ``tolerance`` is claimed; the next one may be a little larger without making that untrue."""
    if not np.isfinite(number):
        return Verification(None, f"{what} could not be computed")
    if number <= tolerance + 1e-13:
        return Verification(True, f"{what} {max(number, 0.0):.2g}", max(number, 0.0))
    if number <= 10 * tolerance + 1e-9:
        return Verification(None, f"{what} {number:.2g}, close to the {tolerance:.2g} that was claimed", number)
    return Verification(False, f"{what} {number:.3g}, where {tolerance:.2g} was claimed", number)


def _log_joint(X: Array, shares: Array, means: Array, covariances: Array, ridge: Any) -> Array | None:
    """log πₖ + log N(x; μₖ, Σₖ) − ½ ε tr Σₖ⁻¹, or None where a covariance has no Cholesky factor."""
    n, d = X.shape
    out = np.empty((n, len(means)), LONG)
    for j, (mean, covariance) in enumerate(zip(means, covariances, strict=True)):
        inverse = _inverse_root(covariance)
        if inverse is None:
            return None
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


def _dense(X: Any) -> Array:
    return X.toarray() if hasattr(X, "toarray") else np.asarray(X)
