"""A mixture of distributions of any one kind, as a latent-variable model for the EM engine.

The objective is Σ w log Σ_k π_k exp(log_fit_k(x)) plus the log prior of the distribution: ``log_fit`` is the log
density less what a regularisation takes from each row, and ``finish`` is the exact maximiser of both. So no step can
lower it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from corollary.core.distribution import Distribution, Params
from corollary.core.distribution.totals import log, ratio
from corollary.core.types import Array
from corollary.solvers.em.lengths import InFishersMetric

NUMBERS = 1 << 17  # of a block of rows: a megabyte


@dataclass(frozen=True)
class Weighted:
    """The weights of k distributions, and their parameters."""

    weights: Array
    params: Params


@dataclass(frozen=True)
class MixtureSummary:
    """What rows contribute to the distributions, Σ share of each, and how likely the rows are."""

    log_likelihood: float
    weight: float
    counts: Array
    statistics: Any

    def __add__(self, other: MixtureSummary) -> MixtureSummary:
        return MixtureSummary(
            self.log_likelihood + other.log_likelihood,
            self.weight + other.weight,
            self.counts + other.counts,
            self.statistics + other.statistics,
        )


@dataclass(frozen=True)
class MixtureModel(InFishersMetric):
    """E and M steps for blocks (rows, weights, components of labelled rows, −1 where they are not known)."""

    distribution: Distribution

    def e_step(self, block: Any, params: Weighted) -> MixtureSummary:
        """Posteriors of the rows and what they contribute."""
        X, weights, labels = block
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # what is not finite is refused later
            shares, logs = posteriors(self.distribution.log_fit(X, params.params), params.weights, labels)
            shares *= weights[:, None]
            learned = self.distribution.summarize(X, shares)
            return MixtureSummary(float(weights @ logs), float(weights.sum()), shares.sum(axis=0), learned)

    def m_step(self, summary: MixtureSummary) -> Weighted:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            return Weighted(summary.counts / summary.counts.sum(), self.distribution.finish(summary.statistics))

    def log_prior(self, params: Weighted) -> float:
        return self.distribution.log_prior(params.params)

    movement_name = "length of the next EM step in units of Fisher's information"

    def movement(self, before: Weighted, after: Weighted) -> float:
        share = ratio(after.weights - before.weights, before.weights).sum()
        return float(np.hypot(np.sqrt(share), self.distribution.distance(before.params, after.params, before.weights)))


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
