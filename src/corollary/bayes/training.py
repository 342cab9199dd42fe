"""Rows and labels on their way into a naive Bayes model: classes, class weights, labels that are not known."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.multiclass import unique_labels

from corollary.base import weights_by_class
from corollary.core.blocks import BlockSource, Source
from corollary.core.door.weights import NO_WEIGHT, NONE
from corollary.core.parallel import block_rows
from corollary.core.types import Array
from corollary.labels import encode_labels


@dataclass(frozen=True)
class Training:
    """Blocks (X, numbers of classes, weights), the classes, and whether the class of some rows is not known (−1)."""

    source: Source
    classes: Array
    partly: bool

    def in_blocks(self, width: int) -> Source:
        """Rows, weights and classes in blocks that threads share out, for passes that make arrays of their size."""
        return self.source.map(_in_order_of_em, block_rows(1 << 40, 8 * width))


def _in_order_of_em(block: tuple[Any, ...]) -> tuple[Any, ...]:
    X, codes, weights = block
    return X, weights, codes


def is_unknown(y: Array, unknown: Any) -> Array:
    """Where a label says that it is not known; None says so of no label."""
    if unknown is None:
        return np.zeros(len(y), dtype=bool)
    same: Any = np.asarray(y) == unknown
    return np.broadcast_to(np.asarray(same, dtype=bool), (len(y),))


def of_array(X: Any, y: Array, weights: Array, class_weight: Any, unknown: Any) -> Training:
    """One table with its labels."""
    classes, codes, weights = numbered(y, weights, class_weight, unknown)
    return Training(_whole(X, codes, weights), classes, bool((codes < 0).any()))


def _whole(*arrays: Any) -> Source:
    """All rows as one block, of which nothing is copied: those who pass over it share it out."""
    return BlockSource([arrays])


def numbered(y: Array, weights: Array, class_weight: Any, unknown: Any) -> tuple[Array, Array, Array]:
    """(classes, number of each row's, −1 if it is not known, weights times class weights)."""
    hidden = is_unknown(y, unknown)
    if not hidden.any():
        return encode_labels(y, weights, class_weight, one_class=True)
    if hidden.all():
        raise ValueError(
            f"Every label in y is unknown={unknown!r}: at least one row of each class must have its label."
        )
    classes, own, own_weights = encode_labels(np.asarray(y)[~hidden], weights[~hidden], class_weight, one_class=True)
    codes, weights = np.full(len(y), -1, dtype=np.int64), weights.copy()
    codes[~hidden], weights[~hidden] = own, own_weights
    if not weights[~hidden].any():
        raise ValueError("sample_weight is zero for every row whose label is known: no class has a row to begin with.")
    return classes, codes, weights


def of_blocks(source: BlockSource, unit_of: Any, class_weight: Any, unknown: Any) -> Training:
    """Blocks of (X, y, weights): one pass for all labels, of which there is a number a row in memory."""
    labels, weights = [], []
    for _, y, own in source:
        labels.append(np.asarray(y))
        weights.append(own)
    if not labels:
        raise ValueError("blocks is empty: there are no rows to learn from.")
    y, given = np.concatenate(labels), np.concatenate(weights)
    if not given.any():
        raise ValueError(NO_WEIGHT)
    near, unit = unit_of(given)
    classes, codes, weighed = numbered(y, near, class_weight, unknown)
    counted = codes >= 0
    before = np.bincount(codes[counted], weights=near[counted], minlength=len(classes))
    after = np.bincount(codes[counted], weights=weighed[counted], minlength=len(classes))
    factors = (
        np.divide(after, before, out=np.ones(len(classes)), where=before > 0) if class_weight is not None else None
    )
    numbered_blocks = source.map(partial(_numbered_block, classes, unknown, unit, factors))
    return Training(numbered_blocks, classes, not counted.all())


def _numbered_block(
    classes: Array, unknown: Any, unit: float, factors: Array | None, block: tuple[Any, ...]
) -> tuple[Any, ...]:
    X, y, weights = block
    codes = codes_of(y, classes, unknown)
    if unit != 1.0:
        weights = weights * unit
        weights = np.where(weights < NONE, 0.0, weights)
    if factors is not None:
        weights = weights * np.where(codes >= 0, factors[codes], 1.0)
    return X, codes, weights


def codes_of(y: Any, classes: Array, unknown: Any) -> Array:
    """The number of each label among the classes, −1 if it is not known; ValueError for one that is none of them."""
    y = np.asarray(y)
    hidden = is_unknown(y, unknown)
    codes = np.full(len(y), -1, dtype=np.int64)
    labels = y[~hidden]
    places = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    strange = classes[places] != labels
    if np.any(strange):
        raise ValueError(
            f"The target label(s) {np.unique(labels[strange])} in y do not exist in the initial classes {classes}"
        )
    codes[~hidden] = places
    return codes


def first_classes(model: Any, classes: Any) -> Array:
    """The classes of a ``partial_fit``: given at the first call, and the same at every other."""
    known = getattr(model, "classes_", None)
    if known is None and classes is None:
        raise ValueError("classes must be passed on the first call to partial_fit.")
    if classes is None:
        return np.asarray(known)
    given = np.asarray(unique_labels(classes))
    if known is not None and not (np.array_equal(known, given) and len(given) == len(classes)):
        raise ValueError(f"`classes={classes!r}` is not the same as on last call to partial_fit, was: {known!r}")
    return given


def of_part(X: Any, y: Array, weights: Array, classes: Array, class_weight: Any, unknown: Any) -> Training:
    """Rows of one call of ``partial_fit``."""
    if class_weight == "balanced":
        raise ValueError(
            "class_weight='balanced' is not supported for partial_fit, which does not know the rows to come: give a "
            "dict of weights, or call fit with Blocks."
        )
    codes = codes_of(y, classes, unknown)
    if (codes < 0).any():
        raise ValueError(
            f"partial_fit learns from rows with a label, but {int((codes < 0).sum())} of these are unknown={unknown!r} "
            "here: call fit, which reads the rows again in every iteration; it takes Blocks."
        )
    weights = weights_by_class(class_weight, classes, classes[codes], weights)
    return Training(_whole(X, codes, weights), classes, False)


def class_priors(given: Any, k: int, name: str = "class_prior") -> Array:
    """Given probabilities of k classes, checked."""
    priors = np.asarray(given, dtype=np.float64)
    if priors.shape != (k,):
        raise ValueError(
            f"Number of priors must match number of classes: {name} has shape {priors.shape}, and there are {k} "
            "classes."
        )
    if not np.isclose(priors.sum(), 1.0):
        raise ValueError(f"The sum of the priors should be 1, but it is {priors.sum():.6g}: divide {name} by it.")
    if not (priors >= 0).all():
        raise ValueError(f"Priors must be non-negative, but one of {name} is {priors.min():.6g}.")
    return priors


def learnt_or_given(class_prior: Any, fit_prior: bool, k: int) -> Array | None:
    """Given probabilities of classes; equal ones; or None where they are to be learnt."""
    if class_prior is not None:
        return class_priors(class_prior, k)
    return None if fit_prior else np.full(k, 1.0 / k)
