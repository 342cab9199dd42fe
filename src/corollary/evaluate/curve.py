"""Scores of training and test rows along something, with their bands, and what they say in a sentence."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from corollary.evaluate.jobs import jsonable
from corollary.evaluate.metrics import Score
from corollary.evaluate.scoring import NamedScorer
from corollary.evaluate.wording import between, decimals, number


@dataclass(frozen=True)
class Curve:
    """Scores of training and test rows along something; prints as what they say.

    Attributes
    ----------
    name : str
        What runs along the curve: ``"training rows"``, or the parameter.
    values : tuple
        Where it was looked at.
    train, test : tuple of Score
        Over the splits, for each value; intervals of the test scores are corrected for overlapping training parts.
    scoring : NamedScorer
    """

    name: str
    values: tuple[Any, ...]
    train: tuple[Score, ...]
    test: tuple[Score, ...]
    scoring: NamedScorer = field(repr=False)

    @property
    def best(self) -> Any:
        """The value with the best mean test score; of ties, the first."""
        return self.values[int(np.nanargmax([score.mean for score in self.test]))]

    @property
    def gap(self) -> Score:
        """Training score less test score at the last value of a learning curve, at the best of a validation curve."""
        place = self._place
        return Score(self.train[place].folds, self.test[place].test_share) - self.test[place]

    @property
    def _place(self) -> int:
        return len(self.values) - 1 if self.name == "training rows" else self.values.index(self.best)

    def to_frame(self) -> Any:
        """One row for each value: mean scores of training and test rows with their intervals."""
        import pandas as pd

        columns: dict[str, Any] = {}
        for name, scores in (("train", self.train), ("test", self.test)):
            columns[name] = [score.mean for score in scores]
            columns[f"{name}_low"] = [self.scoring.interval(score)[0] for score in scores]
            columns[f"{name}_high"] = [self.scoring.interval(score)[1] for score in scores]
        labels = [jsonable(value) for value in self.values]
        return pd.DataFrame(
            columns, index=pd.Index([str(v) if isinstance(v, list) else v for v in labels], name=self.name)
        )

    def plot(self, ax: Any = None) -> Any:
        """Both curves with their bands; returns the matplotlib axes."""
        from corollary.evaluate.pictures import plot_curve

        return plot_curve(self, ax)

    @property
    def advice(self) -> str:
        """What the curve says about more data, or about the parameter: one sentence."""
        return _of_rows(self) if self.name == "training rows" else _of_parameter(self)

    def __str__(self) -> str:
        score = self.test[self._place]
        places = decimals(score.half_width)
        where = (
            f"{self.values[self._place]:,} training rows"
            if self.name == "training rows"
            else f"{self.name}={self.best!r}"
        )
        return (
            f"{self.scoring.name} {number(score.mean, places)} with {where} "
            f"({between(self.scoring.interval(score), places)}), {number(self.train[self._place].mean, places)} on the "
            f"training rows themselves. {self.advice}"
        )


def _of_rows(curve: Curve) -> str:
    last = curve.test[-1]
    scale = max(abs(last.mean), abs(curve.train[-1].mean), 1e-12)
    wide = curve.gap.excludes_zero and curve.gap.mean > 0.02 * scale
    before = next((place for place in range(len(curve.values)) if curve.values[place] >= curve.values[-1] / 2), 0)
    rise = last - curve.test[before]
    rising = before < len(curve.values) - 1 and rise.excludes_zero and rise.mean > 0
    if rising and wide:
        return "The test score still rises and the training score is above it: more data would help."
    if rising:
        return "The test score still rises with the rows: more data would help."
    if wide:
        return (
            "The training score is well above the test score, which has stopped rising: a simpler or more regularised "
            "model may do better, more data of this kind little."
        )
    return (
        "The test score no longer rises visibly and is close to the training score: more data of this kind would help "
        "little; if the score is too low, the model underfits, and a more flexible one or other columns may do better."
    )


def _of_parameter(curve: Curve) -> str:
    place = curve.values.index(curve.best)
    tied = [
        value
        for value, score in zip(curve.values, curve.test, strict=True)
        if value != curve.best and not (curve.test[place] - score).excludes_zero
    ]
    if len(tied) == len(curve.values) - 1:
        return f"No value of {curve.name} can be told apart from it."
    if place in (0, len(curve.values) - 1) and not tied:
        return f"The best value of {curve.name} lies at the edge: look further."
    first, last = curve.train[0].mean, curve.train[-1].mean
    end = "later" if last > first else "earlier"
    text = f"Values {end} than that fit the training rows better and new rows no better: they overfit."
    return text if curve.gap.mean > 0 and last != first else f"{len(tied)} other values cannot be told apart from it."
