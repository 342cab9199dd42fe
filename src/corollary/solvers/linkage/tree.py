"""The tree that agglomeration makes: numbered as SciPy numbers it, cut at a height or into so many clusters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corollary._compiled.linkage import labels as kernels
from corollary.core.types import Array


@dataclass(frozen=True)
class Hierarchy:
    """Merge t joins the nodes children[t] into node n + t at heights[t]; it then has counts[t] leaves."""

    n: int
    children: Array
    heights: Array
    counts: Array

    def sound(self, n: int, whole: bool) -> bool:
        """Whether this is a tree of n leaves, a whole one if need be, that joins nodes which are there, each once."""
        arrays = self.children, self.heights, self.counts
        if not (isinstance(self.n, int) and self.n == n and all(type(each) is np.ndarray for each in arrays)):
            return False
        m = len(self.heights) if self.heights.ndim == 1 else -1
        shaped = self.children.shape == (m, 2) and self.counts.shape == (m,) and (m == n - 1 if whole else 0 <= m < n)
        if not (shaped and self.children.dtype == np.int64 and self.heights.dtype == np.float64):
            return False
        ends = self.children.ravel()
        there = bool(((ends >= 0) & (ends < np.repeat(n + np.arange(m), 2))).all()) and len(np.unique(ends)) == 2 * m
        if not (there and np.isfinite(self.heights).all() and (self.heights >= 0).all()):
            return False
        counts = np.concatenate([np.ones(n), self.counts])[self.children].sum(axis=1)
        return bool(np.array_equal(self.counts, counts))

    @property
    def inversion(self) -> float:
        """The largest relative amount by which a merge is below one that it builds on."""
        below = np.concatenate([np.zeros(self.n), self.heights])[self.children].max(axis=1, initial=0.0)
        deep = below - self.heights
        return float(np.max(deep[deep > 0] / below[deep > 0], initial=0.0))

    @property
    def matrix(self) -> Array:
        """SciPy's linkage matrix."""
        return np.column_stack([self.children, self.heights, self.counts]).astype(np.float64)

    def ordered(self) -> tuple[Array, Array]:
        """(leaves as drawn, first place of each node among them)."""
        sizes = np.concatenate([np.ones(self.n, dtype=np.int64), self.counts])
        order, first = np.empty(self.n, dtype=np.int64), np.full(len(sizes), -1)
        kernels.leaf_order(self.children, sizes, order, first)
        return order, first

    def peaks(self) -> Array:
        """The largest height in each merge's subtree: the height itself, unless there are inversions."""
        peaks = self.heights.copy()
        if (np.diff(peaks) < 0).any():
            for t, (a, b) in enumerate(self.children - self.n):
                peaks[t] = max(peaks[t], peaks[a] if a >= 0 else 0.0, peaks[b] if b >= 0 else 0.0)
        return peaks

    def into(self, clusters: int) -> Array:
        """Labels of so many clusters: all merges but the last ``clusters`` − 1."""
        return self._cut(np.arange(len(self.children)) < self.n - clusters)

    def below(self, threshold: float) -> Array:
        """Labels when clusters at ``threshold`` or further apart stay apart."""
        return self._cut(self.peaks() < threshold)

    def _cut(self, merged: Array) -> Array:
        labels, nodes = np.empty(self.n, dtype=np.int64), self.n + len(self.children)
        kernels.cut(self.children, merged, labels, np.arange(nodes), np.full(nodes, -1))
        return labels


def hierarchy(n: int, left: Array, right: Array, heights: Array, *, inversions: bool = False) -> Hierarchy:
    """Number the merges of leaves' clusters, given in an order in which parts precede their union.

    Without inversions the merges are put in the order of their heights; those that rounding left a little below their
    parts are lifted first. With them the order is that in which they were made.
    """
    order = np.arange(len(heights))
    if not inversions:
        kernels.raise_heights(left, right, heights, np.arange(n), np.zeros(n))
        order = np.argsort(heights, kind="stable")
    children, counts = np.empty((len(order), 2), dtype=np.int64), np.empty(len(order), dtype=np.int64)
    own = np.arange(n)
    kernels.number_nodes(left, right, order, children, counts, own, own.copy(), np.ones(n, dtype=np.int64))
    return Hierarchy(n, children, heights[order], counts)


def with_absent(tree: Hierarchy, present: Array, absent: Array, hosts: Array) -> Hierarchy:
    """The tree with rows that carry no weight: each joins its host, a row that is present, at height zero first."""
    n, k, z = len(present) + len(absent), len(present), len(absent)
    node, count = present.copy(), np.ones(k, dtype=np.int64)
    children, counts = np.empty((z, 2), dtype=np.int64), np.empty(z, dtype=np.int64)
    for t, (row, host) in enumerate(zip(absent, hosts, strict=True)):
        count[host] += 1
        children[t], counts[t], node[host] = sorted((row, node[host])), count[host], n + t
    later = np.concatenate([node, n + z + np.arange(len(tree.children))])[tree.children]
    totals = np.concatenate([count, np.zeros(len(tree.children), dtype=np.int64)])
    for t, (a, b) in enumerate(tree.children):
        totals[k + t] = totals[a] + totals[b]
    return Hierarchy(
        n,
        np.concatenate([children, np.sort(later, axis=1)]),
        np.concatenate([np.zeros(z), tree.heights]),
        np.concatenate([counts, totals[k:]]),
    )
