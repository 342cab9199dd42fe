"""From candidates to a leaderboard: run them, blend the best, and say what of the best score is luck."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corollary.evaluate.candidates import Candidate
from corollary.evaluate.cross_validation import weights_for
from corollary.evaluate.leaderboard import Row, Trial, ranked
from corollary.evaluate.metrics import Prediction
from corollary.evaluate.optimisation_bias import OptimisationBias
from corollary.evaluate.search.blend import Blend, blend, member_names
from corollary.evaluate.search.fixed import run_short_list
from corollary.evaluate.search.halving import Halving
from corollary.evaluate.search.luck import luck_of
from corollary.evaluate.search.refit import Refitted, pipeline_of, refit, vote_of
from corollary.evaluate.search.runner import Runner
from corollary.evaluate.search.tried import Tried
from corollary.tabular.messages import InputError, one_line


@dataclass(frozen=True)
class Found:
    """What a search has found, before anything is fitted to every row."""

    rows: tuple[Row, ...]
    out_of_fold: dict[str, Prediction]
    trials: tuple[Trial, ...]
    bias: OptimisationBias | None
    leaders: dict[str, Tried]  # the best configuration of each model
    judged: NDArray[np.intp] | None  # the rows that ``out_of_fold`` speaks of, if these are not all
    blend: Blend | None = None


class Search:
    """A search over candidates: with a time by halving and a blend at the end, without one over a short list."""

    def __init__(self, runner: Runner, candidates: Sequence[Candidate], seed: int, groups: Any = None) -> None:
        self.runner, self.judge, self.candidates, self.seed = runner, runner.judge, candidates, seed
        self.groups = groups
        self.interrupted = False

    def run(self) -> Found:
        """Search; after Ctrl-C (``interrupted``), what there is."""
        rows = len(self.judge.target.values)
        try:
            if self.runner.clock.limited:
                Halving(self.runner, self.candidates, rows, self.seed).run()
            else:
                run_short_list(self.runner, self.candidates, rows, self.seed)
        except KeyboardInterrupt:
            self.interrupted = True
            for tried in self.runner.tried:
                if tried.alive and not tried.done(len(self.judge.folds)):
                    tried.dropped, tried.skipped = "interrupted", not tried.scores
        return self._found()

    def _done(self) -> list[Tried]:
        """Configurations with a score on all folds, the baseline aside."""
        complete = (each for each in self.runner.tried if each.done(len(self.judge.folds)))
        return [each for each in complete if not each.configuration.candidate.baseline and np.isfinite(each.mean)]

    def _found(self) -> Found:
        rows_in_all = len(self.judge.target.values)
        done = self._done()
        mixed = self._blend(done) if self.runner.clock.limited and not self.interrupted else None
        leaders = self._leaders()
        counts = {name: sum(bool(each.scores) for each in self.runner.tried if each.name == name) for name in leaders}
        rows = [
            self.judge.row(leaders[each.name], counts[each.name]) for each in self.candidates if each.name in leaders
        ]
        rows += [
            Row(each.name, each.canon, baseline=each.baseline, skipped=True,
                error="interrupted" if self.interrupted else "there was no time for it")
            for each in self.candidates if each.name not in leaders and each.space(rows_in_all).searched
        ]  # fmt: skip
        if mixed is not None:
            rows.append(mixed.row)
        folds = len(self.judge.folds)
        order = ranked(rows, self.judge.metric, folds)
        best = next((row for row in order if row.rank is not None and not row.baseline), None)
        some = folds if best is None else best.folds_done  # fewer only if no model has all of them
        out_of_fold = {
            name: self.judge.out_of_fold(tried, some) for name, tried in leaders.items() if len(tried.scores) >= some
        }
        said = [self.judge.out_of_fold(each, folds) for each in done]
        if mixed is not None:
            out_of_fold[mixed.row.model] = self.judge.gathered(mixed.said)
            said.append(out_of_fold[mixed.row.model])
        groups = None if self.groups is None else np.asarray(self.groups)[self.judge.folds.judged]
        bias = None
        if not self.interrupted and some == folds:  # else the winner is not among those whose luck is known
            bias = luck_of(said, self.judge.target, self.judge.folds.judged, self.judge.metric, self.seed, groups)
        if bias is not None and best is not None:  # on the scale of the leaderboard: the mean over folds
            bias = replace(bias, best_score=best.scores[self.judge.metric.name].mean)
        trials = tuple(each.trial() for each in self.runner.tried if not each.configuration.candidate.baseline)
        judged = None if len(np.unique(self.judge.order(some))) == rows_in_all else np.sort(self.judge.order(some))
        return Found(order, out_of_fold, trials, bias, leaders, judged, mixed)

    def _leaders(self) -> dict[str, Tried]:
        """The best configuration of each model: of those with the most folds, the one with the best mean."""
        sign = 1.0 if self.judge.metric.greater_is_better else -1.0

        def key(tried: Tried) -> tuple[int, int, float]:
            mean = sign * tried.mean
            return (int(not tried.error), len(tried.scores), mean if np.isfinite(mean) else -np.inf)

        found: dict[str, Tried] = {}
        for tried in self.runner.tried:
            if tried.name not in found or key(tried) > key(found[tried.name]):
                found[tried.name] = tried
        return found

    def _blend(self, done: list[Tried]) -> Blend | None:
        """The blend of those for whose last fits there is time, and that take the weights of rows if there are any."""
        weights, grown = self.judge.target.weights, self.judge.folds.grown
        sign = -1.0 if self.judge.metric.greater_is_better else 1.0
        able = sorted(done, key=lambda each: sign * each.mean)
        able = [each for each in able if weights is None or weights_for(each.model, weights)]
        while (found := blend(able, self.judge)) is not None:
            needed = sum(each.seconds + self.judge.folds.seconds(each.kind) for each in found.members)
            if 1.1 * grown * needed <= self.runner.clock.left:
                return found
            _, *others = sorted(found.members, key=able.index)  # a blend without the best would be of no use
            if not others:
                return None
            slowest = max(others, key=lambda each: each.seconds)
            able = [each for each in able if each is not slowest]
        return None

    def finish(self, found: Found, X: Any) -> dict[str, Any]:
        """Fit the best to every row; if that fails, the next best. What a Comparison wants to know of it."""
        reasons = [f"{row.model}: {row.error}" for row in found.rows if row.error]
        names = [] if found.blend is None else member_names(found.blend.members)
        for index, row in enumerate(found.rows):
            if row.error or row.baseline:
                continue
            mixed = found.blend if found.blend is not None and row is _line(found, found.blend.row.model) else None
            try:
                last = self._refit(row, mixed, found, X)
            except Exception as error:
                reasons.append(f"{row.model}: {one_line(error)}")
                continue
            notes = tuple(dict.fromkeys((*row.notes, *last.notes)))
            rows = (*found.rows[:index], replace(row, evidence=last.evidence, notes=notes), *found.rows[index + 1 :])
            shares = {} if mixed is None else dict(zip(names, map(float, mixed.shares), strict=True))
            return {"rows": rows, "best": row.model, "best_": last.model, "blend": shares}
        raise InputError(f"no model could be fitted ({'; '.join(reasons[:3]) or 'none suits this task'})")

    def _refit(self, row: Row, mixed: Blend | None, found: Found, X: Any) -> Refitted:
        folds, target, clock = self.judge.folds, self.judge.target, self.runner.clock
        if mixed is not None:
            return refit(vote_of(mixed, folds, target), X, target, self.seed, None)
        seconds = clock.left if clock.limited else None
        return refit(pipeline_of(found.leaders[row.model], folds), X, target, self.seed, seconds)


def _line(found: Found, name: str) -> Row | None:
    return next((row for row in found.rows if row.model == name), None)
