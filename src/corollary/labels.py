"""Labels: from any type to class numbers, and from scores back to the class that wins."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from corollary.base import weights_by_class
from corollary.core.types import Array


def encode_labels(
    y: Any, weights: Array, class_weight: Any = None, *, one_class: bool = False
) -> tuple[Array, Array, Array]:
    """(classes, class number of each row, row weights times class weights).

    If only one class counts it is an error, unless the classifier says that it can predict ``one_class`` always.
    """
    classes, codes = _classes_of(y)
    if len(classes) < 2 and not one_class:
        raise ValueError(
            f"A classifier needs samples of at least 2 classes in y, but y has only one class: {classes.tolist()[0]!r}."
        )
    weights = weights_by_class(class_weight, classes, y, weights)
    counted = np.bincount(codes, weights=weights) > 0
    if counted.sum() < 2 and not one_class:
        raise ValueError(
            "A classifier needs samples of at least 2 classes, but sample_weight and class_weight leave only one "
            f"class of y with a positive weight: {classes[counted]!r}."
        )
    return classes, codes, weights


def _native(y: Array) -> Array:
    """Labels in the byte order of this machine, numbers in no more than 64 bits: what a file can hold."""
    if y.dtype.kind == "f" and y.dtype.itemsize > 8:
        return y.astype(np.float64)
    return y if y.dtype.isnative else y.astype(y.dtype.newbyteorder("="))


def _classes_of(y: Any) -> tuple[Array, Array]:
    """The labels in order, and the number of each row's: whole numbers are counted, others looked up, none sorted."""
    y = _native(np.asarray(y))
    if y.ndim == 1 and y.dtype.kind in "iu" and y.size and int(y.max()) - int(y.min()) < y.size:
        least = y.min()
        places = ((y.astype(np.int64, copy=False) if y.dtype.kind == "i" else y) - least).astype(np.intp, copy=False)
        there = np.bincount(places) > 0
        if 2 * np.count_nonzero(there) <= y.size:  # else scikit-learn has something to say
            return np.flatnonzero(there).astype(y.dtype) + least, (np.cumsum(there) - 1)[places]
    check_classification_targets(y)
    classes = np.unique(y)
    return classes, np.searchsorted(classes, y)


def winners(raw: Array) -> Array:
    """The class number with the highest score, from decision values (n,) or (n, k)."""
    return (raw > 0).astype(np.intp) if raw.ndim == 1 else raw.argmax(axis=1)


def agreeing(probabilities: Array, raw: Array) -> Array:
    """Probabilities whose argmax is the winner: where rounding made a tie, the winner gets the last bit of it."""
    best = winners(raw)
    if raw.ndim == 1:
        lost = ((probabilities[:, 1] > probabilities[:, 0]) != best).nonzero()[0]
    else:
        lost = np.flatnonzero(probabilities.argmax(axis=1) != best)
    if lost.size:
        largest = probabilities[lost].max(axis=1)
        probabilities[lost, best[lost]] = np.nextafter(largest, np.ones_like(largest))
    return probabilities


def signs(codes: Array, positive: int = 1) -> Array:
    """+1 for the positive class number, −1 for the others."""
    return np.where(codes == positive, 1.0, -1.0)
