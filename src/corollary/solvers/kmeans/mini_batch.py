"""Centres as running means over batches of rows, and how batches are drawn."""

from __future__ import annotations

from typing import Any

import numpy as np

from corollary.core.types import Array
from corollary.solvers.kmeans.lloyd import as_rows
from corollary.solvers.kmeans.nearest import ClusterSums, summarize
from corollary.solvers.kmeans.seeding import Lottery


class Batches:
    """Rows drawn with replacement, with probability ∝ weight: a row of weight w comes as often as w rows would."""

    def __init__(self, X: Any, weights: Array, size: int, rng: np.random.RandomState) -> None:
        self.X, self.size, self.rng = X, size, rng
        self.lottery = Lottery(X, weights)

    def sample(self, count: int) -> tuple[Any, Array]:
        """``count`` rows, each of weight one."""
        rows = self.lottery.draw(self.rng.uniform(size=count))
        return self.X[rows], np.ones(count)

    def draw(self) -> tuple[Any, Array]:
        """The next batch."""
        return self.sample(self.size)

    def most(self, passes: int) -> int:
        """Batches in so many passes over X."""
        return passes * max(1, -(-self.X.shape[0] // self.size))

    def passes(self, steps: int) -> int:
        """Passes over X, begun or done, after so many batches."""
        return -(-steps * self.size // max(self.X.shape[0], self.size))

    def mean_variance(self) -> float:
        """Mean variance of the columns, from one batch."""
        X, weights = self.draw()
        rows = as_rows(X, weights)
        return rows.spread / rows.scale / rows.scale


class Running:
    """Centres, each the mean of the ``counts`` rows that it was given."""

    def __init__(self, centres: Array, counts: Array | None = None, steps: int = 0) -> None:
        self.centres, self.steps = centres, steps
        self.counts = np.zeros(len(centres)) if counts is None else counts
        self.last: ClusterSums | None = None
        self.movement, self._smooth, self._best, self._waited = np.inf, np.inf, np.inf, 0
        self._variance, self._tol = 1.0, 0.0
        self._patience: int | None = None
        self._since = 0.0

    def watch(self, variance: float, tol: float, patience: int | None) -> None:
        """When to stop: see :meth:`idle`."""
        self._variance, self._tol, self._patience = variance, tol, patience

    def learn(self, X: Any, weights: Array) -> float:
        """Move the centres by one batch; its mean cost before that."""
        summary = self.last = summarize(X, weights, self.centres)
        self.counts = self.counts + summary.weight
        steps = summary.offsets / np.where(self.counts > 0, self.counts, 1.0)[:, None]
        self.centres = self.centres + steps
        self.steps += 1
        squared = float((steps * steps).sum()) / (self._variance or 1.0)
        cost = summary.cost / float(weights.sum())
        # one batch says little: average over about ten
        self.movement = squared if self.movement == np.inf else 0.9 * self.movement + 0.1 * squared
        self._smooth = cost if self._smooth == np.inf else 0.9 * self._smooth + 0.1 * cost
        self._waited = 0 if self._smooth < self._best else self._waited + 1
        self._best = min(self._best, self._smooth)
        return cost

    def idle(self) -> bool:
        """Whether centres move less than the tolerance, or the smoothed cost has long not fallen."""
        if self._tol > 0 and self.movement <= self._tol:
            return True
        return self._patience is not None and self._waited >= self._patience

    def reassign(self, X: Any, ratio: float, rng: np.random.RandomState) -> None:
        """Give centres that hardly any rows come to a place among the rows of this batch."""
        self._since += X.shape[0]
        if self._since < 10 * len(self.counts):
            return
        self._since = 0.0
        poor = np.flatnonzero(self.counts < ratio * self.counts.max())[: X.shape[0] // 2]
        if len(poor) == 0:
            return
        rows = X[np.sort(rng.choice(X.shape[0], len(poor), replace=False))]
        self.centres[poor] = rows.toarray() if hasattr(rows, "toarray") else rows
        # as if it had seen as many rows as the poorest of the others: it may still move quickly
        rich = np.setdiff1d(np.arange(len(self.counts)), poor)
        self.counts[poor] = self.counts[rich].min()


def saving(summary: ClusterSums) -> float:
    """The share of the cost that moving each centre to the mean of its rows would save."""
    gain = (summary.offsets**2).sum(axis=1) / np.where(summary.weight > 0, summary.weight, 1.0)
    return float(gain.sum() / summary.cost) if summary.cost > 0 else 0.0
