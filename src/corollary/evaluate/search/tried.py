"""A configuration on its way through the folds: the fits it had, its scores, and why it went no further."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corollary.core.evidence import worst_of
from corollary.evaluate.candidates import Configuration
from corollary.evaluate.cross_validation import FoldFit
from corollary.evaluate.leaderboard import Row, Trial
from corollary.evaluate.metrics import Metric, Prediction
from corollary.tabular.messages import one_line
from corollary.tabular.target import Target


@dataclass(eq=False)
class Tried:
    """One configuration; folds are finished in order, so ``fits[i]`` is that of fold i."""

    configuration: Configuration
    kind: str = "plain"  # of preparation
    fits: list[FoldFit] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)  # of the metric that ranks
    dropped: str = ""
    error: str = ""
    skipped: bool = False  # there was no time for any of its folds
    notes: tuple[str, ...] = ()
    model: Any = None  # not fitted

    @property
    def name(self) -> str:
        return self.configuration.model

    @property
    def mean(self) -> float:
        """The mean score of its folds."""
        return float(np.mean(self.scores)) if self.scores else float("nan")

    @property
    def alive(self) -> bool:
        """Whether it may get another fold."""
        return not (self.error or self.dropped)

    @property
    def seconds(self) -> float:
        """The time of one of its fits."""
        return float(np.mean([fit.seconds for fit in self.fits])) if self.fits else float("nan")

    def done(self, folds: int) -> bool:
        """Whether it has all of its folds."""
        return len(self.scores) == folds and not self.error

    def trial(self) -> Trial:
        """What is told of it."""
        seconds = sum(fit.seconds for fit in self.fits)
        return Trial(self.name, self.configuration.chosen, tuple(self.scores), seconds, self.error or self.dropped)


class Judge:
    """Scores predictions of held-out rows, fold by fold."""

    def __init__(self, folds: Any, target: Target, metrics: tuple[Metric, ...]) -> None:
        self.folds, self.target, self.metrics = folds, target, metrics

    @property
    def metric(self) -> Metric:
        """The metric that ranks."""
        return self.metrics[0]

    def score(self, metric: Metric, fold: int, said: Prediction) -> float:
        """A metric of what was said about the rows of a fold."""
        rows = self.folds.held_out(fold)
        weights = None if self.target.weights is None else self.target.weights[rows]
        return metric(self.target.values[rows], said, self.target.classes, weights)

    def note(self, tried: Tried, fit: FoldFit) -> None:
        """Keep a finished fit with its configuration."""
        if not fit.error and fit.prediction is not None:
            try:
                tried.scores.append(self.score(self.metric, len(tried.fits), fit.prediction))
            except ValueError as error:  # probabilities of the wrong shape, for instance
                fit = replace(fit, error=one_line(error))
        tried.fits.append(fit)
        tried.error = tried.error or fit.error

    def row(self, tried: Tried, count: int) -> Row:
        """The line of a model in this configuration, the best of ``count``; only finished folds are scored."""
        candidate = tried.configuration.candidate
        fits = [fit for fit in tried.fits if not fit.error and fit.prediction is not None]
        row = Row(
            candidate.name, candidate.canon, baseline=candidate.baseline, tried=count,
            settings=tried.configuration.chosen, error=tried.error,
            notes=tuple(dict.fromkeys((*tried.notes, *(text for fit in tried.fits for text in fit.warnings)))),
        )  # fmt: skip
        if not fits or tried.error:
            reason = tried.error or tried.dropped or "there was no time for it"
            return replace(row, error=reason, skipped=not tried.error)
        said = [fit.prediction for fit in fits if fit.prediction is not None]
        found = {
            metric.name: metric.over(
                [self.score(metric, fold, each) for fold, each in enumerate(said)], self.folds.test_share
            )
            for metric in self.metrics
        }
        evidence = [fit.evidence for fit in fits if fit.evidence is not None]
        return replace(
            row, scores=found, error="", skipped=False, fit_seconds=float(np.mean([fit.seconds for fit in fits])),
            evidence=worst_of(evidence) if evidence else None, folds_done=len(fits),
        )  # fmt: skip

    def gathered(self, said: list[Prediction]) -> Prediction:
        """What was said of all folds, in the order of the rows that were judged."""
        order = np.argsort(self.order(len(said)), kind="stable")
        probabilities = [part.probabilities for part in said if part.probabilities is not None]
        return Prediction(
            np.concatenate([part.values for part in said])[order],
            np.concatenate(probabilities)[order] if len(probabilities) == len(said) else None,
        )

    def order(self, folds: int) -> NDArray[np.intp]:
        """The held-out rows of the first folds, one after the other."""
        return np.concatenate([self.folds.held_out(fold) for fold in range(folds)])

    def out_of_fold(self, tried: Tried, folds: int) -> Prediction:
        """What a configuration said of the held-out rows of the first ``folds``."""
        return self.gathered([fit.prediction for fit in tried.fits[:folds] if fit.prediction is not None])
