"""Cross-validation: candidates over the same folds, scored, with what each said about rows it had not seen."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import get_tags

from corollary.core.evidence import Evidence, worst_of
from corollary.evaluate.candidates import BASELINE, Candidate
from corollary.evaluate.folds import PreparedFolds
from corollary.evaluate.leaderboard import Row
from corollary.evaluate.metrics import Metric, Prediction
from corollary.tabular.messages import one_line, sentences
from corollary.tabular.target import Target

Progress = Callable[[int, int, str], None]  # called with (fits done, fits in all, what is being done)


@dataclass(frozen=True)
class FoldFit:
    """One model on one fold: predictions for the held-out rows, cost, evidence, and what went wrong."""

    seconds: float
    prediction: Prediction | None
    evidence: Evidence | None
    warnings: tuple[str, ...] = ()
    error: str = ""


def fit_fold(model: Any, train: Any, y: NDArray[Any], test: Any) -> FoldFit:
    """Fit a clone of ``model`` and predict ``test``; a failure is returned, not raised (Ctrl-C is raised)."""
    started = time.perf_counter()
    fitted = clone(model)
    prediction = evidence = None
    reason = ""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            fitted.fit(train, y)
            seconds = time.perf_counter() - started
            prediction = predict(fitted, test)
            evidence = evidence_of(fitted)
        except Exception as error:
            seconds = time.perf_counter() - started
            reason = one_line(error)
    return FoldFit(seconds, prediction, evidence, sentences(caught, evidence), reason)


def predict(fitted: Any, X: Any) -> Prediction:
    """Labels or numbers, and probabilities if the model has them; refuses numbers that are not finite."""
    values = np.asarray(fitted.predict(X))
    probabilities = np.asarray(fitted.predict_proba(X), np.float64) if hasattr(fitted, "predict_proba") else None
    for numbers in (values, probabilities):
        if numbers is not None and numbers.dtype.kind == "f" and not np.isfinite(numbers).all():
            raise ValueError("its predictions are not finite")
    return Prediction(values, probabilities)


def evidence_of(fitted: Any) -> Evidence | None:
    """The model's evidence, if it keeps any; without the model, which would otherwise stay in memory with it."""
    evidence = getattr(fitted, "evidence_", None)
    return replace(evidence) if isinstance(evidence, Evidence) else None


class CrossValidation:
    """Runs candidates over prepared folds. A model that fails is a row with the reason; the others go on."""

    def __init__(
        self, folds: PreparedFolds, target: Target, metrics: tuple[Metric, ...], seed: int, n_jobs: int,
        deadline: float | None, progress: Progress | None,
    ) -> None:  # fmt: skip
        self.folds, self.target, self.metrics, self.seed, self.n_jobs = folds, target, metrics, seed, n_jobs
        self.deadline, self.progress = deadline, progress
        self.out_of_fold: dict[str, Prediction] = {}
        self.interrupted = False

    def run(self, candidates: list[Candidate]) -> list[Row]:
        """A row for each candidate, in the same order; after Ctrl-C, the rest are rows that were not run."""
        total = len(candidates) * len(self.folds)
        rows: list[Row] = []
        try:
            for candidate in candidates:
                rows.append(self._row(candidate, len(rows) * len(self.folds), total))
            if self.progress is not None:
                self.progress(total, total, "")
        except KeyboardInterrupt:
            self.interrupted = True
            rows += [
                Row(each.name, each.canon, baseline=each.name == BASELINE, error="interrupted", skipped=True)
                for each in candidates[len(rows) :]
            ]
        return rows

    def _row(self, candidate: Candidate, done: int, total: int) -> Row:
        row = Row(candidate.name, candidate.canon, baseline=candidate.name == BASELINE)
        try:
            model = candidate.make(self.seed)
            if hasattr(self.folds[0][0], "tocsr") and not get_tags(model).input_tags.sparse:
                raise TypeError("the prepared table is sparse and this model needs a dense one")
        except (Exception, SystemExit) as error:
            return replace(row, error=one_line(error))
        fits = self._fits(model, row, done, total)
        failed = next((fit.error for fit in fits if fit.error), "")
        row = replace(row, notes=tuple(dict.fromkeys(text for fit in fits for text in fit.warnings)))
        if failed:
            return replace(row, error=failed)
        if len(fits) < len(self.folds):
            return replace(row, error="the time budget was used up", skipped=True)
        try:
            return self._scored(row, fits)
        except ValueError as error:  # probabilities of the wrong shape, for instance
            return replace(row, error=one_line(error))

    def _fits(self, model: Any, row: Row, done: int, total: int) -> list[FoldFit]:
        fits: list[FoldFit] = []

        def jobs() -> Iterator[Any]:
            for fold in range(len(self.folds)):
                late = self.deadline is not None and time.monotonic() > self.deadline and not row.baseline
                if late or any(fit.error for fit in fits):
                    return
                if self.progress is not None:
                    self.progress(done + fold, total, row.model)
                yield joblib.delayed(fit_fold)(model, *self.folds[fold])

        for fit in joblib.Parallel(n_jobs=self.n_jobs, return_as="generator", pre_dispatch="n_jobs")(jobs()):
            fits.append(fit)
        return fits

    def _scored(self, row: Row, fits: list[FoldFit]) -> Row:
        predictions = [fit.prediction for fit in fits if fit.prediction is not None]
        rows = [self.folds.held_out(fold) for fold in range(len(fits))]
        truth = [self.target.values[held_out] for held_out in rows]
        scores = {
            metric.name: metric.over(
                [metric(y, said, self.target.classes) for y, said in zip(truth, predictions, strict=True)],
                self.folds.test_share,
            )
            for metric in self.metrics
        }
        self.out_of_fold[row.model] = _gathered(predictions, rows)
        evidence = [fit.evidence for fit in fits if fit.evidence is not None]
        seconds = float(np.mean([fit.seconds for fit in fits]))
        return replace(
            row, scores=scores, fit_seconds=seconds, evidence=worst_of(evidence) if evidence else None,
            tried=1, folds_done=len(fits),
        )  # fmt: skip


def _gathered(parts: list[Prediction], rows: Iterable[Any]) -> Prediction:
    """The folds' predictions in the order of the table."""
    order = np.argsort(np.concatenate(list(rows)), kind="stable")
    probabilities = [part.probabilities for part in parts if part.probabilities is not None]
    return Prediction(
        np.concatenate([part.values for part in parts])[order],
        np.concatenate(probabilities)[order] if len(probabilities) == len(parts) else None,
    )
