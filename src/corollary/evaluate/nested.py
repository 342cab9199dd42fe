"""Nested cross-validation: a search is judged on rows that it has not seen, choices and all."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone

from corollary.evaluate.jobs import Progress, about, described, jsonable, run_jobs
from corollary.evaluate.metrics import Score
from corollary.evaluate.scoring import (
    NamedScorer,
    as_search,
    check_rows,
    fitted,
    held_out_share,
    scorer_of,
    splits_of,
    take,
)
from corollary.evaluate.wording import between, decimals, number

_OWN_CHOICES = ("alpha_", "l1_ratio_", "C_", "n_components_", "best_iteration_")  # of models that search in their fit


@dataclass(frozen=True)
class Nested:
    """What :func:`nested` found; prints as a sentence.

    Attributes
    ----------
    score : Score
        Of the outer folds: rows that neither the search nor its winner have seen.
    inner_scores : tuple of float
        The best score of the search in each outer fold's training part; NaN where the model tells none.
    choices : tuple of dict
        What the search chose in each outer fold.
    seconds : tuple of float
        Of each outer fold's fit.
    sizes : tuple of pairs of int
        Training and test rows of each outer fold.
    scoring : NamedScorer
    """

    score: Score
    inner_scores: tuple[float, ...]
    choices: tuple[Mapping[str, Any], ...]
    seconds: tuple[float, ...]
    sizes: tuple[tuple[int, int], ...]
    scoring: NamedScorer = field(repr=False)

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the score, corrected for overlapping training parts."""
        return self.scoring.interval(self.score)

    @property
    def stability(self) -> dict[str, tuple[Any, float]]:
        """For each parameter the value that most folds chose, and the share of the folds that did."""
        names = dict.fromkeys(name for choice in self.choices for name in choice)
        return {name: _most_common([choice.get(name) for choice in self.choices]) for name in names}

    @property
    def agreement(self) -> float:
        """The share of the folds that made the most common choice as a whole; NaN if nothing was chosen."""
        whole = [tuple(sorted((name, repr(value)) for name, value in choice.items())) for choice in self.choices]
        return float("nan") if not any(whole) else _most_common(whole)[1]

    @property
    def luck(self) -> Score:
        """How much better the inner best scores are than those of the outer folds, fold by fold."""
        return Score(self.inner_scores, self.score.test_share) - self.score

    def to_frame(self) -> Any:
        """One row for each outer fold: scores, sizes, seconds and what was chosen."""
        import pandas as pd

        columns: dict[str, Any] = {
            "score": self.score.folds,
            "inner_score": self.inner_scores,
            "train_rows": [train for train, _ in self.sizes],
            "test_rows": [test for _, test in self.sizes],
            "seconds": self.seconds,
        }
        columns |= {name: [choice.get(name) for choice in self.choices] for name in self.stability}
        return pd.DataFrame(columns, index=pd.RangeIndex(1, len(self.seconds) + 1, name="fold"))

    def plot(self, ax: Any = None) -> Any:
        """Inner and outer scores of each fold, and the corrected interval; returns the matplotlib axes."""
        from corollary.evaluate.pictures import plot_nested

        return plot_nested(self, ax)

    def __str__(self) -> str:
        places = decimals(self.score.half_width)
        text = f"{self.scoring.name} {number(self.score.mean, places)} on rows that the search has not seen "
        text += f"({between(self.interval, places)}, {len(self.score.folds)} outer folds)"
        inner = float(np.mean(self.inner_scores))
        if np.isfinite(inner):
            text += f"; the search itself reports {number(inner, places)}"
        if np.isfinite(self.agreement):
            agreed = round(self.agreement * len(self.choices))
            text += f"; {agreed} of {len(self.choices)} folds chose the same parameters"
        return text + "."


def nested(
    search: Any,
    X: Any,
    y: Any,
    *,
    cv: Any = 5,
    inner: Any = None,
    scoring: Any = None,
    groups: Any = None,
    sample_weight: Any = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    resume: Any = None,
) -> Nested:
    """Cross-validate a whole search: in every outer fold it chooses anew, and its choice is scored on unseen rows.

    Parameters
    ----------
    search : estimator or mapping of str to estimator
        A ``GridSearchCV`` or any other search of scikit-learn's kind, a model that chooses in its fit (``LassoCV``), a
        plain model (ordinary cross-validation), or models by name, among which the best is chosen.
    X, y : arrays or tables with the same number of rows
    cv : int, splitter or iterable of splits
        The outer folds, as everywhere in scikit-learn; repeated, grouped and time splitters too.
    inner : int, splitter or iterable of splits, optional
        The folds within the search, in place of its own.
    scoring : str or callable, optional
        Of the outer folds; by default the search's own. For models by name, of the choice too.
    groups : array, optional
        For splitters that keep groups together; passed to outer and inner folds.
    sample_weight : array, optional
        Weights of fits and outer scores. (How inner scores use them is a matter of scikit-learn's metadata routing.)
    n_jobs : int, optional
        Outer folds at the same time.
    progress : callable, optional
        Called with (folds done, folds in all, "nested").
    resume : path, optional
        A file of JSON lines in which finished folds are kept; what is there is not computed again.

    Returns
    -------
    Nested

    Notes
    -----
    *Cost*: one search for each outer fold. Ctrl-C raises ``KeyboardInterrupt``; what was finished is in its
    ``finished``, and in ``resume``.

    References
    ----------
    Cawley and Talbot, On over-fitting in model selection, JMLR 11, 2010. Nadeau and Bengio, Inference for the
    generalization error, Machine Learning 52, 2003 (the interval).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import GridSearchCV
    >>> from corollary import KNeighborsClassifier
    >>> from corollary.evaluate import nested
    >>> X, y = load_iris(return_X_y=True)
    >>> found = nested(GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 5, 15]}), X, y)
    >>> round(found.score.mean, 2)
    0.96
    """
    check_rows(X, y, groups=groups, sample_weight=sample_weight)
    search = as_search(search, scoring if isinstance(search, Mapping) else None, inner)
    scorer = scorer_of(search, scoring)
    splits = splits_of(cv, search, X, y, groups)
    results = run_jobs(
        judge_search,
        [(search, scorer, X, y, sample_weight, groups, train, test) for train, test in splits],
        what="nested",
        n_jobs=n_jobs,
        progress=progress,
        resume=resume,
        about=None
        if resume is None
        else about(search, X, y, splits=splits, scoring=scorer.asked, weights=sample_weight, groups=groups),
    )
    return Nested(
        Score(tuple(each["score"] for each in results), held_out_share(splits)),
        tuple(each["inner"] for each in results),
        tuple(each["choice"] for each in results),
        tuple(each["seconds"] for each in results),
        tuple((len(train), len(test)) for train, test in splits),
        scorer,
    )


def judge_search(
    search: Any,
    scorer: NamedScorer,
    X: Any,
    y: Any,
    weights: Any,
    groups: Any,
    train: Any,
    test: Any,
    keep: Callable[[Any], None] | None = None,
) -> dict[str, Any]:
    """One search on the training rows: its best score, its choice, and the score of that on the test rows, if any."""
    started = time.perf_counter()
    model = fitted(clone(search), take(X, train), take(y, train), take(weights, train), take(groups, train))
    seconds = time.perf_counter() - started
    if keep is not None:
        keep(model)
    return {
        "score": scorer(model, take(X, test), take(y, test), take(weights, test)) if len(test) else float("nan"),
        "inner": float(getattr(model, "best_score_", float("nan"))),
        "choice": choice_of(model),
        "tried": len({described(params) for params in getattr(model, "cv_results_", {}).get("params", [])}),
        "seconds": seconds,
    }


def choice_of(model: Any) -> dict[str, Any]:
    """What a fitted search, or a model that searches in its fit, has chosen."""
    if hasattr(model, "best_params_"):
        return {name: jsonable(value) for name, value in model.best_params_.items()}
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    if not type(last).__name__.endswith("CV"):
        return {}
    found = {name: np.asarray(getattr(last, name)) for name in _OWN_CHOICES if hasattr(last, name)}
    return {name: jsonable(value.ravel()[0] if value.size == 1 else value.tolist()) for name, value in found.items()}


def _most_common(values: list[Any]) -> tuple[Any, float]:
    """The value that occurs most often (of ties, the first), and its share."""
    counted = Counter(map(repr, values))
    winner, times = counted.most_common(1)[0]
    return next(value for value in values if repr(value) == winner), times / len(values)
