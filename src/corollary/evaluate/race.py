"""The race: candidates over the same folds, scored, with what each said about rows it had not seen."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import joblib
import numpy as np
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.utils import get_tags

from corollary.evaluate.comparison import Row
from corollary.evaluate.folds import FoldFit, PreparedFolds, fit_fold, one_line
from corollary.evaluate.metrics import Metric, Prediction, Score
from corollary.evaluate.task import Target
from corollary.registry import Entry, all_estimators

PRESETS = ("fast", "full")
BASELINE = "Baseline"
Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Candidate:
    """A model to try: its name, its CANON id, and how to make one."""

    name: str
    canon: str
    make: Callable[[], Any]


def candidates_for(task: str, preset: str, models: Mapping[str, Any] | None) -> list[Candidate]:
    """The registry's models for ``task`` and ``preset`` (or ``models`` instead), and the baseline."""
    if models is not None:
        found = [Candidate(name, "", _maker(model)) for name, model in models.items()]
    else:
        wanted = PRESETS[: PRESETS.index(preset) + 1]
        entries = (entry for entry in all_estimators(task) if entry.compare in wanted)
        found = [Candidate(entry.name, entry.canon, _maker(entry)) for entry in entries]
    baseline = DummyClassifier(strategy="prior") if task == "classification" else DummyRegressor()
    return [*found, Candidate(BASELINE, "", _maker(baseline))]


def _maker(source: Any) -> Callable[[], Any]:
    """Make the model of a registry entry, or hand out a given one; importing waits until then."""
    return lambda: source.load()(**source.arguments) if isinstance(source, Entry) else source


def with_seed(model: Any, seed: int) -> Any:
    """The model, with its ``random_state`` set if it has one that was left open."""
    parameters = model.get_params(deep=False)
    return model.set_params(random_state=seed) if parameters.get("random_state", seed) is None else model


class Race:
    """Runs candidates over prepared folds. A model that fails is a row with the reason; the others go on."""

    def __init__(
        self, folds: PreparedFolds, target: Target, metrics: tuple[Metric, ...], seed: int, n_jobs: int,
        deadline: float | None, progress: Progress | None,
    ) -> None:  # fmt: skip
        self.folds, self.target, self.metrics, self.seed, self.n_jobs = folds, target, metrics, seed, n_jobs
        self.deadline, self.progress = deadline, progress
        self.out_of_fold: dict[str, Prediction] = {}

    def run(self, candidates: list[Candidate]) -> list[Row]:
        """A row for each candidate, in the same order."""
        total = len(candidates) * len(self.folds)
        rows = [self._row(candidate, index * len(self.folds), total) for index, candidate in enumerate(candidates)]
        if self.progress is not None:
            self.progress(total, total, "")
        return rows

    def _row(self, candidate: Candidate, done: int, total: int) -> Row:
        row = Row(candidate.name, candidate.canon, baseline=candidate.name == BASELINE)
        try:
            model = with_seed(candidate.make(), self.seed)
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
            metric.name: Score(
                tuple(metric(y, said, self.target.classes) for y, said in zip(truth, predictions, strict=True)),
                self.folds.test_share,
            )
            for metric in self.metrics
        }
        self.out_of_fold[row.model] = _gathered(predictions, rows)
        evidence = [fit.evidence for fit in fits if fit.evidence is not None]
        worst = max(evidence, key=lambda each: (not each.holds, each.certificate.value), default=None)
        seconds = float(np.mean([fit.seconds for fit in fits]))
        return replace(row, scores=scores, fit_seconds=seconds, evidence=worst)


def _gathered(parts: list[Prediction], rows: Iterable[Any]) -> Prediction:
    """The folds' predictions in the order of the table."""
    order = np.argsort(np.concatenate(list(rows)), kind="stable")
    probabilities = [part.probabilities for part in parts if part.probabilities is not None]
    return Prediction(
        np.concatenate([part.values for part in parts])[order],
        np.concatenate(probabilities)[order] if len(probabilities) == len(parts) else None,
    )


def ranked(rows: list[Row], metric: Metric) -> tuple[Row, ...]:
    """Best first; then models without this score (no probabilities), then those that failed.

    A model is tied with the best when the 95% interval of their paired difference, fold by fold, holds zero.
    """
    sign = -1.0 if metric.greater_is_better else 1.0

    def key(row: Row) -> tuple[int, float]:
        mean = row.scores[metric.name].mean if row.scores else np.nan
        return (2 if row.error else int(not np.isfinite(mean)), sign * float(np.nan_to_num(mean)))

    ordered = sorted(rows, key=key)
    leader = next((row for row in ordered if not row.baseline and key(row)[0] == 0), None)
    found = []
    for rank, row in enumerate(ordered, start=1):
        scored = key(row)[0] == 0
        tied = False
        if scored and leader is not None and row is not leader and not row.baseline:
            tied = not (row.scores[metric.name] - leader.scores[metric.name]).excludes_zero
        found.append(replace(row, rank=rank if scored else None, tied=tied))
    return tuple(found)
