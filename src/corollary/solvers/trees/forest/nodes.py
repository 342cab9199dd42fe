"""From the nodes that the kernel grew to what a forest keeps of a tree, and how impure nodes are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from corollary._compiled.trees.forest.layout import TOTALS, Tree
from corollary.core.types import Array
from corollary.solvers.trees.deviance import deviances
from corollary.solvers.trees.forest.rows import BinnedRows


@dataclass(frozen=True, eq=False)
class GrownTree:
    """One tree level by level, and what its growth tells."""

    is_leaf: Array  # bool (nodes,)
    feature: Array  # of inner nodes
    cut: Array  # last bin that goes left, of inner nodes
    missing_left: Array  # of inner nodes
    bits: Array  # uint32 (categorical nodes, words)
    sums: Array  # (leaves, c): mass of each class (of the second, if there are two), or means
    mass: Array  # (leaves,)
    rows: Array  # (leaves,)
    spread: Array  # (leaves,): weighted impurity that is left, of regression
    depth: int
    impurity: float  # that the leaves keep, for each unit of mass
    imbalance: float  # of impurity: the root's, less what splits took away and what leaves keep, relative
    coverage: float  # share of the rows that it saw
    outside: Array  # rows that were not drawn; empty unless asked for
    outside_leaf: Array  # where they end, as numbers of leaves
    inside: Array  # rows that were drawn, leaf by leaf; empty unless asked for
    inside_mass: Array
    inner_sums: Array | None = None  # values and weighted impurity of inner nodes, where those of leaves do not tell
    inner_spread: Array | None = None

    @property
    def packed(self) -> GrownTree:
        """The same tree in less memory."""
        names: tuple[str, ...] = ("feature", "cut", "sums", "mass", "rows", "spread")
        names += ("inner_sums", "inner_spread") if self.inner_sums is not None else ()
        found: dict[str, Any] = {name: small(getattr(self, name)) for name in names}
        return replace(self, **found)


class KernelNodes:
    """The nodes of one tree as the kernel left them, and the rows that they were grown on."""

    def __init__(
        self, rows: BinnedRows, criterion: str, tree: Tree, bits: Array, used: int, chosen: Array, mass: Array,
        totals: Array,
    ) -> None:  # fmt: skip
        self.rows, self.criterion, self.bits, self.used = rows, criterion, bits, used
        self.chosen, self.mass, self.all_sums, self.all_mass = chosen, mass, totals[:-1], float(totals[-1])
        # side by side, as nodes of stored trees are: kernels need one compiled version for both
        (self.start, self.stop, self.depth, self.feature, self.cut, self.missing_left, self.left,
         self.following) = np.ascontiguousarray(tree.whole[:used].T)  # fmt: skip
        self.gain, self.totals = tree.real[:used, 0], tree.real[:used, TOTALS:]

    def prune(self, alpha: float) -> None:
        """Cut off what lowers the impurity by no more than ``alpha`` a leaf."""
        from corollary._compiled.trees.forest.nodes import prune

        risk = self._impurity(*self._values(np.arange(self.used, dtype=np.int32))) / self.all_mass
        prune(self.feature[: self.used], self.left, self.gain, risk, alpha)
        self.used, level = 0, np.array([0])
        while len(level):
            self.used += len(level)
            inner = level[self.feature[level] >= 0]
            level = np.concatenate([self.left[inner], self.left[inner] + 1])

    def kept(self, outside: Array | None, *, inside: bool) -> GrownTree:
        """What is kept of the tree, whose thresholds move to the middle of the gap between the rows on both sides.

        ``outside`` are rows whose leaves are asked for, if any.
        """
        from corollary._compiled.trees.forest.nodes import breadth_first

        order = np.empty(self.used, dtype=np.int32)
        breadth_first(self.feature, self.left, self.cut, self.following, self.rows.binner.thresholds, order)
        is_leaf = self.feature[order] < 0
        leaves, inner = order[is_leaf], order[~is_leaf]
        sums, leaf_mass, spread = self._values(leaves)
        whole, left = self._root_impurity(), self._impurity(sums, leaf_mass, spread)
        taken, left_over = float(self.gain[inner].sum()) * gain_unit(self.rows, self.criterion), float(left.sum())
        categorical = self.rows.binner.categorical[self.feature[inner]]
        outside = np.empty(0, dtype=np.int32) if outside is None else outside
        segments = [self.chosen[self.start[leaf] : self.stop[leaf]] for leaf in leaves] if inside else []
        members = np.concatenate(segments) if segments else np.empty(0, dtype=np.int32)
        return GrownTree(
            is_leaf=is_leaf,
            feature=self.feature[inner],
            cut=np.where(categorical, 0, self.cut[inner]),
            missing_left=self.missing_left[inner] == 1,
            bits=self.bits[self.cut[inner][categorical]],
            sums=sums,
            mass=leaf_mass,
            rows=self.stop[leaves] - self.start[leaves],
            spread=spread,
            depth=int(self.depth[order].max(initial=0)),
            impurity=left_over / self.all_mass,
            imbalance=abs(whole - taken - left_over) / whole if 0 < whole < np.inf else 0.0,
            coverage=len(self.chosen) / max(1, int((self.rows.weights > 0).sum())),
            outside=outside,
            outside_leaf=self._ends(outside, leaves),
            inside=members,
            inside_mass=self.mass[members],
        )

    def _ends(self, rows: Array, leaves: Array) -> Array:
        """The leaf that each of the rows reaches, as its place in ``leaves``."""
        from corollary._compiled.trees.forest.nodes import walk

        if not len(rows):
            return np.empty(0, dtype=np.int32)
        ends, binner = np.empty(len(rows), dtype=np.int32), self.rows.binner
        walk(
            self.rows.codes, rows, self.feature, self.cut, self.missing_left, self.left, self.bits, binner.n_bins,
            binner.categorical, ends,
        )  # fmt: skip
        number = np.empty(2 * max(len(self.chosen), 1), dtype=np.int32)
        number[leaves] = np.arange(len(leaves), dtype=np.int32)
        return number[ends]

    def _values(self, nodes: Array) -> tuple[Array, Array, Array]:
        """Class masses or means, mass, and the weighted impurity (of regression) of some nodes."""
        from corollary._compiled.trees.forest.nodes import leaf_deviances, leaf_means

        totals, y = self.totals[nodes], self.rows.y
        if self.rows.n_classes:
            return totals[:, :-2], totals[:, -2], np.zeros(len(nodes))
        mean, spread = np.empty((len(nodes), y.shape[1])), np.empty(len(nodes))
        leaf_means(self.chosen, self.start, self.stop, nodes, y, self.mass, mean, spread)
        if self.criterion == "poisson":
            leaf_deviances(self.chosen, self.start, self.stop, nodes, y, self.mass, mean, spread)
        return mean, totals[:, -2], spread / y.shape[1]

    def _impurity(self, sums: Array, mass: Array, spread: Array) -> Array:
        """Weighted impurity of nodes, from their values."""
        from corollary._compiled.trees.forest.nodes import class_spread

        if self.rows.n_classes:
            class_spread(sums, mass, self.criterion != "gini", self.rows.n_outputs, spread)
        return spread

    def _root_impurity(self) -> float:
        """Weighted impurity of all rows together, straight from the data."""
        if self.rows.n_classes:
            total = self.all_sums[None, :], np.array([self.all_mass])
            return float(class_impurity(*total, self.criterion, self.rows.n_outputs)[0] * self.all_mass)
        y, mass = self.rows.y, self.mass
        mean = mass @ y / self.all_mass
        if self.criterion == "poisson":
            mean = mean + mass @ (y - mean) / self.all_mass
            return float((mass[:, None] * deviances(y - mean, mean)).sum() / y.shape[1])
        spread = float((mass[:, None] * (y - mean) ** 2).sum() / y.shape[1])
        rounding = 1e-14 * np.abs(y[mass > 0]).max(initial=0.0)
        return spread if spread > rounding**2 * self.all_mass else 0.0


def gain_unit(rows: BinnedRows, criterion: str) -> float:
    """Weighted decrease of impurity for each unit of what the kernel maximises."""
    if criterion in ("entropy", "log_loss"):
        return float(1 / np.log(2)) / rows.n_outputs
    if not rows.n_classes:
        unit = np.float64(rows.scale) ** (1.0 if criterion == "poisson" else 2.0)
        return float(unit / rows.y.shape[1])
    return 2.0 if rows.n_classes == 2 else 1.0 / rows.n_outputs


def class_masses(sums: Array, mass: Array) -> Array:
    """Mass of every class, from sums that leave out the first of two."""
    return np.column_stack([mass - sums[:, 0], sums[:, 0]]) if sums.shape[1] == 1 else sums


def class_impurity(sums: Array, mass: Array, criterion: str, n_outputs: int = 1) -> Array:
    """Impurity of nodes with these class masses; the mean over outputs, where there are several."""
    shares = class_masses(sums, mass) / mass[:, None]
    if criterion == "gini":
        impurity: Array = 1.0 - (shares**2).sum(axis=1) / n_outputs
    else:
        impurity = -(shares * np.log2(np.where(shares > 0, shares, 1.0))).sum(axis=1) / n_outputs
    return impurity


def small(values: Array) -> Array:
    """The same numbers in the smallest type that holds them exactly."""
    values = np.asarray(values)
    if values.dtype == bool or values.size == 0:
        return values
    if values.dtype.kind == "u":
        return values.astype(np.min_scalar_type(int(values.max())), copy=False)
    if values.min() >= 0 and values.max() < 2**32:
        whole = values.astype(np.min_scalar_type(int(values.max())))
        if np.array_equal(whole, values):
            return whole
    narrow = values.astype(np.float32)
    return narrow if np.array_equal(narrow, values) else values.astype(np.float64)
