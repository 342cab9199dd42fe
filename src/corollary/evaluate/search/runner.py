"""Runs configurations fold by fold, within the time, and keeps what they gave."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import joblib
import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.pipeline import Pipeline

from corollary.evaluate.candidates import Candidate, Configuration
from corollary.evaluate.cross_validation import FoldFit, Progress, fit_fold
from corollary.evaluate.folds import PreparedFolds
from corollary.evaluate.search.clock import Clock
from corollary.evaluate.search.compiling import compile_first
from corollary.evaluate.search.diary import Diary
from corollary.evaluate.search.preparations import Preparing
from corollary.evaluate.search.tried import Judge, Tried
from corollary.tabular.messages import one_line

_KEPT = 3  # fitted models that are kept in case that the comparison is interrupted


class Runner:
    """Gives configurations their next fold. A model that fails keeps the reason; the others go on."""

    def __init__(
        self, folds: PreparedFolds, judge: Judge, prepare: Preparing, seed: int, n_jobs: int, clock: Clock,
        diary: Diary, progress: Progress | None,
    ) -> None:  # fmt: skip
        self.folds, self.judge, self.prepare, self.seed, self.clock = folds, judge, prepare, seed, clock
        self.n_jobs = n_jobs if n_jobs > 0 else joblib.cpu_count()
        self.diary, self.progress = diary, progress
        self.tried: list[Tried] = []
        self.planned, self.fits = 0, 0
        self.compiling = 0.0  # seconds, which the clock does not count
        self.ended = ""  # why there were no more, of a search that ended before its time
        self._kept: dict[int, tuple[Tried, Pipeline]] = {}
        self._compiled: set[tuple[type, str]] = set()

    def start(self, configuration: Configuration, wide: str = "plain") -> Tried:
        """A configuration ready for its first fold."""
        tried = Tried(configuration)
        self.tried.append(tried)
        try:
            tried.model = configuration.make(self.seed)
            tried.error = other_task(tried.model, self.judge.target.task)
            if not tried.error:
                tried.kind, tried.notes = self.prepare(tried.model, wide)
        except (Exception, SystemExit) as error:
            tried.error = one_line(error)
        return tried

    def refuse(self, candidate: Candidate, reason: str) -> None:
        """A candidate that is not tried, and why."""
        self.tried.append(Tried(Configuration(candidate), dropped=reason, skipped=True))

    def run(self, batch: Sequence[Tried], seconds: float | None = None) -> None:
        """The next fold of each; a fit that listens is stopped after ``seconds``."""
        fresh: list[Tried] = []
        for tried in batch:
            if tried.error:
                continue
            fold = len(tried.fits)
            rows, classes = len(self.folds.held_out(fold)), self.judge.target.classes
            known = self.diary.find(tried.configuration, tried.kind, fold, rows, classes)
            if known is None:
                self._compile(tried)
                fresh.append(tried)
            else:
                self._note(tried, known)
        for tried, fit in zip(fresh, self._fits(fresh, seconds), strict=True):
            self.diary.write(tried.configuration, tried.kind, len(tried.fits), fit)
            self._note(tried, fit)

    def _fits(self, batch: list[Tried], seconds: float | None) -> Iterator[FoldFit]:
        if self.n_jobs == 1 or len(batch) == 1:
            for tried in batch:
                self._tell(tried)
                yield fit_fold(tried.model, self._part(tried), seconds, keep=True)
            return

        def jobs() -> Iterator[Any]:
            for tried in batch:
                self._tell(tried)
                yield joblib.delayed(fit_fold)(tried.model, self._part(tried), seconds)

        yield from joblib.Parallel(n_jobs=self.n_jobs, return_as="generator", pre_dispatch="n_jobs")(jobs())

    def _compile(self, tried: Tried) -> None:
        """What a model compiles at its first fit takes none of the time that was given."""
        key = type(tried.model), tried.kind
        if self.clock.limited and key not in self._compiled:
            self._compiled.add(key)
            took = compile_first(tried.model, self._part(tried))
            self.clock.pause(took)
            self.compiling += took

    def _part(self, tried: Tried) -> Any:
        return self.folds.part(tried.kind, len(tried.fits))

    def _tell(self, tried: Tried) -> None:
        if self.progress is not None:
            self.progress(self.fits, max(self.planned, self.fits + 1), tried.name)
        if (leads := getattr(self.progress, "leads", None)) is not None:  # a progress that shows who leads, too
            scored = [
                each for each in self.tried if np.isfinite(each.mean) and not each.configuration.candidate.baseline
            ]
            sign = 1 if self.judge.metric.greater_is_better else -1
            best = max(scored, key=lambda each: (len(each.scores), sign * each.mean), default=None)
            if best is not None:
                leads(best.name, self.judge.metric.label, best.mean)

    def _note(self, tried: Tried, fit: FoldFit) -> None:
        part, fitted = self._part(tried), fit.fitted
        self.judge.note(tried, replace(fit, fitted=None))
        self.fits += 1
        if fitted is not None and not tried.configuration.candidate.baseline and np.isfinite(tried.mean):
            self._kept[id(tried)] = (tried, Pipeline([("prepare", part.prepare), ("model", fitted)]))
            sign = 1 if self.judge.metric.greater_is_better else -1
            best = sorted(self._kept.items(), key=lambda each: -sign * each[1][0].mean)
            self._kept = dict(best[:_KEPT])

    def fitted(self, tried: Tried) -> Pipeline | None:
        """The configuration as it was fitted to the training part of some fold, if that was kept."""
        return self._kept[id(tried)][1] if id(tried) in self._kept else None


def other_task(model: Any, task: str) -> str:
    """What to say of a model that is meant for the other task; nothing if it is not, or does not tell."""
    if not hasattr(model, "__sklearn_tags__"):
        return ""
    if task == "classification" and is_regressor(model):
        return "a regressor, but the target was read as classes; give a classifier, or use --task regression"
    if task == "regression" and is_classifier(model):
        return "a classifier, but the target was read as numbers; give a regressor, or use --task classification"
    return ""
