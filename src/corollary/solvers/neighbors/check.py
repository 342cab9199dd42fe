"""A search checked against brute force on a few rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from corollary._compiled.codes import CHEBYSHEV, EUCLIDEAN, MANHATTAN
from corollary.core.evidence import Certificate, Kind
from corollary.core.parallel import block_rows
from corollary.core.types import Array
from corollary.solvers.neighbors.metric import Metric, points
from corollary.solvers.neighbors.search import MetricSearch, Search

_VALUES = 2_000_000  # that are compared, all rows and columns together: a few hundredths of a second
_MOST = 8
TOLERANCE = 1e-9


def excess_certificate(search: Search, X: Any, k: int) -> Certificate:
    """By how much the k distances of a few rows exceed those of a plain comparison with every row, relatively."""
    if not isinstance(search, MetricSearch):
        # these compare everything already; what remains to be checked is the selection, and one row shows it
        row = X[:1]
        found, _ = search.nearest(row, k)
        within = search.within(row, found[:, -1])[1]
        return Certificate(
            Kind.CHECKED, "distance excess of 1 checked row", float(np.abs(within[:k] - found[0]).max()), TOLERANCE
        )
    P = points(search.metric, X, search.scale, queries=False)
    count = int(np.clip(_VALUES // max(1, P.shape[0] * P.shape[1]), 1, _MOST))
    chosen = np.linspace(0, P.shape[0] - 1, min(count, P.shape[0])).astype(np.int64)
    queries = points(search.metric, X[chosen], search.scale, queries=True)
    found, _ = search.index.nearest(queries, k)
    worst = 0.0
    for i in range(len(chosen)):
        plain = np.sort(np.partition(_plain(search.metric, P, queries[[i]]), k - 1)[:k])
        size = np.maximum(plain, float(plain[-1]) * 1e-3 if search.metric.code == EUCLIDEAN else 0.0)
        excess = np.divide(found[i] - plain, size, out=np.zeros(k), where=size > 0)
        worst = max(worst, float(excess.max()))
    plural = "s" * (len(chosen) != 1)
    return Certificate(Kind.CHECKED, f"distance excess of {len(chosen)} checked row{plural}", worst, TOLERANCE)


def _plain(metric: Metric, P: Any, q: Any) -> Array:
    """Reduced distances from one query to all points, by NumPy."""
    if scipy.sparse.issparse(P):
        squares = np.asarray(P.multiply(P).sum(axis=1)).ravel() + float(q.multiply(q).sum())
        return np.maximum(squares - 2 * (P @ q.T).toarray().ravel(), 0.0)
    out, step = np.empty(len(P)), block_rows(len(P), 8 * P.shape[1])
    for a in range(0, len(P), step):
        gap = np.abs(P[a : a + step] - q)
        if metric.code == EUCLIDEAN:
            out[a : a + step] = np.einsum("ij,ij->i", gap, gap)
        elif metric.code == MANHATTAN:
            out[a : a + step] = gap.sum(axis=1)
        elif metric.code == CHEBYSHEV:
            out[a : a + step] = gap.max(axis=1)
        else:
            out[a : a + step] = (gap**metric.p).sum(axis=1)
    return out
