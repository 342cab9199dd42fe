"""Ridge at the best of many penalties: leave-one-out in closed form, or any folds, each from one decomposition."""

from __future__ import annotations

import numbers
import warnings
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping

from corollary.base import assigning, caller_level, fitting, predicting
from corollary.core.door.metadata import enabled
from corollary.core.drawing import axes
from corollary.core.evidence import Status
from corollary.core.fitted import Fitted, Floats, Maybe, Number
from corollary.core.limits import ArrayLike, Boolean, Choice, Instance, Integer, Limit, Real
from corollary.core.types import Array
from corollary.linear.folds import routes, splits
from corollary.linear.least_squares import LeastSquaresRegressor, one_or_each
from corollary.linear.ridge_scores import Score, as_scorer, fold_scores, leave_one_out_scores, score_function
from corollary.solvers.least_squares.closed_form import solve
from corollary.solvers.least_squares.leave_one_out import are_counts
from corollary.solvers.least_squares.task import Task

LARGEST = 1e300
SPARSE_SVD = (
    "RidgeCV: The 'svd' mode is not supported for sparse X, and scikit-learn 1.11 will refuse it. The same is computed "
    "with gcv_mode='auto', which is the default."
)


class RidgeCV(LeastSquaresRegressor):
    """Ridge at the alpha with the best cross-validation score; leave-one-out in closed form by default.

    The error of row i in a fit without it is rᵢ / (1 − hᵢ), with rᵢ its residual and hᵢ its leverage in the fit to all
    rows. If all weights are whole numbers, a row of weight w is w rows, of which one is left out at a time. If any is
    not, they are no counts but degrees of importance, there is no single one to leave out, and the row is left out with
    all of its weight, as scikit-learn does it always. One decomposition of X gives all rows and all alphas, so the
    whole path costs about as much as two fits.

    Parameters
    ----------
    alphas : array of shape (m,) or float, default=(0.1, 1.0, 10.0)
        Penalties to try, > 0; with ``cv`` also 0, which is least squares.
    fit_intercept : bool, default=True
        Whether to fit b; if not, b = 0.
    scoring : str, callable or None, default=None
        None is the mean squared error (R² with ``cv``). A callable is called as scoring(estimator, X, y), with all
        targets at once unless ``alpha_per_target``.
    cv : int, splitter, iterable of splits or None, default=None
        None is leave-one-out. Folds are fitted and scored with their weights.
    gcv_mode : {None, "auto", "svd", "eigen"}, default=None
        Decomposition: singular values of X or eigenvalues of its moments; None and "auto" choose by size. "svd" of
        sparse X is deprecated, as in scikit-learn.
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
    matrices and a few vectors of length n. With fewer rows than columns, an eigendecomposition of n × n. With ``cv``, a
    decomposition and three passes a fold.

    *Evidence*: that of the ridge fit at ``alpha_``. A callback may end the folds early; alpha is then the best of those
    that were scored.

    Examples
    --------
    >>> import numpy as np
    >>> from corollary.linear import RidgeCV
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> print(RidgeCV(alphas=[0.01, 100.0]).fit(X, [0.1, 0.9, 2.1, 2.9]).alpha_)
    0.01
    """

    flat = True
    fitted: ClassVar[dict[str, Fitted]] = {
        "alpha_": Floats("*t", low=0) | Number(low=0),
        "mean_scores_": Floats("?", finite=False) | Floats("?", "t", finite=False),
        "best_score_": Floats("*t", finite=False) | Number(finite=False),
        "effective_dof_": Floats("*t", finite=False) | Number(finite=False),
        "cv_results_": Maybe(Floats("?", "?", finite=False) | Floats("?", "t", "?", finite=False)),
    }
    _penalty_beside_sum = True
    limits: ClassVar[dict[str, Limit]] = {
        "alphas": Real(0, LARGEST, above=True) | ArrayLike(),
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

    @assigning
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
    ) -> None: ...

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> RidgeCV:
        """Choose alpha and fit to X (n × d, dense or sparse) and y (n,) or (n, k), or to blocks of (X, y), with it.

        ``params`` are for the splitter and the scorer, by scikit-learn's metadata routing.
        """
        routed = routes(self, "fit", params, sample_weight)
        X, y, weights = self._validate_fit(X, y, sample_weight, multi_output=True, blocks=True)
        task, alphas, stopped = self._task(X, y, weights), self._path(), False
        separate = self.alpha_per_target and task.Y.shape[1] > 1
        if self.cv is None:
            scores = self._leave_one_out(task, alphas * self._weight_unit, y, separate, routed)
        else:
            for name in ("store_cv_results", "alpha_per_target"):
                if getattr(self, name):
                    raise ValueError(
                        f"cv!=None and {name}=True are incompatible: that needs leave-one-out, but cv is {self.cv!r}."
                    )
            scores, stopped = self._by_folds(task, X, y, alphas * self._weight_unit, routed)
        self.mean_scores_ = scores if separate else scores[:, 0]
        ranked = self._ranked(self.mean_scores_.reshape(len(alphas), -1), alphas)
        best = ranked.argmax(axis=0)
        self.alpha_ = alphas[best] if separate else np.float64(alphas[best[0]])
        found = np.take_along_axis(self.mean_scores_.reshape(len(alphas), -1), best[None], axis=0)[0]
        self.best_score_ = found if separate else np.float64(found[0])
        task = task.at(self.alpha_ * self._weight_unit)
        answer, evidence = solve(task)
        self.effective_dof_ = one_or_each(answer.dof)
        evidence = self._keep_shaped(task, (answer.coef, answer.intercept, evidence), y, X.dtype)
        self._keep_evidence(replace(evidence, status=Status.BUDGET) if stopped else evidence)
        return self

    def _path(self) -> Array:
        """The penalties to try; none at all may be among them where no row is left out alone."""
        limit, sign = Real(0, LARGEST, above=self.cv is None), ">" if self.cv is None else ">="
        given = np.asarray(self.alphas, dtype=object).ravel()
        if not given.size:
            raise ValueError(f"alphas must be numbers {sign} 0, at least one of them, but there are none.")
        for number, alpha in enumerate(given):
            if isinstance(alpha, bool) or not isinstance(alpha, numbers.Real):
                raise TypeError(f"alphas[{number}] must be an instance of float, not {type(alpha).__name__}.")
            if not limit.accepts(alpha):
                raise ValueError(f"alphas[{number}] == {alpha}, must be {sign} 0.0 and at most {LARGEST:g}.")
        return given.astype(np.float64)

    def _leave_one_out(self, task: Task, alphas: Array, y: Array, separate: bool, routed: Any) -> Array:
        """Scores (number of alphas, k or 1); keeps ``cv_results_`` if asked."""
        method = self.gcv_mode or "auto"
        if method == "svd" and task.design.is_sparse:
            method = "auto"
            warnings.warn(SPARSE_SVD, FutureWarning, stacklevel=caller_level())
        score, keep = None if self.scoring is None else self._score(task, routed), self.store_cv_results
        counts = are_counts(task.weights, self._weight_unit)
        scores, residuals = leave_one_out_scores(
            task, alphas, y, method, score=score, separate=separate, keep=keep, counts=counts
        )
        self.__dict__.pop("cv_results_", None)
        if keep and residuals is not None:
            rows = residuals**2 if self.scoring is None else task.Y[:, :, None] - residuals
            self.cv_results_ = rows[:, 0] if y.ndim == 1 else rows
        return scores

    def _by_folds(self, task: Task, X: Any, y: Array, alphas: Array, routed: Any) -> tuple[Array, bool]:
        """Mean scores (number of alphas, 1) over the folds, and whether a callback ended them early."""
        folds = splits(self.cv, X, y, task.weights, **(routed.splitter.split if routed else {}))
        scores: list[list[float]] = []
        for row in fold_scores(task, y, alphas, folds, self._score(task, routed)):
            scores.append(row)
            if self._stop_between("fold"):
                return np.mean(scores, axis=0)[:, None], True
        return np.mean(scores, axis=0)[:, None], False

    def _ranked(self, scores: Array, alphas: Array) -> Array:
        """The scores, −inf where there is none, with a warning; where there is none at all the first alpha is taken."""
        missing = np.isnan(scores)
        if missing.all(axis=0).any():
            warnings.warn(
                "RidgeCV: One or more of the test scores are non-finite: scoring gave NaN at every alpha, so that the "
                "first is taken and nothing speaks for it.",
                UserWarning,
                stacklevel=caller_level(),
            )
        elif missing.any():
            warnings.warn(
                "RidgeCV: One or more of the test scores are non-finite: scoring gave NaN at alpha="
                f"{', '.join(f'{alpha:g}' for alpha in alphas[missing.any(axis=1)])}, which cannot be chosen.",
                UserWarning,
                stacklevel=caller_level(),
            )
        ranked: Array = np.where(missing, -np.inf, scores)
        return ranked

    def _score(self, task: Task, routed: Any) -> Score:
        return score_function(self._scorer(), task.weights, routed.scorer.score if routed else None, len(task.Y))

    def _scorer(self) -> Any:
        scorer = as_scorer(self.scoring, "r2")
        if self.scoring is None and enabled():
            return scorer.set_score_request(sample_weight=True)  # folds are scored with their weights
        return scorer

    def get_metadata_routing(self) -> MetadataRouter:
        """What ``fit`` passes on to the scorer and to the splitter (scikit-learn's metadata routing)."""
        router = MetadataRouter(owner=self).add_self_request(self)
        router.add(scorer=self._scorer(), method_mapping=MethodMapping().add(caller="fit", callee="score"))
        return router.add(splitter=self.cv, method_mapping=MethodMapping().add(caller="fit", callee="split"))

    @predicting
    def plot(self, ax: Any = None) -> Any:
        """Draw the score against alpha, with the choice marked; returns the matplotlib axes."""
        ax = axes(ax)
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
