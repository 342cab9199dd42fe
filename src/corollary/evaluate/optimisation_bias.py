"""How much of a search's best score is luck: the best of many scores is chosen partly for its errors."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corollary.evaluate.jobs import Progress
from corollary.evaluate.wording import between, decimals, number, shown_p
from corollary.tabular.messages import count

_MOST_FAILURES = 20  # draws in a row without a score (of rows with one class, for instance) before giving up


@dataclass(frozen=True)
class OptimisationBias:
    """By how much the best score of a search is too good; prints as a sentence.

    Attributes
    ----------
    method : {"nesting", "permutation", "bootstrap"}
    best_score : float
        The best score among the configurations, on the rows that they were compared on.
    bias : float
        What the best score is too good by, in its own units: positive means luck, whichever way is better.
    interval : tuple of two floats
        95 % interval of the bias of this search, that is, of the best score against the score of what it chose on
        new rows.
    greater_is_better : bool
    configurations : int
        How many were compared.
    repeats : int
        Outer folds, permutations or bootstrap draws.
    p_value : float or None
        Of ``method="permutation"``: the share of searches on shuffled targets whose best score is as good as this one
        (the search itself counted), so how easily luck alone finds such a score.
    """

    method: str
    best_score: float
    bias: float
    interval: tuple[float, float]
    greater_is_better: bool = True
    configurations: int = 0
    repeats: int = 0
    p_value: float | None = None

    @property
    def corrected(self) -> float:
        """The best score less its luck: what to expect on new rows."""
        return self._less(self.bias)

    @property
    def corrected_interval(self) -> tuple[float, float]:
        """95 % interval of the score to expect on new rows, the lower end first."""
        ends = sorted(self._less(end) for end in self.interval)
        return ends[0], ends[1]

    def _less(self, luck: float) -> float:
        return self.best_score - luck if self.greater_is_better else self.best_score + luck

    def __str__(self) -> str:
        places = decimals((self.interval[1] - self.interval[0]) / 2)
        how = {"nesting": "outer folds", "permutation": "permutations", "bootstrap": "bootstrap draws"}
        luck = f"is too good by {number(self.bias, places)}" if self.bias > 0 else "shows no luck"
        text = (
            f"The best score of {count(self.configurations, 'configuration')}, {number(self.best_score, places)}, "
            f"{luck} ({between(self.interval, places)}, {self.repeats} {how.get(self.method, self.method)}): expect "
            f"{number(self.corrected, places)} on new rows."
        )
        if self.p_value is not None:
            text += f" Searches on shuffled targets get as far with {shown_p(self.p_value)}."
        return text


def optimisation_bias(
    search: Any,
    X: Any,
    y: Any,
    *,
    method: str = "nesting",
    cv: Any = 5,
    inner: Any = None,
    scoring: Any = None,
    repeats: int | None = None,
    groups: Any = None,
    sample_weight: Any = None,
    seed: int = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    resume: Any = None,
) -> OptimisationBias:
    """How much of the best score of a search is luck.

    - ``"nesting"``: the search is done again in each outer fold; luck is its best score less the score of its choice on
      the fold's test part. Needs no assumption; its interval is wide.
    - ``"permutation"``: the search is done again on shuffled targets, of which nothing can be learnt; luck is its best
      score less the score on rows held out. It is the luck of a search that finds nothing, as a rule more than that of
      one that finds something, so the interval begins below zero. Says also how easily luck alone gets as far
      (``p_value``).
    - ``"bootstrap"``: every configuration predicts each row once while it is held out; the choice is made on a
      bootstrap sample of these rows and scored on the others. The cheapest: see :func:`bootstrap_optimisation_bias`.

    Parameters
    ----------
    search : search or mapping of str to estimator
        A ``GridSearchCV`` or any other with ``best_score_`` after its fit, or models by name, one of which is chosen.
        ``"bootstrap"`` needs ``cv_results_["params"]`` too.
    X, y : arrays or tables with the same number of rows
    method : {"nesting", "permutation", "bootstrap"}
    cv : int, splitter or iterable of splits
        Outer folds of nesting and permutation.
    inner : int, splitter or iterable of splits, optional
        The folds within the search, in place of its own.
    scoring : str or callable, optional
        In place of the search's own.
    repeats : int ≥ 2, optional
        Permutations (by default 30) or bootstrap draws (200). Outer folds are as many as ``cv`` gives.
    groups, sample_weight : arrays, optional
        As in :func:`nested`. The bootstrap draws whole groups.
    seed : int
        Of permutations and draws.
    n_jobs : int, optional
        Fits at the same time.
    progress, resume
        As in :func:`nested`.

    Returns
    -------
    OptimisationBias

    Notes
    -----
    *Cost*: nesting, one search for each outer fold and one more; permutation, ``repeats`` searches and one more;
    bootstrap, about as many fits as the search.

    References
    ----------
    Cawley and Talbot, On over-fitting in model selection, JMLR 11, 2010. Ojala and Garriga, Permutation tests for
    studying classifier performance, JMLR 11, 2010. Tsamardinos, Greasidou, Borboudakis, Bootstrapping the
    out-of-sample predictions, Machine Learning 107, 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.model_selection import GridSearchCV
    >>> from corollary import KNeighborsClassifier
    >>> from corollary.evaluate import optimisation_bias
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(80, 3)), rng.integers(0, 2, 80)  # nothing to learn: the truth is 0.5
    >>> search = GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 3, 5, 7, 9, 11]})
    >>> luck = optimisation_bias(search, X, y, method="bootstrap")
    >>> luck.corrected < luck.best_score
    True
    """
    from corollary.evaluate.luck import BY_METHOD, Study

    if method not in BY_METHOD:
        raise ValueError(f"method must be one of {', '.join(map(repr, BY_METHOD))}, but it is {method!r}.")
    if repeats is not None and repeats < 2:
        raise ValueError(f"repeats must be at least 2, but it is {repeats}.")
    study = Study.of(search, X, y, cv, inner, scoring, groups, sample_weight, seed, n_jobs, progress, resume)
    return BY_METHOD[method](study, repeats)


def bootstrap_optimisation_bias(
    score: Callable[[int, NDArray[np.intp]], float],
    configurations: int,
    rows: int,
    *,
    greater_is_better: bool,
    draws: int = 200,
    seed: int = 0,
    groups: Any = None,
) -> OptimisationBias:
    """The luck in the best of several scores, from predictions of rows that were held out; nothing is fitted again.

    In every draw the best configuration is chosen on a bootstrap sample of the rows, and scored on the rows outside of
    it, which had no say in the choice.

    Parameters
    ----------
    score : callable
        ``score(configuration, row_numbers)`` of out-of-fold predictions; row numbers may repeat. NaN or a ValueError
        (rows of one class only) means that there is no score for these rows, and others are drawn.
    configurations : int ≥ 1
    rows : int ≥ 2
    greater_is_better : bool
    draws : int ≥ 2
    seed : int
    groups : array of shape (rows,), optional
        Rows of one group are drawn together.

    Returns
    -------
    OptimisationBias

    Notes
    -----
    *Cost*: (configurations + 1) × draws scores.

    References
    ----------
    Tsamardinos, Greasidou, Borboudakis, Bootstrapping the out-of-sample predictions for efficient and accurate
    cross-validation, Machine Learning 107, 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from corollary.evaluate import bootstrap_optimisation_bias
    >>> right = np.random.default_rng(0).random((30, 200)) < 0.5  # thirty models that toss a coin
    >>> score = lambda model, rows: right[model, rows].mean()
    >>> luck = bootstrap_optimisation_bias(score, 30, 200, greater_is_better=True)
    >>> print(f"{luck.best_score:.2f} of right answers; to be expected are {luck.corrected:.2f}")
    0.60 of right answers; to be expected are 0.55
    >>> low, high = luck.corrected_interval
    >>> low < 0.5 < high
    True
    """
    for name, value, least in (("configurations", configurations, 1), ("rows", rows, 2), ("draws", draws, 2)):
        if value < least:
            raise ValueError(f"{name} must be at least {least}, but it is {value}.")
    sign = 1.0 if greater_is_better else -1.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of metrics that are not defined for some samples
        best, unseen = _choices_judged(score, configurations, rows, sign, draws, seed, members_of(groups, rows))
    low, high = np.quantile(best - np.array(unseen), [0.025, 0.975])
    return OptimisationBias(
        "bootstrap",
        sign * best,
        best - float(np.mean(unseen)),
        (float(low), float(high)),
        greater_is_better,
        configurations,
        draws,
    )


def _choices_judged(
    score: Callable[[int, NDArray[np.intp]], float],
    configurations: int,
    rows: int,
    sign: float,
    draws: int,
    seed: int,
    members: list[NDArray[np.intp]] | None,
) -> tuple[float, list[float]]:
    """The best score on all rows, and for every draw the score outside of the sample of what was best in it."""

    def scores_of(taken: NDArray[np.intp]) -> NDArray[np.float64]:
        return np.array([sign * _scored(score, each, taken) for each in range(configurations)])

    on_all = scores_of(np.arange(rows))
    if np.isnan(on_all).all():
        raise ValueError("score gives no number for any configuration on all rows.")
    rng = np.random.default_rng(seed)
    unseen: list[float] = []
    failures = 0
    while len(unseen) < draws:
        drawn, rest = draw_rows(rng, members, rows)
        inside = scores_of(drawn) if rest.size else np.array([np.nan])
        outside = math.nan if np.isnan(inside).all() else sign * _scored(score, int(np.nanargmax(inside)), rest)
        failures = failures + 1 if math.isnan(outside) else 0
        if failures > _MOST_FAILURES:
            raise ValueError(
                f"score gives no number for {failures} bootstrap samples in a row: too few rows, or classes."
            )
        if not math.isnan(outside):
            unseen.append(outside)
    return float(np.nanmax(on_all)), unseen


def _scored(score: Callable[[int, NDArray[np.intp]], float], configuration: int, rows: NDArray[np.intp]) -> float:
    """The score, or NaN where these rows have none."""
    try:
        return float(score(configuration, rows))
    except ValueError:
        return math.nan


def members_of(groups: Any, rows: int) -> list[NDArray[np.intp]] | None:
    """The rows of each group, or None if every row is one."""
    if groups is None:
        return None
    codes = np.unique(np.asarray(groups), return_inverse=True)[1].ravel()
    if len(codes) != rows:
        raise ValueError(f"groups must have one entry for each of the {rows} rows, but there are {len(codes)}.")
    return [np.flatnonzero(codes == code) for code in range(codes.max() + 1)]


def draw_rows(
    rng: np.random.Generator, member_of: list[NDArray[np.intp]] | None, rows: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows drawn with replacement, and those that were not drawn."""
    if member_of is None:
        drawn = rng.integers(0, rows, rows)
    else:
        drawn = np.concatenate([member_of[each] for each in rng.integers(0, len(member_of), len(member_of))])
    left = np.ones(rows, dtype=bool)
    left[drawn] = False
    return drawn, np.flatnonzero(left)
