"""A Gram matrix that somebody brings along: it is believed no further than it can be checked, and never needed."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from corollary.base import caller_level
from corollary.core.design import Design
from corollary.core.types import Array


def check_gram(precompute: Any, design: Design, weights: Array, fit_intercept: bool) -> None:
    """Raise ValueError if ``precompute`` is a matrix, but not that of the products of these columns.

    As in scikit-learn one product is looked at, weights count with a mean of one, and where columns are to be centred
    first a matrix of other columns is no error: it is not used, with a UserWarning.
    """
    if isinstance(precompute, (bool, np.bool_, str)) or design.is_sparse:
        return
    gram, d = np.asarray(precompute), design.shape[1]
    if gram.shape != (d, d):
        raise ValueError(
            f"Gram matrix passed in via 'precompute' did not pass validation: X has {d} columns, so its shape must be "
            f"({d}, {d}), but it is {gram.shape}. Leave precompute at its default; the solver forms what it needs."
        )
    if fit_intercept and not np.allclose(design.column_means(weights), 0.0):
        warnings.warn(
            "Gram matrix was provided but X was centered to fit intercept: recomputing Gram matrix. Centre the columns "
            "first, or leave precompute at its default.",
            UserWarning,
            stacklevel=caller_level(),
        )
        return
    one = d // 2
    two = min(one + 1, d - 1)
    columns = design.take(np.array([one, two])).matrix()
    expected = float((weights * columns[:, 0]) @ columns[:, 1]) * len(weights) / float(weights.sum())
    narrow = np.float32 in (design.dtype, gram.dtype)
    if not np.isclose(expected, gram[one, two], rtol=1e-4 if narrow else 1e-7, atol=1e-5 if narrow else 1e-10):
        raise ValueError(
            f"Gram matrix passed in via 'precompute' did not pass validation: the product of columns {one} and {two} "
            f"of X is {expected:.6g}, but the matrix has {float(gram[one, two]):.6g} there."
        )
