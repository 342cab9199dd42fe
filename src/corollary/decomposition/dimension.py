"""How many components: a share of the variance, or the number with the most evidence for it."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from corollary.core.types import Array

EPS = float(np.finfo(np.float64).eps)


def by_share(values: Array, share: float) -> int:
    """The least number of eigenvalues (falling) whose sum exceeds ``share`` of the total."""
    total = float(values.sum())
    if total == 0.0:
        return 1
    reached = np.cumsum(values) / total
    return min(int(np.searchsorted(reached, share, side="right")) + 1, len(values))


def by_evidence(values: Array, n: float) -> int:
    """The dimension of greatest evidence for n rows with these covariance eigenvalues (all d of them, falling)."""
    if len(values) < 2 or values[0] <= 0:
        return 1
    # what rounding leaves of directions without variance is evidence of nothing
    rank = int(np.count_nonzero(values > len(values) * EPS * values[0]))
    return 1 + int(np.argmax(log_evidence(values, n)[:rank]))


def log_evidence(values: Array, n: float) -> Array:
    """Laplace's approximation of log p(rows | k) for k = 1 … d − 1, up to a constant (Minka, 2000, equation 30).

    With v the mean of the eigenvalues beyond k, and λ̂ = (λ₁ … λₖ, v … v):

    log p(U) − n/2 Σ log λᵢ − n(d − k)/2 log v + (m + k)/2 log 2π − ½ log |A| − k/2 log n,  m = dk − k(k + 1)/2,
    log |A| = Σ over i ≤ k, j > i of log[(1/λ̂ⱼ − 1/λ̂ᵢ)(λᵢ − λⱼ) n].
    """
    d = len(values)
    lam = np.maximum(values / values[0], EPS)  # the evidence does not depend on the unit
    k = np.arange(1, d)
    rest = np.maximum((lam.sum() - np.cumsum(lam)[:-1]) / (d - k), EPS)
    half = (d - np.arange(d - 1)) / 2.0
    directions = np.cumsum(gammaln(half) - half * np.log(np.pi)) - k * np.log(2.0)
    m = d * k - k * (k + 1) / 2.0
    fit = -n / 2.0 * np.cumsum(np.log(lam))[:-1] - n * (d - k) / 2.0 * np.log(rest)
    return np.asarray(
        directions + fit + (m + k) / 2.0 * np.log(2 * np.pi) - 0.5 * _log_curvature(lam, rest, n) - k / 2.0 * np.log(n)
    )


def _log_curvature(lam: Array, rest: Array, n: float) -> Array:
    """log |A| for k = 1 … d − 1, with equal eigenvalues held apart by rounding."""
    d = len(lam)
    later = np.arange(d)[None, :] > np.arange(d)[:, None]
    apart = np.where(later, np.log(np.maximum(lam[:, None] - lam[None, :], EPS * lam[:, None])) + np.log(n), 0.0)
    steeper = np.maximum(1.0 / lam[None, :] - 1.0 / lam[:, None], EPS / lam[None, :])
    inside = np.where(later, np.log(steeper), 0.0)
    pairs = np.cumsum(apart.sum(axis=1))[:-1]  # all i ≤ k, j > i
    within = np.cumsum(inside.sum(axis=0))[:-1]  # i < j ≤ k
    k = np.arange(1, d)
    # j > k: λ̂ is the mean of the rest
    beyond = np.array([np.log(np.maximum(1 / v - 1 / lam[:i], EPS / v)).sum() for i, v in zip(k, rest, strict=True)])
    return np.asarray(pairs + within + (d - k) * beyond)
