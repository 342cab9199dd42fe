"""What rows of known classes contribute, and the residual of the closed form that comes of it.

Where the classes of some rows are not known they are a hidden variable: the model is a mixture, by the EM engine.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from corollary.core.blocks import Source
from corollary.core.distribution import Distribution, Hard
from corollary.solvers.em.mixture import MixtureSummary

NAME = "largest relative error of sums that were taken again"
TOLERANCE = 1e-9


def labelled(distribution: Distribution, k: int, source: Source) -> MixtureSummary:
    """The sum over rows whose class is known, of blocks (rows, classes, weights)."""
    return source.total(partial(_of_labels, distribution, k))


def _of_labels(distribution: Distribution, k: int, block: tuple[Any, ...]) -> MixtureSummary:
    X, codes, weights = block
    if not (codes >= 0).all():
        known = np.flatnonzero(codes >= 0)
        X, codes, weights = X[known], codes[known], weights[known]
    shares = Hard(codes, weights, k)
    return MixtureSummary(shares.counts, distribution.summarize(X, shares))


def residual(distribution: Distribution, summary: MixtureSummary, source: Source) -> float:
    """By how much the sums of rows, all of known classes, differ from those that are taken again on another way."""
    k, statistics = len(summary.counts), summary.statistics
    return distribution.error(statistics, source.total(partial(_again, distribution, statistics, k)))


def _again(distribution: Distribution, statistics: Any, k: int, block: tuple[Any, ...]) -> Any:
    X, codes, weights = block
    return distribution.again(X, Hard(codes, weights, k), statistics)
