"""Grow a tree node by node, with threads over features: nodes with many rows, and trees that grow best first."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from corollary._compiled.trees.exact import doors as kernels
from corollary._compiled.trees.exact import grow as places
from corollary._compiled.trees.exact.scan import Node
from corollary._compiled.trees.exact.tree import GAIN, THRESHOLD
from corollary.core.parallel import each_block
from corollary.core.types import Array

ROW_MASK, ROW_BITS = np.uint64(0xFFFFFFFF), np.uint64(32)
_INLINE = 1 << 16  # cells below which a thread costs more than it saves


@dataclass(frozen=True)
class Labels:
    """What is known of the rows besides X. What a kind of tree does not have is None."""

    criterion: int
    codes: Array | None  # (n, outputs): class numbers, those of later outputs after those of earlier ones
    y: Array | None  # float64 (n, outputs)
    w: Array | None  # float64 (n,); None if every weight is one
    table: Array | None  # x log₂ x for x = 0 … n, for entropy without weights; None for two classes, Gini; or empty
    n_values: int
    uneven: Array | None = None  # anything, if weights differ by so much that each side is added up by itself

    def of(self, rows: Array) -> Labels:
        """The labels of some rows."""
        codes, y, w = (None if part is None else part[rows] for part in (self.codes, self.y, self.w))
        return Labels(self.criterion, codes, y, w, self.table, self.n_values, self.uneven)

    def scratch(self, n: int) -> tuple[Array, Array | None, Array | None, Array | None]:
        """Room for what the scans of a node of at most n rows read: totals, v, ranks, sorted y."""
        totals = np.zeros(self.n_values)
        if self.y is None:
            return totals, None, None, None
        m = self.n_values
        if self.criterion == 4:
            return totals, None, np.empty((n, m), dtype=np.int32), np.empty((m, n))
        return totals, np.empty((n, m)), None, None


@dataclass
class OpenNode:
    """A node with the rows [start, stop) of every list, and what is known of it."""

    index: int
    start: int
    stop: int
    depth: int
    seed: Any
    lower: float
    upper: float
    value: Array
    weight: float = 0.0
    impurity: float = 0.0
    live: bool = False
    feature: int = -1
    cut: Array | None = None  # a row of ``found``
    left: int = -1
    beside: tuple[int, int, bool] = (-1, -1, False)  # rows below and above the threshold; missing values go left
    bits: Array | None = None

    @property
    def size(self) -> int:
        return self.stop - self.start


class NodeByNode:
    """The nodes grown so far, over lists of 64-bit records."""

    def __init__(
        self, records: Array, labels: Labels, limits: Any, categorical: Array | None, direction: Array,
        values: Array | None, words: int,
    ) -> None:  # fmt: skip
        self.records, self.labels, self.limits = records, labels, limits
        self.categorical, self.direction, self.values, self.words = categorical, direction, values, words
        self.d, n = records.shape
        self.scratch = labels.scratch(n)
        self.goes_left, self.use = np.empty(n, dtype=np.uint8), np.ones(self.d, dtype=np.uint8)
        self.order = None if limits.max_features >= self.d else np.empty(self.d, dtype=np.int64)
        self.found = np.empty((self.d, 5))
        self.nodes: list[OpenNode] = []

    def add(self, f: int, start: int, stop: int, depth: int, seed: Any, lower: float, upper: float) -> OpenNode:
        """A new node of the rows in that segment of list f."""
        node = OpenNode(len(self.nodes), start, stop, depth, seed, lower, upper, np.empty(self.labels.n_values))
        labels = self.labels
        node.weight, node.impurity, node.live = kernels.describe(
            self.records[f], start, stop, ROW_MASK, labels.criterion, labels.codes, labels.y, labels.w, node.value,
            depth, self.limits,
        )  # fmt: skip
        self.nodes.append(node)
        return node

    def _features(self, task: Callable[[int, int], Any], size: int) -> None:
        """Run ``task(first, last)`` over all features, on threads if the node is worth it."""
        each_block(task, self.d, self.d if size * self.d < _INLINE else max(1, self.d // 8))

    def _node(self, node: OpenNode) -> Node:
        return Node(
            node.start, node.stop, node.weight, places.SLACK * node.impurity * node.weight,
            float(node.value[-1]), node.impurity, node.lower, node.upper, self.limits.min_leaf, self.limits.min_weight,
        )  # fmt: skip

    def search(self, node: OpenNode) -> bool:
        """Find the best cut of a live node; False if there is none that is good enough."""
        labels, described = self.labels, self._node(node)
        rows = (labels.criterion, labels.codes, labels.y, labels.w)
        segment = (node.start, node.stop, ROW_MASK)
        chosen = self.limits.max_features, node.seed, self.order, self.use
        kernels.prepare(self.records, *segment, *rows, node.value, *self.scratch, *chosen)
        self._features(
            lambda first, last: kernels.search(
                first, last, self.records, ROW_MASK, ROW_BITS, described, *rows, labels.uneven, labels.table,
                *self.scratch, self.categorical, self.direction, self.values, self.use, node.seed, self.found,
                None if self.categorical is None else np.empty(node.size, dtype=self.records.dtype),
            ),
            node.size,
        )  # fmt: skip
        f = kernels.best_feature(self.found, described.slack)
        if f < 0 or self.found[f, GAIN] < self.limits.min_gain:
            return False
        node.feature, node.cut = f, self.found[f].copy()
        return True

    def split(self, node: OpenNode) -> list[OpenNode]:
        """Split a node at its cut; returns its children."""
        f, labels = node.feature, self.labels
        node.left, node.bits = len(self.nodes), np.zeros(self.words, dtype=np.uint32)
        middle, *beside = kernels.mark(
            f, self.records, ROW_MASK, ROW_BITS, self._node(node), labels.codes, labels.y, labels.w, self.categorical,
            node.cut, self.goes_left, node.bits,
        )  # fmt: skip
        node.beside = (beside[0], beside[1], beside[2])
        sides = (self.records, node.start, middle, node.stop, ROW_MASK, self.goes_left)

        def move(first: int, last: int, keep_right: bool, done: int) -> None:
            kernels.partition(first, last, *sides, keep_right, done, np.empty(node.stop - middle + 1, np.uint64))

        move(f, f + 1, True, -1)
        pair = [
            self.add(f, *ends, node.depth + 1, np.uint64(kernels.child_seed(node.seed, side)), node.lower, node.upper)
            for side, ends in enumerate([(node.start, middle), (middle, node.stop)])
        ]
        if self.direction[f] != 0:
            a, b = (float(child.value[-1]) for child in pair)
            for side, child in enumerate(pair):
                child.lower, child.upper = kernels.child_bounds(node.lower, node.upper, a, b, self.direction[f], side)
        if pair[0].live or pair[1].live:
            self._features(lambda first, last: move(first, last, pair[1].live, f), node.size)
        return pair

    def best_first(self, root: OpenNode, max_leaf_nodes: int) -> None:
        """Split the leaf that gains most, again and again, until there are ``max_leaf_nodes``."""
        heap: list[tuple[float, int]] = []
        fresh = [root]
        for _ in range(max_leaf_nodes - 1):
            for node in fresh:
                if node.live and self.search(node) and node.cut is not None:
                    heapq.heappush(heap, (-float(node.cut[GAIN]), node.index))
            if not heap:
                return
            fresh = self.split(self.nodes[heapq.heappop(heap)[1]])

    def arrays(self) -> dict[str, Array]:
        """The nodes as arrays, as :func:`corollary.solvers.trees.exact.grow.join` takes them."""
        nodes, categorical = self.nodes, self.categorical
        split = [node.left >= 0 for node in nodes]
        sets = [node.bits for node in nodes if node.left >= 0 and categorical is not None and categorical[node.feature]]
        whole = np.full((len(nodes), places.N_WHOLE), -1, dtype=np.int32)
        real = np.zeros((len(nodes), places.N_REAL))
        for t, node in enumerate(nodes):
            whole[t, 6:] = node.start, node.stop, node.depth
            real[t] = np.nan, node.weight, node.impurity, 0.0, node.lower, node.upper
            if split[t] and node.cut is not None:
                whole[t, :5] = node.feature, node.left, node.beside[2], *node.beside[:2]
                real[t, places.CUT] = node.cut[THRESHOLD]
                real[t, places.GAINED] = node.cut[GAIN]
        if categorical is not None:
            at = [t for t, node in enumerate(nodes) if split[t] and categorical[node.feature]]
            whole[at, places.CATEGORY] = np.arange(len(at))
        bitsets = np.array(sets, dtype=np.uint32).reshape(len(sets), self.words)
        return {"whole": whole, "real": real, "value": np.array([node.value for node in nodes]), "bitsets": bitsets}
