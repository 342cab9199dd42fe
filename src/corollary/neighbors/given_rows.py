"""What may be given as rows: arrays, frames and sparse matrices, trees and fitted models, graphs of distances."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

_FORMATS = ("csr", "csc", "coo", "lil")  # that keep zeros which are stored: rows at distance zero


def given_rows(X: Any, *, precomputed: bool) -> Any:
    """X, or the rows that a tree or a fitted model of neighbours holds."""
    if hasattr(X, "kneighbors") and hasattr(X, "_fit_X"):
        return X._fit_X
    if hasattr(X, "query") and hasattr(X, "data") and not hasattr(X, "columns"):  # a frame has those two as well
        return np.asarray(X.data)
    if precomputed and scipy.sparse.issparse(X) and X.format not in _FORMATS:
        raise TypeError(
            f"Sparse matrix in {X.format!r} format is not supported due to its handling of explicit zeros, which are "
            f"distances in X: give it as {', '.join(_FORMATS[:-1])} or {_FORMATS[-1]}."
        )
    return X
