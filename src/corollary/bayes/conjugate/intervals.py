"""Credible intervals of a continuous distribution with one peak."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np
from scipy.optimize import brentq

KINDS = ("equal-tailed", "highest-density")


def check_level(level: Any, kind: Any) -> None:
    """Raise ValueError for a probability that no interval has, or an unknown kind of interval."""
    if not isinstance(level, numbers.Real) or not 0 < float(level) < 1:
        raise ValueError(f"level must be a number between 0 and 1, such as 0.95, but it is {level!r}.")
    if kind not in KINDS:
        raise ValueError(f"kind must be 'equal-tailed' or 'highest-density', but it is {kind!r}.")


def interval_of(distribution: Any, level: float, kind: str) -> tuple[float, float]:
    """The interval of that kind of a frozen distribution of scipy."""
    check_level(level, kind)
    below = (1 - level) / 2 if kind == "equal-tailed" else _left_out_below(distribution, level)
    low = float(distribution.ppf(below))
    # from above: 1 - below loses all digits of a tiny upper tail
    high = float(distribution.isf(max(1 - level - below, 0.0)))
    return low, high


def _left_out_below(distribution: Any, level: float) -> float:
    """The probability below the shortest interval: where the density is as high at its lower end as at its upper.

    Up to the peak the shortest interval moves right, beyond it left; where the density only falls or only rises, the
    interval begins or ends with the support.
    """
    outside = 1 - level

    def lean(below: float) -> float:
        """Above zero where the lower end is the denser one."""
        ends = distribution.logpdf([distribution.ppf(below), distribution.isf(outside - below)])
        difference = float(ends[0] - ends[1])
        return math.copysign(1e3, difference) if math.isinf(difference) else difference

    inner = np.array([1e-12, 1 - 1e-12]) * outside  # at the very ends a density may be 0/0
    first, last = lean(inner[0]), lean(inner[1])
    if math.isnan(first) or math.isnan(last):
        raise ValueError("The density is too spread out for float64 to compare its ends: ask for equal-tailed.")
    if first >= 0 and last >= 0:
        return outside / 2 if first == last == 0 else 0.0
    if first <= 0 and last <= 0:
        return outside
    return float(brentq(lean, *inner, xtol=1e-14, rtol=1e-14))
