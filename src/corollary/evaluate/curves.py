"""Learning and validation curves: scores of training and test rows along the number of rows, or along a parameter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier

from corollary.evaluate.curve import Curve
from corollary.evaluate.jobs import Progress, about, run_jobs
from corollary.evaluate.metrics import Score
from corollary.evaluate.scoring import NamedScorer, check_rows, fitted, scorer_of, splits_of, take

SIZES = (0.1, 0.2, 0.4, 0.6, 0.8, 1.0)


def learning_curve(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    train_sizes: Sequence[float] = SIZES,
    cv: Any = 5,
    scoring: Any = None,
    groups: Any = None,
    sample_weight: Any = None,
    seed: int = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    resume: Any = None,
) -> Curve:
    """Scores of training and test rows against the number of training rows.

    Parameters
    ----------
    estimator : estimator
        Any, searches and pipelines too.
    X, y : arrays or tables with the same number of rows
    train_sizes : sequence of float in (0, 1], or of int
        Shares of a training part, or numbers of rows.
    cv : int, splitter or iterable of splits
    scoring : str or callable, optional
        By default the estimator's own.
    groups, sample_weight : arrays, optional
    seed : int
        Of the order in which rows of a training part are taken. (A time splitter's rows are taken from the latest.)
    n_jobs, progress, resume
        As in :func:`nested`.

    Returns
    -------
    Curve

    Notes
    -----
    *Cost*: a fit for each size and split.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from corollary import GaussianNB
    >>> from corollary.evaluate import learning_curve
    >>> curve = learning_curve(GaussianNB(), *load_iris(return_X_y=True), train_sizes=[0.2, 0.5, 1.0])
    >>> curve.values
    (24, 60, 120)
    """
    check_rows(X, y, groups=groups, sample_weight=sample_weight)
    splits = splits_of(cv, estimator, X, y, groups)
    least = min(len(train) for train, _ in splits)
    sizes = _sizes(train_sizes, least)
    forward = all(train.max() < test.min() for train, test in splits)
    rng = np.random.default_rng(seed)
    orders = [train[::-1] if forward else rng.permutation(train) for train, _ in splits]
    chosen = [
        [(_some(order, size, y, estimator), test) for order, (_, test) in zip(orders, splits, strict=True)]
        for size in sizes
    ]
    return _curve("training rows", tuple(sizes), [estimator] * len(sizes), chosen, X, y, scoring, groups, sample_weight,
                  n_jobs, progress, resume)  # fmt: skip


def validation_curve(
    estimator: Any,
    X: Any,
    y: Any,
    param_name: str,
    param_range: Sequence[Any],
    *,
    cv: Any = 5,
    scoring: Any = None,
    groups: Any = None,
    sample_weight: Any = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    resume: Any = None,
) -> Curve:
    """Scores of training and test rows against a parameter: from too stiff to too flexible.

    Parameters
    ----------
    estimator : estimator
    X, y : arrays or tables with the same number of rows
    param_name : str
        As in ``set_params``: ``"alpha"``, or ``"ridge__alpha"`` within a pipeline.
    param_range : sequence
        Its values.
    cv, scoring, groups, sample_weight, n_jobs, progress, resume
        As in :func:`learning_curve`.

    Returns
    -------
    Curve

    Notes
    -----
    *Cost*: a fit for each value and split.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from corollary import KNeighborsClassifier
    >>> from corollary.evaluate import validation_curve
    >>> curve = validation_curve(KNeighborsClassifier(), *load_iris(return_X_y=True), "n_neighbors", [1, 9, 81])
    >>> curve.best
    9
    """
    check_rows(X, y, groups=groups, sample_weight=sample_weight)
    values = list(param_range)
    if not values:
        raise ValueError(f"param_range must have at least one value of {param_name}, but it is empty.")
    if param_name not in estimator.get_params():
        raise ValueError(f"param_name {param_name!r} is no parameter of {type(estimator).__name__}.")
    splits = splits_of(cv, estimator, X, y, groups)
    models = [clone(estimator).set_params(**{param_name: value}) for value in values]
    return _curve(param_name, tuple(values), models, [splits] * len(values), X, y, scoring, groups, sample_weight,
                  n_jobs, progress, resume)  # fmt: skip


def _curve(
    name: str, values: tuple[Any, ...], models: list[Any], splits: list[Any], X: Any, y: Any, scoring: Any, groups: Any,
    weights: Any, n_jobs: int | None, progress: Progress | None, resume: Any,
) -> Curve:  # fmt: skip
    scorer = scorer_of(models[0], scoring)
    jobs = [
        (model, scorer, X, y, weights, groups, train, test)
        for model, parts in zip(models, splits, strict=True)
        for train, test in parts
    ]
    known = None if resume is None else about(
        models[0], X, y, values=values, splits=splits, scoring=scorer.asked, weights=weights, groups=groups
    )  # fmt: skip
    scores = run_jobs(
        _both_scores, jobs, what=f"curve of {name}", n_jobs=n_jobs, progress=progress, resume=resume, about=known
    )
    folds = len(splits[0])
    # the share of a learning curve's full training parts: smaller parts overlap less, so this is on the careful side
    share = float(np.mean([len(test) / len(train) for train, test in splits[-1]]))
    rows = [scores[start : start + folds] for start in range(0, len(scores), folds)]
    return Curve(
        name,
        values,
        tuple(Score(tuple(pair[0] for pair in row), share) for row in rows),
        tuple(Score(tuple(pair[1] for pair in row), share) for row in rows),
        scorer,
    )


def _both_scores(
    model: Any, scorer: NamedScorer, X: Any, y: Any, weights: Any, groups: Any, train: Any, test: Any
) -> list[float]:
    done = fitted(clone(model), take(X, train), take(y, train), take(weights, train), take(groups, train))
    return [scorer(done, take(X, rows), take(y, rows), take(weights, rows)) for rows in (train, test)]


def _sizes(train_sizes: Sequence[float], least: int) -> list[int]:
    """Numbers of rows, rising, each once."""
    asked = np.asarray(list(train_sizes), dtype=np.float64)
    shares = bool(asked.size) and asked.dtype.kind == "f" and bool((asked <= 1).all())
    sizes = sorted({max(1, round(each * least)) if shares else int(each) for each in asked.tolist()})
    if not sizes or (asked <= 0).any() or sizes[-1] > least:
        raise ValueError(
            f"train_sizes must be shares in (0, 1] or numbers of rows up to {least}, but they are {list(train_sizes)}."
        )
    return sizes


def _some(order: Any, size: int, y: Any, estimator: Any) -> Any:
    """The first rows in this order; of labels, one of each class is put first, so that a small part can be fitted."""
    if not is_classifier(estimator):
        return order[:size]
    _, first = np.unique(np.asarray(y)[order], return_index=True)
    rest = np.setdiff1d(np.arange(len(order)), first)
    return order[np.concatenate([np.sort(first), rest])][:size]
