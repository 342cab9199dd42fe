"""Growing a cascade stage by stage: train, measure, keep what passes, look for new negatives."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from corollary.core.evidence import Certificate, Evidence, Kind, Status
from corollary.core.types import Array
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


@dataclass
class Growth:
    """The state of a growing cascade. Windows are integral images; only those that pass all stages so far are kept."""

    space: FeatureSpace
    normalize: bool
    train: Windows
    check: Windows
    scenes: Scenes
    goals: Goals
    max_candidates: int | None
    n_negatives: int
    fraction: float
    target: float
    rng: Any
    stages: Stages = field(init=False)
    history: dict[str, list[float]] = field(init=False)
    notes: list[str] = field(default_factory=list)
    shortfall: float = 0.0
    bound: float = 1.0  # the cumulative false positive rate if none of n had been one of n

    def __post_init__(self) -> None:
        self.began = time.perf_counter()
        self.stages = Stages.none(self.space.window, self.normalize)
        self.history = {name: [] for name in ("iteration", *RATES, "features", "negatives", "seconds")}

    def add_stage(self) -> dict[str, float]:
        """Train the next stage and measure it on the validation part with the code that predicts."""
        stage = train_stage(
            self.space, self.normalize, self.train, self.check, self.goals, self.max_candidates, self.rng
        )
        detected, mistaken = (stage.judge(part) > 0 for part in (self.check.positive, self.check.negative))
        detection, mistakes = float(detected.mean()), float(mistaken.mean())
        last = [self.history[name][-1] if len(self.stages) else 1.0 for name in RATES[2:]]
        values = (detection, mistakes, last[0] * detection, last[1] * mistakes)
        record = {"iteration": float(len(self.stages) + 1), **dict(zip(RATES, values, strict=True))}
        record |= {"features": float(len(stage.cuts)), "negatives": float(len(self.train.negative))}
        record["seconds"] = time.perf_counter() - self.began
        self.bound *= max(mistakes, 1 / len(mistaken))
        self.shortfall = max(self.shortfall, self.goals.detection_rate - detection)
        self.stages = self.stages + stage
        for name, value in record.items():
            self.history[name].append(value)
        if mistakes > self.goals.false_positive_rate:
            self.notes.append(
                f"Stage {len(self.stages)} lets {mistakes:.0%} of the negatives pass with {len(stage.cuts)} stumps, "
                "more than max_false_positive_rate allows: raise max_features, or give more or cleaner windows."
            )
        self.train = Windows(*(part[stage.judge(part) > 0] for part in (self.train.positive, self.train.negative)))
        self.check = Windows(self.check.positive[detected], self.check.negative[mistaken])
        return record

    def can_go_on(self, max_stages: int) -> bool:
        """Whether another stage is wanted and possible; looks for new negatives, and notes why not."""
        made = f"Stopped after {len(self.stages)} stage{'s' * (len(self.stages) != 1)}: "
        if self.bound <= self.target:
            return False
        if self.history["false positive rate"][-1] == 1.0:
            self.notes.append(made + "the last one rejects no negative, so another would be no better.")
            return False
        if len(self.stages) >= max_stages:
            self.notes.append(made + f"max_stages is {max_stages}, before the target false positive rate was reached.")
            return False
        if not (len(self.train.positive) and len(self.check.positive)):
            self.notes.append(made + "no positive windows are left to train on; raise min_detection_rate.")
            return False
        self._refill()
        left = len(self.train.negative) + len(self.check.negative)
        if len(self.train.negative) < FEWEST or not len(self.check.negative):
            self.notes.append(
                made
                + f"the negatives ran out ({left} windows are left that pass all stages, too few to train another). "
                "Give fit more pictures without the object as `negatives`."
            )
            return False
        return True

    def evidence(self, status: Status) -> Evidence:
        """What was measured: the worst shortfall of detection, and the rates of all stages."""
        facts = {name: self.history[f"cumulative {name}"][-1] for name in RATES[:2]}
        facts["stumps"] = float(len(self.stages.cuts))
        if self.scenes.scanned:
            facts |= {"windows scanned": float(self.scenes.scanned), "mistakes per window at last": self.scenes.rate}
        return Evidence(
            status,
            Certificate(Kind.CHECKED, "worst shortfall of a stage's detection rate", self.shortfall, 1e-9),
            "gentle AdaBoost in stages",
            n_iter=len(self.stages),
            seconds=self.history["seconds"][-1],
            history=self.history,
            facts=facts,
            notes=tuple(self.notes),
        )

    def _refill(self) -> None:
        """Bring the number of negatives back to ``n_negatives`` with windows that the stages mistake for positive."""
        missing = self.n_negatives - len(self.train.negative) - len(self.check.negative)
        rows = self.scenes.harvest(self.stages, missing, self.rng)
        if len(rows):
            fresh = window_integrals(rows, self.space.window, self.normalize)
            parts = split(fresh, self.fraction, self.rng)
            self.train = Windows(self.train.positive, np.concatenate([self.train.negative, parts[0]]))
            self.check = Windows(self.check.positive, np.concatenate([self.check.negative, parts[1]]))
