"""One door to all linkages: the algorithm that suits the rows, the tree, and what there is to say about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from corollary.core.types import Array
from corollary.solvers.linkage import centroid as linkage_centroid
from corollary.solvers.linkage import chain as linkage_chain
from corollary.solvers.linkage import connected as linkage_connected
from corollary.solvers.linkage import single as linkage_single
from corollary.solvers.linkage import ward as linkage_ward
from corollary.solvers.linkage.connected import Graph
from corollary.solvers.linkage.rows import Distances, Points, Rows
from corollary.solvers.linkage.tree import Hierarchy, hierarchy

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
    edges: Graph | None
    solver: str
    notes: tuple[str, ...]

    @property
    def inversion(self) -> float:
        """The largest relative amount by which a merge is below one that it builds on."""
        n, children, heights = self.tree.n, self.tree.children, self.tree.heights
        below = np.concatenate([np.zeros(n), heights])[children].max(axis=1, initial=0.0)
        deep = below - heights
        return float(np.max(deep[deep > 0] / below[deep > 0], initial=0.0))


def merge(rows: Rows, weights: Array, linkage: str, connectivity: Any, most: int) -> Merged:
    """Agglomerate the rows of positive weight, along the edges of a graph where one is given, up to ``most`` merges."""
    kept, measure = weights > 0, rows.measure
    w, edges, notes = weights[kept], None, []
    if measure.n == 1:
        steps = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0)
        inversions = False
    elif connectivity is not None:
        edges = linkage_connected.graph(connectivity, measure, kept)
        steps = linkage_connected.agglomerate(measure, edges, w, linkage, most - int((~kept).sum()))
        inversions = linkage in linkage_connected.CENTRAL
    else:
        steps, inversions = _unconstrained(measure, w, linkage), linkage == "centroid"
    if not np.isfinite(steps[2]).all():
        raise ValueError("X has distances that are too large for float64; divide X by a constant.")
    tree = hierarchy(measure.n, *steps, inversions=inversions)
    merged = Merged(tree, measure, w, edges, SOLVERS[linkage] if edges is None else "shortest edges", ())
    if edges is not None and len(edges.sizes) > 1:
        notes.append(_pieces(edges.sizes))
    if not kept.all():
        notes.append(f"{int((~kept).sum())} rows of weight zero joined their nearest rows at height zero.")
    if inversions and merged.inversion > 0:
        notes.append(
            f"Some merges are lower than ones they build on, by up to {100 * merged.inversion:.2g} %: "
            f"{linkage} linkage{' along a graph' if edges is not None else ''} can do that."
        )
    return Merged(tree, measure, w, edges, merged.solver, tuple(notes))


def _unconstrained(measure: Points | Distances, weights: Array, linkage: str) -> tuple[Array, Array, Array]:
    if linkage == "single":
        return linkage_single.spanning_tree(measure)
    if isinstance(measure, Points) and linkage == "ward":
        return linkage_ward.agglomerate(measure, weights)
    if isinstance(measure, Points) and linkage == "centroid":
        return linkage_centroid.agglomerate(measure, weights)
    return linkage_chain.agglomerate(measure, weights, linkage)


def _pieces(sizes: Array) -> str:
    largest = np.sort(sizes)[::-1]
    shown = ", ".join(str(size) for size in largest[:5]) + (", …" if len(sizes) > 5 else "")
    return (
        f"The connectivity graph has {len(sizes)} connected components, of {shown} rows; "
        f"{len(sizes) - 1} shortest bridges between them were added."
    )
