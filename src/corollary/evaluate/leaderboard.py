"""Lines of a leaderboard and their order: models with their scores, and the configurations that a search has tried."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from corollary.core.evidence import Evidence
from corollary.evaluate.metrics import Metric, Score

BLEND = "Blend"  # the line of the models that are blended
_FEWER_FOLDS = 0.95


@dataclass(frozen=True)
class Row:
    """One line of the leaderboard: a model in the best of the configurations that were tried.

    ``settings`` are what the search chose (only what differs from the model's defaults; of a blend, the share of each
    member), out of ``tried`` configurations that were scored. ``folds_done`` of the folds were finished when the time
    ended: a model with fewer than all is judged by how much it is better than the baseline on these, less a twentieth.
    ``error`` says why a model has no scores; ``tied``: not told apart from the best, which is never said of a model
    that does not beat the baseline.
    """

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
    settings: Mapping[str, Any] = field(default_factory=dict)
    tried: int = 0
    folds_done: int = 0
    beats_baseline: bool = False

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


@dataclass(frozen=True)
class Trial:
    """One configuration that was tried: its scores on the folds it got, and why it got no more of them (or nothing)."""

    model: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    scores: tuple[float, ...] = ()  # of the metric that ranks, fold by fold
    seconds: float = 0.0  # of all its fits
    dropped: str = ""

    @property
    def mean(self) -> float:
        """The mean of the scores so far; not a number if there are none."""
        return float(np.mean(self.scores)) if self.scores else math.nan


def ranked(rows: list[Row], metric: Metric, folds: int) -> tuple[Row, ...]:
    """Best first; then those without this score (no probabilities), then failures.

    A model with fewer than all ``folds`` is judged by its lead over the baseline on those that it has, less a
    twentieth: the rest of the folds might have shown that it was luck. Without a baseline it stands after the others.

    A model is tied with the best when the 95% interval of their paired difference, fold by fold, holds zero, and that
    of its difference from the baseline does not.
    """
    sign = -1.0 if metric.greater_is_better else 1.0
    base = next((row.scores[metric.name] for row in rows if row.baseline and row.scores), None)

    def key(row: Row) -> tuple[int, float]:
        if row.error or not row.scores:
            return (3, 0.0)
        score = row.scores[metric.name]
        if not math.isfinite(score.mean):
            return (2, 0.0)
        if row.folds_done == folds:
            return (0, sign * score.mean)
        if base is None:
            return (1, sign * score.mean)
        lead = (score - base).mean  # on the folds that it has, which may be hard or easy ones
        return (0, sign * (base.mean + _FEWER_FOLDS * lead))

    def beats(row: Row) -> bool:
        if base is None or row.baseline or key(row)[0] > 1:
            return False
        return metric.better((row.scores[metric.name] - base).mean, 0.0)

    ordered = sorted(rows, key=key)
    leader = next((row for row in ordered if not row.baseline and key(row)[0] <= 1), None)
    found = []
    for rank, row in enumerate(ordered, start=1):
        better = beats(row)
        tied = False
        if leader is not None and row is not leader and row.folds_done == folds and (better or base is None):
            apart = row.scores[metric.name] - leader.scores[metric.name]
            ahead = base is None or (row.scores[metric.name] - base).excludes_zero
            tied = not row.baseline and ahead and len(apart.folds) > 1 and not apart.excludes_zero
        found.append(replace(row, rank=rank if key(row)[0] <= 1 else None, tied=tied, beats_baseline=better))
    return tuple(found)
