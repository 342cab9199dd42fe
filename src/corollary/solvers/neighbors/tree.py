"""Neighbours by a k-d tree: for few columns, or many rows that lie near a surface of few dimensions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from corollary._compiled.codes import EUCLIDEAN
from corollary._compiled.neighbors import kdtree
from corollary.core.parallel import each_block, map_blocks
from corollary.core.scaling import power_of_two
from corollary.core.types import Array
from corollary.solvers.kdtree import part_rows
from corollary.solvers.neighbors.index import Index, Lists, empty_answers, places_of, sort_all
from corollary.solvers.neighbors.metric import Metric

LEVELS = 4  # of the binary tree that a query walks at once
_LANES = 16  # a leaf's points fill registers without a remainder
_QUERIES = 128
_PILOT = 32  # rows whose neighbours are searched for, to see whether a tree is quicker
_SAMPLE = 4096  # rows of the tree that is tried first when there are many columns
_FEW_COLUMNS = 16
# seconds, measured on one core: a leaf and each of its values; a row of a product and each of its values
_LEAF, _LEAF_VALUE, _ROW, _ROW_VALUE = 1e-7, 1.5e-10, 4e-10, 2.5e-11

_Walk = tuple[Array, Array, Array, Array, Array, Array, Array, Array, Array, Array, float, float]


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
            index, boxes = part_rows(X, bounds)
        else:
            index, boxes = np.arange(n), np.empty(((2 << depth) - 1, 2, d))
            boxes[:, 0], boxes[:, 1] = -np.inf, np.inf
        single = metric.code == EUCLIDEAN and prune
        centre, scale = np.zeros(d), 1.0
        if single:
            low, high = boxes[0]
            centre = 0.5 * low + 0.5 * high
            scale = 0.5 * power_of_two(float((0.5 * high - 0.5 * low).max()))
        points = X[index]
        width = -(-int(np.diff(starts).max()) // _LANES) * _LANES
        leaves = np.zeros((1 << depth, d, width), dtype=np.float32 if single else np.float64)
        each_block(lambda a, b: kdtree.fill_leaves(points, starts, centre, scale, a, b, leaves), 1 << depth, 256)
        name = "k-d tree" if prune else "direct comparison"
        return Tree(metric, leaves, points, index, starts, *_groups(boxes, depth), centre, scale, name)

    @property
    def n_rows(self) -> int:
        return len(self.index)

    def _walk(self, Q: Array) -> _Walk:
        """What the kernels need of the tree and of the queries."""
        unit, d = float(np.finfo(self.leaves.dtype).eps) / 2, Q.shape[1]
        slack = np.zeros(len(Q))
        if self.leaves.dtype == np.float32:
            with np.errstate(over="ignore"):  # a query so far out rules nothing out
                near = (Q - self.centre) * self.scale
                # shifted rows have coordinates up to 1 and keep all but ``unit`` of each; so do the queries
                slack = 2 * unit * (math.sqrt(d) + np.sqrt(np.einsum("ij,ij->i", near, near))) + 1e-18
                near = near.astype(np.float32)
        else:
            near = Q
        grow = 1 + 2 * (d + 8) * unit if self.leaves.dtype == np.float32 else 1 + 1e-12
        lists, boxes = (self.leaves, self.points, self.index, self.starts), (self.groups, self.offsets, self.fans)
        return *lists, *boxes, Q, near, slack, self.scale, grow

    def nearest(self, Q: Any, k: int) -> tuple[Array, Array]:
        distances, rows = empty_answers(len(Q), k)
        self.look(Q, distances, rows)
        return distances, rows

    def look(self, Q: Array, distances: Array, rows: Array) -> int:
        """Fill in the nearest; returns how many leaves were looked into, over all queries."""
        walk, code, p = self._walk(Q), self.metric.code, self.metric.p
        first = np.zeros(len(Q), dtype=np.int64)
        if len(Q) > _QUERIES:
            each_block(
                lambda a, b: kdtree.first_leaves(self.groups, self.offsets, self.fans, Q, code, p, a, b, first),
                len(Q),
                1024,
            )
        sequence = np.argsort(first, kind="stable")
        counts = map_blocks(
            lambda a, b: kdtree.query_block(*walk, sequence, code, p, a, b, distances, rows), len(Q), _QUERIES
        )
        return int(sum(counts))

    def within(self, Q: Any, limits: Array) -> Lists:
        walk, code, p = self._walk(Q), self.metric.code, self.metric.p
        counts = np.zeros(len(Q), dtype=np.int64)

        def visit(places: Array, distances: Array, rows: Array) -> None:
            each_block(
                lambda a, b: kdtree.radius_block(*walk, limits, code, p, a, b, places, counts, distances, rows),
                len(Q),
                _QUERIES,
            )

        visit(counts, np.empty(0), np.empty(0, dtype=np.int64))
        places = places_of(counts)
        distances, rows = np.empty(places[-1]), np.empty(places[-1], dtype=np.int64)
        if places[-1] > 0:
            visit(places, distances, rows)
        return sort_all(places, distances, rows)


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
    """The tree of the points P if a few of them find their k neighbours more cheaply with it than by comparing all."""
    n, d = P.shape
    if d > _FEW_COLUMNS and n > 2 * _SAMPLE:
        sample = np.ascontiguousarray(P[:: n // _SAMPLE])
        if _looked(Tree.of(sample, metric, leaf_size), sample, k) > 0.7:
            return None  # a sample is sparser than all rows, but not so much that the decision would change
    tree = Tree.of(P, metric, leaf_size)
    n_leaves, _, width = tree.leaves.shape
    cost = _looked(tree, P, k) * n_leaves * (_LEAF + _LEAF_VALUE * width * d)
    if metric.code == EUCLIDEAN:
        return tree if cost < n * (_ROW + _ROW_VALUE * d) else None
    return tree  # at worst it looks at everything, too


def _looked(tree: Tree, P: Array, k: int) -> float:
    """Share of the leaves that queries at some of the rows look into."""
    pilot = np.ascontiguousarray(P[:: -(-len(P) // _PILOT)], dtype=np.float64)
    answers = empty_answers(len(pilot), min(k + 1, len(P)))
    return tree.look(pilot, *answers) / (len(pilot) * len(tree.leaves))
