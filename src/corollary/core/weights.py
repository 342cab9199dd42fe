"""Row weights in a range where their sums, squares and cubes are numbers.

Float64 ends at 1e308: weights of 1e155 have squares that are not finite, and those of 1e-320 have no reciprocal.
Multiplying all weights by a power of two changes no digit of any of them, so every fit begins by bringing them within
reach, once, for all models. What a model measures against weights (a penalty, a least mass) is multiplied by the same
``unit``, so the answer stays the one that is documented.
"""

from __future__ import annotations

import numpy as np

from corollary.core.types import Array

LARGEST = 2.0**100  # the largest weight of a fit is between the reciprocal of this and this
NONE = 2.0**-300  # a weight below this, beside such a largest one, is none: the cube of a smaller one would be zero


def within_reach(weights: Array) -> tuple[Array, float]:
    """(weights · unit, unit), where ``unit`` is a power of two, and 1 unless the largest weight is out of range."""
    largest = float(weights.max(initial=0.0))
    if largest == 0.0:
        return weights, 1.0
    power = 0
    if not 1 / LARGEST <= largest <= LARGEST:
        exponent = int(np.frexp(largest)[1])
        power = int(np.log2(LARGEST)) * (1 if largest > LARGEST else -1) - exponent + (largest < 1)
        weights = np.ldexp(weights, power)
    tiny = (weights < NONE) & (weights > 0)
    if tiny.any():
        weights = np.where(tiny, 0.0, weights)
    return weights, float(np.ldexp(1.0, power))


def refuse_out_of_reach(weights: Array) -> Array:
    """Weights of rows that come in parts: a power of two for all of them cannot be known before the last."""
    largest = float(weights.max(initial=0.0))
    if largest and not 1 / LARGEST <= largest <= LARGEST:
        raise ValueError(
            f"The largest sample_weight of these rows is {largest:.3g}. Where rows come in parts it must be between "
            f"{1 / LARGEST:.3g} and {LARGEST:.3g}, since sums of others leave the range of float64: divide the weights "
            "of all parts by the same number."
        )
    return within_reach(weights)[0]


def counted(weights: Array) -> Array:
    """The weights as they were given, except that those which :func:`within_reach` takes for none are zero."""
    return np.where(within_reach(weights)[0] > 0, weights, 0.0)


def of_scaled_weights(unit: float, lost: int = 0) -> tuple[str, ...]:
    """Sentences for the evidence of a fit whose weights were brought within reach, ``lost`` of them as none."""
    notes: tuple[str, ...] = ()
    if unit != 1.0:
        power = int(np.log2(unit)) if 0 < unit < np.inf else 0
        notes += (f"sample_weight was multiplied by 2^{power}, which float64 needs; sums over rows are in that unit.",)
    if lost:
        notes += (f"{lost} weights are so far below the largest, by 1e60 or more, that they count as zero.",)
    return notes
