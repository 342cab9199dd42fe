"""Logistic regression with strength and mix chosen by cross-validation."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.metrics import check_scoring

from corollary.base import assigning, fitting
from corollary.core.design import as_design
from corollary.core.evidence import Status
from corollary.core.fitted import Fitted, Floats, Number
from corollary.core.limits import ArrayLike, Choice, Instance, Integer, Limit
from corollary.core.types import Array
from corollary.labels import encode_labels
from corollary.linear.folds import Fold, mean_over_folds, splits, uninterrupted
from corollary.linear.logistic import LogisticRegression, _attributes, logistic_problem, named_solver
from corollary.solvers.linear.driver import State, solve


class LogisticRegressionCV(LogisticRegression):
    """Logistic regression whose C (and ``l1_ratio``) score best in cross-validation.

    For each mix, a grid of C is fitted on every fold from strong to weak penalty, each fit starting from the one
    before. The best pair is refitted on all rows. The objective is that of :class:`LogisticRegression`.

    Parameters
    ----------
    Cs : int or array, default 10
        Number of values between 1e-4 and 1e4, or the values themselves.
    l1_ratios : sequence of float in [0, 1], default (0.0,)
        Mixes to try: 0 is the L2 penalty, 1 the L1 penalty.
    fit_intercept : bool, default True
        Whether to fit b; if not, b = 0.
    cv : int, splitter, iterable of (train, test) or None, default None
        None is five stratified folds.
    scoring : str, callable or None, default None
        None ranks by log-loss, which judges probabilities; scikit-learn's default is accuracy.
    tol : float ≥ 0, default 1e-8
        Relative duality gap to reach in the refit; fits on folds reach 1e-5, which is enough for a choice.
    class_weight : dict, "balanced" or None, default None
    solver : {"auto", "newton", "lbfgs", "prox-newton"}, default "auto"
        The answer is the same whichever is used, within ``tol``.
    max_iter : int ≥ 1, default 1000
        Iterations of each fit.
    n_jobs : int or None, default None
        Threads; None uses all usable cores.
    random_state : int, RandomState or None, default None
        Accepted for compatibility: nothing here is random.

    Attributes
    ----------
    C_, l1_ratio_ : float
        The choice.
    Cs_, l1_ratios_ : arrays
        What was tried.
    scores_ : array of shape (folds, l1_ratios, Cs)
        Held-out scores; NaN where a callback ended the cross-validation first.
    classes_ : array of shape (k,)
    coef_ : array of shape (1, d) or (k, d)
        Of the refit, as are ``intercept_``, ``n_iter_`` and ``evidence_``.
    intercept_ : array of shape (1,) or (k,)
    n_iter_ : array of shape (1,)
    evidence_ : Evidence
        Its facts count the fits on folds (``cross-validated fits``).
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    *Cost.* One fit of :class:`LogisticRegression` for each fold, mix and C, and one more; all but the first of a fold
    start from the one before and take a few iterations. The rows of one fold are copied at a time. Of data in blocks,
    the rows that a fold holds out are put together in memory.

    *Evidence.* The relative duality gap of the refit (kind *optimal*). It says nothing about the choice of C, which is
    as good as the folds. A callback may end the cross-validation early: the best pair so far is then refitted as far as
    time allows.

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

    fitted: ClassVar[dict[str, Fitted]] = {
        "Cs_": Floats("c", low=0, finite=False),
        "l1_ratios_": Floats("r", low=0, high=1),
        "scores_": Floats("?", "r", "c", finite=False),
        "C_": Number(low=0, finite=False),
        "l1_ratio_": Number(low=0, high=1),
    }
    limits: ClassVar[dict[str, Limit]] = {
        **{k: v for k, v in LogisticRegression.limits.items() if k not in ("C", "l1_ratio", "warm_start")},
        "Cs": Integer(1) | ArrayLike(),
        "l1_ratios": ArrayLike(),
        "cv": Choice(None) | Integer(2) | Instance("a splitter or iterable", object),
        "scoring": Choice(None) | Instance("a scorer's name", str) | Instance("a callable", methods=("__call__",)),
    }
    warm_start: ClassVar[bool] = False

    @assigning
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
    ) -> None: ...

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> LogisticRegressionCV:
        """Choose C and the mix by cross-validation, then fit them on all rows of X and y, or of blocks of (X, y)."""
        X, y, weights = self._validate_fit(X, y, sample_weight, y_numeric=False, blocks=True)
        labels = encode_labels(y, weights, self.class_weight)  # one class is an error before any fold is tried
        observe = self._observer(X, y, self.max_iter, partial(_attributes, labels[0]))
        self.Cs_ = np.geomspace(1e-4, 1e4, self.Cs) if np.ndim(self.Cs) == 0 else np.sort(np.asarray(self.Cs, float))
        self.l1_ratios_ = np.asarray(self.l1_ratios, dtype=np.float64)
        folds = splits(self.cv, X, y, weights, classifier=True)
        self.scores_ = np.full((len(folds), len(self.l1_ratios_), len(self.Cs_)), np.nan)
        last: State | None = None
        for fold, scores in zip(folds, self.scores_, strict=True):
            last = self._score_fold(X, y, weights, fold, scores)
            if last is not None:
                break
        mean = mean_over_folds(np.moveaxis(self.scores_, 0, -1), weights, folds)
        mix, at = np.unravel_index(int(np.where(np.isnan(mean), -np.inf, mean).argmax()), mean.shape)
        self.C_, self.l1_ratio_ = float(self.Cs_[at]), float(self.l1_ratios_[mix])
        evidence = self._fit_at(X, labels, self.C_, self.l1_ratio_, observe, last)
        facts = {**evidence.facts, "cross-validated fits": float(np.isfinite(self.scores_).sum())}
        self._keep_evidence(replace(evidence, facts=facts, status=evidence.status if last is None else Status.BUDGET))
        return self

    def _score_fold(self, X: Any, y: Array, weights: Array, fold: Fold, scores: Array) -> State | None:
        """Fill in the held-out scores (l1_ratios, Cs) of one fold; the last fit if a callback asked to stop there."""
        train, test = fold
        classes, codes, row_weights = encode_labels(y[train], weights[train], self.class_weight)
        design, held_out = as_design(X).rows(train), as_design(X).rows(test).matrix()
        judge = LogisticRegression()
        judge.classes_, judge.n_features_in_ = classes, X.shape[1]
        scorer = check_scoring(judge, self.scoring or "neg_log_loss")
        extra = {} if (weights == 1).all() else {"sample_weight": weights[test]}
        if self.scoring is None:
            scorer = _log_loss_scorer(classes, extra)
            extra = {}
        for m, mix in enumerate(self.l1_ratios_):
            start: State | None = None
            for c, C in enumerate(self.Cs_):
                strength = float(C) / self._weight_unit
                problem = logistic_problem(
                    design, codes, len(classes), row_weights, strength, float(mix), self.fit_intercept
                )
                solver = named_solver(self.solver, problem)
                # choosing a strength needs far fewer digits than the answer itself
                tol = max(self.tol, 1e-5)
                found = uninterrupted(solve(solver, problem, tol=tol, max_iter=self.max_iter, start=start))
                start = State(found.coef, found.intercept)
                judge._keep_classifier(found.coef, found.intercept, np.float64)
                scores[m, c] = scorer(judge, held_out, y[test], **extra)
                if self._stop_between("strength"):
                    return start
        return None


def _log_loss_scorer(classes: Array, extra: dict[str, Any]) -> Any:
    from sklearn.metrics import log_loss

    def score(model: LogisticRegression, X: Any, y: Array) -> float:
        return -float(log_loss(y, model.predict_proba(X), labels=classes, **extra))

    return score
