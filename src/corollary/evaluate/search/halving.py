"""A search within a time: successive halving over configurations, with folds as the steps.

Every model gets a first fold, cheap ones first. Then configurations that are among the best third of those with as many
folds get more of them, and new ones are drawn of the models that do best. At the end there is time for the folds that
the best still lack, and for fitting the winner to every row.

References
----------
Jamieson and Talwalkar, Non-stochastic best arm identification and hyperparameter optimization, AISTATS 2016; Li et al.,
A system for massively parallel hyperparameter tuning, MLSys 2020.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from corollary.evaluate.candidates import Candidate
from corollary.evaluate.search.runner import Runner
from corollary.evaluate.search.sampling import Sampler
from corollary.evaluate.search.tried import Tried

_THIRD = 3
_BLENDED = 4  # configurations for whose last fit time is kept
_FOR_REFITS, _FOR_FOLDS = 0.25, 0.35  # of the time, at most
_SLACK = 1.2  # a fit may take longer than those before


class Halving:
    """The state of a search."""

    def __init__(self, runner: Runner, candidates: Sequence[Candidate], rows: int, seed: int) -> None:
        self.runner, self.clock, self.folds = runner, runner.clock, len(runner.folds)
        self.sign = 1.0 if runner.judge.metric.greater_is_better else -1.0
        spaces = [(each, each.space(rows)) for each in candidates]
        ordered = sorted(spaces, key=lambda pair: -1 if pair[0].baseline else pair[1].cost)
        self.samplers = {each.name: Sampler(each, space, seed) for each, space in ordered}
        self.most = 40 + rows // 25  # more configurations would only fit the luck of a small table
        self.steps = sorted({1, min(2, self.folds), self.folds})
        self.goal: dict[int, int] = {}
        self.base: Tried | None = None
        self.random = np.random.default_rng(seed)

    def run(self) -> None:
        """Search until the time that is left is needed to finish."""
        for name, sampler in self.samplers.items():
            tried = self._start(name)
            if tried is None:
                continue
            if sampler.candidate.baseline:
                self.base = tried
                self.goal[id(tried)] = self.folds
                for _ in range(self.folds):
                    self._fold([tried])
            elif self.clock.left > 0:
                self._fold([tried])
        while self.clock.left > self._to_finish():
            batch = self._pick(self.runner.n_jobs)
            if not batch:
                break
            self._fold(batch)
        self._complete()
        for tried in self.runner.tried:
            if tried.alive and not tried.done(self.folds):
                tried.dropped = "the time was used up" if tried.scores else "there was no time for it"
                tried.skipped = not tried.scores

    def _start(self, name: str) -> Tried | None:
        sampler = self.samplers[name]
        known = [tried for tried in self.scored if tried.name == name]
        best = max(known, key=self.lead, default=None)
        found = sampler.next(best.configuration.settings if best is not None else None)
        if found is None:
            return None
        tried = self.runner.start(found, sampler.space.wide)
        self.goal[id(tried)] = self.steps[0]
        return tried

    @property
    def scored(self) -> list[Tried]:
        """Configurations with a fold, the baseline aside."""
        return [each for each in self.runner.tried if each.scores and not each.error and each is not self.base]

    def lead(self, tried: Tried) -> float:
        """By how much it is better than a reference on the folds it has: the best with all folds, or the baseline."""
        done = [each for each in self.scored if each.done(self.folds)]
        reference = max(done, key=lambda each: self.sign * each.mean, default=self.base)
        if not np.isfinite(tried.mean):
            return -math.inf
        if reference is None or not reference.scores:
            return self.sign * tried.mean
        both = min(len(tried.scores), len(reference.scores))
        return float(np.mean(self.sign * np.subtract(tried.scores[:both], reference.scores[:both])))

    def _fold(self, batch: list[Tried]) -> None:
        """One more fold for each, within what one fit of its model may take and what is left."""
        shares = [self.samplers[tried.name].space.share for tried in batch]
        may = self.clock.share(max(shares))
        left = self.clock.left - self._last_fit(self._leader())
        self.runner.planned = self._expected_fits()
        self.runner.run(batch, None if may is None else max(0.05, min(may, left)))

    def _expected_fits(self) -> int:
        fits = [fit.seconds for tried in self.runner.tried for fit in tried.fits]
        return self.runner.fits + 1 + int(max(0.0, self.clock.left) / max(0.02, float(np.mean(fits)) if fits else 1.0))

    def _leader(self) -> Tried | None:
        return max(self.scored, key=self.lead, default=None)

    def _last_fit(self, tried: Tried | None) -> float:
        """Seconds to fit it to every row."""
        if tried is None:
            return 0.0
        folds = self.runner.folds
        return _SLACK * (tried.seconds + folds.seconds(tried.kind)) * folds.grown

    def _next_fold(self, tried: Tried) -> float:
        """Seconds of its next fold."""
        return _SLACK * (tried.seconds + self.runner.folds.seconds(tried.kind, len(tried.fits)))

    def _lacking(self, tried: Tried) -> float:
        """Seconds of the folds that it still lacks."""
        folds = range(len(tried.fits), self.folds)
        return _SLACK * sum(tried.seconds + self.runner.folds.seconds(tried.kind, fold) for fold in folds)

    def _best_first(self) -> list[Tried]:
        return sorted((tried for tried in self.scored if tried.alive), key=self.lead, reverse=True)

    def _to_finish(self) -> float:
        """Seconds for the last fits and for the folds that the best of them lack."""
        best = self._best_first()[:_BLENDED]
        if not best:
            return 0.0
        refits = self._last_fit(best[0])
        refits = max(refits, min(_FOR_REFITS * self.clock.seconds, sum(self._last_fit(tried) for tried in best)))
        lacking = [self._lacking(tried) for tried in best]
        return refits + max(lacking[0], min(_FOR_FOLDS * self.clock.seconds, sum(lacking)))

    def _pick(self, count: int) -> list[Tried]:
        """Who is to get the next folds: those on their way, those that are promoted, or new ones."""
        going = [each for each in self.scored if each.alive and len(each.scores) < self.goal[id(each)]]
        found = sorted(going, key=self.lead, reverse=True)[:count]
        while len(found) < count:
            following = self._promoted(found) or self._fresh()
            if following is None:
                break
            found.append(following)
        return found

    def _promoted(self, taken: list[Tried]) -> Tried | None:
        """The best that has reached a step and is among the best third of all that have."""
        for here, following in reversed(list(zip(self.steps, self.steps[1:], strict=False))):
            there = sorted((each for each in self.scored if len(each.scores) >= here), key=self.lead, reverse=True)
            for tried in there[: math.ceil(len(there) / _THIRD)]:
                if tried.alive and self.goal[id(tried)] == here and tried not in taken:
                    self.goal[id(tried)] = following
                    return tried
        return None

    def _fresh(self) -> Tried | None:
        """A new configuration of a model that does well: the best model has half of the chances, and so on."""
        if len(self.runner.tried) >= self.most:
            return None
        leads: dict[str, float] = {}
        for tried in self.scored:
            leads[tried.name] = max(leads.get(tried.name, -math.inf), self.lead(tried))
        bottom = -math.inf if self.base is None else self.lead(self.base)
        names = sorted((name for name, lead in leads.items() if lead > bottom), key=lambda name: -leads[name])
        while names:
            chances = 0.5 ** np.arange(1, len(names) + 1)
            name = names[int(self.random.choice(len(names), p=chances / chances.sum()))]
            if (new := self._start(name)) is not None and not new.error:
                return new
            names.remove(name)
        return None

    def _complete(self) -> None:
        """The folds that the best configurations, and the best of each model, still lack, as long as there is time."""
        first = self._best_first()[:_BLENDED]
        of_models: dict[str, Tried] = {}
        for tried in self._best_first():
            of_models.setdefault(tried.name, tried)
        for tried in dict.fromkeys([*first, *of_models.values(), *self._best_first()[: 2 * _BLENDED]]):
            while tried.alive and len(tried.scores) < self.folds:
                if self.clock.left < self._next_fold(tried) + self._last_fit(self._leader()):
                    break
                self._fold([tried])
