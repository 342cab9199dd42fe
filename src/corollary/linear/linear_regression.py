"""Ordinary least squares."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from corollary.base import assigning, fitting, predicting
from corollary.core.design import as_design
from corollary.core.evidence import Evidence
from corollary.core.fitted import Count, Fitted, Floats, Maybe, Nothing, Number
from corollary.core.limits import N_JOBS, Boolean, Limit, Real
from corollary.core.types import Array
from corollary.linear.least_squares import UpdatableRegressor
from corollary.solvers.least_squares.closed_form import solve
from corollary.solvers.least_squares.nonnegative import nonnegative_least_squares
from corollary.solvers.least_squares.rows_so_far import RowsSoFar
from corollary.solvers.least_squares.task import Answer, Task

KEPT = 1_000_000  # entries of the matrix kept for leverages; beyond that it would outgrow the model

STATISTICS = (
    "rank_",
    "std_err_",
    "intercept_std_err_",
    "residual_std_",
    "singular_",
    "_whitener",
    "_centre",
    "_weight",
)


class LinearRegression(UpdatableRegressor):
    r"""Ordinary least squares, accurate to the digits that the data have.

    .. math:: \min_{\beta, b} \sum_i w_i \, (y_i - x_i^\top \beta - b)^2

    If X does not have full column rank, the coefficients of minimum norm are taken and ``evidence_`` says so.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Whether to fit b; if not, b = 0.
    copy_X : bool, default=True
        Accepted for compatibility; X is never overwritten, and never copied whole.
    tol : float ≥ 0, default=1e-8
        Largest relative duality gap at which the fit counts as optimal.
    n_jobs : int or None, default=None
        Threads; None uses all usable cores. The answer does not depend on it.
    positive : bool, default=False
        Require β ≥ 0.

    Attributes
    ----------
    coef_ : array of shape (d,), or (k, d) for k targets
    intercept_ : float, or array of shape (k,)
    std_err_ : array like ``coef_``
        Standard error of each coefficient, √(σ² diag (XᵀWX)⁻¹) with σ = ``residual_std_`` (NaN if no degrees of
        freedom are left over, or for sparse X too large for a factor). A weight w counts as w rows. Not with
        ``positive=True``.
    intercept_std_err_ : float, or array of shape (k,)
    residual_std_ : float, or array of shape (k,)
        √(Σ w r² / (Σ w − rank − 1)), without the 1 if there is no intercept.
    rank_ : int
        Rank of X (of its centred columns, with an intercept).
    singular_ : array of shape (min(n, d),)
        Singular values of the centred, weighted X; up to 1024 of them, otherwise absent.
    evidence_ : Evidence
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    *Cost*: one threaded pass over X (n d² operations) when its condition number is below 200, two to six beyond; memory
    for a few d × d matrices and a few vectors of length n. With fewer rows than columns n² d operations and n × n
    matrices. Blocks are read once more, for y and the weights, which stay in memory; ``partial_fit`` reads its rows
    once, 2 n d² operations.

    *Evidence*: the relative duality gap (kind *optimal*), the condition number of X with scaled columns, its rank. With
    ``positive=True`` and dependent columns the gain that the optimality conditions leave to coefficients up to ten
    times as large (kind *exact*).

    References
    ----------
    Å. Björck, *Numerical Methods for Least Squares Problems*, SIAM, 1996.

    Examples
    --------
    >>> import numpy as np
    >>> from corollary.linear import LinearRegression
    >>> X = np.array([[1.0, 1.0], [1.0, 2.0], [2.0, 2.0], [2.0, 3.0]])
    >>> model = LinearRegression().fit(X, X @ [1.0, 2.0] + 3.0)
    >>> model.coef_, float(model.intercept_)
    (array([1., 2.]), 3.0)
    >>> model.evidence_.holds
    True
    """

    flat = False
    limits: ClassVar[dict[str, Limit]] = {
        "fit_intercept": Boolean(),
        "copy_X": Boolean(),
        "tol": Real(0),
        "n_jobs": N_JOBS,
        "positive": Boolean(),
    }
    fitted: ClassVar[dict[str, Fitted]] = {
        "rank_": Maybe(Count()),
        "singular_": Maybe(Floats("?", low=0)),
        "std_err_": Maybe(Floats("*t", "d", finite=False)),
        "intercept_std_err_": Maybe(Floats("*t", finite=False)),
        "residual_std_": Maybe(Floats("*t", finite=False)),
        "_weight": Maybe(Number(low=0, above=True)),
        "_centre": Maybe(Floats("d") | Nothing()),
        "_whitener": Maybe(Floats("d", "?") | Nothing()),
    }

    @assigning
    def __init__(
        self,
        *,
        fit_intercept: bool = True,
        copy_X: bool = True,
        tol: float = 1e-8,
        n_jobs: int | None = None,
        positive: bool = False,
    ) -> None: ...

    @property
    def _scales_columns(self) -> bool:
        return not self.positive

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> LinearRegression:
        """Fit to X (n × d, dense or sparse) and y (n,) or (n, k), or to :class:`~corollary.Blocks` of (X, y).

        ``sample_weight`` w counts a row w times.
        """
        self._fit(X, y, sample_weight)
        return self

    @fitting
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> LinearRegression:
        """Add rows: the answer is then that of all rows so far, however they were cut into parts.

        What is kept is a triangular factor of d + k + 1 columns, so nothing is forgotten and nothing approximated.
        Of rows that are gone no residual can be taken, so the evidence counts the rounding of that factor in full.
        ``fit`` does not keep it: the first rows after a ``fit`` begin anew.
        """
        self._add(X, y, sample_weight)
        return self

    def _learn(self, task: Task, y: Array, dtype: Any, so_far: RowsSoFar | None = None) -> Evidence:
        for name in STATISTICS:  # of an earlier fit; this one may not have them all
            self.__dict__.pop(name, None)
        if self.positive:
            coef, intercept, evidence = nonnegative_least_squares(task, self.tol)
            self.rank_ = int(evidence.facts["rank"])
        else:
            answer, evidence = solve(task, tol=self.tol)
            weight = task.weight
            if so_far is not None:
                answer, weight = so_far.of_all(answer) if self.fit_intercept else answer, so_far.weight
            coef, intercept = answer.coef, answer.intercept
            self._keep_statistics(answer, weight, y.ndim == 1)
        return self._keep_shaped(task, (coef, intercept, evidence), y, dtype, so_far)

    def _keep_statistics(self, answer: Answer, weight: float, one: bool) -> None:
        """Standard errors and what ``leverage`` needs."""
        if answer.rank is not None:
            self.rank_ = answer.rank
        if answer.singular is not None:
            self.singular_ = answer.singular
        freedom = weight - (answer.rank or 0) - int(self.fit_intercept)
        deviation = np.full(len(answer.norm), np.nan)
        if freedom > 0 and answer.spread is not None:
            deviation = answer.norm / np.sqrt(freedom)
        spread = np.ones(len(answer.coef)) if answer.spread is None else answer.spread
        errors = np.outer(deviation, spread)
        start = deviation * answer.intercept_spread if self.fit_intercept else 0.0 * deviation
        self.std_err_ = errors[0] if one else errors
        self.intercept_std_err_ = start[0] if one else start
        self.residual_std_ = deviation[0] if one else deviation
        self._weight = weight
        self._centre = answer.mean
        inverse = answer.inverse
        kept = inverse is not None and inverse.size <= KEPT and bool(np.isfinite(inverse).all())
        self._whitener = inverse if kept else None

    def _check_state(self) -> None:
        super()._check_state()
        if len({"_weight", "_centre", "_whitener"} & set(vars(self))) not in (0, 3):
            raise ValueError("a part of what leverage needs is missing.")

    @predicting
    def leverage(self, X: Any) -> Array:
        """Diagonal of the hat matrix for rows of X: how strongly a row of the training data pulls its own prediction.

        hᵢ = 1/Σw + (xᵢ − x̄)ᵀ(XᵀWX)⁻¹(xᵢ − x̄), for a row of weight one. Over the training rows Σ wᵢhᵢ = rank + 1 (rank
        without an intercept). Times the residual variance it is the variance of a new row's fitted value.
        """
        X = self._validate_predict(X)
        whitener, centre = getattr(self, "_whitener", None), getattr(self, "_centre", None)
        if whitener is None or centre is None:
            raise ValueError(
                "leverage needs the factor of the training data, which is kept when there are at least as many rows "
                f"as columns, at most {KEPT} entries and positive=False, and where its inverse is within float64. With "
                "fewer rows than columns every training row has leverage one."
            )
        base = 1 / self._weight if self.fit_intercept else 0.0
        rotated = as_design(X).view(centre=centre).matvec(whitener)
        leverage: Array = base + np.einsum("ij,ij->i", rotated, rotated)
        return leverage.astype(X.dtype, copy=False)
