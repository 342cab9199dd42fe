"""Terms of a Poisson deviance in plain NumPy, without the cancellation of Σ w y log(y / m) where y is far from 0."""

from __future__ import annotations

import numpy as np

from corollary.core.types import Array


def deviances(apart: Array, mean: Array) -> Array:
    """(m + a) log((m + a) / m) − a ≥ 0, entry by entry, of what is ``apart`` from a ``mean`` m ≥ 0; 0 where m is 0."""
    safe = np.where(mean > 0, mean, 1.0)
    t = np.maximum(apart / safe, -1.0)
    v = t / (2.0 + t)
    rest = sum(v ** (2 * k + 1) / (2 * k + 1) for k in range(1, 9))  # of artanh, which is half of log(1 + t)
    near = 2.0 / (1.0 - v) * (v * v + (1.0 + v) * rest)
    with np.errstate(divide="ignore", invalid="ignore"):
        far = np.where(t > -1.0, (1.0 + t) * np.log1p(t) - t, 1.0)
    found: Array = np.where(mean > 0, mean * np.where(np.abs(t) < 0.15, near, far), 0.0)
    return found
