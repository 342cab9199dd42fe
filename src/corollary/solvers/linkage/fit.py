"""The entry to all linkages: chooses an algorithm that suits the rows, and makes the tree and its notes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from corollary._compiled.linkage import spanning_tree as kernels
from corollary._compiled.linkage.centroid import DESK
from corollary._compiled.linkage.triangle import NOTHING
from corollary.core.parallel import n_threads, run_team
from corollary.core.types import Array
from corollary.solvers.distance_tables import Distances
from corollary.solvers.linkage.centres import SHARE, merge_centroids, merge_ward
from corollary.solvers.linkage.chain import merge_triangle, merge_ward_triangle
from corollary.solvers.linkage.connected import CENTRAL, Edges, merge_along, read_edges
from corollary.solvers.linkage.leaves import Leaves, Merges, Points, too_large
from corollary.solvers.linkage.tree import Hierarchy, hierarchy

FEW, SPREAD = 4096, 125  # rows of which all pairs are looked at: a tree parts rows of few columns better

SOLVERS = {
    "single": "a minimum spanning tree",
    "complete": "reciprocal nearest neighbours",
    "average": "reciprocal nearest neighbours",
    "ward": "reciprocal nearest neighbours",
    "centroid": "nearest centres",
}


@dataclass(frozen=True)
class Merged:
    """The tree of the rows that carry weight, with what it was made from."""

    tree: Hierarchy
    rows: Points | Distances
    weights: Array
    edges: Edges | None
    solver: str
    notes: tuple[str, ...]


Grow = Callable[[Points | Distances, Array, str, Edges | None, int], Hierarchy]


def grow(measure: Points | Distances, weights: Array, linkage: str, edges: Edges | None, most: int) -> Hierarchy:
    """The tree of these rows, along the edges where there are any, of up to ``most`` merges."""
    if measure.n == 1:
        steps: Merges = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0)
    elif edges is not None:
        steps = merge_along(measure, edges, weights, linkage, most)
    else:
        steps = _unconstrained(measure, weights, linkage)
    if not np.isfinite(steps[2]).all():
        raise too_large()
    return hierarchy(measure.n, *steps, inversions=_may_invert(linkage, edges))


def remembering(cached: Grow) -> Grow:
    """``grow`` from a cache, whose answer is looked at as anyone's: compiled code trusts the numbers of its nodes."""

    def recall(measure: Points | Distances, weights: Array, linkage: str, edges: Edges | None, most: int) -> Hierarchy:
        tree = cached(measure, weights, linkage, edges, most)
        if not (isinstance(tree, Hierarchy) and tree.sound(measure.n, edges is None)):
            raise ValueError(
                "memory: what the cache holds for these rows is not a tree of them. Delete the cache folder, and fit "
                "again."
            )
        return tree

    return recall


def _may_invert(linkage: str, edges: Edges | None) -> bool:
    return linkage == "centroid" if edges is None else linkage in CENTRAL


def merge(rows: Leaves, weights: Array, linkage: str, connectivity: Any, most: int, known: Grow = grow) -> Merged:
    """Agglomerate the rows of positive weight, along the edges of a graph where one is given, up to ``most`` merges.

    What is told of the rows is worked out here, and only the tree comes from ``known``, which may be a cache.
    """
    kept, measure = weights > 0, rows.measure
    w, notes = weights[kept], []
    edges = None if connectivity is None or measure.n == 1 else read_edges(connectivity, measure, kept)
    tree, inversions = known(measure, w, linkage, edges, most - int((~kept).sum())), _may_invert(linkage, edges)
    if edges is not None and len(edges.sizes) > 1:
        notes.append(_pieces(edges.sizes))
    if not kept.all():
        notes.append(f"{int((~kept).sum())} rows of weight zero joined their nearest rows at height zero.")
    if inversions and tree.inversion > 0:
        notes.append(
            f"Some merges are lower than ones they build on, by up to {100 * tree.inversion:.2g} %: "
            f"{linkage} linkage{' along a graph' if edges is not None else ''} can do that."
        )
    solver = SOLVERS[linkage] if edges is None else "shortest edges"
    return Merged(tree, measure, w, edges, solver, tuple(notes))


def _unconstrained(measure: Points | Distances, weights: Array, linkage: str) -> Merges:
    if linkage == "single":
        return spanning_tree(measure)
    if isinstance(measure, Points) and linkage == "ward" and measure.n <= min(FEW, SPREAD * (6 + len(measure.columns))):
        return merge_ward_triangle(measure, weights)
    if isinstance(measure, Points) and linkage == "ward":
        return merge_ward(measure, weights)
    if isinstance(measure, Points) and linkage == "centroid":
        return merge_centroids(measure, weights)
    return merge_triangle(measure, weights, linkage)


def spanning_tree(rows: Points | Distances) -> Merges:
    """Single linkage: the n − 1 edges of the minimum spanning tree, shortest first; one more copy of the rows."""
    left, right, lengths = _from_points(rows) if isinstance(rows, Points) else _from_table(rows)
    order = np.argsort(lengths, kind="stable")
    return left[order], right[order], lengths[order]


def _from_points(rows: Points) -> Merges:
    n = rows.n
    columns, ids = rows.columns.copy(), np.arange(n)
    best, parent = np.full(n, NOTHING), np.zeros(n, dtype=np.int64)
    left, right, bits = (np.empty(n - 1, dtype=np.int64) for _ in range(3))
    workers = min(n_threads(), 1 + columns.size // SHARE)
    desks = np.zeros((workers, DESK), dtype=np.int64)
    state = columns, rows.metric, ids, best, parent
    run_team(kernels.grow_points, *state, left, right, bits, desks, most=workers)
    return left, right, rows.finished(bits.view(np.float64))


def _from_table(rows: Distances) -> Merges:
    """Row after row of the table, each looked at once."""
    n, newest = rows.n, 0
    best, parent = np.full(n, NOTHING), np.zeros(n, dtype=np.int64)
    left, right, bits = (np.empty(n - 1, dtype=np.int64) for _ in range(3))
    for t in range(n - 1):
        row = rows.row(newest).view(np.int64)
        newest = int(kernels.grow_table(row, newest, best, parent))
        left[t], right[t], bits[t] = parent[newest], newest, best[newest]
    return left, right, bits.view(np.float64)


def _pieces(sizes: Array) -> str:
    largest = np.sort(sizes)[::-1]
    shown = ", ".join(str(size) for size in largest[:5]) + (", …" if len(sizes) > 5 else "")
    return (
        f"The connectivity graph has {len(sizes)} connected components, of {shown} rows; "
        f"{len(sizes) - 1} shortest bridges between them were added."
    )
