"""A search within a time: successive halving over configurations, with folds as the steps.

Every model gets a first fold, cheap ones first. Then new configurations are drawn of the models that do best, and
those among the best third of all with as many folds get more of them. At the end there is time for the folds that
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
from corollary.tabular.messages import count

_THIRD = 3
_BLENDED = 4  # configurations for whose last fit time is kept
_MOST_OF_IT = 0.85
_FOR_OTHERS = 0.2  # of the time, for finishing those that are near the best
_LOOKING = 0.4  # of the time, in which new configurations come first
_PAIR = 1e-9  # seconds for a pair of rows
_SLACK = 1.2  # a fit may take longer than those before


class Halving:
    """The state of a search."""

    def __init__(self, runner: Runner, candidates: Sequence[Candidate], rows: int, seed: int) -> None:
        self.runner, self.clock, self.folds = runner, runner.clock, len(runner.folds)
        self.sign = 1.0 if runner.judge.metric.greater_is_better else -1.0
        spaces = [(each, space) for each in candidates if (space := each.space(rows)).searched]
        ordered = sorted(spaces, key=lambda pair: -1 if pair[0].baseline else pair[1].cost)
        self.samplers = {each.name: Sampler(each, space, seed) for each, space in ordered}
        self.most = 40 + rows // 25  # more configurations would only fit the luck of a small table
        self.steps = sorted({1, min(2, self.folds), self.folds})
        self.goal: dict[int, int] = {}
        self.base: Tried | None = None
        self._reference: Tried | None = None
        self._known_at = -1  # fits at which the reference and the leads over it were worked out
        self._leads: dict[int, float] = {}

    def run(self) -> None:
        """Search until the time that is left is needed to finish, or nothing more is worth trying."""
        for name, sampler in self.samplers.items():
            if sampler.space.pairs and self._too_many_pairs(sampler.space.share):
                self.runner.refuse(sampler.candidate, "the table has too many rows for it in this time")
                continue
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
                self.runner.ended = self._why_no_more()
                break
            self._fold(batch)
        self._complete()
        if self.runner.progress is not None:
            self.runner.progress(self.runner.fits, self.runner.fits, "")
        for tried in self.runner.tried:
            if tried.alive and not tried.done(self.folds):
                used_up = "others were better on the folds it has" if self.runner.ended else "the time was used up"
                tried.dropped = used_up if tried.scores else "there was no time for it"
                tried.skipped = not tried.scores

    def _why_no_more(self) -> str:
        """Why a search ends before its time."""
        tried = count(len(self.scored), "configuration")
        more = "for so few rows no more are worth trying" if self._enough() else "its models have no others to try"
        return f"the search ended before its time, with {tried}: {more}"

    def _enough(self) -> bool:
        return len(self.runner.tried) >= self.most

    def _too_many_pairs(self, share: float) -> bool:
        """Whether looking at every pair of a held-out and a training row would take longer than a fit may."""
        train, test = self.runner.folds.sizes
        return _PAIR * train * test > share * self.clock.seconds

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
        if self._known_at != self.runner.fits:
            done = [each for each in self.scored if each.done(self.folds)]
            self._reference = max(done, key=lambda each: self.sign * each.mean, default=self.base)
            self._known_at, self._leads = self.runner.fits, {}
        if id(tried) not in self._leads:
            self._leads[id(tried)] = self._lead_over(self._reference, tried)
        return self._leads[id(tried)]

    def _lead_over(self, reference: Tried | None, tried: Tried) -> float:
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

    def _near(self, most: int = _BLENDED) -> list[Tried]:
        """The best few, as far as they have most of what the best is ahead of the baseline: worth blending."""
        best = self._best_first()
        if not best or self.base is None:
            return best[:1]
        floor = self.lead(self.base)
        bar = floor + _MOST_OF_IT * (self.lead(best[0]) - floor)
        near = [best[0], *(tried for tried in best[1:] if self.lead(tried) >= bar)]
        of_models: dict[str, Tried] = {}
        for tried in near:
            of_models.setdefault(tried.name, tried)
        return list(dict.fromkeys([*of_models.values(), *near]))[:most]  # different models blend better

    def _to_finish(self) -> float:
        """Seconds for the folds that the best still lacks and for its last fit, and some for those near it."""
        near = self._near()
        needs = [self._lacking(tried) + self._last_fit(tried) for tried in near]
        return needs[0] + min(_FOR_OTHERS * self.clock.seconds, sum(needs[1:])) if needs else 0.0

    def _last_fits(self) -> float:
        """Seconds for the last fit of the best, and of those near it that may be blended with it."""
        near = self._near()
        if not near:
            return 0.0
        others = sum(self._last_fit(tried) for tried in near[1:] if tried.done(self.folds))
        return self._last_fit(near[0]) + min(_FOR_OTHERS * self.clock.seconds, others)

    def _pick(self, count: int) -> list[Tried]:
        """Who is to get the next folds: those on their way, those that are promoted, or new ones."""
        going = [each for each in self.scored if each.alive and len(each.scores) < self.goal[id(each)]]
        found = sorted(going, key=self.lead, reverse=True)[:count]
        early = self.clock.elapsed < _LOOKING * self.clock.seconds
        while len(found) < count:
            following = (self._fresh() or self._promoted(found)) if early else (self._promoted(found) or self._fresh())
            if following is None:
                break
            found.append(following)
        return found

    def _promoted(self, taken: list[Tried]) -> Tried | None:
        """The best that has reached a step and is among the best third of all that have."""
        near = self._near(len(self.runner.tried))
        for here, following in reversed(list(zip(self.steps, self.steps[1:], strict=False))):
            there = sorted((each for each in self.scored if len(each.scores) >= here), key=self.lead, reverse=True)
            for tried in there[: math.ceil(len(there) / _THIRD)]:
                if tried.alive and tried in near and self.goal[id(tried)] == here and tried not in taken:
                    self.goal[id(tried)] = following
                    return tried
        return None

    def _fresh(self) -> Tried | None:
        """A new configuration of a model that does well: the best model gets half of them, the next a quarter, …"""
        if self._enough():
            return None
        leads: dict[str, float] = {}
        for tried in self.scored:
            leads[tried.name] = max(leads.get(tried.name, -math.inf), self.lead(tried))
        bottom = -math.inf if self.base is None else self.lead(self.base)
        names = sorted((name for name, lead in leads.items() if lead > bottom), key=lambda name: -leads[name])
        counts = {name: sum(tried.name == name for tried in self.runner.tried) for name in names}
        for name in sorted(names, key=lambda name: counts[name] * 2.0 ** names.index(name)):
            if (new := self._start(name)) is not None and not new.error:
                return new
        return None

    def _complete(self) -> None:
        """The folds that the best, those near it, and then the best of each model still lack, while there is time."""
        of_models: dict[str, Tried] = {}
        for tried in self._best_first():
            of_models.setdefault(tried.name, tried)
        near = self._near()
        for tried in dict.fromkeys([*near, *of_models.values(), *self._best_first()[: 2 * _BLENDED]]):
            own = self._last_fit(tried) if tried in near[1:] else 0.0  # to be blended it is fitted to every row too
            while tried.alive and len(tried.scores) < self.folds:
                if self.clock.left < self._next_fold(tried) + self._last_fits() + own:
                    break
                self._fold([tried])
