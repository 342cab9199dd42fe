"""Grow one regression tree on bins from gradients and curvatures: best leaf first, or level by level.

Rows are split among a few threads once, and each keeps its rows of every node together; it partitions them and adds
up their histogram. Only the smaller child of a split is counted: the larger is the parent less the smaller. All sums
are whole numbers (see ``_compiled/trees/boosting/histogram.py``), so a tree does not depend on the number of threads.
Threads share the work of large nodes; smaller ones are split one node a thread (see ``frontier.py``).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from corollary._compiled.trees.boosting import histogram as compiled
from corollary._compiled.trees.boosting.books import MOST_G, MOST_H
from corollary._compiled.trees.boosting.split import (
    BIN,
    CATEGORICAL,
    FEATURE,
    GAIN,
    LEFT_COUNT,
    LEFT_G,
    LEFT_H,
    MISSING_LEFT,
    RECORD,
    TIE,
    best_split,
    leaf_value,
    scan_categories,
)
from corollary.core.binning import Binner
from corollary.core.parallel import together
from corollary.core.types import Array
from corollary.solvers.trees.boosting.frontier import Frontier, Node
from corollary.solvers.trees.boosting.whole import TreeMemory

_FINE_ROWS = 8192  # up to here gradients keep 20 bits, beyond 12 bits and a dither
_ALONE = 6_144  # nodes of fewer rows are not worth waking another thread for; rows for each thread of a team
_SHARE = 4  # threads that share a node; more would wait for each other longer than they work
_ENOUGH = 65_536  # rows for each thread beyond those that share nodes
_HISTOGRAM_BYTES = 256 << 20  # histograms kept for subtraction; beyond, the least promising are counted again


@dataclass(frozen=True)
class HistogramRules:
    """What a tree may be."""

    max_leaves: int = 31
    max_depth: int = 2**31 - 1
    min_rows: int = 20
    min_hessian: float = 1e-3
    l1: float = 0.0
    l2: float = 0.0
    leaf_cost: float = 0.0  # γ: a split must gain more than this
    smoothing: float = 10.0  # curvature added to each category
    best_first: bool = True
    monotone: Array | None = None  # −1, 0, +1 per column
    interactions: tuple[frozenset[int], ...] | None = None  # columns that may meet on a path


@dataclass(frozen=True)
class GrownNodes:
    """A tree on bins; ``leaves`` still know where their rows are."""

    nodes: list[Node]
    leaves: list[Node] = field(default_factory=list)


class Grower:
    """Grows trees over one binned table; scratch memory is kept from tree to tree."""

    def __init__(self, codes: Array, binner: Binner, rules: HistogramRules, threads: int = 1) -> None:
        n, d = codes.shape
        self.codes, self.binner, self.rules = codes, binner, rules
        self.width = binner.width
        self.workers = max(1, min(threads, n // _ALONE, max(_SHARE, n // _ENOUGH)))
        self.n_segments = min(self.workers, _SHARE)
        self.rows = np.empty(n, dtype=np.int32)
        self.buffers = [np.empty(0, dtype=np.int32) for _ in range(self.workers)]
        self.packed = np.empty(n, dtype=np.int64)
        self.narrow = [np.zeros(d * self.width, dtype=np.int64) for _ in range(self.workers)]
        self.partial = [np.zeros((3, d * self.width), dtype=np.int64) for _ in range(self.n_segments)]
        self.spare: list[Array] = []
        self.made = 0
        self.most_kept = max(4, _HISTOGRAM_BYTES // max(1, 24 * d * self.width))
        self.monotone = np.zeros(d, dtype=np.int8) if rules.monotone is None else rules.monotone.astype(np.int8)
        self.has_categories = bool(binner.categorical.any())
        fine = n <= _FINE_ROWS
        self.chunk = 256 if fine else 8192
        self.shifts = (9, 35) if fine else (14, 38)
        self.levels = (2.0**20 - 1, 2.0**18 - 1) if fine else (4095.0, 2047.0)
        self.dither = not fine
        self.limits = (rules.l1, rules.l2, rules.min_rows, rules.min_hessian, rules.smoothing)
        self.memory = TreeMemory.of(self, max(1, min(threads, n // _ALONE)))

    def grow(self, gradient: Array, hessian: Array, rows: Array, columns: Array, chooser: Any, seed: int) -> GrownNodes:
        """One tree for these gradients on ``rows`` (ascending); ``chooser(columns)`` draws the columns of a node."""
        if self.memory is not None and chooser is None:
            nodes = self.memory.grow(self, gradient, hessian, rows, columns, seed)
            self.largest = (float(self.memory.units[MOST_G]), float(self.memory.units[MOST_H]))
            return GrownNodes(nodes, [node for node in nodes if node.children is None])
        self._pack(gradient, hessian, seed)
        root = self._root(rows, columns)
        frontier = Frontier(root, self.rules.max_leaves)
        if self._consider(root, columns, chooser):
            frontier.push(root)
        # not if columns are drawn, which happens in the order of the splits, nor if histograms must be counted again
        apart = self.workers > 1 and chooser is None and self.most_kept > 2 * self.rules.max_leaves + self.workers
        while (node := frontier.pop()) is not None:
            if apart and node.count * self.n_segments <= len(rows):
                frontier.push(node)
                frontier.split_apart(lambda node, t: self._split_alone(node, t, columns), self.workers)
                break
            node.pair = self._split(node, columns)
            frontier.accept(node, [self._consider(child, columns, chooser) for child in node.pair])
            if self._kept() > self.most_kept and frontier.queue:
                self._release(max(frontier.queue)[-1])  # the last in the queue is the least likely to be split
        for node in frontier.nodes:
            self._forget(node)
        return GrownNodes(frontier.nodes, [node for node in frontier.nodes if node.children is None])

    def _forget(self, node: Node) -> None:
        """Give back a node's scratch; rows of a leaf whose split did not join the tree go back to their order."""
        self._release(node)
        if node.pair is not None and node.children is None:
            for child in node.pair:
                self._forget(child)
            for start, stop in zip(node.starts, node.stops, strict=True):
                self.rows[start:stop].sort()
        node.pair = None

    def _pack(self, gradient: Array, hessian: Array, seed: int) -> None:
        n = len(gradient)
        bounds = [n * s // self.n_segments for s in range(self.n_segments + 1)]
        most = together(lambda s: _extremes(*_both(gradient, hessian, bounds, s)), self.n_segments)
        g, h = self.largest = max(m[0] for m in most), max(m[1] for m in most)
        scales = (self.levels[0] / g if g > 0 else 1.0, self.levels[1] / h if h > 0 else 1.0)
        self.units = (1.0 / scales[0], 1.0 / scales[1])
        together(
            lambda s: compiled.pack_rows(
                bounds[s],
                *_both(gradient, hessian, bounds, s),
                scales,
                self.shifts,
                self.dither,
                np.uint64(seed),
                self.packed[bounds[s] : bounds[s + 1]],
            ),
            self.n_segments,
        )

    def _root(self, rows: Array, columns: Array) -> Node:
        n = len(rows)
        self.rows[:n] = rows
        bounds = [n * s // self.n_segments for s in range(self.n_segments + 1)]
        longest = -(-n // self.n_segments)
        if len(self.buffers[0]) < longest:
            self.buffers = [np.empty(longest, dtype=np.int32) for _ in range(self.workers)]
        root = Node(0, bounds[:-1], bounds[1:], 0.0, 0.0, n, groups=self.rules.interactions)
        root.histogram = self._count(root, columns)
        own = slice(int(columns[0]) * self.width, (int(columns[0]) + 1) * self.width)
        root.g = float(root.histogram[0, own].sum() * self.units[0])
        root.h = float(root.histogram[1, own].sum() * self.units[1])
        return root

    def _count(self, node: Node, columns: Array) -> Array:
        """The histogram of a node from its rows."""

        self._together(lambda s: self._add(s, node.starts[s], node.stops[s], columns, self.partial[s]), node.count)
        return self._collect()

    def _add(self, t: int, start: int, stop: int, columns: Array, wide: Array) -> None:
        """Add rows[start:stop] to a histogram, on thread t."""
        where = (self.codes, self.rows, start, stop, self.packed, self.width, self.chunk, self.shifts)
        if len(columns) == self.codes.shape[1]:
            compiled.add_histogram(*where, self.narrow[t], wide)
        else:
            compiled.add_histogram_of(columns, *where, self.narrow[t], wide)

    def _together(self, task: Any, count: int) -> list[Any]:
        if count < _ALONE:
            return [task(s) for s in range(self.n_segments)]
        return together(task, self.n_segments)

    def _collect(self) -> Array:
        """Sum the threads' histograms and clear them for the next."""
        total = self._empty()
        total[:] = 0
        for part in self.partial:
            total += part
            part[:] = 0
        return total

    def _empty(self) -> Array:
        """A histogram to write to."""
        try:
            return self.spare.pop()
        except IndexError:
            self.made += 1
            return np.empty_like(self.partial[0])

    def _kept(self) -> int:
        return self.made - len(self.spare)

    def _release(self, node: Node) -> None:
        if node.histogram is not None:
            self.spare.append(node.histogram)
            node.histogram = None

    def _consider(self, node: Node, columns: Array, chooser: Any) -> bool:
        """Find the node's best split; whether it is worth its leaf."""
        rules = self.rules
        if node.depth >= rules.max_depth or node.count < 2 * rules.min_rows or node.histogram is None:
            self._release(node)
            return False
        if node.groups is not None:
            allowed = frozenset().union(*node.groups)
            columns = np.array([f for f in columns if f in allowed], dtype=columns.dtype)
        columns = columns if chooser is None else chooser(columns)
        left_codes = np.zeros(self.width, dtype=np.int64)
        numbers = columns[~self.binner.categorical[columns]] if self.has_categories else columns
        (best, own), (other, _) = (self._scan(node, half) for half in _halves(numbers))
        if other[FEATURE] >= 0 and other[GAIN] > best[GAIN] * TIE:
            best = other
        if len(numbers) < len(columns):
            sums = (*self.units, node.g, node.h, node.count)
            self._try_categories(node, columns[self.binner.categorical[columns]], sums, best, left_codes)
        best[GAIN] -= own
        if best[FEATURE] < 0 or not best[GAIN] > max(rules.leaf_cost, 1e-12 * abs(own)):
            self._release(node)
            return False
        node.split, node.left_codes = best, left_codes
        node.rank = -float(best[GAIN]) if rules.best_first else float(node.depth)
        return True

    def _scan(self, node: Node, columns: Array) -> tuple[Array, float]:
        """The best split over some columns of numbers, and what the node gains as a leaf."""
        best = np.empty(RECORD)
        own: float = best_split(
            node.histogram,
            self.width,
            self.binner.n_bins,
            self.monotone,
            columns,
            (*self.units, node.g, node.h, node.count),
            self.limits,
            node.low,
            node.high,
            best,
        )
        return best, own

    def _try_categories(self, node: Node, columns: Array, sums: Any, best: Array, left_codes: Array) -> None:
        """Order each column's categories by mean gradient, then split the order; the missing are a category."""
        assert node.histogram is not None
        for f in columns.tolist():
            base, n_bins = f * self.width, int(self.binner.n_bins[f])
            g, h, count = node.histogram[:, base : base + n_bins + 1]
            present = np.flatnonzero(count)
            key = g[present] * self.units[0] / (h[present] * self.units[1] + self.rules.smoothing)
            order = present[np.argsort(key, kind="stable")]
            cut = scan_categories(node.histogram, base, order, sums, self.limits, node.low, node.high, best, f)
            if cut >= 0:
                left_codes[:] = 0
                left_codes[order[: cut + 1]] = 1
                best[MISSING_LEFT] = left_codes[n_bins]

    def _sides(self, node: Node) -> tuple[int, Array, bool]:
        """The column of a node's split, which codes go left, and whether the left child is the smaller."""
        best = node.split
        assert best is not None
        assert node.left_codes is not None
        f, n_left = int(best[FEATURE]), int(best[LEFT_COUNT])
        goes_left = node.left_codes
        if not best[CATEGORICAL]:
            goes_left[: int(best[BIN]) + 1] = 1
            n_bins = int(self.binner.n_bins[f])
            if node.histogram is None or node.histogram[2, f * self.width + n_bins] == 0:
                best[MISSING_LEFT] = float(2 * n_left >= node.count)  # none seen: with the majority
            goes_left[n_bins] = int(best[MISSING_LEFT])
        return f, goes_left, 2 * n_left < node.count

    def _split_alone(self, node: Node, t: int, columns: Array) -> list[bool]:
        """Split a node on thread t; which of its children are worth splitting."""
        assert node.histogram is not None
        f, goes_left, left_is_small = self._sides(node)
        middles = [
            start + compiled.partition(self.codes, self.rows, self.buffers[t], start, stop, f, goes_left)
            for start, stop in zip(node.starts, node.stops, strict=True)
        ]
        pair = node.pair = self._children(node, middles)
        small, large = pair if left_is_small else pair[::-1]
        small.histogram = self._empty()
        small.histogram[:] = 0
        for start, stop in zip(small.starts, small.stops, strict=True):
            self._add(t, start, stop, columns, small.histogram)
        np.subtract(node.histogram, small.histogram, out=node.histogram)
        large.histogram, node.histogram = node.histogram, None
        return [self._consider(child, columns, None) for child in pair]

    def _split(self, node: Node, columns: Array) -> list[Node]:
        """Split a node, every thread its rows of it."""
        f, goes_left, left_is_small = self._sides(node)

        def divide(s: int) -> int:
            start, stop = node.starts[s], node.stops[s]
            count: int = compiled.partition(self.codes, self.rows, self.buffers[s], start, stop, f, goes_left)
            middle = start + count
            self._add(s, *((start, middle) if left_is_small else (middle, stop)), columns, self.partial[s])
            return count

        lefts = self._together(divide, node.count)
        middles = [start + count for start, count in zip(node.starts, lefts, strict=True)]
        pair = self._children(node, middles)
        small, large = pair if left_is_small else pair[::-1]
        if node.histogram is None:
            small.histogram = self._collect()
            large.histogram = self._count(large, columns)
            return pair
        small.histogram = self._collect()
        np.subtract(node.histogram, small.histogram, out=node.histogram)
        large.histogram, node.histogram = node.histogram, None
        return pair

    def _children(self, node: Node, middles: list[int]) -> list[Node]:
        rules, best = self.rules, node.split
        assert best is not None
        f = int(best[FEATURE])
        gl, hl, cl = float(best[LEFT_G]), float(best[LEFT_H]), int(best[LEFT_COUNT])
        groups = None if node.groups is None else tuple(group for group in node.groups if f in group)
        left = Node(node.depth + 1, node.starts, middles, gl, hl, cl, node.low, node.high, groups)
        right = Node(
            node.depth + 1, middles, node.stops, node.g - gl, node.h - hl, node.count - cl, node.low, node.high, groups
        )  # fmt: skip
        if self.monotone[f]:
            values = [leaf_value(c.g, c.h, rules.l1, rules.l2, node.low, node.high) for c in (left, right)]
            middle = 0.5 * (values[0] + values[1])
            lower, upper = (left, right) if self.monotone[f] > 0 else (right, left)
            lower.high, upper.low = min(lower.high, middle), max(upper.low, middle)
        return [left, right]


def _halves(columns: Array) -> tuple[Array, Array]:
    """Always two, so that which of nearly equal splits wins does not depend on the number of threads."""
    middle = len(columns) // 2
    return columns[:middle], columns[middle:]


def _both(gradient: Array, hessian: Array, bounds: list[int], s: int) -> tuple[Array, Array]:
    return gradient[bounds[s] : bounds[s + 1]], hessian[bounds[s] : bounds[s + 1]]


def _extremes(gradient: Array, hessian: Array) -> tuple[float, float]:
    """Largest |gradient| and largest hessian."""
    return max(float(gradient.max()), -float(gradient.min())), float(hessian.max())
