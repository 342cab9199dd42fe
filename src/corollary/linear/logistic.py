"""Logistic regression: binary and softmax, with L2, L1, elastic-net or no penalty."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import numpy as np

from corollary.base import assigning, fitting, predicting
from corollary.core.design import Design, as_design
from corollary.core.evidence import Evidence
from corollary.core.fitted import Fitted, Integers
from corollary.core.limits import CLASS_WEIGHT, N_JOBS, RANDOM_STATE, Boolean, Choice, Integer, Limit, Real
from corollary.core.loss import Logistic, SoftmaxLoss
from corollary.core.penalty import ElasticNet as ElasticNetPenalty
from corollary.core.problem import Problem
from corollary.core.types import Array
from corollary.labels import agreeing, encode_labels, signs
from corollary.linear.classify import LinearClassifier, same_scores
from corollary.linear.rounding import in_type_of
from corollary.solvers.linear.driver import Solver, State, solve
from corollary.solvers.linear.suitable import choose_solver

Labels = tuple[Array, Array, Array]  # classes, the class number of each row, row weights times class weights


def logistic_problem(
    design: Design, codes: Array, n_classes: int, weights: Array, C: float, l1_ratio: float, fit_intercept: bool
) -> Problem:
    """Σ s ℓ + (1/C)(ρ‖w‖₁ + ½(1−ρ)‖w‖²): the usual objective divided by C, so that C = inf needs no special case."""
    penalty = ElasticNetPenalty(l1=l1_ratio / C, l2=(1 - l1_ratio) / C)
    if n_classes == 2:
        return Problem(design, signs(codes), weights, Logistic(), penalty, fit_intercept)
    return Problem(design, codes, weights, SoftmaxLoss(), penalty, fit_intercept, n_classes=n_classes)


def named_solver(name: str, problem: Problem) -> Solver:
    """The solver of that name; "auto" chooses."""
    from corollary.solvers.linear.descent.prox_newton import ProxNewton
    from corollary.solvers.linear.smooth.lbfgs import LBFGS
    from corollary.solvers.linear.smooth.newton import Newton

    known: dict[str, Callable[[], Solver]] = {"lbfgs": LBFGS, "newton": Newton, "prox-newton": ProxNewton}
    return known[name]() if name in known else choose_solver(problem)


class LogisticRegression(LinearClassifier):
    r"""Class probabilities from a linear model.

    .. math:: \min_{w, b} C \sum_i s_i \log\big(1 + e^{-y_i (x_i^\top w + b)}\big)
              + \rho \|w\|_1 + \frac{1 - \rho}{2} \|w\|^2

    for two classes y = ±1; for more, the softmax loss with one column of coefficients per class. ρ is ``l1_ratio`` and
    s are sample weights times class weights. The intercept is not penalised.

    Parameters
    ----------
    C : float > 0, default 1.0
        Inverse strength of the penalty; ``np.inf`` is no penalty at all.
    l1_ratio : float in [0, 1], default 0.0
        0 is the L2 penalty, 1 the L1 penalty, in between the elastic net.
    tol : float ≥ 0, default 1e-8
        Relative duality gap to reach.
    fit_intercept : bool, default True
    class_weight : dict, "balanced" or None
    solver : {"auto", "newton", "lbfgs", "prox-newton"}, default "auto"
        The answer is the same whichever is used, within ``tol``.
    max_iter : int ≥ 1, default 1000
    warm_start : bool, default False
        Start from the coefficients of the previous fit.
    n_jobs : int or None
        Threads; None means all usable cores.
    random_state : accepted for compatibility; nothing here is random.

    Attributes
    ----------
    classes_ : array of shape (k,)
    coef_ : array of shape (1, d) or (k, d)
    intercept_ : array of shape (1,) or (k,)
    n_iter_ : array of shape (1,)
    evidence_ : Evidence

    Notes
    -----
    *Cost.* L2, d ≤ 2000: an O(n d²) Hessian or two, for 50 000 rows or more commonly of a tenth of them alone, and a
    few O(n d) passes; otherwise O(n d k) per iteration of L-BFGS. L1: one pass per outer iteration plus, for a working
    set of s columns, O(n s²) if it is narrow, else some epochs of O(n s), or of its entries if X is sparse. Memory for
    a dozen vectors of length n (times k), thirty of length d (times k), and 64 MiB or 16 more of these for the sums of
    parts of the rows; for L1 a float64 copy of the working set, unless X lies by columns or the set is narrow and all
    of X: n·s numbers, up to twice a float32 X. Blocks are read once more, for y and the weights.

    *Evidence.* The relative duality gap (kind *optimal*). Data that a plane separates have no finite optimum without a
    penalty; the fit then stops once the loss is negligible and says so.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from corollary import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticRegression().fit(X, y)
    >>> round(model.score(X, y), 2), model.evidence_.holds
    (0.97, True)
    """

    fitted: ClassVar[dict[str, Fitted]] = {
        "n_iter_": Integers("?", low=0),
    }
    _penalty_beside_sum = True
    limits: ClassVar[dict[str, Limit]] = {
        "C": Real(low=0, above=True),
        "l1_ratio": Real(low=0, high=1),
        "tol": Real(low=0),
        "fit_intercept": Boolean(),
        "class_weight": CLASS_WEIGHT,
        "solver": Choice("auto", "newton", "lbfgs", "prox-newton"),
        "max_iter": Integer(1),
        "warm_start": Boolean(),
        "n_jobs": N_JOBS,
        "random_state": RANDOM_STATE,
    }

    @assigning
    def __init__(
        self,
        *,
        C: float = 1.0,
        l1_ratio: float = 0.0,
        tol: float = 1e-8,
        fit_intercept: bool = True,
        class_weight: Any = None,
        solver: str = "auto",
        max_iter: int = 1000,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None: ...

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> LogisticRegression:
        """Fit to X (n × d, dense or sparse) and labels y of any type, or to :class:`~corollary.Blocks` of (X, y)."""
        X, y, weights = self._validate_fit(X, y, sample_weight, y_numeric=False, blocks=True)
        labels = encode_labels(y, weights, self.class_weight)
        observe = self._observer(X, y, self.max_iter, partial(_attributes, labels[0]))
        self._keep_evidence(self._fit_at(X, labels, self.C, self.l1_ratio, observe))
        return self

    def _fit_at(
        self, X: Any, labels: Labels, C: float, l1_ratio: float, observe: Any, start: State | None = None
    ) -> Evidence:
        """Fit and keep the model of that strength and mix."""
        classes, codes, weights = labels
        C = C / self._weight_unit
        problem = logistic_problem(as_design(X), codes, len(classes), weights, C, l1_ratio, self.fit_intercept)
        if start is None or start.coef.shape != problem.coef_shape:
            start = self._previous(problem)
        solver = named_solver(self.solver, problem)
        found = solve(solver, problem, tol=self.tol, max_iter=self.max_iter, start=start, observe=observe)
        self.classes_ = classes
        self.n_iter_ = np.array([found.evidence.n_iter], dtype=np.int32)
        found = same_scores(found)
        dtype, (evidence,) = in_type_of(X.dtype, [(problem, found)])
        self._keep_classifier(found.coef, found.intercept, dtype)
        return evidence

    def _previous(self, problem: Problem) -> State | None:
        if not (self.warm_start and hasattr(self, "coef_")):
            return None
        coef = self.coef_.T.astype(np.float64)
        if coef.shape == problem.coef_shape:
            return State(coef, self.intercept_.astype(np.float64))
        return State(coef[:, 0], float(self.intercept_[0])) if (coef.shape[0], 1) == (*problem.coef_shape, 1) else None

    @predicting
    def predict_proba(self, X: Any) -> Array:
        """Probability of each class, in the order of ``classes_``; its argmax is ``predict``."""
        raw = self.decision_function(X)
        return agreeing(SoftmaxLoss.link.probabilities(raw), raw)

    @predicting
    def predict_log_proba(self, X: Any) -> Array:
        """Logarithm of ``predict_proba``, accurate where probabilities are tiny."""
        from scipy.special import log_expit, log_softmax

        raw = self.decision_function(X)
        if raw.dtype == np.float32:  # probabilities this close to 1 are 1 in float32, and so must their logarithm be
            return np.log(self.predict_proba(X))
        if raw.ndim == 1:
            return np.column_stack([log_expit(-raw), log_expit(raw)])
        return log_softmax(raw, axis=1)


def _attributes(classes: Array, state: State) -> dict[str, Any]:
    coef = np.atleast_2d(state.coef.T)
    return {"classes_": classes, "coef_": coef, "intercept_": np.atleast_1d(state.intercept)}
