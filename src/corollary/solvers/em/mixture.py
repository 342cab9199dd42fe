"""A mixture of distributions of any one kind, as a latent-variable model for the EM engine.

The objective is Σ w log Σ_k π_k exp(log_fit_k(x)) plus the log prior of the distribution: ``log_fit`` is the log
density less what a regularisation takes from each row, and ``finish`` is the exact maximiser of both. So no step can
lower it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from corollary.core.distribution import Distribution, Params
from corollary.core.distribution.totals import log, ratio
from corollary.core.types import Array
from corollary.solvers.em.lengths import movement_of_gain

NUMBERS = 1 << 17  # of a block of rows: a megabyte


@dataclass(frozen=True)
class Weighted:
    """The weights of k distributions (shares of rows, or probabilities of classes), and their parameters."""

    weights: Array
    params: Params

    @property
    def log_weights(self) -> Array:
        """Logarithms of the weights, −∞ of none."""
        return log(self.weights)


@dataclass(frozen=True)
class MixtureSummary:
    """What rows contribute: Σ share of each distribution, its statistics, and how likely the rows are."""

    counts: Array
    statistics: Any
    log_likelihood: float = 0.0

    @property
    def weight(self) -> float:
        return float(self.counts.sum())

    def __add__(self, other: MixtureSummary) -> MixtureSummary:
        return MixtureSummary(
            self.counts + other.counts,
            self.statistics + other.statistics,
            self.log_likelihood + other.log_likelihood,
        )


@dataclass(frozen=True)
class MixtureModel:
    """E and M steps for blocks (rows, weights, components of labelled rows, −1 where they are not known).

    ``fixed`` are weights of the distributions that are given, not learnt. ``scores`` may stand in for
    ``distribution.log_fit`` where only differences between components count. ``by_gain``: EM ends by the gain of an
    iteration, and a step as long as goes with it is certified; else it ends by the length of the next step alone.
    """

    distribution: Distribution
    fixed: Array | None = None
    scores: Callable[[Any, Params], Array] | None = None
    by_gain: bool = True

    def e_step(self, block: Any, params: Weighted) -> MixtureSummary:
        """Posteriors of the rows and what they contribute; a row without weight may be impossible."""
        X, weights, labels = block
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # what is not finite is refused later
            logs = (self.scores or self.distribution.log_fit)(X, params.params)
            shares, logs = posteriors(logs, params.weights, labels)
            counted = weights > 0
            shares[~counted] = 0.0
            shares *= weights[:, None]
            value = float(weights[counted] @ logs[counted])
            return MixtureSummary(shares.sum(axis=0), self.distribution.summarize(X, shares), value)

    def m_step(self, summary: MixtureSummary) -> Weighted:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            weights = summary.counts / summary.counts.sum() if self.fixed is None else self.fixed
            return Weighted(weights, self.distribution.finish(summary.statistics))

    def log_prior(self, params: Weighted) -> float:
        return self.distribution.log_prior(params.params)

    movement_name = "length of the next EM step in the metric of Fisher's information"

    def movement(self, before: Weighted, after: Weighted) -> float:
        share = ratio(after.weights - before.weights, before.weights).sum()
        return float(np.hypot(np.sqrt(share), self.distribution.distance(before.params, after.params, before.weights)))

    @property
    def movement_tol(self) -> Callable[[float], float] | None:
        return movement_of_gain if self.by_gain else None


def posteriors(logs: Array, weights: Array, labels: Array | None = None) -> tuple[Array, Array]:
    """Probabilities of the components (n, k), and logarithms of the density of rows (n,), from those given components.

    A labelled row has the density of its component alone. A row that is impossible under all has density zero.
    """
    joint = logs + log(weights)
    if labels is not None and (known := labels >= 0).any():
        own = joint[known, labels[known]]
        joint[known] = -np.inf
        joint[known, labels[known]] = own
    top = joint.max(axis=1, keepdims=True)
    joint -= np.where(np.isfinite(top), top, 0.0)
    np.exp(joint, out=joint)
    total = joint.sum(axis=1, keepdims=True)
    density: Array = top[:, 0] + log(total)[:, 0]
    joint /= np.where(total > 0, total, 1.0)
    return joint, density


def block_size(d: int, k: int) -> int:
    """Rows of a block, by the shape of the data alone."""
    return max(64, NUMBERS // (d + k))
