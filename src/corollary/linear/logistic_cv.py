"""Logistic regression with strength and mix chosen by cross-validation."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv

from corollary.base import fitting
from corollary.core.design import as_design
from corollary.core.limits import (
    ArrayLike,
    Choice,
    Instance,
    Integer,
    Limit,
)
from corollary.core.types import Array
from corollary.labels import encode_labels
from corollary.linear.logistic import LogisticRegression, logistic_problem, named_solver
from corollary.solvers.linear.driver import State, solve


class LogisticRegressionCV(LogisticRegression):
    """Logistic regression whose C (and ``l1_ratio``) score best in cross-validation.

    For each mix, a grid of C is fitted on every fold from strong to weak penalty, each fit starting from the one
    before. The best pair is refitted on all rows. Objective, attributes and evidence are those of
    :class:`LogisticRegression`.

    Parameters
    ----------
    Cs : int or array, default 10
        Number of values between 1e-4 and 1e4, or the values themselves.
    l1_ratios : sequence of float in [0, 1], default (0.0,)
    cv : int, splitter or iterable, default 5 stratified folds
    scoring : str, callable or None, default None
        None ranks by log-loss, which judges probabilities; scikit-learn's default is accuracy.
    tol, fit_intercept, class_weight, solver, max_iter, n_jobs, random_state
        As in :class:`LogisticRegression`.

    Attributes
    ----------
    C_, l1_ratio_ : float
        The choice.
    Cs_, l1_ratios_ : arrays
    scores_ : array of shape (folds, l1_ratios, Cs)

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from corollary import LogisticRegressionCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LogisticRegressionCV(Cs=[0.01, 1.0, 100.0]).fit(scale(X), y)
    >>> model.C_, model.scores_.shape
    (1.0, (5, 1, 3))
    """

    limits: ClassVar[dict[str, Limit]] = {
        **{k: v for k, v in LogisticRegression.limits.items() if k not in ("C", "l1_ratio", "warm_start")},
        "Cs": Integer(1) | ArrayLike(),
        "l1_ratios": ArrayLike(),
        "cv": Choice(None) | Integer(2) | Instance("a splitter or iterable", object),
        "scoring": Choice(None) | Instance("a scorer's name", str) | Instance("a callable", methods=("__call__",)),
    }
    warm_start: ClassVar[bool] = False  # type: ignore[misc]

    def __init__(
        self,
        *,
        Cs: Any = 10,
        l1_ratios: Any = (0.0,),
        fit_intercept: bool = True,
        cv: Any = None,
        scoring: Any = None,
        tol: float = 1e-8,
        class_weight: Any = None,
        solver: str = "auto",
        max_iter: int = 1000,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.Cs = Cs
        self.l1_ratios = l1_ratios
        self.fit_intercept = fit_intercept
        self.cv = cv
        self.scoring = scoring
        self.tol = tol
        self.class_weight = class_weight
        self.solver = solver
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LogisticRegressionCV:
        """Choose C and the mix by cross-validation, then fit them on all rows."""
        checked, labels, weights = self._validate_fit(X, y, sample_weight, y_numeric=False)
        encode_labels(labels, weights, self.class_weight)  # one class is an error before any fold is tried
        self.Cs_ = np.geomspace(1e-4, 1e4, self.Cs) if np.ndim(self.Cs) == 0 else np.sort(np.asarray(self.Cs, float))
        self.l1_ratios_ = np.asarray(self.l1_ratios, dtype=np.float64)
        folds = list(check_cv(self.cv, labels, classifier=True).split(checked, labels))
        self.scores_ = np.stack([self._score_fold(checked, labels, weights, fold) for fold in folds])
        shares = np.array([weights[test].sum() for _, test in folds])
        mean = np.tensordot(shares / shares.sum(), self.scores_, axes=1)
        mix, at = np.unravel_index(int(mean.argmax()), mean.shape)
        self.C_, self.l1_ratio_ = float(self.Cs_[at]), float(self.l1_ratios_[mix])
        fits = {"cross-validated fits": float(self.scores_.size)}
        self._fit_at(checked, labels, weights, self.C_, self.l1_ratio_, **fits)
        return self

    def _score_fold(self, X: Any, y: Array, weights: Array, fold: tuple[Array, Array]) -> Array:
        """Held-out scores (l1_ratios, Cs) of one fold."""
        train, test = fold
        classes, codes, row_weights = encode_labels(y[train], weights[train], self.class_weight)
        design = as_design(X).rows(train)
        judge = LogisticRegression()
        judge.classes_, judge.n_features_in_ = classes, X.shape[1]
        scorer = check_scoring(judge, self.scoring or "neg_log_loss")
        extra = {} if (weights == 1).all() else {"sample_weight": weights[test]}
        if self.scoring is None:
            scorer = _log_loss_scorer(classes, extra)
            extra = {}
        scores = np.empty((len(self.l1_ratios_), len(self.Cs_)))
        for m, mix in enumerate(self.l1_ratios_):
            start: State | None = None
            for c, C in enumerate(self.Cs_):
                problem = logistic_problem(
                    design, codes, len(classes), row_weights, float(C), float(mix), self.fit_intercept
                )
                # choosing a strength needs far fewer digits than the answer itself
                found = solve(
                    named_solver(self.solver, problem),
                    problem,
                    tol=max(self.tol, 1e-5),
                    max_iter=self.max_iter,
                    start=start,
                )
                start = State(found.coef, found.intercept)
                judge._keep_classifier(found.coef, found.intercept, np.float64)
                scores[m, c] = scorer(judge, X[test], y[test], **extra)
        return scores


def _log_loss_scorer(classes: Array, extra: dict[str, Any]) -> Any:
    from sklearn.metrics import log_loss

    def score(model: LogisticRegression, X: Any, y: Array) -> float:
        return -float(log_loss(y, model.predict_proba(X), labels=classes, **extra))

    return score
