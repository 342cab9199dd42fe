"""Poisson deviance of parts of a node, in a form that keeps its digits where y varies little about a large mean.

Σ w y log(y / m) is a small difference of large numbers then. With Σ w (y − m) taken off, which is zero for the mean m,
every term is m · ((1 + t) log(1 + t) − t) ≥ 0 of t = (y − m) / m, and no term cancels another.
"""

from __future__ import annotations

import math

from corollary._compiled._jit import inner_kernel


@inner_kernel
def bregman(t):
    """(1 + t) log(1 + t) − t of t ≥ −1, with small relative error also near 0."""
    if t <= -1.0:
        return 1.0
    if abs(t) > 0.1:
        return (1.0 + t) * math.log1p(t) - t
    v = t / (2.0 + t)  # log(1 + t) = 2 artanh v, by its series
    s = v * v
    rest = v * s * (1 / 3 + s * (1 / 5 + s * (1 / 7 + s * (1 / 9 + s * (1 / 11 + s / 13)))))
    return 2.0 / (1.0 - v) * (s + (1.0 + v) * rest)


@inner_kernel
def deviance(apart, weight, mean):
    """W m ((1 + t) log(1 + t) − t) of a part with Σ w (y − m) = ``apart``; 0 if the mean m is."""
    return weight * mean * bregman(apart / (weight * mean)) if mean > 0.0 else 0.0
