"""Training a cascade stage by stage: train, measure, keep what passes, look for new negatives."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from corollary.core.evidence import Certificate, Evidence, Kind
from corollary.core.types import Array
from corollary.solvers.loop import Algorithm, Measure, Run
from corollary.solvers.trees.cascade.boosting import Goals, Windows, train_stage
from corollary.solvers.trees.cascade.features import FeatureSpace
from corollary.solvers.trees.cascade.integral import window_integrals
from corollary.solvers.trees.cascade.scenes import Scenes
from corollary.solvers.trees.cascade.stages import Stages

FEWEST = 5  # negatives a stage is trained on
RATES = ("detection rate", "false positive rate", "cumulative detection rate", "cumulative false positive rate")


def split(rows: Array, fraction: float, rng: Any) -> tuple[Array, Array]:
    """(training part, validation part); at least one row each, and a single row is both."""
    n = len(rows)
    if n < 2:
        return rows, rows
    taken = min(max(1, round(fraction * n)), n - 1)
    order = rng.permutation(n)
    return rows[np.sort(order[taken:])], rows[np.sort(order[:taken])]


@dataclass(eq=False)
class Training(Algorithm[Stages]):
    """A step is one more stage. Windows are integral images; only those that pass all stages so far are kept.

    What is lowered is the false positive rate of all stages together, measured on the validation part ``check``.
    """

    name = "gentle AdaBoost in stages"
    kind = Kind.CHECKED
    certificate_name = "worst shortfall of a stage's detection rate, or error of the product of rates"

    space: FeatureSpace
    normalize: bool
    train: Windows
    check: Windows
    scenes: Scenes
    goals: Goals
    max_stages: int
    max_candidates: int | None
    n_negatives: int
    fraction: float
    target: float
    rng: Any
    measured: dict[str, float] = field(default_factory=dict)  # of the last stage
    notes: list[str] = field(default_factory=list)
    shortfall: float = 0.0
    bound: float = 1.0  # the cumulative false positive rate if none of n had been one of n

    def __post_init__(self) -> None:
        self.positive = self.check.positive  # all of them, for the count in the end
        self.miscounted = 0.0

    def init(self) -> Stages:
        return Stages.none(self.space.window, self.normalize)

    def step(self, state: Stages) -> Stages | None:
        """Train the next stage, and measure it on the validation part with the code that predicts."""
        if len(state) and not self._refilled(state):
            return None
        train, check, goals = self.train, self.check, self.goals
        stage = train_stage(self.space, self.normalize, train, check, goals, self.max_candidates, self.rng)
        detected, mistaken = (stage.judge(part) > 0 for part in (check.positive, check.negative))
        detection, mistakes = float(detected.mean()), float(mistaken.mean())
        before = [self.measured.get(name, 1.0) for name in RATES[2:]]
        rates = (detection, mistakes, before[0] * detection, before[1] * mistakes)
        self.measured = dict(zip(RATES, rates, strict=True))
        self.measured |= {"features": float(len(stage.cuts)), "negatives": float(len(train.negative))}
        self.bound *= max(mistakes, 1 / len(mistaken))
        self.shortfall = max(self.shortfall, goals.detection_rate - detection)
        if mistakes > goals.false_positive_rate:
            self.notes.append(
                f"Stage {len(state) + 1} lets {mistakes:.0%} of the negatives pass with {len(stage.cuts)} stumps, "
                "more than max_false_positive_rate allows: raise max_features, or give more or cleaner windows."
            )
        self.train = Windows(*(part[stage.judge(part) > 0] for part in (train.positive, train.negative)))
        self.check = Windows(check.positive[detected], check.negative[mistaken])
        return state + stage

    def measure(self, state: Stages) -> Measure | None:
        if not len(state):
            return None
        reason = self._enough(len(state))
        if reason:
            self._note_end(state, reason)
        return Measure(self.measured[RATES[3]], done=bool(reason) or self.bound <= self.target, more=self.measured)

    def _enough(self, n_stages: int) -> str:
        """Why another stage is neither wanted nor possible, short of the target; empty if it is both."""
        if self.bound <= self.target:
            return ""
        if self.measured["false positive rate"] == 1.0:
            return "the last one rejects no negative, so another would be no better."
        if n_stages >= self.max_stages:
            return f"max_stages is {self.max_stages}, before the target false positive rate was reached."
        if not (len(self.train.positive) and len(self.check.positive)):
            return "no positive windows are left to train on; raise min_detection_rate."
        return ""

    def _refilled(self, state: Stages) -> bool:
        """Bring the number of negatives back to ``n_negatives`` with windows that the stages mistake for positive."""
        missing = self.n_negatives - len(self.train.negative) - len(self.check.negative)
        rows = self.scenes.harvest(state, missing, self.rng)
        if len(rows):
            fresh = window_integrals(rows, self.space.window, self.normalize)
            parts = split(fresh, self.fraction, self.rng)
            self.train = Windows(self.train.positive, np.concatenate([self.train.negative, parts[0]]))
            self.check = Windows(self.check.positive, np.concatenate([self.check.negative, parts[1]]))
        if len(self.train.negative) >= FEWEST and len(self.check.negative):
            return True
        left = len(self.train.negative) + len(self.check.negative)
        self._note_end(
            state,
            f"the negatives ran out ({left} windows are left that pass all stages, too few to train another). "
            "Give fit more pictures without the object as `negatives`.",
        )
        return False

    def _note_end(self, state: Stages, reason: str) -> None:
        self.notes.append(f"Stopped after {len(state)} stage{'s' * (len(state) != 1)}: {reason}")

    def finish(self, state: Stages, measure: Measure) -> tuple[Stages, Measure]:
        """All stages together judge all positive windows of the validation part: the product of their rates."""
        rate = float((state.judge(self.positive) > 0).mean())
        off = abs(rate - measure.more["cumulative detection rate"])
        self.miscounted = off if off > 1e-12 else 0.0  # a product of shares is a share but for rounding
        return state, measure

    def certify(self, measure: Measure, tol: float) -> Certificate:
        return Certificate(self.kind, self.certificate_name, max(self.shortfall, self.miscounted), tol)

    def evidence(self, found: Run[Stages]) -> Evidence:
        """The worst shortfall of detection, and the rates of all stages."""
        facts = {name: found.measure.more[f"cumulative {name}"] for name in RATES[:2]}
        facts["stumps"] = float(len(found.state.cuts))
        if self.scenes.scanned:
            facts |= {"windows scanned": float(self.scenes.scanned), "mistakes per window at last": self.scenes.rate}
        return found.evidence(facts=facts, notes=tuple(self.notes))
