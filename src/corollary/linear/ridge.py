"""Ridge regression at one penalty. (``RidgeCV``, which chooses it, is in ``ridge_cv``.)"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from corollary.base import fitting
from corollary.core.limits import RANDOM_STATE, ArrayLike, Boolean, Choice, Integer, Limit, Real
from corollary.core.types import Array
from corollary.linear.ridge_base import RidgeRegressor
from corollary.linear.ridge_cv import RidgeCV
from corollary.solvers.least_squares.nonnegative import nonnegative_least_squares

__all__ = ["Ridge", "RidgeCV"]

STRENGTH = Real(0, 1e300)
# scikit-learn's names for what we have: an orthogonal factor serves both "qr" and "svd"
METHODS = {"auto": "auto", "cholesky": "cholesky", "qr": "svd", "svd": "svd", "sparse_cg": "cg"}


class Ridge(RidgeRegressor):
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
        Iterations of ``solver="sparse_cg"``.
    tol : float > 0, default=1e-8
        Largest relative duality gap at which the fit counts as proved.
    solver : {"auto", "cholesky", "qr", "svd", "sparse_cg"}, default="auto"
        "auto" chooses by shape and conditioning. "cholesky" factorises the moments; "qr" and "svd" take an orthogonal
        factor of X; "sparse_cg" is for sparse X with thousands of rows and columns.
    positive : bool, default=False
        Require β ≥ 0.
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
        The factor that was used.
    n_iter_ : int
        Iterations of "sparse_cg"; 1 for the others.
    evidence_ : Evidence
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    *Cost*: as :class:`LinearRegression`; different alphas for k targets share the passes over X.

    *Evidence*: the relative duality gap, the condition number of the penalised problem, effective degrees of freedom.

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

    limits: ClassVar[dict[str, Limit]] = {
        "alpha": STRENGTH | ArrayLike(),
        "fit_intercept": Boolean(),
        "copy_X": Boolean(),
        "max_iter": Choice(None) | Integer(1),
        "tol": Real(0, above=True),
        "solver": Choice(*METHODS),
        "positive": Boolean(),
        "random_state": RANDOM_STATE,
    }

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
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.solver = solver
        self.positive = positive
        self.random_state = random_state

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Ridge:
        """Fit to X (n × d, dense or sparse) and y (n,) or (n, k); ``sample_weight`` w counts a row w times."""
        X, y, weights = self._validate_fit(X, y, sample_weight, multi_output=True)
        task = self._task(X, y, sample_weight, weights, self.max_iter or 0)
        alpha = self._strengths(task.Y.shape[1])
        if self.positive:
            coef, intercept, evidence = nonnegative_least_squares(task.at(alpha), self.tol)
            self._keep_shaped(coef, intercept, y, X.dtype)
            self.__dict__.pop("effective_dof_", None)
        else:
            options = {"method": METHODS[self.solver], "tol": self.tol, "max_iter": self.max_iter}
            evidence = self._fit_at(task, y, X.dtype, alpha, **options)
        self.solver_ = evidence.solver
        self.n_iter_ = max(1, evidence.n_iter)
        self._keep_evidence(evidence)
        return self

    def _strengths(self, targets: int) -> Array:
        alpha = np.asarray(self.alpha, dtype=np.float64).ravel()
        if alpha.size not in (1, targets):
            raise ValueError(
                f"alpha must be one number or one for each target, but there are {alpha.size} penalties for "
                f"{targets} targets."
            )
        if not all(STRENGTH.accepts(float(a)) for a in alpha):
            raise ValueError(f"alpha must be {STRENGTH} for each target, but it is {self.alpha!r}.")
        return np.broadcast_to(alpha, targets)
