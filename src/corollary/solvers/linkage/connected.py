"""Agglomeration along the edges of a graph. What is not connected is joined by the shortest bridges first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from corollary._compiled.linkage import connected as kernels
from corollary._compiled.linkage.triangle import CENTROID, WARD
from corollary.core.types import Array
from corollary.solvers.distance_tables import Distances
from corollary.solvers.linkage.chain import CODES
from corollary.solvers.linkage.leaves import Merges, Points

CENTRAL = {"ward": WARD, "centroid": CENTROID}


@dataclass(frozen=True)
class Edges:
    """Edges u – v of a graph of n rows, made connected; ``sizes`` are those of its components before that."""

    u: Array
    v: Array
    sizes: Array


def read_edges(connectivity: Any, rows: Points | Distances, kept: Array) -> Edges:
    """Read an n × n connectivity, dense or sparse, in which either direction makes an edge, for the rows ``kept``."""
    links = sparse.coo_array(connectivity)
    if links.ndim != 2 or links.shape != (len(kept), len(kept)):
        raise ValueError(
            f"Wrong shape for connectivity matrix: {links.shape}, but it must be {(len(kept), len(kept))}, with a row "
            "and a column for each row of X."
        )
    number = np.where(kept, np.cumsum(kept) - 1, -1)
    ends = number[np.stack(links.coords)]
    ends = np.sort(ends[:, (links.data != 0) & (ends >= 0).all(axis=0) & (ends[0] != ends[1])], axis=0)
    ends = np.unique(ends, axis=1).astype(np.int64)
    n = rows.n
    table = sparse.coo_array((np.ones(ends.shape[1]), (ends[0], ends[1])), shape=(n, n))
    count, component = sparse.csgraph.connected_components(table, directed=False)
    if count > 1:
        ends = np.concatenate([ends, bridges(rows, component, count)], axis=1)
    return Edges(ends[0], ends[1], np.bincount(component))


def bridges(rows: Points | Distances, component: Array, count: int) -> Array:
    """The count − 1 shortest edges that join all components, found by growing the first one; O(n) memory."""
    n = rows.n
    best, parent, inside = np.full(n, np.inf), np.zeros(n, dtype=np.int64), np.zeros(n, dtype=bool)
    found, newest = np.empty((2, count - 1), dtype=np.int64), component[0]
    for t in range(count - 1):
        for i in np.flatnonzero(component == newest):
            row = rows.row(int(i))
            closer = row < best
            best[closer], parent[closer] = row[closer], i
        inside |= component == newest
        j = int(np.argmin(np.where(inside, np.inf, best)))
        found[:, t], newest = (parent[j], j), component[j]
    return np.sort(found, axis=0)


def merge_along(rows: Points | Distances, edges: Edges, weights: Array, linkage: str, most: int) -> Merges:
    """Up to ``most`` merges, in the order in which they are made."""
    n, m = rows.n, min(most, rows.n - 1)
    left, right, heights = np.empty(m, dtype=np.int64), np.empty(m, dtype=np.int64), np.empty(m)
    ends, weights = np.column_stack([edges.u, edges.v]), weights.copy()
    if isinstance(rows, Points) and linkage in CENTRAL:
        centres = rows.columns.T.copy(order="C")  # to be overwritten
        lengths = ((centres[edges.u] - centres[edges.v]) ** 2).sum(axis=1)
        if linkage == "ward":
            lengths *= weights[edges.u] * weights[edges.v] / (weights[edges.u] + weights[edges.v])
        heap = np.argsort(lengths, kind="stable")
        kernels.merge_edges(n, ends, lengths, heap, CENTRAL[linkage], centres, weights, m, left, right, heights)
        return left, right, rows.finished(2.0 * heights if linkage == "ward" else heights)
    lengths = rows.pairs(edges.u, edges.v)
    heap = np.argsort(lengths, kind="stable")
    kernels.merge_edges(n, ends, lengths, heap, CODES[linkage], np.empty((n, 0)), weights, m, left, right, heights)
    return left, right, heights
