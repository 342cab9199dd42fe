"""Neighbours by NumPy alone, in the order that the library promises."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def reduced_table(Q: Any, X: Any, metric: str = "euclidean", p: float = 3.0) -> NDArray[np.float64]:
    """Sums of powers, column by column, as the library defines them to the last bit; neighbours are ordered by them."""
    total = np.zeros((len(Q), len(X)))
    for j in range(X.shape[1]):
        gap = np.abs(X[None, :, j].astype(np.float64) - Q[:, None, j].astype(np.float64))
        if metric == "chebyshev":
            total = np.maximum(total, gap)
        else:
            total += {"euclidean": gap * gap, "manhattan": gap}.get(metric, gap**p)
    return total


def distance_table(Q: Any, X: Any, metric: str = "euclidean", p: float = 3.0) -> NDArray[np.float64]:
    """The distances themselves."""
    total = reduced_table(Q, X, metric, p)
    return {"euclidean": np.sqrt(total), "minkowski": total ** (1 / p)}.get(metric, total)


def nearest(table: Any, k: int) -> tuple[Any, Any]:
    """The k smallest of each row by (value, column)."""
    order = np.argsort(table, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(table, order, axis=1), order


def within(reduced: Any, distances: Any, radius: float) -> Any:
    """Columns of the distances ≤ radius, by (reduced distance, column)."""
    order = np.argsort(reduced, kind="stable")
    return order[distances[order] <= radius]
