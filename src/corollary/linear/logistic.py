"""Logistic regression: binary and softmax, with L2, L1, elastic-net or no penalty."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import numpy as np

from corollary.base import assigning, fitting, predicting
from corollary.core.design import Design, as_design, with_constant
from corollary.core.evidence import Evidence
from corollary.core.fitted import Fitted, Integers
from corollary.core.limits import CLASS_WEIGHT, N_JOBS, RANDOM_STATE, Boolean, Choice, Integer, Limit, Real
from corollary.core.loss import Logistic, SoftmaxLoss
from corollary.core.penalty import ElasticNet as ElasticNetPenalty
from corollary.core.problem import Problem
from corollary.core.types import Array
from corollary.labels import agreeing, encode_labels, signs
from corollary.linear.classify import LinearClassifier, same_scores
from corollary.linear.logistic_terms import (
    MIX,
    PENALTY,
    SOLVER,
    check_classes,
    check_terms,
    strength_and_mix,
    told_as_known,
    warn_of_penalty,
)
from corollary.linear.predict import dense
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
    """The solver of that name; "auto" chooses, and so do the names of scikit-learn's that are not ours."""
    from corollary.solvers.linear.descent.prox_newton import ProxNewton
    from corollary.solvers.linear.smooth.lbfgs import LBFGS
    from corollary.solvers.linear.smooth.newton import Newton

    known: dict[str, Callable[[], Solver]] = {"lbfgs": LBFGS, "newton": Newton, "prox-newton": ProxNewton}
    if name == "lbfgs" and problem.loss.multiclass and problem.penalty.absent:  # where it finds no bound
        return choose_solver(problem)
    return known[name]() if name in known else choose_solver(problem)


class LogisticRegression(LinearClassifier):
    r"""Class probabilities from a linear model.

    .. math:: \min_{w, b} C \sum_i s_i \log\big(1 + e^{-y_i (x_i^\top w + b)}\big)
              + \rho \|w\|_1 + \frac{1 - \rho}{2} \|w\|^2

    for two classes y = ±1; for more, the softmax loss with one column of coefficients per class. ρ is ``l1_ratio`` and
    s are sample weights times class weights. The intercept is not penalised, unless ``solver="liblinear"`` asks for it.

    Parameters
    ----------
    penalty : {"l1", "l2", "elasticnet", None}, deprecated in scikit-learn
        The same as ``l1_ratio`` 1, 0 or as given, and ``C=np.inf``; with a FutureWarning.
    C : float > 0, default 1.0
        Inverse strength of the penalty; ``np.inf`` is no penalty at all.
    l1_ratio : float in [0, 1], default 0.0
        0 is the L2 penalty, 1 the L1 penalty, in between the elastic net. None is 0, with a FutureWarning.
    dual : bool, default False
        Accepted for compatibility with ``solver="liblinear"`` and the L2 penalty; the answer is the same.
    tol : float ≥ 0, default 1e-8
        Relative duality gap to reach.
    fit_intercept : bool, default True
    intercept_scaling : float > 0, default 1
        For ``solver="liblinear"`` only: c of the penalised intercept, below.
    class_weight : dict, "balanced" or None
    random_state : accepted for compatibility; nothing here is random.
    solver : {"auto", "newton", "lbfgs", "prox-newton"} or one of scikit-learn's, default "auto"
        The answer is the same whichever is used, within ``tol``. "newton-cg", "newton-cholesky", "sag" and "saga" are
        hints: they take the penalties that they take in scikit-learn, and ``evidence_.solver`` says what ran.
        "liblinear" is another objective, as it is there: of two classes, with b = c·v, where v is penalised like a
        coefficient and c is ``intercept_scaling``; coefficients are float64.
    max_iter : int ≥ 0, default 1000
    verbose : int ≥ 0, default 0
        Above zero, progress is shown.
    warm_start : bool, default False
        Start from the coefficients of the previous fit.
    n_jobs : int or None
        Threads; None means all usable cores.

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
        "penalty": PENALTY,
        "C": Real(low=0, above=True),
        "l1_ratio": MIX | Choice(None),
        "dual": Boolean(),
        "tol": Real(low=0),
        "fit_intercept": Boolean(),
        "intercept_scaling": Real(low=0, above=True, finite=True),
        "class_weight": CLASS_WEIGHT,
        "random_state": RANDOM_STATE,
        "solver": SOLVER,
        "max_iter": Integer(0),
        "verbose": Boolean() | Integer(0),
        "warm_start": Boolean(),
        "n_jobs": N_JOBS,
    }

    @assigning
    def __init__(
        self,
        penalty: Any = "deprecated",
        *,
        C: float = 1.0,
        l1_ratio: float | None = 0.0,
        dual: bool = False,
        tol: float = 1e-8,
        fit_intercept: bool = True,
        intercept_scaling: float = 1,
        class_weight: Any = None,
        random_state: Any = None,
        solver: str = "auto",
        max_iter: int = 1000,
        verbose: int = 0,
        warm_start: bool = False,
        n_jobs: int | None = None,
    ) -> None: ...

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self.solver != "liblinear"
        return tags

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> LogisticRegression:
        """Fit to X (n × d, dense or sparse) and labels y of any type, or to :class:`~corollary.Blocks` of (X, y)."""
        warn_of_penalty(self)
        C, mix = self._strength_and_mix
        check_terms(self, np.array([C]), np.array([mix]))
        X, y, weights = self._validate_fit(X, y, sample_weight, y_numeric=False, blocks=True)
        labels = encode_labels(y, weights, self.class_weight)
        check_classes(self, len(labels[0]))
        observe = self._observer(X, y, self.max_iter, partial(_attributes, labels[0], self._constant))
        self._keep_evidence(self._fit_at(X, labels, C, mix, observe))
        return self

    @property
    def _strength_and_mix(self) -> tuple[float, float]:
        """C and ρ of the objective."""
        return strength_and_mix(self)

    @property
    def _constant(self) -> float | None:
        """The entries of a last column whose coefficient is the intercept, penalised like the others; None if free."""
        return float(self.intercept_scaling) if self.solver == "liblinear" and self.fit_intercept else None

    def _problem(self, design: Design, labels: Labels, C: float, mix: float) -> Problem:
        classes, codes, weights = labels
        C, constant = C / self._weight_unit, self._constant
        if constant is not None:
            return logistic_problem(with_constant(design, constant), codes, len(classes), weights, C, mix, False)
        return logistic_problem(design, codes, len(classes), weights, C, mix, self.fit_intercept)

    def _fit_at(
        self, X: Any, labels: Labels, C: float, mix: float, observe: Any, start: State | None = None
    ) -> Evidence:
        """Fit and keep the model of that strength and mix."""
        problem = self._problem(as_design(X), labels, C, mix)
        if start is None or start.coef.shape != problem.coef_shape:
            start = self._previous(problem)
        solver = named_solver(self.solver, problem)
        found = solve(solver, problem, tol=self.tol, max_iter=self.max_iter, start=start, observe=observe)
        self.classes_ = labels[0]
        self.n_iter_ = np.array([found.evidence.n_iter], dtype=np.int32)
        found = same_scores(found, problem)
        dtype, (evidence,) = in_type_of(np.float64 if self.solver == "liblinear" else X.dtype, [(problem, found)])
        self._keep_classifier(*unfolded(found.coef, found.intercept, self._constant), dtype)
        return evidence

    def _previous(self, problem: Problem) -> State | None:
        if not (self.warm_start and hasattr(self, "coef_")):
            return None
        coef, intercept = dense(self.coef_).T.astype(np.float64), np.asarray(self.intercept_, dtype=np.float64)
        if self._constant is not None:
            coef, intercept = np.concatenate([coef, intercept[None] / self._constant]), 0.0 * intercept
        if coef.shape == problem.coef_shape:
            return State(coef, intercept)
        return State(coef[:, 0], float(intercept[0])) if (coef.shape[0], 1) == (*problem.coef_shape, 1) else None

    def _shortfall(self, evidence: Evidence) -> str:
        return told_as_known(self.solver, evidence, super()._shortfall(evidence))

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


def unfolded(coef: Array, intercept: Any, constant: float | None) -> tuple[Array, Any]:
    """Coefficients and intercept of a solution; the last coefficient is the intercept's if there is a ``constant``."""
    return (coef, intercept) if constant is None else (coef[:-1], constant * coef[-1])


def _attributes(classes: Array, constant: float | None, state: State) -> dict[str, Any]:
    coef, intercept = unfolded(state.coef, state.intercept, constant)
    return {"classes_": classes, "coef_": np.atleast_2d(coef.T), "intercept_": np.atleast_1d(intercept)}
