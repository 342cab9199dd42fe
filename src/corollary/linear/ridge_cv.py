"""Ridge regression at the best of many penalties."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from corollary.base import fitting
from corollary.core.limits import ArrayLike, Boolean, Choice, Instance, Integer, Limit, Real
from corollary.core.types import Array
from corollary.linear.ridge_base import RidgeRegressor
from corollary.linear.ridge_selection import fold_scores, leave_one_out_scores
from corollary.solvers.least_squares.task import Task


class RidgeCV(RidgeRegressor):
    """Ridge at the alpha with the best cross-validation score; leave-one-out in closed form by default.

    The error of row i in a fit without it is rᵢ / (1 − hᵢ), with rᵢ its residual and hᵢ its leverage in the fit to all
    rows. One decomposition of X gives all rows and all alphas, so the whole path costs about as much as two fits.

    Parameters
    ----------
    alphas : array of shape (m,) or float, default=(0.1, 1.0, 10.0)
        Penalties to try, > 0.
    fit_intercept : bool, default=True
        Whether to fit b; if not, b = 0.
    scoring : str, callable or None, default=None
        None is the mean squared error (R² with ``cv``). A callable is called as scoring(estimator, X, y).
    cv : int, splitter, iterable of splits or None, default=None
        None is leave-one-out. Folds are fitted and scored with their weights.
    gcv_mode : {None, "auto", "svd", "eigen"}, default=None
        Decomposition: singular values of X or eigenvalues of its moments; None and "auto" choose by size.
    store_cv_results : bool, default=False
        Keep ``cv_results_`` (leave-one-out only).
    alpha_per_target : bool, default=False
        Choose alpha for each target separately (leave-one-out only).

    Attributes
    ----------
    alpha_ : float, or array of shape (k,) with ``alpha_per_target``
    best_score_ : float, or array of shape (k,) with ``alpha_per_target``
        Weighted mean over the rows; higher is better, so an error is negative.
    mean_scores_ : array of shape (m,), or (m, k) with ``alpha_per_target``
        The score at each alpha.
    cv_results_ : array of shape (n, m) or (n, k, m)
        Squared leave-one-out errors, or leave-one-out predictions if ``scoring`` is given.
    coef_, intercept_, effective_dof_, evidence_ : as in :class:`Ridge`, at ``alpha_``
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    *Cost*: three threaded passes over X, n d² operations in two of them and n d m in one; memory for a few d × d
    matrices. With fewer rows than columns, an eigendecomposition of n × n.

    *Evidence*: that of the ridge fit at ``alpha_``.

    Examples
    --------
    >>> import numpy as np
    >>> from corollary.linear import RidgeCV
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> RidgeCV(alphas=[0.01, 100.0]).fit(X, [0.1, 0.9, 2.1, 2.9]).alpha_
    0.01
    """

    limits: ClassVar[dict[str, Limit]] = {
        "alphas": Real(0, 1e300, above=True) | ArrayLike(),
        "fit_intercept": Boolean(),
        "scoring": Choice(None) | Instance("the name of a scorer", str) | Instance("a scorer", methods=("__call__",)),
        "cv": Choice(None)
        | Integer(2)
        | Instance("a splitter", methods=("split",))
        | Instance("an iterable of splits", methods=("__iter__",)),
        "gcv_mode": Choice(None, "auto", "svd", "eigen"),
        "store_cv_results": Boolean(),
        "alpha_per_target": Boolean(),
    }

    def __init__(
        self,
        alphas: Any = (0.1, 1.0, 10.0),
        *,
        fit_intercept: bool = True,
        scoring: Any = None,
        cv: Any = None,
        gcv_mode: str | None = None,
        store_cv_results: bool = False,
        alpha_per_target: bool = False,
    ) -> None:
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.scoring = scoring
        self.cv = cv
        self.gcv_mode = gcv_mode
        self.store_cv_results = store_cv_results
        self.alpha_per_target = alpha_per_target

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> RidgeCV:
        """Choose alpha and fit to X (n × d, dense or sparse) and y (n,) or (n, k) with it."""
        X, y, weights = self._validate_fit(X, y, sample_weight, multi_output=True)
        task, alphas = self._task(X, y, sample_weight, weights), self._path()
        if self.cv is None:
            scores = self._leave_one_out(task, alphas, y)
        else:
            for name in ("store_cv_results", "alpha_per_target"):
                if getattr(self, name):
                    raise ValueError(f"{name}=True needs leave-one-out (cv=None), but cv is {self.cv!r}.")
            scores = fold_scores(task, X, y, alphas, self.cv, self.scoring)[:, None]
        separate = self.alpha_per_target and task.Y.shape[1] > 1
        self.mean_scores_ = scores if separate else scores.mean(axis=1)
        best = self.mean_scores_.argmax(axis=0)
        self.alpha_ = alphas[best] if separate else float(alphas[best])
        self.best_score_ = self.mean_scores_.max(axis=0) if separate else float(self.mean_scores_[best])
        self._keep_evidence(self._fit_at(task, y, X.dtype, self.alpha_))
        return self

    def _path(self) -> Array:
        alphas = np.asarray(self.alphas, dtype=np.float64).ravel()
        if not alphas.size or not all(a > 0 and np.isfinite(a) for a in alphas):
            raise ValueError(f"alphas must be finite numbers > 0, at least one of them, but they are {self.alphas!r}.")
        return alphas

    def _leave_one_out(self, task: Task, alphas: Array, y: Array) -> Array:
        """Scores (number of alphas, k); keeps ``cv_results_`` if asked."""
        method = self.gcv_mode or "auto"
        scores, residuals = leave_one_out_scores(task, alphas, method, self.scoring, self.store_cv_results)
        self.__dict__.pop("cv_results_", None)
        if self.store_cv_results and residuals is not None:
            rows = residuals**2 if self.scoring is None else task.Y[:, :, None] - residuals
            self.cv_results_ = rows[:, 0] if y.ndim == 1 else rows
        return scores

    def plot(self, ax: Any = None) -> Any:
        """Draw the score against alpha, with the choice marked; returns the matplotlib axes."""
        import matplotlib.pyplot as plt

        check_is_fitted(self)
        if ax is None:
            _, ax = plt.subplots(figsize=(6, 4), layout="constrained")
        error = self.cv is None and self.scoring is None
        scores = np.abs(self.mean_scores_) if error else self.mean_scores_
        alphas = self._path()
        order = np.argsort(alphas)
        ax.plot(alphas[order], scores[order], marker="o", ms=3)
        for alpha in np.atleast_1d(self.alpha_):
            ax.axvline(alpha, color="0.5", ls="--", lw=1)
        ylabel = "leave-one-out mean squared error" if error else "cross-validation score"
        ax.set(xscale="log", xlabel="alpha", ylabel=ylabel, title=f"best alpha: {np.round(self.alpha_, 6)}")
        return ax
