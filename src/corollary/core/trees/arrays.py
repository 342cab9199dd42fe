"""Trees: any number of binary decision trees as plain arrays. Every tree model of the library holds one of these."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse

from corollary.core.parallel import each_block
from corollary.core.types import Array

if TYPE_CHECKING:
    from corollary.core.trees.scorer import Scorer

_BLOCK_ROWS, _BLOCK_CELLS = 1024, 1 << 19
_WORTH_ROWS = 160  # for fewer, preparing tables would take longer than a walk

_DTYPES = {"roots": ("int32", 1), "feature": ("int32", 1), "threshold": ("float64", 1), "left": ("int32", 1)}
_DTYPES |= {"missing_left": ("bool", 1), "category": ("int32", 1), "bitsets": ("uint32", 2), "value": ("float64", 2)}
_DTYPES |= {"weight": ("float64", 1), "count": ("int32", 1), "impurity": ("float64", 1), "gain": ("float64", 1)}


@functools.cache
def _one_row() -> Any:
    """The kernel, looked up once: an import statement would take longer than the walk."""
    from corollary._compiled.trees.traverse import one_row

    return one_row


@dataclass(frozen=True, eq=False)
class Trees:
    """Nodes of all trees, one array per property.

    A row goes left at a node when ``x[feature] <= threshold``, where a missing value goes left if ``missing_left``.
    At a categorical node (``category >= 0``) it goes left when the bit of its category code is set in
    ``bitsets[category]``; a code without a bit counts as missing. The right child follows the left one, and children
    come after their parent. ``value`` is the prediction at every node, inner ones too.
    """

    roots: Array  # int32 (trees,)
    feature: Array  # int32 (nodes,), −1 at a leaf
    threshold: Array  # float64 (nodes,), NaN at leaves and categorical nodes
    left: Array  # int32 (nodes,), −1 at a leaf
    missing_left: Array  # bool (nodes,)
    category: Array  # int32 (nodes,), row of ``bitsets`` or −1
    bitsets: Array  # uint32 (categorical nodes, words)
    value: Array  # float64 (nodes, outputs)
    weight: Array  # float64 (nodes,), weighted rows that passed in training
    count: Array  # int32 (nodes,), rows that passed in training
    impurity: Array  # float64 (nodes,)
    gain: Array  # float64 (nodes,), by how much the split lowered the weighted impurity; 0 at a leaf

    @property
    def n_trees(self) -> int:
        return len(self.roots)

    @property
    def node_count(self) -> int:
        return len(self.feature)

    @property
    def is_leaf(self) -> Array:
        return self.feature < 0

    @property
    def right(self) -> Array:
        """Right children; −1 at a leaf."""
        return np.where(self.feature >= 0, self.left + 1, -1)

    def parents(self) -> Array:
        """The node above each node; −1 at a root."""
        found, inner = np.full(self.node_count, -1), np.flatnonzero(self.feature >= 0)
        found[self.left[inner]] = found[self.left[inner] + 1] = inner
        return found

    def node_depths(self) -> Array:
        """Distance of each node from its root. Cost: O(nodes log depth)."""
        parents = self.parents()
        above = np.where(parents < 0, np.arange(self.node_count), parents)
        steps = (parents >= 0).astype(np.int32)  # from each node to the one above it
        while (more := steps[above]).any():  # twice as far up at every turn
            steps, above = steps + more, above[above]
        return steps

    def depth(self) -> int:
        """Length of the longest path from a root to a leaf."""
        return int(self.node_depths().max(initial=0))

    def importances(self, n_columns: int, by_gain: bool = True) -> Array:
        """Share of each column in the total gain, or in the number of splits; zeros if nothing was split."""
        inner = ~self.is_leaf
        weights = self.gain[inner] if by_gain else None
        if weights is not None and weights.max(initial=0.0) > 2.0**900:  # sums of them may be no numbers
            weights = weights * 2.0**-100
        total = np.bincount(self.feature[inner], weights=weights, minlength=n_columns).astype(np.float64)
        return total / total.sum() if total.sum() > 0 else total

    def tree(self, t: int) -> Trees:
        """Tree ``t`` alone, its root first."""
        stop = self.roots[t + 1] if t + 1 < self.n_trees else self.node_count
        return self._nodes(int(self.roots[t]), int(stop), self.roots[t : t + 1])

    def head(self, n_trees: int) -> Trees:
        """The first ``n_trees`` trees."""
        if n_trees >= self.n_trees:
            return self
        return self._nodes(0, int(self.roots[n_trees]), self.roots[:n_trees])

    def _nodes(self, start: int, stop: int, roots: Array) -> Trees:
        part = {f.name: getattr(self, f.name)[start:stop] for f in fields(self) if f.name not in ("roots", "bitsets")}
        part["left"] = np.where(part["feature"] >= 0, part["left"] - start, -1).astype(np.int32)
        rows = part["category"][part["category"] >= 0]
        first, last = (int(rows.min()), int(rows.max()) + 1) if len(rows) else (0, 0)
        part["category"] = np.where(part["category"] >= 0, part["category"] - first, -1).astype(np.int32)
        return Trees(roots=(roots - start).astype(np.int32), bitsets=self.bitsets[first:last], **part)

    @staticmethod
    def join(parts: Sequence[Trees]) -> Trees:
        """All trees of ``parts`` in one, in order."""
        if len(parts) == 1:
            return parts[0]
        nodes = np.cumsum([0] + [part.node_count for part in parts])
        rows = np.cumsum([0] + [len(part.bitsets) for part in parts])
        words = max(part.bitsets.shape[1] for part in parts)
        joined = {
            f.name: np.concatenate([getattr(part, f.name) for part in parts])
            for f in fields(Trees)
            if f.name not in ("roots", "left", "category", "bitsets")
        }

        def shifted(name: str, offsets: Array) -> Array:
            moved = (np.where((v := getattr(p, name)) >= 0, v + o, -1) for p, o in zip(parts, offsets, strict=False))
            return np.concatenate(list(moved)).astype(np.int32)

        bitsets = [np.pad(part.bitsets, ((0, 0), (0, words - part.bitsets.shape[1]))) for part in parts]
        return Trees(
            roots=shifted("roots", nodes),
            left=shifted("left", nodes),
            category=shifted("category", rows),
            bitsets=np.concatenate(bitsets),
            **joined,
        )

    def apply(self, X: Any) -> Array:
        """Leaf of every row in every tree, int32 (rows, trees)."""
        from corollary._compiled.trees.traverse import apply_block

        out = np.empty((X.shape[0], self.n_trees), dtype=np.int32)

        def run(block: Array, walk: Any, start: int) -> None:
            apply_block(*(block, *walk, out[start : start + len(block)]))

        self._each_block(X, run)
        return out

    def predict_sum(self, X: Any, start: Array | None = None) -> Array:
        """start + Σ over trees of the values at each row's leaf, trees in order: float64 (rows, outputs).

        Where there are more outputs than values at a leaf, tree t belongs to output t mod outputs. Memory: a few
        kilobytes a thread beyond the answer and what is prepared for each node.
        """
        start = np.zeros(self.value.shape[1]) if start is None else start
        scorer = None if scipy.sparse.issparse(X) else self.scorer(X.shape[0])
        return self.walk_sum(X, start) if scorer is None else scorer.sums(X, start)

    def scorer(self, n_rows: int) -> Scorer | None:
        """Tables for predicting so many rows; None where a walk is as fast."""
        if n_rows < _WORTH_ROWS:
            return None
        from corollary.core.trees.scorer import Scorer

        return Scorer.of(self)

    def walk_sum(self, X: Any, start: Array) -> Array:
        """As ``predict_sum``, with nothing prepared: for few rows, for sparse ones, and where codes are too many."""
        from corollary._compiled.trees.traverse import sum_block

        out = np.repeat(start[None, :], X.shape[0], axis=0)

        def run(block: Array, walk: Any, begin: int) -> None:
            sum_block(*(block, *walk, self.value, out[begin : begin + len(block)]))

        self._each_block(X, run)
        return out

    def one_row(self, x: Array, start: Array) -> Array:
        """As ``predict_sum`` for one C-ordered float64 row, in one call of the kernel."""
        out = start.copy()
        walk = (self.roots, self.feature, self.threshold, self.left, self.missing_left, self.category, self.bitsets)
        _one_row()(x, *walk, self.value, out)
        return out[None, :]

    def _each_block(self, X: Any, task: Callable[[Array, Any, int], None]) -> None:
        """Run ``task`` on C-ordered float64 copies of small blocks of rows; of the columns in use if X is sparse."""
        feature, used = self.feature, None
        if scipy.sparse.issparse(X):
            X = X.tocsr()
            used, codes = np.unique(np.maximum(feature, 0), return_inverse=True)
            feature = np.where(feature >= 0, codes, -1).astype(np.int32)
        walk = (self.roots, feature, self.threshold, self.left, self.missing_left, self.category, self.bitsets)
        width = X.shape[1] if used is None else len(used)

        def run(start: int, stop: int) -> None:
            rows = X[start:stop]
            block = rows if used is None else rows[:, used].toarray()
            block = np.ascontiguousarray(block, dtype=np.float64)
            task(block if block.flags.writeable else block.copy(), walk, start)

        each_block(run, X.shape[0], max(1, min(_BLOCK_ROWS, _BLOCK_CELLS // max(1, width))))

    def check(self, n_features: int | None = None) -> None:
        """Raise ValueError unless these are trees that can be walked, drawn and explained; files are checked by this.

        Every node but the roots has one parent, which comes before it in the same tree; every column, child and set of
        categories exists, and every number is one. Cost: a few passes over the nodes.
        """
        for name, (kinds, ndim) in _DTYPES.items():
            array = getattr(self, name)
            if not isinstance(array, np.ndarray) or array.dtype != np.dtype(kinds) or array.ndim != ndim:
                raise ValueError(f"trees: {name} must be an array of {kinds} with {ndim} dimension(s).")
        lengths = {f.name: len(getattr(self, f.name)) for f in fields(self) if f.name not in ("roots", "bitsets")}
        if len(set(lengths.values())) != 1:
            raise ValueError(f"trees: the node arrays differ in length: {lengths}.")
        self._check_links()
        inner = self.feature >= 0
        if n_features is not None and np.any(self.feature >= n_features):
            raise ValueError(f"trees: a split uses a feature beyond the {n_features} there are.")
        by_bits = self.category >= 0
        if np.any(self.category >= len(self.bitsets)) or (len(self.bitsets) and self.bitsets.shape[1] == 0):
            raise ValueError("trees: a categorical node names a bitset that is not there.")
        if np.any(self.category < -1) or np.any(by_bits & ~inner):
            raise ValueError("trees: only a split can be categorical.")
        if np.isnan(self.threshold[inner & ~by_bits]).any():
            raise ValueError("trees: a split has no threshold.")
        for name in ("value", "weight", "impurity", "gain"):
            if not np.isfinite(getattr(self, name)).all():
                raise ValueError(f"trees: {name} must be finite.")
        if self.value.shape[1] == 0 or np.any(self.weight < 0) or np.any(self.count < 0):
            raise ValueError("trees: a node must have a value, a weight ≥ 0 and a count ≥ 0.")
        left = self.left[inner]
        rows = self.count[left].astype(np.int64) + self.count[left + 1]
        rounding = 1e-6 * self.weight.max()
        apart = np.abs(self.weight[inner] - self.weight[left] - self.weight[left + 1])
        if np.any(rows != self.count[inner]) or np.any(apart > rounding):
            raise ValueError("trees: the rows of a split must be those of its two children.")

    def _check_links(self) -> None:
        """Raise ValueError unless roots and children make trees."""
        n, roots, left = self.node_count, self.roots, self.left.astype(np.int64)
        if len(roots) == 0 or roots[0] != 0 or roots[-1] >= n or np.any(np.diff(roots) <= 0):
            raise ValueError("trees: roots must be increasing node numbers from 0.")
        at = np.flatnonzero(self.feature >= 0)
        leaves = self.feature < 0
        if np.any(self.feature[leaves] != -1) or np.any(left[leaves] != -1):
            raise ValueError("trees: a leaf has the feature −1 and no child.")
        ends = np.append(roots[1:], n)[np.searchsorted(roots, at, side="right") - 1]
        if np.any(left[at] <= at) or np.any(left[at] + 1 >= ends):
            raise ValueError("trees: a child must come after its parent, in the same tree.")
        parents = np.bincount(left[at], minlength=n) + np.bincount(left[at] + 1, minlength=n)
        parents[roots] += 1
        if np.any(parents != 1):
            raise ValueError("trees: every node but the roots must have exactly one parent.")
