"""Classes, each with a distribution of rows: what rows contribute, the best parameters, and scores of rows.

Where every row has a label one pass is enough. Where some have none, the class of these is a hidden variable: the model
is a latent-variable model of the EM engine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.special import logsumexp

from corollary.core.blocks import Source
from corollary.core.distribution import Distribution, Hard, Params
from corollary.core.types import Array

Scores = Callable[[Any, Params], Array]


@dataclass(frozen=True)
class Naive:
    """Log probabilities of the classes, and the parameters of their distributions."""

    log_prior: Array
    params: Params


@dataclass(frozen=True)
class NaiveSummary:
    """What rows contribute: weights of the classes, statistics of their distributions, and how likely the rows are."""

    counts: Array
    statistics: Any
    log_likelihood: float = 0.0

    @property
    def weight(self) -> float:
        return float(self.counts.sum())

    def __add__(self, other: NaiveSummary) -> NaiveSummary:
        return NaiveSummary(
            self.counts + other.counts,
            self.statistics + other.statistics,
            self.log_likelihood + other.log_likelihood,
        )


def log_shares(counts: Array) -> Array:
    """Logarithms of the shares of classes, −∞ of none."""
    with np.errstate(divide="ignore"):
        logs: Array = np.log(counts) - np.log(counts.sum())
    return logs


@dataclass(frozen=True)
class NaiveModel:
    """E and M steps. ``fixed`` are log probabilities of classes that are given, not learnt.

    ``scores`` may stand in for ``distribution.log_fit`` where only differences between classes count.
    """

    distribution: Distribution
    n_classes: int
    fixed: Array | None = None
    scores: Scores | None = None

    movement_name = "length of the next EM step in the metric of Fisher's information"

    def labelled(self, source: Source) -> NaiveSummary:
        """The sum over rows whose class is known."""
        return source.total(self._of_labels)

    def _of_labels(self, block: tuple[Any, ...]) -> NaiveSummary:
        X, codes, weights = block
        if not (codes >= 0).all():
            known = np.flatnonzero(codes >= 0)
            X, codes, weights = X[known], codes[known], weights[known]
        shares = Hard(codes, weights, self.n_classes)
        return NaiveSummary(shares.counts, self.distribution.summarize(X, shares))

    def e_step(self, block: tuple[Any, ...], params: Naive) -> NaiveSummary:
        X, codes, weights = block
        joint = (self.scores or self.distribution.log_fit)(X, params.params) + params.log_prior
        known, rows = codes >= 0, np.arange(len(codes))
        likely = logsumexp(joint, axis=1)
        with np.errstate(invalid="ignore"):
            shares = np.exp(joint - likely[:, None])
        shares[known] = 0.0
        shares[rows[known], codes[known]] = 1.0
        logs = np.where(known, joint[rows, codes], likely)
        counted = weights > 0
        shares[~counted] = 0.0
        shares *= weights[:, None]
        value = float(weights[counted] @ logs[counted])
        return NaiveSummary(shares.sum(axis=0), self.distribution.summarize(X, shares), value)

    def m_step(self, summary: NaiveSummary) -> Naive:
        log_prior = log_shares(summary.counts) if self.fixed is None else self.fixed
        return Naive(log_prior, self.distribution.finish(summary.statistics))

    def log_prior(self, params: Naive) -> float:
        return self.distribution.log_prior(params.params)

    def movement(self, before: Naive, after: Naive) -> float:
        prior, later = np.exp(before.log_prior), np.exp(after.log_prior)
        with np.errstate(divide="ignore", invalid="ignore"):
            priors = np.where(prior == later, 0.0, (later - prior) ** 2 / prior).sum()
        return float(np.hypot(np.sqrt(priors), self.distribution.distance(before.params, after.params, prior)))


def rows_of(source: Source, target: Callable[[Any], Array]) -> Source:
    """Rows with the numbers of their classes in the place of their labels."""
    return source.map(partial(_numbered, target))


def _numbered(target: Callable[[Any], Array], block: tuple[Any, ...]) -> tuple[Any, ...]:
    X, y, weights = block
    return X, target(y), weights
