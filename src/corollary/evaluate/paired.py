"""Is one model better than another? Tests in which both are judged on the same rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.base import clone, is_classifier
from sklearn.model_selection import RepeatedKFold, RepeatedStratifiedKFold

from corollary.evaluate.jobs import Progress, about, run_jobs
from corollary.evaluate.metrics import Score
from corollary.evaluate.recorded import RecordedClassifier, RecordedRegressor
from corollary.evaluate.scoring import NamedScorer, check_rows, fitted, held_out_share, scorer_of, splits_of, take
from corollary.evaluate.wording import between, decimals, number, told_p

METHODS = ("corrected t", "mcnemar", "bootstrap")


@dataclass(frozen=True)
class PairedTest:
    """The difference of two models on the same rows; prints as a sentence.

    Attributes
    ----------
    method : {"corrected t", "mcnemar", "bootstrap"}
    difference : float
        Score of a less score of b: positive where a is better.
    interval : tuple of two floats
        95 % interval of the difference.
    p_value : float
        Two-sided, of no difference.
    scores : tuple of two floats
        Of a and b.
    scoring : str
    """

    method: str
    difference: float
    interval: tuple[float, float]
    p_value: float
    scores: tuple[float, float]
    scoring: str

    @property
    def told_apart(self) -> bool:
        """Whether p < 0.05."""
        return self.p_value < 0.05

    def __str__(self) -> str:
        places = decimals((self.interval[1] - self.interval[0]) / 2)
        better = "a" if self.difference > 0 else "b"
        verdict = f"{better} is better" if self.told_apart else "the two cannot be told apart"
        a, b = (number(score, places) for score in self.scores)
        return (
            f"{self.scoring} {a} and {b}: {verdict} (difference {number(self.difference, places)}, "
            f"{between(self.interval, places)}, {told_p(self.p_value)}, {self.method})."
        )


def paired_test(
    a: Any,
    b: Any,
    X: Any = None,
    y: Any = None,
    *,
    method: str | None = None,
    cv: Any = None,
    scoring: Any = None,
    test_share: float | None = None,
    groups: Any = None,
    sample_weight: Any = None,
    draws: int = 2000,
    seed: int = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    resume: Any = None,
) -> PairedTest:
    """Test whether two models differ, on the same folds or on the same held-out rows.

    - Two estimators and X, y: both over the same splits; the t test of the differences with the variance of Nadeau and
      Bengio, since training parts overlap (``"corrected t"``).
    - Scores of two models over the same splits, and ``test_share``: the same test without fits.
    - Predictions of two models for the same held-out rows and y, without X: ``"mcnemar"`` for labels (exact), or
      ``"bootstrap"`` of the rows for any ``scoring``, of probabilities (rows × classes) and numbers too.

    Parameters
    ----------
    a, b : estimators, scores or predictions
    X, y : arrays or tables, optional
    method : {"corrected t", "mcnemar", "bootstrap"}, optional
        By default the first for estimators and scores; for predictions McNemar's if they are labels and ``scoring`` is
        left out, else the bootstrap.
    cv : int, splitter or iterable of splits, optional
        By default ten folds, twice (stratified for classes).
    scoring : str or callable, optional
    test_share : float, optional
        For scores: test rows for each training row, 1/9 for ten folds.
    groups, sample_weight : arrays, optional
    draws : int ≥ 100
        Of the bootstrap.
    seed : int
        Of default folds and of the bootstrap.
    n_jobs, progress, resume
        As in :func:`nested`.

    Returns
    -------
    PairedTest

    References
    ----------
    Nadeau and Bengio, Machine Learning 52, 2003. Dietterich, Approximate statistical tests for comparing supervised
    classification learning algorithms, Neural Computation 10, 1998. Agresti and Min, Statistics in Medicine 24, 2005
    (the interval of McNemar's difference).

    Examples
    --------
    >>> from corollary.evaluate import paired_test
    >>> print(paired_test([0.81, 0.84, 0.80, 0.83, 0.82], [0.78, 0.80, 0.79, 0.79, 0.78], test_share=0.25))
    score 0.820 and 0.788: a is better (difference 0.032, 95 % interval 0.008 to 0.056, p = 0.022, corrected t).
    """
    models = hasattr(a, "fit") and hasattr(b, "fit")
    if models and (X is None or y is None):
        raise ValueError("X and y are needed to compare two estimators.")
    if not models and (hasattr(a, "fit") or hasattr(b, "fit")):
        raise ValueError(
            "a and b must be of one kind: two estimators, two lists of scores, or predictions of two models."
        )
    if method is not None and method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(map(repr, METHODS))}, but it is {method!r}.")
    if models:
        if method in ("mcnemar", "bootstrap"):
            raise ValueError(f"method={method!r} compares predictions of held-out rows: pass them and y, without X.")
        scores = scores_on_folds(
            {"a": a, "b": b}, X, y, cv, scoring, groups, sample_weight, seed, n_jobs, progress, resume
        )
        return corrected_t(scores["a"], scores["b"], scorer_of(a, scoring).name)
    if y is None:
        return _of_scores(a, b, method, test_share, scoring)
    return _of_predictions(a, b, y, method, scoring, sample_weight, draws, seed)


def corrected_t(a: Score, b: Score, name: str) -> PairedTest:
    """The corrected resampled t test of scores over the same splits."""
    apart = a - b
    p = 1.0 if apart.mean == 0 else 0.0
    if apart.half_width > 0:
        k = len(apart.folds)
        error = apart.half_width / stats.t.ppf(0.975, k - 1)
        p = float(2 * stats.t.sf(abs(apart.mean) / error, k - 1))
    interval = (apart.mean - apart.half_width, apart.mean + apart.half_width)
    return PairedTest("corrected t", apart.mean, interval, p, (a.mean, b.mean), name)


def scores_on_folds(
    models: dict[str, Any], X: Any, y: Any, cv: Any, scoring: Any, groups: Any, weights: Any, seed: int,
    n_jobs: int | None, progress: Progress | None, resume: Any,
) -> dict[str, Score]:  # fmt: skip
    """The score of each model over the same splits."""
    check_rows(X, y, groups=groups, sample_weight=weights)
    first = next(iter(models.values()))
    if cv is None:
        kind = RepeatedStratifiedKFold if is_classifier(first) else RepeatedKFold
        cv = kind(n_splits=10, n_repeats=2, random_state=seed)
    splits = splits_of(cv, first, X, y, groups)
    scorers = {name: scorer_of(model, scoring) for name, model in models.items()}
    if len({scorer.name for scorer in scorers.values()}) > 1:
        raise ValueError("the models have different scores of their own; say scoring=.")
    jobs = [(model, scorers[name], X, y, weights, groups, *split) for name, model in models.items() for split in splits]
    known = None if resume is None else about(
        models, X, y, splits=splits, scoring=[each.asked for each in scorers.values()], weights=weights, groups=groups
    )  # fmt: skip
    found = run_jobs(
        _one_score, jobs, what="paired folds", n_jobs=n_jobs, progress=progress, resume=resume, about=known
    )
    share, k = held_out_share(splits), len(splits)
    return {name: Score(tuple(found[i * k : (i + 1) * k]), share) for i, name in enumerate(models)}


def _one_score(
    model: Any, scorer: NamedScorer, X: Any, y: Any, weights: Any, groups: Any, train: Any, test: Any
) -> float:
    done = fitted(clone(model), take(X, train), take(y, train), take(weights, train), take(groups, train))
    return scorer(done, take(X, test), take(y, test), take(weights, test))


def _of_scores(a: Any, b: Any, method: str | None, test_share: float | None, scoring: Any) -> PairedTest:
    if method in ("mcnemar", "bootstrap"):
        raise ValueError(f"method={method!r} needs predictions and y; these look like scores, since there is no y.")
    first, second = (np.asarray(each, dtype=np.float64) for each in (a, b))
    if first.ndim != 1 or first.shape != second.shape or len(first) < 2:
        raise ValueError(
            f"a and b must be scores over the same 2 or more splits, not {first.shape} and {second.shape}."
        )
    if test_share is None or not test_share >= 0:
        raise ValueError("test_share is needed with scores: test rows for each training row, 1/9 for ten folds.")
    name = scoring if isinstance(scoring, str) else "score"
    return corrected_t(Score(tuple(first.tolist()), test_share), Score(tuple(second.tolist()), test_share), name)


def _of_predictions(
    a: Any, b: Any, y: Any, method: str | None, scoring: Any, weights: Any, draws: int, seed: int
) -> PairedTest:
    truth, first, second = (np.asarray(each) for each in (y, a, b))
    check_rows(truth, first, b=second, sample_weight=weights)
    numbers = any(  # counts are often whole where what is said of them is not
        each.dtype.kind == "f" and each.ndim == 1 and not np.array_equal(each, np.round(each))
        for each in (truth, first, second)
    )
    if method is None:
        method = "mcnemar" if scoring is None and not numbers and first.ndim == 1 and weights is None else "bootstrap"
    if method == "mcnemar":
        return _mcnemar(truth, first, second)
    if method != "bootstrap":
        raise ValueError("method='corrected t' needs estimators, or scores over several splits; these are predictions.")
    if draws < 100:
        raise ValueError(f"draws must be at least 100, but it is {draws}.")
    model_a, model_b = (_as_model(each, truth, numbers) for each in (first, second))
    scorer = scorer_of(model_a, scoring if scoring is not None else "r2" if numbers else "accuracy")
    given = None if weights is None else np.asarray(weights)

    def difference(rows: NDArray[np.intp]) -> tuple[float, float]:
        some = None if given is None else given[rows]
        return scorer(model_a, rows, truth[rows], some), scorer(model_b, rows, truth[rows], some)

    return _bootstrap(difference, len(truth), draws, seed, scorer.name)


def _as_model(said: NDArray[Any], truth: NDArray[Any], numbers: bool) -> Any:
    if numbers:
        return RecordedRegressor({"predict": said}, None)
    classes = np.unique(truth)
    if said.ndim == 1:
        return RecordedClassifier({"predict": said}, classes)
    if said.shape[1] != len(classes):
        raise ValueError(f"probabilities must have a column for each of {len(classes)} classes, not {said.shape[1]}.")
    return RecordedClassifier({"predict": classes[said.argmax(axis=1)], "predict_proba": said}, classes)


def _mcnemar(y: NDArray[Any], a: NDArray[Any], b: NDArray[Any]) -> PairedTest:
    right_a, right_b = a == y, b == y
    n, only_a, only_b = len(y), int((right_a & ~right_b).sum()), int((right_b & ~right_a).sum())
    p = 1.0 if only_a + only_b == 0 else float(stats.binomtest(only_a, only_a + only_b).pvalue)
    # Agresti and Min: half a row more in each of the four cells
    up, down, rows = only_a + 0.5, only_b + 0.5, n + 2
    half = 1.959964 * np.sqrt(up + down - (up - down) ** 2 / rows) / rows
    centre = (up - down) / rows
    interval = (max(-1.0, float(centre - half)), min(1.0, float(centre + half)))
    scores = (float(right_a.mean()), float(right_b.mean()))
    return PairedTest("mcnemar", (only_a - only_b) / n, interval, p, scores, "accuracy")


def _bootstrap(
    scores_of: Callable[[NDArray[np.intp]], tuple[float, float]], rows: int, draws: int, seed: int, name: str
) -> PairedTest:
    a, b = scores_of(np.arange(rows))
    rng = np.random.default_rng(seed)
    drawn = np.array([np.subtract(*scores_of(rng.integers(0, rows, rows))) for _ in range(draws)])
    low, high = np.quantile(drawn, [0.025, 0.975])
    tail = min(np.count_nonzero(drawn <= 0), np.count_nonzero(drawn >= 0))
    p = min(1.0, 2 * (1 + tail) / (1 + draws))
    return PairedTest("bootstrap", a - b, (float(low), float(high)), float(p), (a, b), name)
