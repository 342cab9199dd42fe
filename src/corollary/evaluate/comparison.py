"""The result of ``compare``: a leaderboard with intervals and evidence, and the best model fitted to everything."""

from __future__ import annotations

import importlib
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corollary.core.evidence import Kind
from corollary.evaluate.data_checks import Check
from corollary.evaluate.leaderboard import BLEND
from corollary.evaluate.leaderboard import Row as Row
from corollary.evaluate.leaderboard import Trial as Trial
from corollary.evaluate.metrics import Metric, Prediction, Score
from corollary.evaluate.optimisation_bias import OptimisationBias
from corollary.evaluate.wording import between, number
from corollary.tabular.messages import count
from corollary.tabular.roles import DataFacts
from corollary.tabular.target import Target


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """What ``corollary.compare`` found.

    Attributes
    ----------
    rows : tuple of Row
        The leaderboard, best first; models that failed are last, with the reason.
    best : str
        The name of the best model (never the baseline).
    best_ : Pipeline
        Preparation and best model, fitted to every row (a vote of such pipelines if a blend won); ``corollary.save``
        keeps it whole. Of a comparison that was interrupted it is the best so far as it was fitted to one fold's
        training part, or None.
    out_of_fold : mapping of str to Prediction
        For each model with as many folds as the best, what it said about each of ``judged_rows`` while held out.
    checks, notes : tuple
        What is odd about the data; what was done to it.
    settings : mapping
        Everything that was asked for, to do it again: ``models`` by name, ``holdout`` by path (True: a data frame).
    bias : OptimisationBias or None
        How much of the best score (that of the leaderboard) is luck of having chosen among the configurations that
        finished all folds; None if that is not known, or only one did.
    trials : tuple of Trial
        Every configuration that was tried, the baseline aside.
    blend : mapping of str to float
        Weights of the members if a blend won (names as in ``rows``, with a number for a second configuration of a
        model); empty if the winner is one model.
    split : str
        ``"random"``, ``"time:COLUMN"`` or ``"group:COLUMN"``.
    holdout : mapping of str to float, or None
        Scores of ``best_`` on the hold-out table, by metric; None if there was none.
    seconds : float
        Wall-clock seconds of the whole comparison.
    judged : array of int or None
        The rows that were held out in some fold, where these are not all (``split="time:…"``, or an interruption).
    groups : array of int or None
        For each row the number of its group, or of its moment in time, in order; None if the split is random.
    """

    facts: DataFacts
    target: Target
    metrics: tuple[Metric, ...]
    rows: tuple[Row, ...]
    best: str
    best_: Any
    out_of_fold: Mapping[str, Prediction]
    features: Any
    checks: tuple[Check, ...] = ()
    notes: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    bias: OptimisationBias | None = None
    trials: tuple[Trial, ...] = ()
    blend: Mapping[str, float] = field(default_factory=dict)
    split: str = "random"
    holdout: Mapping[str, float] | None = None
    seconds: float = math.nan
    judged: NDArray[np.intp] | None = None
    groups: NDArray[np.intp] | None = None

    @property
    def judged_rows(self) -> NDArray[np.intp]:
        """The rows of ``features`` and ``target`` that ``out_of_fold`` speaks of, in its order."""
        return np.arange(len(self.target.values)) if self.judged is None else self.judged

    @property
    def truth(self) -> NDArray[Any]:
        """The target of ``judged_rows``, to be held against ``out_of_fold``."""
        values: NDArray[Any] = self.target.values[self.judged_rows]
        return values

    @property
    def judged_weights(self) -> NDArray[np.float64] | None:
        """The weights of ``judged_rows``, if rows have any."""
        return None if self.target.weights is None else self.target.weights[self.judged_rows]

    @property
    def metric(self) -> Metric:
        """The metric that ranks."""
        return self.metrics[0]

    @property
    def best_row(self) -> Row:
        """The leaderboard line of the best model."""
        return next(row for row in self.rows if row.model == self.best)

    @property
    def baseline(self) -> Row | None:
        """The leaderboard line of the baseline, if it was scored."""
        return next((row for row in self.rows if row.baseline and not row.error), None)

    @property
    def beats_baseline(self) -> bool:
        """Whether the best model is better than the baseline on the folds that it has."""
        return self.baseline is None or self.best_row.beats_baseline

    @property
    def kinds(self) -> list[Kind]:
        """The kinds of claim in the column of evidence, the strongest first."""
        found = {row.evidence.certificate.kind for row in self.rows if row.evidence is not None and not row.error}
        return sorted(found, key=lambda kind: kind.rank)

    @property
    def slowest(self) -> float:
        """Seconds of the slowest model's fit."""
        return max((row.fit_seconds for row in self.rows if math.isfinite(row.fit_seconds)), default=math.nan)

    def predict(self, X: Any) -> Any:
        """What the best model says of rows with the columns of the table."""
        return self._model().predict(X)

    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the classes, in the order of ``best_.classes_``."""
        return self._model().predict_proba(X)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the best model to a file, with its card: see :func:`corollary.save`."""
        from corollary.evaluate.card import model_card
        from corollary.io import save

        save(self._model(), path, card=model_card(self))

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write the page about this comparison to a file: see :func:`corollary.write_report`."""
        importlib.import_module("corollary.report").write_report(self, path)  # a layer above this one

    def _model(self) -> Any:
        if self.best_ is None:
            raise ValueError("There is no model: the comparison was interrupted before one was kept.")
        return self.best_

    def leaderboard(self) -> Any:
        """The leaderboard as a pandas data frame: a line for each model, best first, with every score and its interval.

        Columns: ``rank``, ``model``, for each metric its mean under its own name and the ends of the 95% interval of
        the one that ranks (``low``, ``high``), ``folds``, ``tried``, ``settings``, ``fit_seconds``, ``evidence``,
        ``tied``, ``beats_baseline``, ``error``.
        """
        import pandas as pd

        lines = []
        for row in self.rows:
            scores = {metric.name: row.scores[metric.name].mean if row.scores else math.nan for metric in self.metrics}
            first = row.scores.get(self.metric.name)
            ends = {"low": math.nan if first is None else first.low, "high": math.nan if first is None else first.high}
            lines.append(
                {"rank": row.rank, "model": row.model} | scores | ends
                | {"folds": row.folds_done, "tried": row.tried, "settings": dict(row.settings),
                   "fit_seconds": row.fit_seconds, "evidence": row.verdict, "tied": row.tied,
                   "beats_baseline": row.beats_baseline, "error": row.error}
            )  # fmt: skip
        return pd.DataFrame(lines).astype({"rank": "Int64"})

    def summary(self) -> str:
        """Two or three plain sentences: who won, by how much, and whether that means something."""
        row, name = self.best_row, self.metric.name
        score = row.scores[name]
        decimals = decimals_for(score)
        text = f"{self.best} predicts {self.target.name} best" if self.beats_baseline else f"{self.best} came first"
        text += f": {self.metric.label} "
        text += f"{shown_score(score, decimals, interval=True)} over {count(len(score.folds), 'fold')}"
        if self.baseline is not None:
            base = np.mean(self.baseline.scores[name].folds[: len(score.folds)])  # where the best has been, too
            text += f"; the baseline, which ignores the columns, has {base:,.{decimals}f}"
            text += "" if row.folds_done == self._most_folds else " there"
        text += "."
        if not self.beats_baseline:
            text += " No model beats the baseline"
            text += ": these columns say little about the target." if self.complete else " so far."
        elif self.baseline is not None and self._may_be_chance(score - self.baseline.scores[name]):
            text += " That may be chance: the 95% interval of the difference includes zero."
        if not self.complete and (row.folds_done < self._most_folds or not self.beats_baseline):
            text += f" {self._unfinished()}"
        if ties := [each.model for each in self.rows if each.tied and each.model != self.best]:
            text += f" The data cannot tell it apart from {_enumerated(ties)}."
        return text + (f" {luck}" if (luck := self.luck()) else "")

    @property
    def _most_folds(self) -> int:
        return max(row.folds_done for row in self.rows)

    @property
    def complete(self) -> bool:
        """Whether every model that did not fail has all folds; else there was not the time to judge them all."""
        return all(row.folds_done == self._most_folds for row in self.rows if not row.error or row.skipped)

    def _unfinished(self) -> str:
        """How far a search came that had too little time."""
        judged = (row for row in self.rows if not row.error or row.skipped)
        models = [row for row in judged if not row.baseline and row.model != BLEND]
        done = sum(row.folds_done == self._most_folds for row in models)
        text = f"There was time for all folds of {done} of {count(len(models), 'model')}"
        return f"{text}: more of it may change the order."

    @staticmethod
    def _may_be_chance(difference: Score) -> bool:
        return len(difference.folds) > 1 and not difference.excludes_zero

    def luck(self, *, detail: bool = False) -> str:
        """What of the best score is luck of its choice, in sentences (``detail``: how that was found); or nothing.

        The score that is to be expected is that of the leaderboard with its luck taken off, as both are shown.
        """
        if self.bias is None:
            return ""
        score = self.best_row.scores[self.metric.name]
        places = decimals_for(score)
        found, done = self.bias, self.bias.configurations
        tried = max(done, sum(bool(each.scores) for each in self.trials) + any(row.model == BLEND for row in self.rows))
        text = f"It is the best of {count(done, 'configuration')}"
        text += f" that finished all folds, of {tried:,} tried" if tried > done else ""
        if found.bias <= 0.5 * 10.0**-places:
            text += "; no luck of that choice shows in its score"
        else:
            off = round(found.bias, places) * (-1 if self.metric.greater_is_better else 1)
            expected = number(round(score.mean, places) + off, places)
            text += f", and looks better by about {number(found.bias, places)} for that: expect {expected} on new rows"
        if detail:
            text += f" (luck: {between(found.interval)}, {count(found.repeats, 'bootstrap draw')})"
        if tried > done:
            text += ". What was gained by choosing these on their first folds is not counted"
        return f"{text}."

    def table(self) -> list[list[str]]:
        """The leaderboard as text, a header line first; numbers of a column have the same decimals."""
        lines = [["#", "model", *(metric.title for metric in self.metrics), "fit s", "evidence"]]
        places = [self._decimals(metric) for metric in self.metrics]
        for row in self.rows:
            cells = [str(row.rank or "–"), row.model]
            for index, (metric, decimals) in enumerate(zip(self.metrics, places, strict=True)):
                cells.append(shown_score(row.scores.get(metric.name), decimals, interval=index == 0))
            cells += [shown_seconds(row.fit_seconds, self.slowest), row.verdict]
            lines.append(cells)
        return lines

    def _decimals(self, metric: Metric) -> int:
        score = self.best_row.scores.get(metric.name)
        return 3 if score is None else decimals_for(score)

    def __str__(self) -> str:
        lines = self.table()
        widths = [max(len(line[index]) for line in lines) for index in range(len(lines[0]))]
        left = (1, len(widths) - 1)
        text = [
            "  ".join(cell.ljust(width) if i in left else cell.rjust(width) for i, (cell, width) in pairs).rstrip()
            for pairs in (list(enumerate(zip(line, widths, strict=True))) for line in lines)
        ]
        failed = [f"{row.model}: {row.error}" for row in self.rows if row.error]
        folds = max((row.folds_done for row in self.rows), default=0)
        part = [f"{row.model}: {row.folds_done} of {folds} folds" for row in self.rows if 0 < row.folds_done < folds]
        return "\n".join([*text, *part, *failed, "", self.summary()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from corollary.evaluate.notebook import head_of

        return head_of(self)


def decimals_for(score: Score) -> int:
    """Decimals that show two digits of the interval."""
    width = score.half_width
    if not math.isfinite(width) or width <= 0:
        return 3 if abs(score.mean) < 1000 else 0
    return min(6, max(0, 1 - math.floor(math.log10(width))))


def shown_score(score: Score | None, decimals: int, interval: bool = False) -> str:
    """``"0.321 ± 0.008"``, ``"0.014 (0.000–0.044)"`` at the end of the range, or a dash for no score."""
    if score is None or not math.isfinite(score.mean):
        return "–"
    mean = f"{round(score.mean, decimals) + 0.0:,.{decimals}f}".replace("-", "−")  # + 0.0: no negative zero
    if not interval or not math.isfinite(score.half_width):
        return mean
    if score.cut:  # a ± would reach outside of what the metric can be
        low, high = (f"{end:,.{decimals}f}".replace("-", "−") for end in (score.low, score.high))
        return f"{mean} ({low}–{high})"
    return f"{mean} ± {score.half_width:,.{decimals}f}"


def shown_seconds(seconds: float, slowest: float) -> str:
    """Seconds with as many decimals as the column needs: two if its slowest takes ten or more, else three."""
    return f"{seconds:,.{2 if slowest >= 10 else 3}f}" if math.isfinite(seconds) else "–"


def _enumerated(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
