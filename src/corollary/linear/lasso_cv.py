"""Lasso and elastic net with the strength chosen by cross-validation along the whole path."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any, ClassVar

import numpy as np
from sklearn.model_selection import check_cv
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping

from corollary.base import assigning, fitting, predicting
from corollary.core.design import Design, as_design
from corollary.core.evidence import Evidence, Status
from corollary.core.fitted import Count, Fitted, Floats, Number
from corollary.core.limits import N_JOBS, RANDOM_STATE, ArrayLike, Boolean, Choice, Instance, Integer, Limit, Real
from corollary.core.parallel import map_each, stop_if_ended
from corollary.core.summary import Moments
from corollary.core.types import Array
from corollary.linear.folds import Fold, mean_over_folds, routes, splits
from corollary.linear.gram import check_gram
from corollary.linear.lasso import so_far, told_as_descent
from corollary.linear.paths import enet_path, lasso_path, refuse_grid_without_l1
from corollary.linear.predict import LinearRegressor
from corollary.linear.rounding import narrowest
from corollary.linear.squared_path import SquaredPath, absolute_gap, alpha_grid, penalty_of, squared_paths
from corollary.solvers.linear.compress import compress, worth_compressing
from corollary.solvers.linear.driver import State


class _Folds:
    """Training paths and held-out errors of every fold, from moments where the data are tall, from rows otherwise."""

    def __init__(self, design: Design, y: Array, weights: Array, folds: list[Fold], fit_intercept: bool) -> None:
        self.design, self.y, self.weights, self.folds = design, y, weights, folds
        self.fit_intercept = fit_intercept
        self.held_out: list[Moments] | None = None
        if worth_compressing((min(len(train) for train, _ in folds), design.shape[1])):
            self.held_out = [self._moments(test) for _, test in folds]

    def _moments(self, rows: Array) -> Moments:
        return self.design.rows(rows).moments(self.y[rows, None], self.weights[rows])

    def _training_moments(self, k: int) -> Moments:
        """When the held-out parts are a partition of the rows, the training part is the sum of the others."""
        assert self.held_out is not None
        tests = np.concatenate([test for _, test in self.folds])
        if len(tests) == len(self.y) and len(np.unique(tests)) == len(tests):
            return reduce(add, [part for j, part in enumerate(self.held_out) if j != k])
        return self._moments(self.folds[k][0])

    def path(self, k: int) -> SquaredPath:
        """The training problem of fold k."""
        train = self.folds[k][0]
        small = None
        if self.held_out is not None:
            small = compress(self._training_moments(k), 0, fit_intercept=self.fit_intercept)
        rows = self.design if small is not None else self.design.rows(train)
        return SquaredPath(rows, self.y[train], self.weights[train], self.fit_intercept, small)

    def errors(self, k: int, coefs: Array, intercepts: Array) -> Array:
        """Held-out mean squared error of each column of coefficients."""
        test = self.folds[k][1]
        if self.held_out is not None:
            m = self.held_out[k]
            spread = m.yy[0] - 2 * coefs.T @ m.xy[:, 0] + np.einsum("jm,jk,km->m", coefs, m.xx, coefs, optimize=True)
            bias = m.mean_y[0] - m.mean_x @ coefs - intercepts
            return np.maximum(spread, 0.0) / m.weight + bias**2
        residuals = self.y[test, None] - self.design.rows(test).matvec(coefs) - intercepts
        return self.weights[test] @ residuals**2 / self.weights[test].sum()


@dataclass
class _Scored:
    """Errors of shape (ratios, alphas, folds), NaN where a callback stopped first, and how many fits were optimal."""

    errors: Array
    optimal: int = 0
    last: State | None = None  # where a callback ended the cross-validation


class ElasticNetCV(LinearRegressor):
    r"""Elastic net whose strength (and mix) minimise the cross-validated squared error.

    For each ``l1_ratio`` a path of strengths is fitted on every fold, warm-started from strong to weak, and the pair
    with the smallest held-out mean squared error is refitted on all rows. The objective is that of
    :class:`ElasticNet`.

    Parameters
    ----------
    l1_ratio : float or sequence of float in [0, 1], default 0.5
        Share of the L1 part, or those to try; 1 is the lasso. 0 needs ``alphas`` of its own.
    eps : float > 0, default 1e-3
        Ratio of the weakest to the strongest alpha of the automatic grid.
    alphas : int or array of shape (m,), default 100
        Size of the automatic grid, or the strengths themselves.
    fit_intercept : bool, default True
        Whether to fit b; if not, b = 0.
    precompute : bool, "auto" or array, default "auto"
        Accepted for compatibility: the solver forms the products that it needs.
    max_iter : int ≥ 1, default 1000
        Iterations of each fit.
    tol : float ≥ 0, default 1e-8
        Relative duality gap to reach in the refit; fits on folds reach 1e-6, which is enough for a choice.
    cv : int, splitter, iterable of (train, test) or None, default None
        None is five folds.
    copy_X : bool, default True
        Accepted for compatibility: X is never overwritten, and never copied whole.
    verbose : bool or int, default 0
        Above zero, progress is shown.
    n_jobs : int or None, default None
        Threads; None uses all usable cores. The answer does not depend on it.
    positive : bool, default False
        Require coefficients ≥ 0.
    random_state : int, RandomState or None, default None
        Accepted for compatibility: nothing here is random.
    selection : {"cyclic", "random"}, default "cyclic"
        Accepted for compatibility: the solver has an order of its own.

    Attributes
    ----------
    alpha_ : float
        The strength that was chosen.
    l1_ratio_ : float
        The mix that was chosen.
    coef_ : array of shape (d,)
        Of the refit, as are ``intercept_``, ``dual_gap_``, ``n_iter_`` and ``evidence_``.
    intercept_ : float
    dual_gap_ : float
        The absolute duality gap.
    n_iter_ : int
    alphas_ : array of shape (m,), or (r, m) for r > 1 values of ``l1_ratio`` with grids of their own
        The grid, from strong to weak.
    mse_path_ : array of shape (m, folds), or (r, m, folds) for r > 1 values of ``l1_ratio``
        Held-out mean squared errors; NaN where a callback ended the cross-validation first.
    evidence_ : Evidence
        Its facts count the fits on folds (``path fits``) and those of them that reached 1e-6 (``path fits optimal``).
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    *Cost.* Tall data: two passes over X in all, one for the moments of all rows and one for those of the folds, which
    add up; then O(d²) work per step; memory for a d × d matrix a fold and some twenty vectors of length n. Otherwise
    one pass over a fold's rows per step of its path.

    *Evidence.* The relative duality gap of the refit (kind *optimal*). It says nothing about the choice of the
    strength, which is as good as the folds. A callback may end the cross-validation early: the best strength so far is
    then refitted as far as time allows.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from corollary import ElasticNetCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = ElasticNetCV(l1_ratio=[0.5, 1.0], alphas=20).fit(X, y)
    >>> float(model.l1_ratio_), bool(model.mse_path_.min() < 3100)
    (1.0, True)
    """

    fitted: ClassVar[dict[str, Fitted]] = {
        "alpha_": Number(low=0),
        "l1_ratio_": Number(low=0, high=1),
        "alphas_": Floats("*r", "a", low=0) | Floats("a", low=0),
        "mse_path_": Floats("*r", "a", "?", finite=False),
        "n_iter_": Count(),
        "dual_gap_": Number(finite=False),
    }
    limits: ClassVar[dict[str, Limit]] = {
        "l1_ratio": Real(low=0, high=1) | ArrayLike(),
        "eps": Real(low=0, above=True),
        "alphas": Integer(1) | ArrayLike(),
        "fit_intercept": Boolean(),
        "precompute": Boolean() | Choice("auto") | ArrayLike(),
        "max_iter": Integer(1),
        "tol": Real(low=0),
        "cv": Choice(None) | Integer(2) | Instance("a splitter or iterable", object),
        "copy_X": Boolean(),
        "verbose": Boolean() | Integer(0),
        "n_jobs": N_JOBS,
        "positive": Boolean(),
        "random_state": RANDOM_STATE,
        "selection": Choice("cyclic", "random"),
    }

    @assigning
    def __init__(
        self,
        *,
        l1_ratio: Any = 0.5,
        eps: float = 1e-3,
        alphas: Any = 100,
        fit_intercept: bool = True,
        precompute: Any = "auto",
        max_iter: int = 1000,
        tol: float = 1e-8,
        cv: Any = None,
        copy_X: bool = True,
        verbose: Any = 0,
        n_jobs: int | None = None,
        positive: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
    ) -> None: ...

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> ElasticNetCV:
        """Choose the strength by cross-validation, then fit it on all rows of X and y, or of blocks of (X, y).

        ``params`` go to the splitter, by metadata routing.
        """
        routed = routes(self, "fit", params, sample_weight)
        _check_strengths(self.alphas)
        X, y, weights = self._validate_fit(X, y, sample_weight, blocks=True)
        y = y.astype(np.float64, copy=False)
        design, folds = as_design(X), splits(self.cv, X, y, weights, **(routed.splitter.split if routed else {}))
        check_gram(self.precompute, design, weights, self.fit_intercept)
        whole = next(squared_paths(design, y[:, None], weights, self.fit_intercept))
        observe = self._observer(
            X, y, self.max_iter, lambda state: so_far([(state, whole.intercept(state))], 1, flat=True)
        )
        ratios = np.atleast_1d(np.asarray(self.l1_ratio, dtype=np.float64))
        grids = np.stack([self._grid(whole, ratio) for ratio in ratios])
        scored = self._cross_validate(_Folds(design, y, weights, folds, self.fit_intercept), ratios, grids)
        mean = mean_over_folds(scored.errors, weights, folds)
        best, at = np.unravel_index(int(np.where(np.isnan(mean), np.inf, mean).argmin()), mean.shape)
        self.alpha_, self.l1_ratio_ = np.float64(grids[best, at]), np.float64(ratios[best])
        if scored.last is not None:  # no time is left for a fit from the start
            whole.state = scored.last
        penalty = penalty_of(self.alpha_, self.l1_ratio_, self.positive)
        found = whole.solve(penalty, tol=self.tol, max_iter=self.max_iter, observe=observe)
        self.alphas_: Array = grids[0] if len(ratios) == 1 or np.ndim(self.alphas) else grids
        self.mse_path_: Array = scored.errors[0] if len(ratios) == 1 else scored.errors
        start = whole.intercept(found) if self.fit_intercept else 0.0
        narrow = None if X.dtype == np.float64 else whole.rounded(penalty, found, start, X.dtype)
        dtype, (evidence,) = narrowest(X.dtype, [found.evidence], [narrow])
        self.n_iter_, self.dual_gap_ = evidence.n_iter, np.float64(absolute_gap(evidence))
        self._keep_coefficients(found.coef, start, dtype)
        facts = {"path fits": float(scored.errors.size), "path fits optimal": float(scored.optimal)}
        evidence = replace(evidence, facts={**evidence.facts, **facts})
        self._keep_evidence(evidence if scored.last is None else replace(evidence, status=Status.BUDGET))
        return self

    def _grid(self, whole: SquaredPath, ratio: float) -> Array:
        if np.ndim(self.alphas) == 0:
            refuse_grid_without_l1(ratio)
            return alpha_grid(whole.alpha_max(ratio, self.positive), self.eps, int(self.alphas))
        return np.sort(np.asarray(self.alphas, dtype=np.float64))[::-1]

    def _cross_validate(self, folds: _Folds, ratios: Array, grids: Array) -> _Scored:
        scored = _Scored(np.full((*grids.shape, len(folds.folds)), np.nan))
        tasks = [(k, r) for k in range(len(folds.folds)) for r in range(len(ratios))]

        def path(task: tuple[int, int]) -> tuple[Array, int, State | None]:
            k, r = task
            return self._along(folds, k, float(ratios[r]), grids[r])

        # callbacks are asked after each strength, in order; rows of several folds at once would be copies of X
        in_turn = bool(getattr(self, "_skl_callbacks", None)) or folds.held_out is None
        for (k, r), (errors, optimal, last) in zip(
            tasks, map(path, tasks) if in_turn else map_each(path, tasks), strict=False
        ):
            scored.errors[r, : len(errors), k] = errors
            scored.optimal += optimal
            if last is not None:
                scored.last = last
                break
        return scored

    def _along(self, folds: _Folds, k: int, ratio: float, grid: Array) -> tuple[Array, int, State | None]:
        """Held-out errors along one path, how many fits were optimal, and where a callback ended it, if one did."""
        coefs, intercepts, count, last = [], [], 0, None
        for coef, intercept, optimal in self._walk(folds.path(k), ratio, grid):
            coefs.append(coef)
            intercepts.append(intercept)
            count += optimal
            if self._stop_between("strength"):
                last = State(coef, intercept)
                break
        return folds.errors(k, np.stack(coefs, axis=1), np.array(intercepts)), count, last

    def _walk(self, path: SquaredPath, ratio: float, grid: Array) -> Iterator[tuple[Array, float, bool]]:
        # choosing a strength needs far fewer digits than the answer itself
        penalties = (penalty_of(float(alpha), ratio, self.positive) for alpha in grid)
        for coef, intercept, optimal in path.walk(penalties, tol=max(self.tol, 1e-6), max_iter=self.max_iter):
            stop_if_ended()
            yield coef, intercept if self.fit_intercept else 0.0, optimal

    def _shortfall(self, evidence: Evidence) -> str:
        return told_as_descent(evidence, super()._shortfall(evidence))

    def get_metadata_routing(self) -> MetadataRouter:
        """What ``fit`` passes on to the splitter."""
        split = MethodMapping().add(caller="fit", callee="split")
        return MetadataRouter(owner=self).add_self_request(self).add(splitter=check_cv(self.cv), method_mapping=split)

    @staticmethod
    def path(X: Any, y: Any, **options: Any) -> Any:
        """:func:`enet_path`."""
        return enet_path(X, y, **options)

    @predicting
    def plot(self, ax: Any = None) -> Any:
        """Draw the cross-validated error against the strength, with its spread over folds; returns the axes."""
        from corollary.linear.plots import plot_validation_curve

        return plot_validation_curve(self.alphas_, self.mse_path_, self.alpha_, ax)


class LassoCV(ElasticNetCV):
    """Lasso whose strength minimises the cross-validated squared error.

    A path of strengths is fitted on every fold, warm-started from strong to weak, and the one with the smallest
    held-out mean squared error is refitted on all rows. The objective is that of :class:`Lasso`; this is
    :class:`ElasticNetCV` with ``l1_ratio=1``.

    Parameters
    ----------
    eps : float > 0, default 1e-3
        Ratio of the weakest to the strongest alpha of the automatic grid.
    alphas : int or array of shape (m,), default 100
        Size of the automatic grid, or the strengths themselves.
    fit_intercept : bool, default True
        Whether to fit b; if not, b = 0.
    precompute : bool, "auto" or array, default "auto"
        Accepted for compatibility: the solver forms the products that it needs.
    max_iter : int ≥ 1, default 1000
        Iterations of each fit.
    tol : float ≥ 0, default 1e-8
        Relative duality gap to reach in the refit; fits on folds reach 1e-6, which is enough for a choice.
    cv : int, splitter, iterable of (train, test) or None, default None
        None is five folds.
    copy_X : bool, default True
        Accepted for compatibility: X is never overwritten, and never copied whole.
    verbose : bool or int, default False
        Above zero, progress is shown.
    n_jobs : int or None, default None
        Threads; None uses all usable cores. The answer does not depend on it.
    positive : bool, default False
        Require coefficients ≥ 0.
    random_state : int, RandomState or None, default None
        Accepted for compatibility: nothing here is random.
    selection : {"cyclic", "random"}, default "cyclic"
        Accepted for compatibility: the solver has an order of its own.

    Attributes
    ----------
    alpha_ : float
        The strength that was chosen.
    coef_ : array of shape (d,)
        Of the refit, as are ``intercept_``, ``dual_gap_``, ``n_iter_`` and ``evidence_``.
    intercept_ : float
    dual_gap_ : float
        The absolute duality gap.
    n_iter_ : int
    alphas_ : array of shape (m,)
        The grid, from strong to weak.
    mse_path_ : array of shape (m, folds)
        Held-out mean squared errors; NaN where a callback ended the cross-validation first.
    evidence_ : Evidence
        Its facts count the fits on folds (``path fits``) and those of them that reached 1e-6 (``path fits optimal``).
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    *Cost.* Tall data: two passes over X in all, one for the moments of all rows and one for those of the folds, which
    add up; then O(d²) work per step; memory for a d × d matrix a fold and some twenty vectors of length n. Otherwise
    one pass over a fold's rows per step of its path.

    *Evidence.* The relative duality gap of the refit (kind *optimal*). It says nothing about the choice of the
    strength, which is as good as the folds. A callback may end the cross-validation early: the best strength so far is
    then refitted as far as time allows.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from corollary import LassoCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LassoCV(alphas=20).fit(X, y)
    >>> model.evidence_.holds, model.mse_path_.shape
    (True, (20, 5))
    """

    limits: ClassVar[dict[str, Limit]] = {k: v for k, v in ElasticNetCV.limits.items() if k != "l1_ratio"}
    l1_ratio: ClassVar[float] = 1.0

    @assigning
    def __init__(
        self,
        *,
        eps: float = 1e-3,
        alphas: Any = 100,
        fit_intercept: bool = True,
        precompute: Any = "auto",
        max_iter: int = 1000,
        tol: float = 1e-8,
        copy_X: bool = True,
        cv: Any = None,
        verbose: Any = False,
        n_jobs: int | None = None,
        positive: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
    ) -> None: ...

    @staticmethod
    def path(X: Any, y: Any, **options: Any) -> Any:
        """:func:`lasso_path`."""
        return lasso_path(X, y, **options)


def _check_strengths(alphas: Any) -> None:
    """Each of the strengths that were given is a number that is not negative."""
    if np.ndim(alphas) == 0:
        return
    for at, alpha in enumerate(alphas):
        if not Real().accepts(alpha):
            raise TypeError(f"alphas[{at}] must be an instance of float, not {type(alpha).__name__}: strengths ≥ 0.")
        if alpha < 0:
            raise ValueError(f"alphas[{at}] == {alpha}, must be >= 0.0.")
