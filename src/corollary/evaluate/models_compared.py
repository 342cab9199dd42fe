"""Several models over the same folds: a table with intervals, and which pairs can be told apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from corollary.evaluate.jobs import Progress
from corollary.evaluate.metrics import Score
from corollary.evaluate.paired import PairedTest, corrected_t, scores_on_folds
from corollary.evaluate.scoring import NamedScorer, scorer_of
from corollary.evaluate.wording import decimals, number, shown_p


@dataclass(frozen=True)
class ModelsCompared:
    """What :func:`compare_models` found; prints as a table, best first, with a sentence below it.

    Attributes
    ----------
    scores : dict of str to Score
        Best first.
    tests : dict of pairs of str to PairedTest
        The better model first.
    p_values : dict of pairs of str to float
        The same after Holm's correction for the number of pairs.
    scoring : NamedScorer
    """

    scores: dict[str, Score]
    tests: dict[tuple[str, str], PairedTest]
    p_values: dict[tuple[str, str], float]
    scoring: NamedScorer = field(repr=False)

    @property
    def best(self) -> str:
        """The model with the best mean score."""
        return next(iter(self.scores))

    @property
    def tied(self) -> list[str]:
        """Models that cannot be told apart from the best (corrected p ≥ 0.05)."""
        return [name for name in self.scores if name != self.best and self.p_values[self.best, name] >= 0.05]

    def to_frame(self) -> Any:
        """One row for each model: score, interval, difference from the best with its interval, and corrected p."""
        import pandas as pd

        rows = []
        for name, score in self.scores.items():
            low, high = self.scoring.interval(score)
            test = self.tests.get((self.best, name))
            behind = (np.nan,) * 4 if test is None else (-test.difference, -test.interval[1], -test.interval[0],
                                                         self.p_values[self.best, name])  # fmt: skip
            rows.append((score.mean, low, high, *behind))
        columns = ["score", "low", "high", "difference", "difference_low", "difference_high", "p_holm"]
        return pd.DataFrame(rows, columns=columns, index=pd.Index(self.scores, name="model"))

    def plot(self, ax: Any = None) -> Any:
        """Differences from the best with their intervals; returns the matplotlib axes."""
        from corollary.evaluate.pictures import plot_models

        return plot_models(self, ax)

    def __str__(self) -> str:
        lines = [["model", self.scoring.name, "behind the best", "p (Holm)"]]
        places = decimals(next(iter(self.scores.values())).half_width)
        for name, score in self.scores.items():
            cells = [name, f"{number(score.mean, places)} ± {number(score.half_width, places)}", "–", "–"]
            if name != self.best:
                test = self.tests[self.best, name]
                half = (test.interval[1] - test.interval[0]) / 2
                cells[2] = f"{number(test.difference, places)} ± {number(half, places)}"
                cells[3] = shown_p(self.p_values[self.best, name]).removeprefix("p").removeprefix(" = ").strip()
            lines.append(cells)
        widths = [max(len(line[column]) for line in lines) for column in range(4)]
        text = ["  ".join([line[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(line[1:], widths[1:], strict=True))])
                for line in lines]  # fmt: skip
        names = self.tied
        told = f"{self.best} cannot be told apart from {', '.join(names)}." if names else f"{self.best} is the best."
        return "\n".join([*text, "", told])


def compare_models(
    models: Mapping[str, Any],
    X: Any,
    y: Any,
    *,
    cv: Any = None,
    scoring: Any = None,
    groups: Any = None,
    sample_weight: Any = None,
    seed: int = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    resume: Any = None,
) -> ModelsCompared:
    """Judge several models on the same folds, and test every pair of them with Holm's correction.

    Parameters
    ----------
    models : mapping of str to estimator
        At least two.
    X, y : arrays or tables with the same number of rows
    cv, scoring, groups, sample_weight, seed, n_jobs, progress, resume
        As in :func:`paired_test`.

    Returns
    -------
    ModelsCompared

    Notes
    -----
    *Cost*: a fit for each model and split.

    References
    ----------
    Nadeau and Bengio, Machine Learning 52, 2003. Holm, Scandinavian Journal of Statistics 6, 1979.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from corollary import DecisionStump, GaussianNB
    >>> from corollary.evaluate import compare_models
    >>> found = compare_models({"stump": DecisionStump(), "bayes": GaussianNB()}, *load_iris(return_X_y=True))
    >>> found.best, found.tied
    ('bayes', [])
    """
    if not isinstance(models, Mapping) or len(models) < 2:
        raise ValueError("models must be at least 2, by name: {'ridge': Ridge(), 'forest': RandomForestRegressor()}.")
    scores = scores_on_folds(dict(models), X, y, cv, scoring, groups, sample_weight, seed, n_jobs, progress, resume)
    ordered = dict(sorted(scores.items(), key=lambda item: -item[1].mean))
    scorer = scorer_of(next(iter(models.values())), scoring)
    tests = {(a, b): corrected_t(ordered[a], ordered[b], scorer.name) for a, b in combinations(ordered, 2)}
    return ModelsCompared(ordered, tests, holm({pair: test.p_value for pair, test in tests.items()}), scorer)


def holm(p_values: dict[Any, float]) -> dict[Any, float]:
    """Holm's step-down correction: the i-th smallest of m is multiplied by m − i + 1, and none is below one before."""
    corrected: dict[Any, float] = {}
    least = 0.0
    for rank, key in enumerate(sorted(p_values, key=lambda key: p_values[key])):
        least = max(least, min(1.0, (len(p_values) - rank) * p_values[key]))
        corrected[key] = least
    return {key: corrected[key] for key in p_values}
