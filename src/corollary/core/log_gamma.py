"""Differences of log-gamma functions that keep their digits: evidence of counts, of few or many, heavy or light.

log Γ(x + n) − log Γ(x) has no digits left where it is small beside log Γ(x). Here Stirling's series are subtracted term
by term, each difference in closed form.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import gammaln

from corollary.core.types import Array

LARGE = 16.0  # from here on five terms of the series are all that float64 can tell
SERIES = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188)  # of 1/x, 1/x³, …


def log_rising(x: Any, n: Any) -> Array:
    """log Γ(x + n) − log Γ(x), of x > 0 and n ≥ 0."""
    x, n = np.asarray(x, dtype=np.float64), np.asarray(n, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        found = np.asarray(gammaln(x + n) - gammaln(x))
    near = ((x >= LARGE) | (n < np.minimum(x, 1.0))) & (n > 0)
    if near.any():
        x, n = np.broadcast_arrays(x, n)
        found[near] = _difference(x[near], n[near])
    return found


def _difference(x: Array, n: Array) -> Array:
    """Of x that are large, or n that are small beside them: Γ(x + 1) = x Γ(x) makes every x large."""
    below = np.zeros_like(x)  # Π (1 + n / x) − 1, of the steps
    while (low := x < LARGE).any():
        share = np.where(low, n / x, 0.0)
        below += share + below * share
        x = x + low
    u, v = 1 / x, 1 / (x + n)
    series, powers = np.zeros_like(x), np.ones_like(x)  # powers: Σ uⁱ vʲ, i + j = 0, 2, 4, …
    for k, term in enumerate(SERIES):
        series += term * powers
        powers = powers * u * u + v ** (2 * k + 1) * (u + v)
    grown = np.where(n * u < 1e-17, n, x * np.log1p(n * u))
    return (1 - 0.5 * u) * grown + n * (np.log(x + n) - 1) - n * u * v * series - np.log1p(below)


def log_evidence(counts: Array, alpha: Any) -> Array:
    """log P of each row of counts in a given order, of shares that are Dirichlet(α): Σ rises of α, less that of Σ α.

    A count beside which all others are light is not subtracted from the sum.
    """
    prior = np.broadcast_to(np.asarray(alpha, dtype=np.float64), counts.shape)
    rows, top = np.arange(len(counts)), counts.argmax(axis=1)
    light, beside = counts.copy(), prior.copy()
    heavy, own = counts[rows, top], prior[rows, top]
    light[rows, top] = beside[rows, top] = 0.0
    others, rest, total = light.sum(axis=1), beside.sum(axis=1), prior.sum(axis=1)
    found = log_rising(alpha, light).sum(axis=1)
    few = heavy < total
    if few.any():
        found[few] += log_rising(own[few], heavy[few]) - log_rising(total[few], heavy[few] + others[few])
    if not few.all():
        many = ~few
        own, rest = own[many], rest[many]
        found[many] += log_rising(own, rest) - log_rising(own + heavy[many], rest + others[many])
    return found


def log_orders(counts: Array) -> Array:
    """In how many orders each row of counts may have come, as a logarithm."""
    rows, top = np.arange(len(counts)), counts.argmax(axis=1)
    light = counts.copy()
    light[rows, top] = 0.0
    return np.asarray(log_rising(counts[rows, top] + 1, light.sum(axis=1)) - gammaln(light + 1).sum(axis=1))
