"""Neighbours by a k-d tree: for few columns, or many rows that lie near a surface of few dimensions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from corollary._compiled.codes import EUCLIDEAN
from corollary._compiled.neighbors import tree as kernels
from corollary.core.parallel import n_threads, run_team
from corollary.core.scaling import power_of_two
from corollary.core.types import Array
from corollary.solvers.kdtree import tree_order
from corollary.solvers.neighbors.index import Index, Lists, empty_answers, places_of
from corollary.solvers.neighbors.metric import Metric

LEVELS = 4  # of the binary tree that a query walks at once
_LANES = 16  # a leaf's points fill registers without a remainder
_QUERIES = 128  # that a thread takes at once, at most
_LEAST = 8  # queries that are worth a thread
_WORTH = 100_000  # values, to copy, that are worth a thread
_MANY = 128  # queries, from where on it pays to order them by leaf
_PILOT = 32  # rows whose neighbours are searched for, to see whether a tree is quicker
_FEW, _SAMPLE = 1024, 4096  # from so many rows on, a tree of a quarter of them, or of so many, is tried first
_FEW_COLUMNS = 16
_SAVED = 3e-3  # seconds that a tree saves at least, at best: for less, its kernels need not be there
# seconds, measured on one core: to build a tree, for each row and each value; a walk, a leaf and each of its values
_BUILD, _ROW_BUILT, _VALUE_BUILT, _START, _LEAF, _LEAF_VALUE = 4e-4, 2e-7, 3e-8, 1.2e-6, 7e-8, 1.1e-10
_SCREEN, _ROW, _ROW_VALUE = 2.5e-6, 7e-11, 2e-11  # a query by products, a row and each of its values


@dataclass(frozen=True, eq=False)
class Tree(Index):
    """A k-d tree. With ``prune=False`` its leaves hold the rows as they come and every query looks at all of them."""

    metric: Metric
    leaves: Array  # (leaves, columns, points): float32, shifted and scaled, if Euclidean; else float64
    points: Array  # (n, columns), float64, leaf after leaf
    index: Array  # their row numbers
    starts: Array  # where each leaf begins in points
    groups: Array  # (groups, low and high, columns, boxes)
    offsets: Array  # first group of each level
    fans: Array  # children of a group, by level
    centre: Array
    scale: float
    name: str = "k-d tree"

    @staticmethod
    def of(X: Array, metric: Metric, leaf_size: int, *, prune: bool = True) -> Tree:
        """Build the tree of the points X; leaves have ``leaf_size`` to twice as many points."""
        n, d = X.shape
        depth = max(0, (n // leaf_size).bit_length() - 1)
        X = np.ascontiguousarray(X, dtype=np.float64)
        bounds = [np.array([0, n])]
        for _ in range(depth):
            bounds.append(np.sort(np.concatenate([bounds[-1], (bounds[-1][:-1] + bounds[-1][1:]) // 2])))
        starts = bounds[-1]
        if prune:
            index, boxes = tree_order(X, bounds)
        else:
            index, boxes = np.arange(n), np.empty(((2 << depth) - 1, 2, d))
            boxes[:, 0], boxes[:, 1] = -np.inf, np.inf
        single = metric.code == EUCLIDEAN and prune
        centre, scale = np.zeros(d), 1.0
        if single:
            low, high = boxes[0]
            centre = 0.5 * low + 0.5 * high
            scale = 0.5 * power_of_two(float((0.5 * high - 0.5 * low).max()))
        width = -(-int(np.diff(starts).max()) // _LANES) * _LANES
        leaves = np.zeros((1 << depth, d, width), dtype=np.float32 if single else np.float64)
        points = np.empty((n, d))
        run_team(kernels.fill_leaves, X, index, starts, centre, scale, points, leaves, most=X.size // _WORTH)
        name = "k-d tree" if prune else "direct comparison"
        return Tree(metric, leaves, points, index, starts, *_groups(boxes, depth), centre, scale, name)

    @property
    def n_rows(self) -> int:
        return len(self.index)

    @property
    def _parts(self) -> tuple[Array, ...]:
        return self.leaves, self.points, self.index, self.starts, self.groups, self.offsets, self.fans

    def _walk(self, Q: Array) -> tuple[Any, ...]:
        """What the kernels need of the tree and of the queries, and room for the queries as points of leaves.

        And for what each thread writes to, farther apart than a line of its cache.
        """
        single, unit = self.leaves.dtype == np.float32, float(np.finfo(self.leaves.dtype).eps) / 2
        grow = 1 + 2 * (Q.shape[1] + 8) * unit if single else 1 + 1e-12
        frame = self.centre, self.scale, 2 * unit if single else 0.0
        metric = None if self.metric.code == EUCLIDEAN else (self.metric.code, self.metric.p)
        near = np.empty(Q.shape, dtype=self.leaves.dtype), np.empty(len(Q))
        T, fan = max(1, min(n_threads(), len(Q) // _LEAST)), self.groups.shape[3]
        most = fan * (len(self.fans) + 1) + _LANES
        room = (
            np.empty((T, self.leaves.shape[2] + _LANES), dtype=self.leaves.dtype),
            np.empty((T, fan + _LANES)),
            np.empty((T, most)),
            np.empty((T, 2, most), dtype=np.int64),
        )
        return self._parts, Q, frame, grow, metric, _block(len(Q)), *near, room

    def nearest(self, Q: Any, k: int) -> tuple[Array, Array]:
        distances, rows = empty_answers(len(Q), k)
        self.look(Q, distances, rows)
        return distances, rows

    def look(self, Q: Array, distances: Array, rows: Array) -> int:
        """Fill in the nearest; returns how many leaves were looked into, over all queries."""
        m, size = len(Q), _block(len(Q))
        leaf = np.empty(m if m > _MANY else 0, dtype=np.int64)
        places, sequence = np.empty(len(self.leaves) + 1, dtype=np.int64), np.empty(m, dtype=np.int64)
        looked = np.zeros(-(-m // size), dtype=np.int64)
        answers = distances, rows, looked
        run_team(kernels.nearest_in_tree, *self._walk(Q), leaf, places, sequence, *answers, most=m // _LEAST)
        return int(looked.sum())

    def within(self, Q: Any, limits: Array) -> Lists:
        walk, counts = self._walk(Q), np.zeros(len(Q), dtype=np.int64)

        def visit(places: Array, distances: Array, rows: Array) -> None:
            lists = limits, places, counts, distances, rows
            run_team(kernels.rows_in_tree, *walk, *lists, most=len(Q) // _LEAST)

        visit(counts, np.empty(0), np.empty(0, dtype=np.int64))
        places = places_of(counts)
        distances, rows = np.empty(places[-1]), np.empty(places[-1], dtype=np.int64)
        if places[-1] > 0:
            visit(places, distances, rows)
        return places, distances, rows


def _block(m: int) -> int:
    """Queries that a thread takes at once."""
    return max(_LEAST, min(_QUERIES, m // (8 * n_threads())))


def _groups(boxes: Array, depth: int) -> tuple[Array, Array, Array]:
    """Boxes of the binary tree as groups of LEVELS levels; only the first level may have fewer boxes to a group."""
    fan, d = 1 << LEVELS, boxes.shape[2]
    levels = list(range(depth, 0, -LEVELS))[::-1]
    groups, fans = [np.zeros((0, 2, d, fan))], []
    for level in levels:
        above = max(0, level - LEVELS)
        own = boxes[(1 << level) - 1 : (2 << level) - 1].reshape(1 << above, -1, 2, d)
        group = np.zeros((1 << above, 2, d, fan))
        group[..., : own.shape[1]] = own.transpose(0, 2, 3, 1)
        groups.append(group)
        fans.append(own.shape[1])
    offsets = np.cumsum([len(group) for group in groups], dtype=np.int64)
    return np.concatenate(groups), offsets, np.array(fans, dtype=np.int64)


def tree_if_it_pays(P: Array, metric: Metric, leaf_size: int, k: int) -> Tree | None:
    """The tree of the points P if a few of them find their k neighbours more cheaply with it than by comparing all.

    As many queries as rows share the building. A tree of some of the rows is tried first: one of all rows costs more.
    """
    n, d = P.shape
    euclidean = metric.code == EUCLIDEAN
    least = _START + _BUILD / n + _ROW_BUILT + _VALUE_BUILT * d
    price = _SCREEN + n * (_ROW + _ROW_VALUE * d)
    if euclidean and (n * (price - least) < _SAVED or (n <= _SAMPLE and d > _FEW_COLUMNS)):
        return None
    if n > _FEW and (euclidean or d > _FEW_COLUMNS):
        sample = np.ascontiguousarray(P[:: max(4, n // _SAMPLE)])
        tree = Tree.of(sample, metric, leaf_size)
        share = _looked(tree, sample, k)
        if (least + _walking(tree, share) * (n / len(sample)) ** (1 / 3) > price) if euclidean else share > 0.7:
            return None  # in all rows more leaves are near a query than in some of them
    tree = Tree.of(P, metric, leaf_size)
    if euclidean and least + _walking(tree, _looked(tree, P, k)) > price:
        return None
    return tree  # for other metrics: at worst it looks at everything, too


def _walking(tree: Tree, share: float) -> float:
    """Seconds that a query takes that looks into this share of the leaves."""
    n_leaves, d, width = tree.leaves.shape
    return share * n_leaves * (_LEAF + _LEAF_VALUE * width * d)


def _looked(tree: Tree, P: Array, k: int) -> float:
    """Share of the leaves that queries at some of the rows look into."""
    pilot = np.ascontiguousarray(P[:: -(-len(P) // _PILOT)], dtype=np.float64)
    answers = empty_answers(len(pilot), min(k + 1, len(P)))
    return tree.look(pilot, *answers) / (len(pilot) * len(tree.leaves))
