"""Steps that are halved until the objective falls by a fraction of what was promised (Armijo)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

T = TypeVar("T")

HALVINGS = 40
FRACTION = 1e-4  # of the promise, which is a slope: negative
BLUR = 1e-14  # of the objective, which is rounding


def backtrack(attempt: Callable[[float], tuple[float, T]], before: float, promise: float) -> tuple[float, T]:
    """The first length of 1, ½, ¼ … that is good enough, and what was found there; length 0 and the last if none is.

    ``attempt`` gives the objective at a length, and anything else that is known there.
    """
    length = 1.0
    for _ in range(HALVINGS):
        after, found = attempt(length)
        if np.isfinite(after) and after <= before + FRACTION * length * promise + BLUR * abs(before):
            return length, found
        length *= 0.5
    return 0.0, found
