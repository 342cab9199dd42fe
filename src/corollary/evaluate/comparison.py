"""The result of ``compare``: a leaderboard with intervals and evidence, and the best model fitted to everything."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from corollary.core.evidence import Evidence, Kind
from corollary.evaluate.data_checks import Check
from corollary.evaluate.metrics import Metric, Prediction, Score
from corollary.tabular.roles import DataFacts
from corollary.tabular.target import Target


@dataclass(frozen=True)
class Row:
    """One line of the leaderboard. ``error`` says why a model has no scores; ``tied``: not told apart from the best."""

    model: str
    canon: str = ""
    scores: Mapping[str, Score] = field(default_factory=dict)
    fit_seconds: float = math.nan
    evidence: Evidence | None = None  # of the fold whose certificate is worst, or of the last fit of the best model
    notes: tuple[str, ...] = ()
    error: str = ""
    skipped: bool = False  # not an error of the model: there was no time for it
    rank: int | None = None
    tied: bool = False
    baseline: bool = False

    @property
    def verdict(self) -> str:
        """What is claimed of its fits (``"✓ optimal"``, ``"✓ checked"``, ``"✗ not shown"``), or ``"–"``, ``"failed"``,
        ``"not run"``."""
        if self.error:
            return "not run" if self.skipped else "failed"
        return "–" if self.evidence is None else self.evidence.verdict

    @property
    def tone(self) -> str:
        """How the verdict is coloured: ``"good"``, ``"plain"`` or ``"bad"``."""
        if self.error or self.evidence is None:
            return "bad" if self.error and not self.skipped else "plain"
        return self.evidence.tone

    @property
    def certificate(self) -> str:
        """The number behind the verdict, for instance ``"relative duality gap 3e-10 ≤ 1e-08"``."""
        return "" if self.evidence is None else str(self.evidence.certificate)


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


@dataclass(frozen=True, eq=False)
class Comparison:
    """What ``corollary.compare`` found.

    Attributes
    ----------
    rows : tuple of Row
        The leaderboard, best first; models that failed are last, with the reason.
    best : str
        The name of the best model (never the baseline).
    best_ : Pipeline
        Preparation and best model, fitted to every row; ``corollary.save`` keeps it whole. None in what is left of a
        comparison that was interrupted.
    out_of_fold : mapping of str to Prediction
        For each model, what it said about every row while that row was held out.
    checks, notes : tuple
        What is odd about the data; what was done to it.
    settings : mapping
        Everything needed to do it again.
    """

    facts: DataFacts
    target: Target
    metrics: tuple[Metric, ...]
    rows: tuple[Row, ...]
    best: str
    best_: Any
    out_of_fold: Mapping[str, Prediction] = field(repr=False)
    features: Any = field(repr=False)
    checks: tuple[Check, ...] = ()
    notes: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)

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
        """Whether the best model's mean score is better than the baseline's."""
        if self.baseline is None:
            return True
        name = self.metric.name
        return self.metric.better(self.best_row.scores[name].mean, self.baseline.scores[name].mean)

    @property
    def kinds(self) -> list[Kind]:
        """The kinds of claim in the column of evidence, the strongest first."""
        found = {row.evidence.certificate.kind for row in self.rows if row.evidence is not None and not row.error}
        return sorted(found, key=lambda kind: kind.rank)

    @property
    def slowest(self) -> float:
        """Seconds of the slowest model's fit."""
        return max(row.fit_seconds for row in self.rows if math.isfinite(row.fit_seconds))

    def summary(self) -> str:
        """Two or three plain sentences: who won, by how much, and whether that means something."""
        row, name = self.best_row, self.metric.name
        score = row.scores[name]
        decimals = decimals_for(score)
        text = f"{self.best} predicts {self.target.name} best: {self.metric.label} {score.mean:,.{decimals}f} ± "
        text += f"{score.half_width:,.{decimals}f} over {len(score.folds)} folds"
        if self.baseline is not None:
            base = self.baseline.scores[name].mean
            text += f"; the baseline, which ignores the columns, has {base:,.{decimals}f}"
        text += "."
        if not self.beats_baseline:
            text += " No model beats the baseline: these columns say little about the target."
        elif self.baseline is not None and not (score - self.baseline.scores[name]).excludes_zero:
            text += " That may be chance: the 95% interval of the difference includes zero."
        if ties := [each.model for each in self.rows if each.tied and each.model != self.best]:
            text += f" The data cannot tell it apart from {_enumerated(ties)}."
        return text

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
        return "\n".join([*text, *failed, "", self.summary()])

    def _repr_html_(self) -> str:
        head, *body = ([html.escape(cell) for cell in line] for line in self.table())
        rows = "".join(f"<tr><td>{'</td><td>'.join(line)}</td></tr>" for line in body)
        table = f"<table><thead><tr><th>{'</th><th>'.join(head)}</th></tr></thead><tbody>{rows}</tbody></table>"
        return f"{table}<p>{html.escape(self.summary())}</p>"


def decimals_for(score: Score) -> int:
    """Decimals that show two digits of the interval."""
    width = score.half_width
    if not math.isfinite(width) or width <= 0:
        return 3 if abs(score.mean) < 1000 else 0
    return min(6, max(0, 1 - math.floor(math.log10(width))))


def shown_score(score: Score | None, decimals: int, interval: bool = False) -> str:
    """``"0.321 ± 0.008"``, or a dash for a score that does not exist."""
    if score is None or not math.isfinite(score.mean):
        return "–"
    mean = f"{round(score.mean, decimals) + 0.0:,.{decimals}f}".replace("-", "−")  # + 0.0: no negative zero
    return f"{mean} ± {score.half_width:,.{decimals}f}" if interval else mean


def shown_seconds(seconds: float, slowest: float) -> str:
    """Seconds with as many decimals as the column needs: two if its slowest takes ten or more, else three."""
    return f"{seconds:,.{2 if slowest >= 10 else 3}f}" if math.isfinite(seconds) else "–"


def _enumerated(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
