"""Lasso and elastic net at one strength."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import sklearn
from scipy import sparse

from corollary.base import assigning, fitting
from corollary.core.design import as_design
from corollary.core.evidence import Evidence, Status, worst_of
from corollary.core.fitted import Count, Fitted, Floats, ListOf, Number
from corollary.core.limits import RANDOM_STATE, ArrayLike, Boolean, Choice, Integer, Limit, Real
from corollary.linear.gram import check_gram
from corollary.linear.paths import enet_path, lasso_path
from corollary.linear.predict import LinearRegressor
from corollary.linear.rounding import narrowest
from corollary.linear.squared_path import absolute_gap, penalty_of, squared_paths
from corollary.solvers.linear.driver import Solution, State


class ElasticNet(LinearRegressor):
    r"""Linear regression with a mixed L1 and L2 penalty.

    .. math:: \min_{w, b} \frac{1}{2 \sum_i s_i} \sum_i s_i (y_i - x_i^\top w - b)^2
              + \alpha \Big(\rho \|w\|_1 + \frac{1 - \rho}{2} \|w\|^2\Big)

    with sample weights s and ρ = ``l1_ratio``. The intercept is not penalised.

    Parameters
    ----------
    alpha : float ≥ 0, default 1.0
        Strength of the penalty.
    l1_ratio : float in [0, 1], default 0.5
        Share of the L1 part; 1 is the lasso.
    fit_intercept : bool, default True
        Whether to fit b; if not, b = 0.
    precompute : bool or array, default False
        Accepted for compatibility: the solver forms the products that it needs. A matrix is checked against X.
    max_iter : int ≥ 1, default 1000
        Iterations of the solver; each is one pass over X. A handful is typical.
    copy_X : bool, default True
        Accepted for compatibility: X is never overwritten, and never copied whole.
    tol : float ≥ 0, default 1e-8
        Relative duality gap to reach.
    warm_start : bool, default False
        Start from the coefficients of the previous fit.
    positive : bool, default False
        Require coefficients ≥ 0.
    random_state : int, RandomState or None, default None
        Accepted for compatibility: nothing here is random.
    selection : {"cyclic", "random"}, default "cyclic"
        Accepted for compatibility: the solver has an order of its own.

    Attributes
    ----------
    coef_ : array of shape (d,), or (k, d) for k > 1 targets
    intercept_ : float, or array of shape (k,) if y has two dimensions
    sparse_coef_ : CSR matrix of shape (1, d) or (k, d)
        ``coef_`` without its zeros.
    n_iter_ : int, or list of int for several targets
        Iterations of the solver.
    dual_gap_ : float, or array of shape (k,)
        The absolute duality gap: no coefficients have an objective that is lower by more than this.
    evidence_ : Evidence
        The relative duality gap, with the history of the fit; of several targets, the weakest.
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    *Cost.* Tall data (n > 2d) that are dense with d ≤ 400, have several targets or come in blocks (d ≤ 2000): one pass
    over X, O(n d²) operations, memory d² and a few vectors of length n. Otherwise at most one pass per iteration: of an
    X in Fortran order or CSC, columns that cannot enter are not read again. Some dozens of visits of a working set of s
    columns (up to twice the number of non-zero coefficients, or a few more), and a dozen vectors of length n; where
    columns are nearly collinear, or X is in C order, n·s + s² memory. Blocks are read once more, for y and the weights,
    which stay in memory.

    *Evidence.* The duality gap from the Fenchel conjugates of loss and penalty (kind *optimal*): no coefficients have
    an objective that is lower than this model's by more than it.

    References
    ----------
    Friedman, Hastie, Tibshirani (2010), *Regularization paths for generalized linear models via coordinate descent*,
    Journal of Statistical Software 33.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from corollary import ElasticNet
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = ElasticNet(alpha=0.01).fit(X, y)
    >>> model.evidence_.holds
    True
    """

    _known_as = "Coordinate descent iterations resulted in non-finite parameter values"
    fitted: ClassVar[dict[str, Fitted]] = {
        "n_iter_": Count() | ListOf(Count(), "t"),
        "dual_gap_": Floats("*t", finite=False) | Number(finite=False),
    }
    limits: ClassVar[dict[str, Limit]] = {
        "alpha": Real(low=0),
        "l1_ratio": Real(low=0, high=1),
        "fit_intercept": Boolean(),
        "precompute": Boolean() | ArrayLike(),
        "max_iter": Integer(1),
        "copy_X": Boolean(),
        "tol": Real(low=0),
        "warm_start": Boolean(),
        "positive": Boolean(),
        "random_state": RANDOM_STATE,
        "selection": Choice("cyclic", "random"),
    }

    @assigning
    def __init__(
        self,
        alpha: float = 1.0,
        *,
        l1_ratio: float = 0.5,
        fit_intercept: bool = True,
        precompute: Any = False,
        max_iter: int = 1000,
        copy_X: bool = True,
        tol: float = 1e-8,
        warm_start: bool = False,
        positive: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
    ) -> None: ...

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, check_input: bool = True) -> ElasticNet:
        """Fit to X (n × d, dense or sparse) and y (n,) or (n, k), or to :class:`~corollary.Blocks` of (X, y).

        Several targets are fitted one after the other. ``sample_weight`` w counts a row w times. ``check_input=False``
        is scikit-learn's, for X in Fortran order; it is held to that, and what comes is checked all the same.
        """
        if not check_input and sample_weight is None:
            _refuse_by_rows(X)
        X, y, weights = self._validate_fit(X, y, sample_weight, multi_output=True, blocks=True)
        if check_input:
            check_gram(self.precompute, as_design(X), weights, self.fit_intercept)
        Y = y.reshape(len(y), -1).astype(np.float64, copy=False)
        penalty = penalty_of(self.alpha, self.l1_ratio, self.positive)
        found: list[tuple[Solution, float]] = []
        narrow: list[Evidence | None] = []

        def attributes(state: State) -> dict[str, Any]:
            return so_far([*found, (state, path.intercept(state))], Y.shape[1], flat=y.ndim == 1)

        observe = self._observer(X, y, self.max_iter, attributes)
        for target, path in enumerate(squared_paths(X, Y, weights, self.fit_intercept, once=Y.shape[1] == 1)):
            path.state = self._previous(target, Y.shape[1], X.shape[1])
            solution = path.solve(penalty, tol=self.tol, max_iter=self.max_iter, observe=observe)
            found.append((solution, path.intercept(solution)))
            if X.dtype != np.float64:
                start = path.intercept(solution) if self.fit_intercept else 0.0
                narrow.append(path.rounded(penalty, solution, start, X.dtype))
            if solution.evidence.status.cut_short:
                break
        dtype, judged = narrowest(X.dtype, [part.evidence for part, _ in found], narrow)
        kept = [(replace(part, evidence=each), start) for (part, start), each in zip(found, judged, strict=True)]
        self._keep(kept, Y.shape[1], dtype, flat=y.ndim == 1)
        self._keep_evidence(worst_of(judged))
        return self

    def _previous(self, target: int, n_targets: int, n_columns: int) -> State | None:
        if not (self.warm_start and hasattr(self, "coef_")) or np.size(self.coef_) != n_targets * n_columns:
            return None
        coef = np.reshape(self.coef_, (n_targets, n_columns))[target].astype(np.float64)
        start = np.broadcast_to(getattr(self, "intercept_", 0.0), n_targets)  # coefficients alone may have been set
        return State(coef, float(start[target]))

    def _keep(self, found: list[tuple[Solution, float]], n_targets: int, dtype: Any, flat: bool) -> None:
        """Targets that were not fitted before the fit was stopped have coefficients of zero and an infinite gap."""
        reached, single = so_far(found, n_targets, flat=flat), n_targets == 1
        counts, gaps = [0] * n_targets, np.full(n_targets, np.inf)
        for k, (solution, _) in enumerate(found):
            counts[k], gaps[k] = solution.evidence.n_iter, absolute_gap(solution.evidence)
        self.n_iter_ = counts[0] if single else counts
        self.dual_gap_ = gaps[0] if single else gaps
        start = reached["intercept_"] if self.fit_intercept else 0.0 * reached["intercept_"]
        self._keep_coefficients(reached["coef_"].T, start, dtype)

    def _shortfall(self, evidence: Evidence) -> str:
        return told_as_descent(evidence, super()._shortfall(evidence))

    @property
    def sparse_coef_(self) -> Any:
        """``coef_`` as a CSR matrix, or array where scikit-learn is told to return arrays."""
        arrays = sklearn.get_config().get("sparse_interface") == "sparray"
        return (sparse.csr_array if arrays else sparse.csr_matrix)(np.atleast_2d(self.coef_))

    @staticmethod
    def path(X: Any, y: Any, **options: Any) -> Any:
        """:func:`enet_path`."""
        return enet_path(X, y, **options)


class Lasso(ElasticNet):
    r"""Linear regression with an L1 penalty, which sets coefficients to zero.

    .. math:: \min_{w, b} \frac{1}{2 \sum_i s_i} \sum_i s_i (y_i - x_i^\top w - b)^2 + \alpha \|w\|_1

    with sample weights s. The intercept is not penalised. This is :class:`ElasticNet` with ``l1_ratio=1``.

    Parameters
    ----------
    alpha : float ≥ 0, default 1.0
        Strength of the penalty; 0 is least squares.
    fit_intercept : bool, default True
        Whether to fit b; if not, b = 0.
    precompute : bool or array, default False
        Accepted for compatibility: the solver forms the products that it needs. A matrix is checked against X.
    max_iter : int ≥ 1, default 1000
        Iterations of the solver; each is one pass over X. A handful is typical.
    copy_X : bool, default True
        Accepted for compatibility: X is never overwritten, and never copied whole.
    tol : float ≥ 0, default 1e-8
        Relative duality gap to reach.
    warm_start : bool, default False
        Start from the coefficients of the previous fit.
    positive : bool, default False
        Require coefficients ≥ 0.
    random_state : int, RandomState or None, default None
        Accepted for compatibility: nothing here is random.
    selection : {"cyclic", "random"}, default "cyclic"
        Accepted for compatibility: the solver has an order of its own.

    Attributes
    ----------
    coef_ : array of shape (d,), or (k, d) for k > 1 targets
    intercept_ : float, or array of shape (k,) if y has two dimensions
    sparse_coef_ : CSR matrix of shape (1, d) or (k, d)
        ``coef_`` without its zeros.
    n_iter_ : int, or list of int for several targets
        Iterations of the solver.
    dual_gap_ : float, or array of shape (k,)
        The absolute duality gap: no coefficients have an objective that is lower by more than this.
    evidence_ : Evidence
        The relative duality gap, with the history of the fit; of several targets, the weakest.
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    *Cost.* Tall data (n > 2d) that are dense with d ≤ 400, have several targets or come in blocks (d ≤ 2000): one pass
    over X, O(n d²) operations, memory d² and a few vectors of length n. Otherwise at most one pass per iteration: of an
    X in Fortran order or CSC, columns that cannot enter are not read again. Some dozens of visits of a working set of s
    columns (up to twice the number of non-zero coefficients, or a few more), and a dozen vectors of length n; where
    columns are nearly collinear, or X is in C order, n·s + s² memory. Blocks are read once more, for y and the weights,
    which stay in memory.

    *Evidence.* The duality gap from the Fenchel conjugates of loss and penalty (kind *optimal*): no coefficients have
    an objective that is lower than this model's by more than it.

    References
    ----------
    R. Tibshirani (1996), *Regression shrinkage and selection via the lasso*, Journal of the Royal Statistical Society B
    58.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from corollary import Lasso
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = Lasso(alpha=0.5).fit(X, y)
    >>> list(model.feature_names_in_[model.coef_ != 0])
    ['bmi', 'bp', 's3', 's5']
    """

    limits: ClassVar[dict[str, Limit]] = {k: v for k, v in ElasticNet.limits.items() if k != "l1_ratio"}
    l1_ratio: ClassVar[float] = 1.0

    @assigning
    def __init__(
        self,
        alpha: float = 1.0,
        *,
        fit_intercept: bool = True,
        precompute: Any = False,
        copy_X: bool = True,
        max_iter: int = 1000,
        tol: float = 1e-8,
        warm_start: bool = False,
        positive: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
    ) -> None: ...

    @staticmethod
    def path(X: Any, y: Any, **options: Any) -> Any:
        """:func:`lasso_path`."""
        return lasso_path(X, y, **options)


def _refuse_by_rows(X: Any) -> None:
    """Whoever says that nothing needs a check says that X lies by columns."""
    if isinstance(X, np.ndarray) and not X.flags.f_contiguous:
        raise ValueError(
            "check_input=False is for X in Fortran order, as in scikit-learn: pass np.asfortranarray(X), or leave "
            "check_input out, which takes X in any order without a copy."
        )


def told_as_descent(evidence: Evidence, words: str) -> str:
    """A shortfall, after the words that people know from coordinate descent in scikit-learn."""
    known = "Objective did not converge. You might want to increase the number of iterations. "
    return known + words if evidence.status is Status.MAX_ITER else words


def so_far(parts: Sequence[tuple[Solution | State, float]], n_targets: int, *, flat: bool) -> dict[str, Any]:
    """Fitted attributes from the targets met so far; the others have no coefficients yet.

    As in scikit-learn one target has a flat ``coef_``, and a flat y a number as ``intercept_``.
    """
    coef, intercept = np.zeros((n_targets, len(parts[0][0].coef))), np.zeros(n_targets)
    for k, (part, start) in enumerate(parts):
        coef[k], intercept[k] = part.coef, start
    return {"coef_": coef[0] if n_targets == 1 else coef, "intercept_": intercept[0] if flat else intercept}
