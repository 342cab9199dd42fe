"""Numbers of rows and columns that parameters of trees give as such, or as fractions."""

from __future__ import annotations

import math
import numbers
from typing import Any


def count_rows(value: Any, n: int) -> int:
    """A number of rows, given as such or as a fraction of n."""
    return int(value) if isinstance(value, numbers.Integral) else math.ceil(value * n)


def count_features(value: Any, d: int) -> int:
    """A number of columns out of d, given as such, as a fraction, by name, or None for all."""
    if value is None:
        return d
    if value == "sqrt":
        return max(1, int(math.sqrt(d)))
    if value == "log2":
        return max(1, int(math.log2(d)))
    return min(d, int(value)) if isinstance(value, numbers.Integral) else max(1, int(value * d))
