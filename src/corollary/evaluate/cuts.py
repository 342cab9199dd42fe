"""All thresholds at once: counts and rates at each, what is wished of them, and how firm a choice is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corollary.evaluate.calibration import checked_weights

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Criterion:
    """What is looked at, whether more is better, and which other column has a limit."""

    column: str
    greater_is_better: bool
    limited: str = ""
    at_most: bool = False


CRITERIA: dict[str, Criterion] = {
    "cost": Criterion("cost", False),
    "f": Criterion("f", True),
    "precision": Criterion("recall", True, "precision"),
    "recall": Criterion("precision", True, "recall"),
    "fpr": Criterion("recall", True, "fpr", at_most=True),
    "youden": Criterion("youden", True),
}


@dataclass(frozen=True)
class Wish:
    """What a threshold is chosen by."""

    by: str
    false_positive: float
    false_negative: float
    beta: float
    limit: float | None

    @classmethod
    def checked(
        cls, by: str, false_positive: float, false_negative: float, beta: float, least: float | None, most: float | None
    ) -> Wish:
        """A wish that makes sense, or an error that says why not."""
        if by not in CRITERIA:
            raise ValueError(f"by must be one of {', '.join(map(repr, CRITERIA))}, but it is {by!r}.")
        if not (0 <= false_positive < np.inf and 0 <= false_negative < np.inf) or false_positive + false_negative == 0:
            raise ValueError(
                f"false_positive and false_negative must be costs ≥ 0, not both 0, but they are {false_positive} and "
                f"{false_negative}."
            )
        if not 0 < beta < np.inf:
            raise ValueError(f"beta must be greater than 0, but it is {beta}.")
        name = "at_most" if CRITERIA[by].at_most else "at_least"
        limit = most if CRITERIA[by].at_most else least
        if CRITERIA[by].limited and (limit is None or not 0 <= limit <= 1):
            raise ValueError(f"by={by!r} needs {name}, a share between 0 and 1, but it is {limit}.")
        return cls(by, false_positive, false_negative, beta, limit if CRITERIA[by].limited else None)

    @property
    def words(self) -> str:
        """The criterion in words."""
        if self.by == "cost":
            return f"least cost a row (false positives {self.false_positive:g}, negatives {self.false_negative:g})"
        best = {"f": f"largest F (beta {self.beta:g})", "youden": "largest recall less false positive rate"}
        return best.get(self.by) or f"largest {CRITERIA[self.by].column} with {self.limit_words}"

    @property
    def limit_words(self) -> str:
        """The limit in words: ``"precision ≥ 0.9"``."""
        criterion = CRITERIA[self.by]
        return f"{criterion.limited} {'≤' if criterion.at_most else '≥'} {self.limit:g}"

    def choose(self, table: dict[str, Values]) -> int | None:
        """The place of the best threshold (of ties, the highest); None if the limit cannot be kept."""
        criterion = CRITERIA[self.by]
        values = table[criterion.column] if criterion.greater_is_better else -table[criterion.column]
        if self.limit is not None:
            held = table[criterion.limited]
            allowed = held <= self.limit if criterion.at_most else held >= self.limit
            values = np.where(allowed, values, -np.inf)
        values = np.where(np.isnan(values), -np.inf, values)
        place = int(np.argmax(values))
        return place if values[place] > -np.inf else None

    def reach(self, cuts: Cuts) -> float:
        """The highest value of what is limited."""
        return float(np.nanmax(cuts.measures(self)[CRITERIA[self.by].limited]))


@dataclass(frozen=True)
class Cuts:
    """Rows sorted by falling score; a cut after each run of equal scores, and one before the first."""

    positive: NDArray[np.bool_]
    weights: Values
    ends: NDArray[np.intp]  # rows above each cut
    thresholds: Values
    levels: Values  # the distinct scores, falling

    @classmethod
    def of(cls, positive: NDArray[np.bool_], scores: Values, sample_weight: Any) -> Cuts:
        weights = checked_weights(sample_weight, len(scores))
        order = np.argsort(-scores, kind="stable")
        ranked = scores[order]
        ends = np.append(0, np.append(np.flatnonzero(np.diff(ranked)) + 1, len(ranked)))
        middle = (ranked[ends[1:-1] - 1] + ranked[ends[1:-1]]) / 2
        middle = np.where(middle > ranked[ends[1:-1]], middle, ranked[ends[1:-1] - 1])  # neighbours in float64
        thresholds = np.concatenate([[np.nextafter(ranked[0], np.inf)], middle, [ranked[-1]]])
        return cls(positive[order], weights[order], ends, thresholds, ranked[ends[1:] - 1])

    def measures(self, wish: Wish, weights: Values | None = None) -> dict[str, Values]:
        """Counts and rates at every cut; precision is NaN where nothing is called positive."""
        w = self.weights if weights is None else weights
        up = np.append(0.0, np.cumsum(w * self.positive))[self.ends]
        called = np.append(0.0, np.cumsum(w))[self.ends]
        tp, fp, all_positive, total = up, called - up, up[-1], called[-1]
        fn, tn = all_positive - tp, total - all_positive - fp
        with np.errstate(divide="ignore", invalid="ignore"):
            precision, recall, fpr = tp / called, tp / all_positive, fp / (total - all_positive)
            squared = wish.beta**2
            f = (1 + squared) * tp / ((1 + squared) * tp + squared * fn + fp)
            cost = (wish.false_positive * fp + wish.false_negative * fn) / total
            return {
                "threshold": self.thresholds, "tp": tp, "fp": fp, "fn": fn, "tn": tn, "precision": precision,
                "recall": recall, "fpr": fpr, "f": f, "youden": recall - fpr, "accuracy": (tp + tn) / total,
                "called": called / total, "cost": cost,
            }  # fmt: skip

    def place_of(self, threshold: float) -> int:
        """The cut that calls the same rows positive as this threshold."""
        return int(np.count_nonzero(self.levels >= threshold))

    def bootstrap(self, wish: Wish, draws: int, seed: int) -> tuple[Values, float, float]:
        """Thresholds chosen on bootstrap samples; on the rows outside of them, the criterion and what has a limit."""
        rng, rows, criterion = np.random.default_rng(seed), len(self.weights), CRITERIA[wish.by]
        chosen: list[float] = []
        outside: list[tuple[float, float]] = []
        for _ in range(draws):
            times = np.bincount(rng.integers(0, rows, rows), minlength=rows)
            place = wish.choose(self.measures(wish, self.weights * times))
            if place is None:
                continue
            chosen.append(float(self.thresholds[place]))
            rest = self.measures(wish, self.weights * (times == 0))
            outside.append((rest[criterion.column][place], rest[criterion.limited or criterion.column][place]))
        found = np.array(outside).reshape(-1, 2)
        found = found[np.isfinite(found).all(axis=1)]
        if not len(found):
            return np.array(chosen or self.thresholds[:1]), float("nan"), float("nan")
        return np.array(chosen), float(found[:, 0].mean()), float(found[:, 1].mean())
