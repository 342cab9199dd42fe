"""Ridge regression at one penalty."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from corollary.base import assigning, fitting
from corollary.core.evidence import Evidence
from corollary.core.fitted import Count, Fitted, Floats, Integers, Maybe, Number, Text
from corollary.core.limits import RANDOM_STATE, ArrayLike, Boolean, Choice, Integer, Limit, Real
from corollary.core.types import Array
from corollary.linear.least_squares import UpdatableRegressor, one_or_each
from corollary.solvers.least_squares.closed_form import solve
from corollary.solvers.least_squares.nonnegative import nonnegative_least_squares
from corollary.solvers.least_squares.rows_so_far import RowsSoFar
from corollary.solvers.least_squares.task import Task

STRENGTH = Real(0, 1e300)
# scikit-learn's names as hints: an orthogonal factor serves both "qr" and "svd", and what others would approach by many
# passes is found in a few
METHODS = {"auto": "auto", "cholesky": "cholesky", "qr": "svd", "svd": "svd", "sparse_cg": "cg"}
METHODS |= dict.fromkeys(("lsqr", "sag", "saga", "lbfgs"), "auto")
RAN = {
    "orthogonal factor": "svd",
    "singular values": "svd",
    "conjugate gradients": "sparse_cg",
    "non-negative least squares": "lbfgs",
}


class Ridge(UpdatableRegressor):
    r"""Least squares with an L2 penalty, in closed form.

    .. math:: \min_{\beta, b} \sum_i w_i \, (y_i - x_i^\top \beta - b)^2 + \alpha \lVert \beta \rVert^2

    The intercept is not penalised. β is also the posterior mode under a Gaussian prior of variance σ²/α.

    Parameters
    ----------
    alpha : float ≥ 0, or array of shape (k,), default=1.0
        Strength of the penalty, the same for all targets or one for each; 0 is least squares.
    fit_intercept : bool, default=True
        Whether to fit b; if not, b = 0.
    copy_X : bool, default=True
        Accepted for compatibility; X is never overwritten, and never copied whole.
    max_iter : int or None, default=None
        Iterations of conjugate gradients; the other ways have none.
    tol : float ≥ 0, default=1e-8
        Largest relative duality gap at which the fit counts as optimal.
    solver : {"auto", "cholesky", "qr", "svd", "sparse_cg", "lsqr", "sag", "saga", "lbfgs"}, default="auto"
        A hint: all give the same answer, and ``evidence_.solver`` says what ran. "auto" chooses by shape and
        conditioning. "cholesky" factorises the moments, unless they are too close to singular; "qr" and "svd" take an
        orthogonal factor of X; "sparse_cg" is for sparse X with thousands of rows and columns. The others are taken for
        "auto".
    positive : bool, default=False
        Require β ≥ 0, with any ``solver``.
    random_state : int, RandomState or None
        Accepted for compatibility; nothing here is random.

    Attributes
    ----------
    coef_ : array of shape (d,), or (k, d) for k targets
    intercept_ : float, or array of shape (k,)
    effective_dof_ : float, or array of shape (k,)
        Σ d²/(d² + α) over the singular values d of the centred X: how many coefficients' worth of freedom is used.
        NaN after "sparse_cg".
    solver_ : str
        The solver that was asked for. After "auto", and where "cholesky" did not do, the name of what ran: "cholesky",
        "svd", "sparse_cg" or, with ``positive=True``, "lbfgs".
    n_iter_ : array of shape (k,)
        Iterations of conjugate gradients; 1 for the other ways, which have none.
    evidence_ : Evidence
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    *Cost*: as :class:`LinearRegression`; different alphas for k targets share the passes over X.

    *Evidence*: the relative duality gap (kind *optimal*), the condition number of the penalised problem, effective
    degrees of freedom. "sparse_cg" at ``alpha=0`` has no bound, only its gradient (kind *stationary*).

    References
    ----------
    A. E. Hoerl and R. W. Kennard, "Ridge regression", *Technometrics* 12, 1970.

    Examples
    --------
    >>> import numpy as np
    >>> from corollary.linear import Ridge
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> model = Ridge(alpha=2.0).fit(X, [0.0, 1.0, 2.0])
    >>> model.coef_, round(model.effective_dof_, 12)
    (array([0.5]), 0.5)
    """

    flat = True
    effective_dof_: Any
    fitted: ClassVar[dict[str, Fitted]] = {
        "effective_dof_": Maybe(Floats("*t", finite=False) | Number(finite=False)),
        "solver_": Text(),
        "n_iter_": Integers("?", low=0) | Count(),  # a number in files of the first release
    }
    _penalty_beside_sum = True
    limits: ClassVar[dict[str, Limit]] = {
        "alpha": STRENGTH | ArrayLike(),
        "fit_intercept": Boolean(),
        "copy_X": Boolean(),
        "max_iter": Choice(None) | Integer(1),
        "tol": Real(0),
        "solver": Choice(*METHODS),
        "positive": Boolean(),
        "random_state": RANDOM_STATE,
    }

    @assigning
    def __init__(
        self,
        alpha: Any = 1.0,
        *,
        fit_intercept: bool = True,
        copy_X: bool = True,
        max_iter: int | None = None,
        tol: float = 1e-8,
        solver: str = "auto",
        positive: bool = False,
        random_state: Any = None,
    ) -> None: ...

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Ridge:
        """Fit to X (n × d, dense or sparse) and y (n,) or (n, k), or to :class:`~corollary.Blocks` of (X, y).

        ``sample_weight`` w counts a row w times.
        """
        self._fit(X, y, sample_weight, self.max_iter or 0)
        return self

    @fitting
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Ridge:
        """Add rows: the answer is then that of all rows so far, as for :class:`LinearRegression`."""
        self._add(X, y, sample_weight)
        return self

    def _learn(self, task: Task, y: Array, dtype: Any, so_far: RowsSoFar | None = None) -> Evidence:
        task = task.at(self._strengths(task.Y.shape[1]))
        if self.positive:
            coef, intercept, evidence = nonnegative_least_squares(task, self.tol)
            self.__dict__.pop("effective_dof_", None)
        else:
            answer, evidence = solve(task, method=METHODS[self.solver], tol=self.tol, max_iter=self.max_iter)
            coef, intercept, self.effective_dof_ = answer.coef, answer.intercept, one_or_each(answer.dof)
        self.solver_ = RAN.get(evidence.solver, "cholesky") if self.solver in ("auto", "cholesky") else str(self.solver)
        self.n_iter_ = np.full(task.Y.shape[1], max(1, evidence.n_iter), dtype=np.int32)
        return self._keep_shaped(task, (coef, intercept, evidence), y, dtype, so_far)

    def _strengths(self, targets: int) -> Array:
        alpha = np.asarray(self.alpha, dtype=np.float64).ravel()
        if alpha.size not in (1, targets):
            raise ValueError(
                "Number of targets and number of penalties do not correspond: "
                f"{alpha.size} != {targets}. alpha must be one number, or one for each target."
            )
        if not all(STRENGTH.accepts(float(a)) for a in alpha):
            raise ValueError(f"alpha must be {STRENGTH} for each target, but it is {self.alpha!r}.")
        return np.broadcast_to(alpha * self._weight_unit, targets)
