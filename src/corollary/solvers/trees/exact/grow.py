"""Exact greedy trees: every threshold of every feature is tried, on lists that are sorted once.

Nodes with many rows are split one after the other with threads over features; the subtrees below them are grown whole,
with threads over subtrees. Where the one ends and the other begins depends on the number of rows alone, so the tree is
the same whatever the number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from corollary.core.memory import check_memory
from corollary.core.parallel import map_blocks
from corollary.core.scaling import magnitude, power_of_two
from corollary.core.trees import Trees
from corollary.core.trees.binning import Binner
from corollary.core.types import Array
from corollary.solvers.trees.exact.sorted_columns import ColumnSource, DenseColumns, column_source, sort_columns

if TYPE_CHECKING:
    from corollary.solvers.trees.exact.nodes import Labels, NodeByNode, OpenNode

Nodes = dict[str, Array]  # "whole", "real", "value", "bitsets": the arrays of corollary._compiled.trees.exact.grow

CRITERIA = {"gini": 0, "entropy": 1, "log_loss": 1, "squared_error": 2, "poisson": 3, "absolute_error": 4}
SMALL = 4096  # rows that are grown in one call, without threads
SMALL_ABSOLUTE = 512  # the same for absolute error, whose search is slow: Ctrl-C is heard between calls
_LARGEST_SUBTREE = 65_535  # rows and ranks of a subtree have 16 bits
UNEVEN = 2.0**20  # a ratio of weights beyond which what is on the right of a cut is not taken as the rest of a node
_ENDLESS = 2**31 - 1


@dataclass(frozen=True)
class ExactRules:
    """How a tree is grown. ``min_weight`` and ``min_gain`` are sums over rows, not fractions."""

    criterion: str
    max_depth: int | None = None
    min_samples_split: int = 2
    min_samples_leaf: int = 1
    min_weight: float = 0.0
    min_gain: float = 0.0
    max_features: int | None = None
    max_leaf_nodes: int | None = None
    random_thresholds: bool = False
    categorical: Array | None = None  # bool (d,)
    monotone: Array | None = None  # −1, 0 or 1 (d,)
    max_bins: int | None = None
    seed: int = 0


def grow(
    X: Any, y: Array, weights: Array, rules: ExactRules, n_classes: list[int] | None = None,
    binner: Binner | None = None, order: Array | None = None,
) -> Trees:  # fmt: skip
    """Grow one tree on X (n × d, NaN is missing) and y (n, outputs).

    With ``n_classes`` (one number per output) y holds class numbers, and the tree's values are probabilities, output
    after output; without it y holds numbers. Rows of weight zero are left out. ``binner`` is for ``rules.max_bins``;
    without one it is made here. ``order`` (d, n), if there is one, gets the rows in the ascending order of each column.

    Cost: O(n d log n) to sort, O(n d) per level (times log n for absolute error); memory 8 n d bytes, and as much
    again for random thresholds.
    """
    if np.any(weights <= 0):
        kept = np.flatnonzero(weights > 0)
        X, y, weights = X[kept], y[kept], weights[kept]
    if rules.max_bins is None:
        return _Task(column_source(X), y, weights, rules, n_classes).run(order)
    if binner is None:
        binner = Binner.fit(X, rules.max_bins, rules.categorical, weights)
    codes = binner.transform(X, order="F").astype(np.float64)
    codes[codes == binner.n_bins] = np.nan
    trees = _Task(DenseColumns(codes), y, weights, rules, n_classes).run(order)
    threshold = trees.threshold.copy()
    numeric = np.flatnonzero(np.isfinite(threshold))
    threshold[numeric] = binner.thresholds[trees.feature[numeric], threshold[numeric].astype(np.intp)]
    return replace(trees, threshold=threshold)


def far_centre(y: Array) -> Array:
    """A middle value of each column that lies far from zero, else zero: to subtract it loses no digit."""
    middle = np.sort(y, axis=0)[len(y) // 2]
    return np.where(np.abs(middle) > 8 * np.abs(y - middle).max(axis=0), middle, 0.0)


class _Task:
    """One tree to be grown: the arguments of the kernels."""

    def __init__(
        self, source: ColumnSource, y: Array, weights: Array, rules: ExactRules, n_classes: list[int] | None
    ) -> None:
        from corollary._compiled.trees.exact.grow import Limits

        self.source, self.rules = source, rules
        self.n, self.d = source.shape
        self.y_unit = 1.0 / power_of_two(magnitude(y)) if n_classes is None else 1.0
        self.impurity_unit = self.y_unit ** (2 if rules.criterion == "squared_error" else 1)
        self.labels = _labels(y / self.y_unit, weights, rules.criterion, n_classes)
        self.limits = Limits(
            _ENDLESS if rules.max_depth is None else int(rules.max_depth),
            int(rules.min_samples_split),
            int(rules.min_samples_leaf),
            float(rules.min_weight),
            float(rules.min_gain) / self.impurity_unit * (1 - 1e-12),
            self.d if rules.max_features is None else int(rules.max_features),
        )
        self.direction = np.zeros(self.d, dtype=np.int8)
        if rules.monotone is not None:
            self.direction[:] = rules.monotone
        some = rules.categorical is not None and bool(np.any(rules.categorical))
        self.categorical = np.array(rules.categorical, dtype=bool) if some else None
        self.words = 0 if self.categorical is None else (source.most_categories(self.categorical) + 31) // 32
        self.largest = min(SMALL, SMALL_ABSOLUTE)
        if rules.criterion != "absolute_error":
            self.largest = min(_LARGEST_SUBTREE, max(SMALL, self.n // 16))
        self.small = self.n <= min(SMALL, self.largest) and rules.max_leaf_nodes is None
        dtype = np.dtype(np.uint32 if self.small else np.uint64)
        check_memory(
            (dtype.itemsize + 8 * rules.random_thresholds) * self.n * self.d,
            f"Sorting the {self.d} columns of an exact tree on {self.n} rows",
            "fit fewer rows, or GradientBoosting or RandomForest models, which take one byte a cell",
        )
        self.records, self.values = sort_columns(source, self.categorical, dtype, rules.random_thresholds)

    def run(self, order: Array | None = None) -> Trees:
        if order is not None:  # the rows, in the lower half of each record
            np.bitwise_and(self.records, (1 << 4 * self.records.itemsize) - 1, out=order, casting="unsafe")
        everything = np.arange(self.n)
        if self.small:
            return self._finish([self._grow(self.records, self.labels, self.values, None)], [everything], [0])
        from corollary.solvers.trees.exact.nodes import NodeByNode

        top = NodeByNode(
            self.records, self.labels, self.limits, self.categorical, self.direction, self.values, self.words
        )
        root = top.add(0, 0, self.n, 0, np.uint64(self.rules.seed), -np.inf, np.inf)
        if self.rules.max_leaf_nodes is not None:
            top.best_first(root, int(self.rules.max_leaf_nodes))
            return self._finish([top.arrays()], [everything], [0])
        subtrees = self._top(top, root)
        place = np.empty(self.n, dtype=np.int32)
        grown = list(map_blocks(lambda p, _: self._subtree(subtrees[p], place), len(subtrees), 1))
        return self._finish(
            [top.arrays(), *(nodes for nodes, _ in grown)],
            [everything, *(rows for _, rows in grown)],
            [0, *(node.index for node in subtrees)],
        )

    def _top(self, top: NodeByNode, root: OpenNode) -> list[OpenNode]:
        """Split all nodes with many rows; returns those that remain to be grown, the largest first."""
        stack, subtrees = [root], []
        while stack:
            node = stack.pop()
            if node.live and node.size <= self.largest:
                subtrees.append(node)
            elif node.live and top.search(node):
                stack.extend(top.split(node))
        return sorted(subtrees, key=lambda node: (-node.size, node.index))

    def _subtree(self, node: OpenNode, place: Array) -> tuple[Nodes, Array]:
        """(a node and all below it, its rows): there the rows are numbered afresh."""
        from corollary._compiled.trees.exact.grow import localise

        rows, records = np.empty(node.size, dtype=np.int32), np.empty((self.d, node.size), dtype=np.uint32)
        values = None if self.values is None else np.empty((self.d, node.size))
        localise(self.records, node.start, node.stop, self.categorical, self.values, place, rows, records, values)
        return self._grow(records, self.labels.of(rows), values, node), rows

    def _grow(self, records: Array, labels: Labels, values: Array | None, root: OpenNode | None) -> Nodes:
        """A node and all below it, in one call; without a ``root`` the whole tree. Memory not used is not touched."""
        from corollary._compiled.trees.exact import grow as kernels

        n = records.shape[1]
        room = 2 * n
        whole, real = np.empty((room, kernels.N_WHOLE), dtype=np.int32), np.empty((room, kernels.N_REAL))
        value, bitsets = np.empty((room, labels.n_values)), np.empty((n, self.words), dtype=np.uint32)
        seeds = np.empty(room, dtype=np.uint64)
        whole[0] = -1, -1, 0, -1, -1, -1, 0, n, 0 if root is None else root.depth
        real[0] = np.nan, np.nan, np.nan, 0.0, -np.inf, np.inf
        seeds[0] = self.rules.seed if root is None else root.seed
        if root is not None:
            real[0, kernels.WEIGHT :] = root.weight, root.impurity, 0.0, root.lower, root.upper
            value[0] = root.value
        count, n_sets = kernels.grow_subtree(
            records, self.limits, root is None, labels.criterion, labels.codes, labels.y, labels.w, labels.uneven,
            labels.table, *labels.scratch(n), self.categorical, self.direction, values, seeds, whole, real, value,
            bitsets, *self._scratch(n, records.dtype),
        )  # fmt: skip
        nodes = {"whole": whole[:count], "real": real[:count], "value": value[:count], "bitsets": bitsets[:n_sets]}
        return {name: array.copy() for name, array in nodes.items()}

    def _scratch(self, n: int, dtype: Any) -> tuple[Any, ...]:
        """Room for a subtree of n rows: sides, features to try, their order, cuts, bits, nodes to do, records twice."""
        d = self.d
        order = None if self.limits.max_features >= d else np.empty(d, dtype=np.int64)
        return (
            np.empty(n, dtype=np.uint8), np.ones(d, dtype=np.uint8), order, np.empty((d, 5)),
            np.zeros(self.words, dtype=np.uint32), np.empty(n + 1, dtype=np.int32), np.empty(n + 1, dtype=dtype),
            None if self.categorical is None else np.empty(n, dtype=dtype),
        )  # fmt: skip

    def _finish(self, parts: list[Nodes], rows: list[Array], at: list[int]) -> Trees:
        """The tree in the units of the data; see :func:`join` for the arguments."""
        from corollary._compiled.trees.exact import grow as kernels

        nodes = join(parts, rows, at)
        whole, real = nodes["whole"], nodes["real"]
        feature, low, high = whole[:, kernels.FEATURE], whole[:, kernels.LOW_ROW], whole[:, kernels.HIGH_ROW]
        threshold = real[:, kernels.CUT].copy()
        ask = np.flatnonzero((low >= 0) & np.isnan(threshold))
        below = self.source.at(low[ask], feature[ask])
        above = np.where(high[ask] >= 0, self.source.at(np.maximum(high[ask], 0), feature[ask]), np.inf)
        middle = 0.5 * below + 0.5 * above
        threshold[ask] = np.where(((below <= middle) & (middle < above)) | np.isinf(above), middle, below)
        return Trees(
            roots=np.zeros(1, dtype=np.int32),
            feature=feature.copy(),
            threshold=threshold,
            left=whole[:, kernels.LEFT].copy(),
            missing_left=whole[:, kernels.MISSING] == 1,
            category=whole[:, kernels.CATEGORY].copy(),
            bitsets=nodes["bitsets"],
            value=self._values(nodes["value"], real[:, kernels.LOWER], real[:, kernels.UPPER]),
            weight=real[:, kernels.WEIGHT].copy(),
            count=whole[:, kernels.STOP] - whole[:, kernels.START],
            impurity=real[:, kernels.IMPURITY] * self.impurity_unit,
            gain=real[:, kernels.GAINED] * self.impurity_unit,
        )

    def _values(self, value: Array, lower: Array, upper: Array) -> Array:
        """Predictions in units of y, within the bounds that monotone constraints set; two values are probabilities."""
        if np.any(self.direction):
            value[:, -1] = np.clip(value[:, -1], lower, upper)
            if value.shape[1] == 2:
                value[:, 0] = 1.0 - value[:, 1]
        return value * self.y_unit


def _labels(y: Array, weights: Array, criterion: str, n_classes: list[int] | None) -> Labels:
    from corollary.solvers.trees.exact.nodes import Labels

    code = CRITERIA[criterion]
    w = None if np.all(weights == 1.0) else np.array(weights, dtype=np.float64)
    uneven = None if w is None or w.max() <= UNEVEN * w.min() else np.empty(0)
    if n_classes is None:
        uneven = uneven if criterion != "absolute_error" else None  # whose scan adds up each side anyway
        return Labels(code, None, np.array(y, dtype=np.float64, order="C"), w, np.empty(0), y.shape[1], uneven)
    n_values, table = sum(n_classes), np.empty(0)  # type: int, Array | None
    if w is None and criterion == "gini" and n_classes == [2]:
        table = None
    elif w is None and criterion != "gini":
        table = np.arange(len(y) + 1.0)
        table[1:] *= np.log2(table[1:])
    codes = y.astype(np.int64) + np.cumsum([0, *n_classes[:-1]])
    codes = codes.astype(np.uint8 if n_values <= 256 else np.int32, order="C")
    return Labels(code, codes, None, w, table, n_values, uneven if len(n_classes) == 1 else None)


def join(parts: list[Nodes], rows: list[Array], at: list[int]) -> Nodes:
    """All parts of a tree as one.

    The first part is the top of the tree. The root of part p takes the place of its leaf ``at[p]``, and the other nodes
    of part p are appended, so children come after their parents. ``rows[p]`` are the row numbers that part p uses.
    """
    from corollary._compiled.trees.exact.grow import CATEGORY, HIGH_ROW, LEFT, LOW_ROW

    n_nodes, n_sets = len(parts[0]["whole"]), len(parts[0]["bitsets"])
    for p, part in enumerate(parts):
        whole = part["whole"]
        for column in (LOW_ROW, HIGH_ROW):
            whole[:, column] = np.where(whole[:, column] >= 0, rows[p][whole[:, column]], -1)
        if p == 0:
            continue
        inner, sets = whole[:, LEFT] >= 0, whole[:, CATEGORY] >= 0
        whole[inner, LEFT] += n_nodes - 1
        whole[sets, CATEGORY] += n_sets
        n_nodes, n_sets = n_nodes + len(whole) - 1, n_sets + len(part["bitsets"])
    joined = {"bitsets": np.concatenate([part["bitsets"] for part in parts])}
    for name in ("whole", "real", "value"):
        joined[name] = np.concatenate([parts[0][name], *(part[name][1:] for part in parts[1:])])
        for p in range(1, len(parts)):
            joined[name][at[p]] = parts[p][name][0]
    return joined
