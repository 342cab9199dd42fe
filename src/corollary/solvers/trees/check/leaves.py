"""The check of boosting: leaves whose step is worked out again from the rows that predictions send there.

A leaf answers with the step that is best for its rows: Newton's, −S(G) / (H + l2) with S the soft threshold at l1, from
sums of the slopes and curvatures there; or, for losses without reliable curvature, the exact minimum of their loss. So
after the step the slope of the leaf, of the model that it minimises, must be zero. Raw predictions before the round are
those of the trees before it, from the numbers of X, as predictions are made: rows walk by ``Trees``, and slopes are
those of the loss that was boosted. The referee of ``verify`` has a walk and losses of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from corollary.core.loss import Loss
from corollary.core.trees import Trees
from corollary.core.types import Array

_TREES = 2  # one of the last round, and one drawn
_ROWS = 1 << 11  # of the leaves of one tree that are looked at
_LEAVES = 8
_CELLS = 1 << 20  # leaves of rows in trees that are held at once


@dataclass(frozen=True)
class Boosted:
    """What was boosted: the loss on data, the constant it began with, the trees, and the penalties of leaves."""

    X: Any
    loss: Loss
    y: Array
    weights: Array
    start: Array  # one constant an output
    trees: Trees  # tree r · outputs + k is that of output k in round r
    learning_rate: float
    l1: float
    l2: float
    newton: bool
    offset: Array | None = None  # what another model says of the rows, (rows, outputs): trees are added to that

    def slope_left(self, begun: int) -> tuple[float, int]:
        """(largest slope that is left in a leaf after its step, relative to its rows' slopes at the start; leaves).

        Rounds before ``begun`` are not looked at: other rows may have grown them. Cost: one pass of X through two
        trees, and of a few thousand rows through all.
        """
        k = len(self.start)
        rng = np.random.default_rng(self.trees.n_trees)
        first, last = begun * k, self.trees.n_trees
        if first >= last:
            return 0.0, 0
        drawn = {last - 1, *map(int, rng.permutation(np.arange(first, last))[: _TREES - 1])}
        worst, count = 0.0, 0
        chosen = sorted(drawn)
        ends = Trees.join([self.trees.tree(t) for t in chosen]).apply(self.X)
        for column, t in enumerate(chosen):
            ends_here, first_node = np.ascontiguousarray(ends[:, column]), self._offset(chosen, column)
            sizes = np.bincount(ends_here)
            leaves = np.flatnonzero(sizes)
            for node in leaves[_few(sizes[leaves], rng)]:
                rows = np.flatnonzero(ends_here == node)
                rows = rows[self.weights[rows] > 0]
                if len(rows):
                    value = float(self.trees.tree(t).value[node - first_node, 0])
                    worst, count = max(worst, self._left(rows, t, value)), count + 1
        return worst, count

    def _offset(self, chosen: list[int], column: int) -> int:
        """Where the nodes of a tree begin in what was joined."""
        return sum(self.trees.tree(t).node_count for t in chosen[:column])

    def _left(self, rows: Array, t: int, value: float) -> float:
        """Slope that tree t leaves in the leaf of these rows, where it adds ``value`` to their raw predictions."""
        k = len(self.start)
        output = t % k
        begin = np.repeat(self.start[None, :], len(rows), axis=0)
        if self.offset is not None:
            begin = begin + self.offset[rows]
        raw = begin + self._sums(self.X[rows], t - output)
        size = float(np.abs(self._slopes(rows, begin, output)).sum())
        left = self._newton_left if self.newton else self._exact_left
        slope = left(rows, raw, output, value)
        return slope / size if size > 0 else slope

    def _sums(self, X: Any, n_trees: int) -> Array:
        """Σ over the first trees of the values at the leaves of rows, (rows, outputs).

        By the leaves, as above, so that a fit compiles no other kernel that walks.
        """
        k = len(self.start)
        sums, head, step = np.zeros((X.shape[0], k)), self.trees.head(n_trees), max(1, _CELLS // max(1, n_trees))
        for a in range(0, X.shape[0] if n_trees else 0, step):
            ends = head.apply(X[a : a + step])
            sums[a : a + step] = head.value[ends, 0].reshape(len(ends), -1, k).sum(axis=1)
        return sums

    def _slopes(self, rows: Array, raw: Array, output: int) -> Array:
        loss, y, w = self.loss, self.y[rows], self.weights[rows]
        slopes = loss.gradient(y, raw)[:, output] if loss.multiclass else loss.gradient(y, raw[:, 0])
        weighted: Array = w * slopes
        return weighted

    def _newton_left(self, rows: Array, raw: Array, output: int, value: float) -> float:
        loss, y, w = self.loss, self.y[rows], self.weights[rows]
        curves = loss.hessian(y, raw)[:, output, output] if loss.multiclass else loss.hessian(y, raw[:, 0])
        g, h = self._slopes(rows, raw, output), w * curves
        bend = float(h.sum()) + self.l2
        step = -np.copysign(max(abs(g.sum()) - self.l1, 0.0), g.sum()) / bend if bend > 0 else 0.0
        best = self.learning_rate * step
        if loss.self_concordant:
            best = float(np.copysign(min(abs(best), np.log1p(abs(step))), step))
        # what the last bits of raw predictions and of sums can come to
        rounding = 1e-12 * (float(h @ np.abs(raw[:, output])) + float(np.abs(g).sum()) + bend * abs(value))
        return max(0.0, bend * abs(value - best) / self.learning_rate - rounding)

    def _exact_left(self, rows: Array, raw: Array, output: int, value: float) -> float:
        y, v = self.y[rows], value / self.learning_rate
        near = 1e-9 * (abs(v) + self.loss.reach(y, raw[:, 0])) + 1e-12 * float(np.abs(raw).max())

        def slope(at: float) -> float:
            pull = self.l2 * at + np.copysign(self.l1, at)
            return float(self._slopes(rows, raw + at, output).sum() + pull)

        rounding = 1e-12 * float(self.weights[rows].sum())
        return max(0.0, slope(v - near) - rounding, -slope(v + near) - rounding)


def _few(sizes: Array, rng: np.random.Generator) -> list[int]:
    """Some leaves, drawn at random as long as there is room for their rows; at least the smallest."""
    found: list[int] = []
    room = _ROWS
    for j in rng.permutation(len(sizes)):
        if sizes[j] <= room and len(found) < _LEAVES:
            found.append(int(j))
            room -= int(sizes[j])
    return found or [int(np.argmin(sizes))]
