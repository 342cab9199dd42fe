"""The check of a hierarchy: merges are worked out again from the rows below them, by the definition of the linkage.

Where not all can be, some are drawn at random, and besides the last ones are tried. Of m drawn merges that are all
right, so many wrong ones that a draw would miss them all with probability 5 % are at most 1 − 0.05^(1/m), about 3/m.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corollary._compiled.linkage.labels import node_means
from corollary.core.evidence import share_wrong_at_most
from corollary.core.types import Array
from corollary.solvers.distance_tables import Distances
from corollary.solvers.linkage.connected import Edges
from corollary.solvers.linkage.leaves import Points
from corollary.solvers.linkage.tree import Hierarchy

MERGES = 64  # how many are drawn, at most
ROWS = 256  # rows of distances that are worked out again for them, on average
SIDE = 64  # merges are not drawn if the smaller side has more rows than this, each of which needs a row of distances
LAST = 8  # merges that are tried besides
NEGLIGIBLE = 1e-6  # errors are relative to a height, or to this part of the largest, below which rounding decides

NAME = "largest relative error of merges worked out again"


@dataclass(frozen=True)
class Checked:
    """The largest relative error of ``merges`` worked out again: ``drawn`` from ``few`` of ``total``, and the last."""

    error: float
    merges: int
    drawn: int
    few: int
    total: int

    @property
    def doubt(self) -> float:
        """The share of those they were drawn from that may be wrong, with 95 % confidence."""
        return share_wrong_at_most(self.drawn, self.few)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the sample says of the merges that it was drawn from; nothing where all were worked out."""
        if self.drawn == self.few == self.total:
            return ()
        small = "" if self.few == self.total else f" with a side of at most {SIDE} rows"
        if self.drawn == self.few:
            return (f"All {self.few} merges{small} were worked out again, of {self.total}.",)
        share = f"fewer than {100 * self.doubt:.2g} % of the {self.few} merges{small} are further off"
        return (f"With 95 % confidence {share}: {self.drawn} of them were drawn and worked out again.",)


def check(
    tree: Hierarchy, rows: Points | Distances, weights: Array, linkage: str, edges: Edges | None = None
) -> Checked:
    """Compare merges drawn at random, and the last ones, with the definition."""
    heights, (order, first) = tree.heights, tree.ordered()
    counts = np.concatenate([np.ones(tree.n, dtype=np.int64), tree.counts])
    last, error, central = len(tree.children), 0.0, linkage in ("ward", "centroid")
    sides = counts[tree.children].min(axis=1, initial=last + 1)
    few = np.flatnonzero((sides <= SIDE) | central)
    drawn = _drawn(few, np.ones(len(few)) if central else sides[few])
    late = np.arange(max(0, last - LAST), last)
    tried = np.union1d(drawn, late if central else late[sides[late] <= SIDE])
    one, other = order[first[tree.children]].T  # a row of each side
    if isinstance(rows, Points) and rows.lost(one, other, weights if linkage == "ward" else np.ones(tree.n)):
        error = np.inf
    scale = NEGLIGIBLE * float(heights.max(initial=0.0))
    if central and isinstance(rows, Points):
        gaps = np.abs(_central(rows, tree.children[tried], order, first, counts, weights, linkage) - heights[tried])
        off = gaps[gaps > 0] / np.maximum(heights[tried], scale)[gaps > 0]
        return Checked(max(error, float(off.max(initial=0.0))), len(tried), len(drawn), len(few), last)
    for t in tried[::-1]:
        nodes = sorted(tree.children[t], key=lambda node: int(counts[node]))
        A, B = (order[first[node] : first[node] + counts[node]] for node in nodes)
        height = float(heights[t])
        if edges is not None:
            gap = _off_edges(rows, edges, A, B, linkage, height)
        else:
            gap = _off_pairs(rows, A, B, weights, linkage, height)
        error = max(error, gap / max(height, scale) if gap > 0 else 0.0)
    return Checked(error, len(tried), len(drawn), len(few), last)


def _drawn(few: Array, sizes: Array) -> Array:
    """All of them if their sizes add up to no more than ``ROWS``, else some at random, by rows the same ones always."""
    if len(few) <= MERGES and sizes.sum() <= ROWS:
        return few
    count = int(np.clip(ROWS / sizes.mean(), 1, min(MERGES, len(few))))
    return np.random.default_rng(0).choice(few, count, replace=False)


def _central(
    rows: Points, children: Array, order: Array, first: Array, counts: Array, weights: Array, linkage: str
) -> Array:
    """The distances of the means of the rows below pairs of nodes, as the linkage measures them."""
    nodes = children.ravel()
    means, masses = np.empty((len(nodes), len(rows.columns))), np.empty(len(nodes))
    node_means(rows.columns, weights, order, first, counts, nodes, means, masses)
    squares = ((means[::2] - means[1::2]) ** 2).sum(axis=1)
    if linkage == "ward":
        w, v = masses[::2], masses[1::2]
        squares *= 2.0 * w * v / (w + v)
    return rows.finished(squares)


def _off_pairs(rows: Points | Distances, A: Array, B: Array, weights: Array, linkage: str, height: float) -> float:
    """How far a height is from the distances between the members.

    For single linkage also how far it is above the shortest way out of A: by the cut property the edge of a minimum
    spanning tree is a shortest one between A and everything else.
    """
    far, total, near, out = 0.0, 0.0, np.inf, np.inf
    outside = np.ones(rows.n, dtype=bool)
    outside[A] = False
    for i in A:
        row = rows.row(int(i))
        far, near = max(far, float(row[B].max())), min(near, float(row[B].min()))
        total += float(weights[i] * (weights[B] @ row[B]))
        if linkage == "single":
            out = min(out, float(row[outside].min()))
    if linkage == "single":
        return max(abs(near - height), height - out)
    if linkage == "complete":
        return abs(far - height)
    return abs(total / float(weights[A].sum() * weights[B].sum()) - height)


def _off_edges(rows: Points | Distances, edges: Edges, A: Array, B: Array, linkage: str, height: float) -> float:
    """How far a height is from the lengths of the edges between the members; infinite if there is none.

    Average linkage takes means of means along the edges, which can only be held between the shortest and the longest.
    """
    side = np.zeros(rows.n, dtype=np.int64)
    side[A], side[B] = 1, 2
    between = side[edges.u] * side[edges.v] == 2
    if not between.any():
        return np.inf
    lengths = rows.pairs(edges.u[between], edges.v[between])
    if linkage == "single":
        return float(abs(lengths.min() - height))
    if linkage == "complete":
        return float(abs(lengths.max() - height))
    return float(max(0.0, lengths.min() - height, height - lengths.max()))
