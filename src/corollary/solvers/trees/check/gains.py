"""What a split gains, from its definition and in plain NumPy: nothing here is shared with the kernels that grow trees.

The gain of a split is W·I(node) − W_L·I(left) − W_R·I(right), the mean over outputs. With sums of two sides in hand it
is computed in the form that loses least: Gini and squares as W_L W_R / W · Σ (p_L − p_R)², the others as differences of
impurities that are sums of positive numbers. Where weights differ, the sums of the right side are added up from the
right and not subtracted.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from corollary.core.types import Array
from corollary.solvers.trees.deviance import deviances

_MANY = 16
_NONE: Array = np.zeros(())  # classes have no mean
NEAR = 1e-9  # limits that a sum meets but for rounding may count either way, so such splits are not held against it


@dataclass(frozen=True, eq=False)
class Targets:
    """What a tree learns: y (n, outputs) of numbers, or of class numbers from 0 in each output; and the weights."""

    criterion: str
    y: Array
    weights: Array
    n_classes: tuple[int, ...] = ()  # of each output; empty for numbers

    @property
    def n_outputs(self) -> int:
        return int(self.y.shape[1])

    @property
    def width(self) -> int:
        """How many numbers are added up for each row."""
        return sum(self.n_classes) or self.n_outputs

    @cached_property
    def codes(self) -> Array | None:
        """Class numbers, those of later outputs after those of earlier ones; None for numbers."""
        if not self.n_classes:
            return None
        return self.y.astype(np.int64) + np.cumsum((0, *self.n_classes[:-1]))

    def impurity(self) -> float:
        """W times the impurity of all rows."""
        if not self.n_classes:
            return self.node(np.arange(len(self.y))).impurity()
        masses = [
            np.bincount(self.y[:, o].astype(np.intp), weights=self.weights, minlength=k)
            for o, k in enumerate(self.n_classes)
        ]
        return _class_impurity(self, np.concatenate(masses))

    def size(self) -> float:
        """What last bits of gains are parts of: all weights; of Poisson's, what bits of means of y change; else 0."""
        if self.n_classes:
            return float(self.weights.sum())
        if self.criterion != "poisson":
            return 0.0
        return float(np.sqrt((self.weights @ self.y).mean() * self.impurity()))

    def gain_unit(self, unit: float, gain: float) -> float:
        """A gain of targets that were then multiplied by ``unit``."""
        if self.n_classes:
            return gain
        return gain * unit * unit if self.criterion == "squared_error" else gain * unit

    def node(self, rows: Array) -> Node:
        """The rows of a node, ready to be cut."""
        y, w = self.y[rows], self.weights[rows]
        if self.n_classes:
            sums = np.zeros((len(rows), self.width))
            for o, first in enumerate(np.cumsum((0, *self.n_classes[:-1]))):
                sums[np.arange(len(rows)), first + y[:, o].astype(np.intp)] = w
            return Node(self, y, w, sums, _NONE)
        mean = means(y, w)
        moved = y - mean
        return Node(self, moved, w, w[:, None] * moved, mean)


@dataclass(frozen=True, eq=False)
class Node:
    """The rows of one node: targets (of numbers: centred), weights, and what is added up."""

    of: Targets
    y: Array
    weights: Array
    sums: Array
    mean: Array  # of numbers

    @cached_property
    def even(self) -> bool:
        """Whether all rows weigh the same: a difference of sums then loses nothing that matters."""
        return bool((self.weights == self.weights[0]).all())

    def impurity(self) -> float:
        """W times the impurity."""
        if self.of.n_classes:
            return _class_impurity(self.of, self.sums.sum(axis=0))
        if self.of.criterion == "absolute_error":
            return self._cost(np.ones(len(self.y), dtype=bool))
        if self.of.criterion == "squared_error":
            return float((self.sums * self.y).sum() / self.of.n_outputs)
        assert self.mean is not None  # numbers have one
        return float((self.weights[:, None] * deviances(self.y, self.mean)).sum() / self.of.n_outputs)

    def gain(self, left: Array) -> float:
        """The gain of sending the rows of that mask left."""
        if self.of.criterion == "absolute_error":
            return self._cost(np.ones_like(left)) - self._cost(left) - self._cost(~left)
        sides = [(self.sums[side].sum(axis=0), self.weights[side].sum()) for side in (left, ~left)]
        return float(gains(self.of, *sides[0], *sides[1], self.mean))

    def best_gain(self, values: Array, min_leaf: int, min_weight: float) -> float:
        """The largest gain of all cuts between different values (m, columns), NaN on either side; −inf if none."""
        gaps = np.isnan(values)
        if gaps.any():
            sides = [np.where(gaps, side, values) for side in (np.inf, -np.inf)]
            return max(self.best_gain(side, min_leaf, min_weight) for side in sides)
        order = np.argsort(np.ascontiguousarray(values.T), axis=1, kind="stable")  # columns one after the other
        ranked = np.take_along_axis(values.T, order, axis=1)
        count = np.arange(1, len(values))
        allowed = (ranked[:, :-1] < ranked[:, 1:]) & (count >= min_leaf) & (len(values) - count >= min_leaf)
        on_left, on_right = self._sides(self.weights, order)
        if min_weight > 0:
            allowed &= np.minimum(on_left, on_right) >= min_weight * (1 + NEAR)
        if not allowed.any():
            return -np.inf
        if self.of.criterion == "absolute_error":
            return max(self._best_absolute(*pair) for pair in zip(order, allowed, strict=True))
        parts = [self._sides(column, order) for column in self.sums.T]
        left, right = (np.stack(side, axis=-1) for side in zip(*parts, strict=True))
        if self.of.criterion == "poisson":  # no side may predict zero
            full = [side + weight[..., None] * self.mean for side, weight in ((left, on_left), (right, on_right))]
            allowed &= (np.minimum(*full) > NEAR * (full[0] + full[1])).all(axis=-1)
        found = gains(self.of, left, on_left, right, on_right, self.mean)
        return float(found[allowed].max(initial=-np.inf))

    def _sides(self, x: Array, order: Array) -> tuple[Array, Array]:
        """Sums of what is up to each place of an order, and of what is after it; of every place but the last."""
        ranked = x[order]
        left = np.cumsum(ranked, axis=-1)
        if self.even:
            return left[..., :-1], left[..., -1:] - left[..., :-1]
        return left[..., :-1], np.cumsum(ranked[..., ::-1], axis=-1)[..., ::-1][..., 1:]

    def response(self) -> list[Array]:
        """By what the categories are put in order, one row-wise number each: of each class or output in turn."""
        whole = self.sums if self.of.n_classes else self.weights[:, None] * self.y
        if self.of.width > _MANY:  # too many to try each: of classes the most frequent one
            return [whole[:, whole.sum(axis=0).argmax()]] if self.of.n_classes else []
        return [whole[:, 1]] if self.of.n_classes == (2,) else list(whole.T)

    def _cost(self, rows: Array) -> float:
        y, w = self.y[rows], self.weights[rows]
        return float(np.mean([w @ np.abs(y[:, o] - median(y[:, o], w)) for o in range(self.of.n_outputs)]))

    def _best_absolute(self, order: Array, allowed: Array) -> float:
        """As ``best_gain`` for absolute error and one column, in O(m²): the weights of all prefixes side by side."""
        cost, at = np.zeros(int(allowed.sum())), np.arange(len(order))
        for o in range(self.of.n_outputs):
            by_size = np.argsort(self.y[:, o], kind="stable")
            rank = np.empty(len(order), dtype=np.intp)
            rank[by_size] = at
            y, table = self.y[by_size, o], np.zeros((len(order), len(order)))
            table[at, rank[order]] = self.weights[order]
            for side in (np.cumsum(table, axis=0)[:-1][allowed], np.cumsum(table[::-1], axis=0)[::-1][1:][allowed]):
                reach = np.cumsum(side, axis=1)
                middle = (reach >= 0.5 * reach[:, -1:]).argmax(axis=1)
                cost += (side * np.abs(y[None, :] - y[middle, None])).sum(axis=1) / self.of.n_outputs
        return self._cost(np.ones(len(order), dtype=bool)) - float(cost.min(initial=np.inf))


def gains(targets: Targets, left: Array, w_left: Array, right: Array, w_right: Array, mean: Array = _NONE) -> Array:
    """Gains of cuts (…,) from the sums (…, width) and weights (…,) of both sides; of numbers about their ``mean``."""
    if targets.criterion in ("gini", "squared_error"):
        apart = left / np.expand_dims(w_left, -1) - right / np.expand_dims(w_right, -1)
        if targets.n_classes:
            _differ_by_the_others(targets, apart, left + right)
        squares: Array = w_left / (w_left + w_right) * w_right * (apart**2).sum(axis=-1) / targets.n_outputs
        return squares
    if targets.criterion == "poisson":
        assert mean is not None  # numbers have one
        parts = [
            np.expand_dims(w, -1) * deviances(s / np.expand_dims(w, -1), mean)
            for s, w in ((left, w_left), (right, w_right))
        ]
        total: Array = (parts[0] + parts[1]).sum(axis=-1) / targets.n_outputs
        return total
    return _entropy(targets, left + right) - _entropy(targets, left) - _entropy(targets, right)


def _differ_by_the_others(targets: Targets, apart: Array, masses: Array) -> None:
    """Of each output, the difference of the heaviest class's shares as that of the others: 1 − small loses digits."""
    first = 0
    for k in targets.n_classes:
        own = apart[..., first : first + k]
        heaviest = masses[..., first : first + k].argmax(axis=-1)[..., None]
        np.put_along_axis(own, heaviest, 0.0, axis=-1)
        np.put_along_axis(own, heaviest, -own.sum(axis=-1, keepdims=True), axis=-1)
        first += k


def _class_impurity(targets: Targets, masses: Array) -> float:
    """W times the impurity, from the masses of all classes of all outputs."""
    if targets.criterion != "gini":
        return float(_entropy(targets, masses))
    total = masses.sum() / targets.n_outputs
    return float((masses * _others(targets, masses)).sum() / total / targets.n_outputs)


def _entropy(targets: Targets, masses: Array) -> Array:
    """W times the entropy in bits: Σ m log₂(1 + others / m)."""
    others = _others(targets, masses)
    parts: Array = (masses * np.log1p(others / np.where(masses > 0, masses, 1.0))).sum(axis=-1)
    return parts / np.log(2) / targets.n_outputs


def _others(targets: Targets, masses: Array) -> Array:
    """Mass beside each class in its output; what is beside the largest is added up afresh, so that no digit is lost."""
    found, first = np.empty_like(masses), 0
    for k in targets.n_classes:
        own = masses[..., first : first + k]
        largest = own == own.max(axis=-1, keepdims=True)
        largest &= np.cumsum(largest, axis=-1) == 1
        small = np.where(largest, 0.0, own).sum(axis=-1, keepdims=True)
        found[..., first : first + k] = np.where(largest, small, own.sum(axis=-1, keepdims=True) - own)
        first += k
    return found


def means(y: Array, weights: Array) -> Array:
    """Weighted means of columns, in two passes."""
    rough = weights @ y / weights.sum()
    mean: Array = rough + weights @ (y - rough) / weights.sum()
    return mean


def median(y: Array, weights: Array) -> float:
    """A weighted median: the mean of the two middle values where half of the weight is reached exactly."""
    order = np.argsort(y, kind="stable")
    reach = np.cumsum(weights[order])
    low, high = (np.searchsorted(reach, 0.5 * reach[-1], side=side) for side in ("left", "right"))
    last = len(y) - 1
    return float(0.5 * y[order[min(low, last)]] + 0.5 * y[order[min(high, last)]])
