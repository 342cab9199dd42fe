"""A tree grown the slow way: every cut of every feature at every node, each scored from its definition."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from corollary.core.types import Array


def median(y: Array, w: Array) -> float:
    """Weighted median; the mean of the two middle values when half of the weight is reached exactly."""
    order = np.argsort(y, kind="stable")
    reach = np.cumsum(w[order])
    low = y[order][np.searchsorted(reach, reach[-1] / 2, side="left")]
    high = y[order][min(np.searchsorted(reach, reach[-1] / 2, side="right"), len(y) - 1)]
    return float((low + high) / 2)


def loss(y: Array, w: Array, criterion: str, n_classes: int | None) -> float:
    """Weight times impurity of one output."""
    if n_classes is not None:
        p = np.bincount(y.astype(int), weights=w, minlength=n_classes) / w.sum()
        if criterion == "gini":
            return float(w.sum() * (1 - (p**2).sum()))
        return float(-w.sum() * (p[p > 0] * np.log2(p[p > 0])).sum())
    mean = np.average(y, weights=w)
    if criterion == "squared_error":
        return float(w @ (y - mean) ** 2)
    if criterion == "absolute_error":
        return float(w @ np.abs(y - median(y, w)))
    positive = y > 0
    return float((w[positive] * y[positive] * np.log(y[positive] / mean)).sum())


@dataclass
class Brute:
    """Parameters of the slow tree."""

    criterion: str
    n_classes: list[int] | None = None
    min_leaf: int = 1
    min_weight: float = 0.0
    categorical: tuple[int, ...] = ()

    def impurity(self, y: Array, w: Array) -> float:
        """Weight times impurity, averaged over outputs."""
        parts = [
            loss(y[:, o], w, self.criterion, None if self.n_classes is None else self.n_classes[o])
            for o in range(y.shape[1])
        ]
        return float(np.mean(parts))

    def cuts(self, X: Array, f: int) -> list[Array]:
        """Every way to send rows left by feature f."""
        x = X[:, f]
        missing = np.isnan(x)
        values = np.unique(x[~missing])
        found = []
        if f in self.categorical:
            sets = [set(s) for k in range(1, len(values) + 1) for s in combinations(values.tolist(), k)]
            parts = [np.isin(x, list(s)) for s in sets]
        else:
            parts = [x <= value for value in values]
        for part in parts:
            found.append(part & ~missing)
            if missing.any():
                found.append(part | missing)
        return [left for left in found if self._allowed(left)]

    def _allowed(self, left: Array) -> bool:
        return bool(min(left.sum(), (~left).sum()) >= max(1, self.min_leaf))

    def gain(self, y: Array, w: Array, left: Array) -> float:
        """Fall of weighted impurity; −inf where the cut is not allowed."""
        if min(w[left].sum(), w[~left].sum()) < self.min_weight:
            return -np.inf
        if self.criterion == "poisson" and min((w[left] @ y[left]).min(), (w[~left] @ y[~left]).min()) <= 0:
            return -np.inf  # a leaf that predicts zero would have an infinite deviance elsewhere
        return self.impurity(y, w) - self.impurity(y[left], w[left]) - self.impurity(y[~left], w[~left])

    def best(self, X: Array, y: Array, w: Array) -> float:
        """The largest gain of any cut."""
        gains = [self.gain(y, w, left) for f in range(X.shape[1]) for left in self.cuts(X, f)]
        return max(gains, default=-np.inf)


def check_tree(trees: Any, X: Array, y: Array, w: Array, brute: Brute, rtol: float = 1e-8) -> None:
    """Assert that every node of a tree is what brute force says of the rows that reach it."""
    reached: list[Array] = [np.empty(0, dtype=int)] * trees.node_count
    reached[0] = np.arange(len(X))
    scale = brute.impurity(y, w) + 1e-300
    for t in range(trees.node_count):
        rows = reached[t]
        assert trees.count[t] == len(rows)
        np.testing.assert_allclose(trees.weight[t], w[rows].sum())
        own = brute.impurity(y[rows], w[rows])
        np.testing.assert_allclose(trees.impurity[t] * trees.weight[t], own, rtol=1e-7, atol=1e-9 * scale)
        if trees.feature[t] < 0:
            continue
        left = goes_left(trees, t, X[rows])
        gain = brute.gain(y[rows], w[rows], left)
        np.testing.assert_allclose(trees.gain[t], gain, rtol=1e-6, atol=1e-9 * scale)
        best = brute.best(X[rows], y[rows], w[rows])
        assert gain >= best - rtol * scale, f"node {t}: {gain} but {best} was possible"
        assert min(left.sum(), (~left).sum()) >= brute.min_leaf
        reached[trees.left[t]], reached[trees.left[t] + 1] = rows[left], rows[~left]


def goes_left(trees: Any, t: int, X: Array) -> Array:
    """Which rows a node sends left, by the rules of Trees."""
    x = X[:, trees.feature[t]]
    if trees.category[t] < 0:
        return np.where(np.isnan(x), trees.missing_left[t], x <= trees.threshold[t])
    bits = trees.bitsets[trees.category[t]]
    codes = np.where(np.isnan(x), 0, x).astype(int)
    known = ~np.isnan(x) & (codes < 32 * len(bits))
    codes = np.where(known, codes, 0)
    inside = (bits[codes // 32] >> (codes % 32).astype(np.uint32)) & 1 == 1
    return np.where(known, inside, trees.missing_left[t])
