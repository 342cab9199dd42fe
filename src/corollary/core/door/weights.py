"""The door for row weights, and a range where their sums, squares and cubes are numbers.

Float64 ends at 1e308: weights of 1e155 have squares that are not finite, and those of 1e-320 have no reciprocal.
Multiplying all weights by a power of two changes no digit of any of them, so every fit begins by bringing them within
reach, once, for all models. What a model measures against weights (a penalty, a least mass) is multiplied by the same
``unit``, so the answer stays the one that is documented. Weights that are then below ``NONE`` count as zero, and the
evidence says how many.
"""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from sklearn.utils import compute_class_weight
from sklearn.utils.validation import check_array

from corollary.core.types import Array

NO_WEIGHT = "sample_weight is zero for every row: nothing is left to learn from."

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


def of_scaled_weights(unit: float, lost: int = 0, penalised: bool = False) -> tuple[str, ...]:
    """Sentences for the evidence of a fit whose weights were brought within reach, ``lost`` of them as none.

    ``penalised`` says that a penalty is added to the sum of what rows lose: beside 1e30 times as much it is nothing.
    """
    notes: tuple[str, ...] = ()
    if unit != 1.0:
        power = int(np.log2(unit)) if 0 < unit < np.inf else 0
        notes += (f"sample_weight was multiplied by 2^{power}, which float64 needs; sums over rows are in that unit.",)
    if penalised and unit < 1.0:
        notes += (
            "Weights of this size leave a penalty of ordinary strength without effect: unless that is meant, divide "
            "them all by the largest.",
        )
    if lost:
        notes += (f"{lost} weights are so far below the largest, by 1e60 or more, that they count as zero.",)
    return notes


def check_weights(sample_weight: Any, X: Any) -> Array:
    """Row weights as float64: finite, not negative, not all zero; None is one for each row."""
    n = X.shape[0]
    if sample_weight is None:
        return np.ones(n)
    try:
        if isinstance(sample_weight, numbers.Real):
            sample_weight = np.full(n, sample_weight, dtype=np.float64)
        weights: Array = check_array(sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight")
    except (TypeError, ValueError) as error:
        if "sample_weight" in str(error):
            raise
        raise type(error)(f"sample_weight must be one number for each row of X: {error}") from error
    if weights.ndim != 1:
        raise ValueError(f"Sample weights must be 1D array or scalar, but sample_weight has shape {weights.shape}.")
    if len(weights) != n:
        raise ValueError(f"sample_weight.shape == {weights.shape}, expected {(n,)}: one entry for each row of X.")
    if (weights < 0).any():
        raise ValueError(f"Negative values in data passed to `sample_weight`: {int((weights < 0).sum())} of them.")
    if not weights.any():
        raise ValueError(NO_WEIGHT)
    return weights


def weights_by_class(class_weight: Any, classes: Array, y: Array, weights: Array) -> Array:
    """Multiply row weights by their class's weight; 'balanced' counts rows by their weight, as repetition would."""
    if class_weight is None:
        return weights
    unknown = [] if isinstance(class_weight, str) else [label for label in class_weight if label not in classes]
    if unknown:
        raise ValueError(f"class_weight names classes that are not in y: {unknown!r}; y has {classes.tolist()!r}.")
    with np.errstate(divide="ignore"):
        factors = compute_class_weight(class_weight, classes=classes, y=y, sample_weight=weights)
    factors = np.where(np.isfinite(factors), factors, 0.0)  # of a class whose rows all have weight zero
    weights = weights * factors[np.searchsorted(classes, y)]
    if weights.max(initial=0.0) > LARGEST**2:
        raise ValueError(f"class_weight makes a weight of {weights.max():.3g}: divide its entries by the largest.")
    return weights
