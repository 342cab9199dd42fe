"""Powers of two by which numbers are multiplied so that their squares neither overflow nor vanish: no digit is lost."""

from __future__ import annotations

import math


def unit_scale(size: float) -> float:
    """The power of two that brings ``size`` to between a half and one; 1 for zero."""
    if size == 0:
        return 1.0
    exponent = math.frexp(size)[1] if math.isfinite(size) else 1025
    return math.ldexp(1.0, max(-1000, min(1000, -exponent)))
