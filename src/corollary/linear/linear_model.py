"""Any loss with any penalty in one linear estimator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import ClassifierTags, RegressorTags
from sklearn.utils.metaestimators import available_if

from corollary.base import assigning, fitting, predicting
from corollary.core.design import Design, as_design
from corollary.core.evidence import Evidence, Status, worst_of
from corollary.core.fitted import Count, Fitted, Floats, Labels, Maybe
from corollary.core.limits import CLASS_WEIGHT, N_JOBS, ArrayLike, Boolean, Choice, Integer, Limit, Real
from corollary.core.loss import Loss, LossOf, as_loss, known_loss
from corollary.core.part import Part
from corollary.core.penalty import PENALTY, NoPenalty, Penalty, as_penalty
from corollary.core.problem import Problem
from corollary.core.types import Array
from corollary.labels import agreeing, encode_labels, signs, winners
from corollary.linear.classify import same_scores
from corollary.linear.predict import LinearPredictor
from corollary.linear.rounding import in_type_of, least_squares_in_type_of, rounded, rounded_difference
from corollary.solvers.least_squares import closed_form
from corollary.solvers.least_squares.task import Task
from corollary.solvers.linear.driver import Solution, State, solve
from corollary.solvers.linear.suitable import choose_solver
from corollary.solvers.loop import Observer


def _is_classifier(model: Any) -> bool:
    loss = known_loss(model.loss)
    return loss is not None and loss.task == "classification"


def _has_probabilities(model: Any) -> bool:
    loss = known_loss(model.loss)
    return loss is not None and loss.link.probabilistic


class LinearModel(LinearPredictor):
    r"""A linear model for the loss and the penalty of your choice.

    .. math:: \min_{w, b} \frac{1}{\sum_i s_i} \sum_i s_i\, \ell(y_i, x_i^\top w + b) + \alpha\, \Omega(w)

    It is a regressor or a classifier, depending on the loss. Losses for two classes are used one-vs-rest for more.
    Where no solver suits the pair (for instance a hinge loss with a group penalty), ``fit`` says which piece is
    missing.

    Parameters
    ----------
    loss : str or Loss, default "squared"
        Regression: "squared", "absolute", "huber", "quantile", "epsilon_insensitive", "poisson", "tweedie".
        Classification: "logistic", "softmax", "hinge", "squared_hinge", "exponential". Or a
        :class:`corollary.core.loss.Loss` with parameters of its own, such as ``Tweedie(1.8)`` or one that you wrote.
    penalty : {"none", "l1", "l2", "elastic_net", "l0", "group"} or Penalty, default "l2"
        ‖w‖₁, ½‖w‖², the mix ρ‖w‖₁ + ½(1−ρ)‖w‖², the number of non-zero weights, or Σ √|g| ‖w_g‖. Or a
        :class:`corollary.core.penalty.Penalty`, which stands for α Ω: it has its own strength.
    alpha : float ≥ 0, default 1e-3
        Strength of a penalty that is given by name.
    l1_ratio : float in [0, 1], default 0.5
        ρ of the elastic net.
    groups : array of shape (d,) or None
        Group number of each column, for the group penalty.
    delta : float > 0, default 1.35
        Where the Huber loss turns from squared to absolute.
    quantile : float in (0, 1), default 0.5
    epsilon : float ≥ 0, default 0.1
        Half-width of the tube of the ε-insensitive loss.
    power : float in [1, 2], default 1.5
        Of the mean with which the variance grows, for the Tweedie loss.
    fit_intercept : bool, default True
    class_weight : dict, "balanced" or None
    tol : float ≥ 0, default 1e-8
        Relative duality gap to reach.
    max_iter : int ≥ 1, default 1000
    n_jobs : int or None

    Attributes
    ----------
    coef_ : array of shape (d,) for regression, (1, d) or (k, d) for classification
    intercept_, n_iter_, classes_ (classification)
    evidence_ : Evidence

    Notes
    -----
    *Cost.* Smooth losses: Newton or L-BFGS (L2, none), proximal Newton on working sets (L1, elastic net, L0, group),
    proximal gradient (any other penalty with a prox): two or three passes over X per iteration, more iterations the
    more collinear the columns. Losses with kinks: an interior-point method, O(n d²) per iteration, 10 to 40 iterations,
    separable penalties only; it also finishes Huber's loss where Newton stalls, with most rows beyond ``delta``. Memory
    for some fifteen vectors of length n; L1, elastic net and group: n·s for a working set of s columns, in float64.

    *Evidence.* The relative duality gap; for L0, which is not convex, that no change of one coefficient helps. For the
    logistic, softmax and exponential losses, classes that a plane separates have no finite optimum without a penalty;
    the fit stops once the loss is negligible and says so.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from corollary import LinearModel
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LinearModel(loss="quantile", quantile=0.9, penalty="l1", alpha=0.01).fit(X, y)
    >>> float((y <= model.predict(X)).mean().round(1)), model.evidence_.holds
    (0.9, True)
    """

    fitted: ClassVar[dict[str, Fitted]] = {
        "classes_": Maybe(Labels()),
        "coef_": Floats("*scores", "d"),
        "intercept_": Floats("*scores"),
        "n_iter_": Count(),
    }
    limits: ClassVar[dict[str, Limit]] = {
        "loss": LossOf(),
        "penalty": PENALTY,
        "alpha": Real(low=0),
        "l1_ratio": Real(low=0, high=1),
        "groups": Choice(None) | ArrayLike(),
        "delta": Real(low=0, above=True),
        "quantile": Real(low=0, high=1, above=True),
        "epsilon": Real(low=0),
        "power": Real(low=1, high=2),
        "fit_intercept": Boolean(),
        "class_weight": CLASS_WEIGHT,
        "tol": Real(low=0),
        "max_iter": Integer(1),
        "n_jobs": N_JOBS,
    }

    @assigning
    def __init__(
        self,
        loss: Any = "squared",
        penalty: Any = "l2",
        *,
        alpha: float = 1e-3,
        l1_ratio: float = 0.5,
        groups: Any = None,
        delta: float = 1.35,
        quantile: float = 0.5,
        epsilon: float = 0.1,
        power: float = 1.5,
        fit_intercept: bool = True,
        class_weight: Any = None,
        tol: float = 1e-8,
        max_iter: int = 1000,
        n_jobs: int | None = None,
    ) -> None: ...

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        classifier = _is_classifier(self)
        tags.estimator_type = "classifier" if classifier else "regressor"
        tags.classifier_tags = ClassifierTags() if classifier else None
        tags.regressor_tags = None if classifier else RegressorTags()
        tags.target_tags.required = True
        loss = known_loss(self.loss)
        tags.target_tags.positive_only = loss is not None and loss.domain.low >= 0
        return tags

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> LinearModel:
        """Fit to X (n × d, dense or sparse) and y, or to :class:`~corollary.Blocks` of (X, y)."""
        classifier = _is_classifier(self)
        X, y, weights = self._validate_fit(X, y, sample_weight, y_numeric=not classifier, blocks=True)
        design, loss, penalty = as_design(X), as_loss(self.loss, vars(self)), self._penalty(X.shape[1])
        observe = self._observer(X, y, self.max_iter, self._attributes)
        options = {"tol": self.tol, "max_iter": self.max_iter, "observe": observe}
        if classifier:
            self.classes_, codes, weights = encode_labels(y, weights, self.class_weight)
            parts = self._classes(design, codes, weights / weights.sum(), loss, penalty, options)
        else:
            y = y.astype(np.float64, copy=False)
            loss.check_target(y)
            if loss.constant_curvature and penalty.quadratic:
                return self._closed_form(design, y, weights, penalty.l2, X.dtype, observe)
            problem = Problem(design, y, weights / weights.sum(), loss, penalty, self.fit_intercept)
            parts = [(problem, solve(choose_solver(problem), problem, **options))]
        pair = loss.simplex and parts[0][0].n_classes == 2
        dtype, judged = in_type_of(X.dtype, parts, rounded_difference if pair else rounded)
        self.n_iter_ = max(evidence.n_iter for evidence in judged)
        self._keep_coefficients(*self._joined([found for _, found in parts], pair), dtype)
        evidence = worst_of(judged)
        if any(each.status is Status.SEPARABLE for each in judged) and not evidence.status.cut_short:
            evidence = replace(evidence, status=Status.SEPARABLE)
        self._keep_evidence(self._noted(evidence))
        return self

    def _joined(self, found: list[Solution], pair: bool) -> tuple[Array, Any]:
        """Coefficients and intercepts of all classes, or of a regression; of two with a score each, the difference."""
        coef, intercept = found[0].coef, found[0].intercept
        if not _is_classifier(self):
            return coef, intercept
        if pair:
            return coef[:, 1:] - coef[:, :1], intercept[1:] - intercept[:1]
        if coef.ndim == 1:
            coef, intercept = np.stack([part.coef for part in found], axis=1), [part.intercept for part in found]
        return coef, np.atleast_1d(intercept)

    def _closed_form(
        self, design: Design, y: Array, weights: Array, l2: float, dtype: Any, observe: Observer | None
    ) -> LinearModel:
        """Squared loss with an L2 penalty or none: ridge regression, whose objective is this one times 2 Σ s."""
        double = 2 * float(weights.sum())

        def one_output(record: dict[str, float], snapshot: Callable[[], State]) -> bool:
            assert observe is not None
            state = snapshot()
            half = {**record, "objective": 2 * record["objective"] / double}
            return bool(observe(half, lambda: State(state.coef[:, 0], float(state.intercept[0]))))

        watched = None if observe is None else one_output
        task = Task(design, y[:, None], weights, np.zeros(1), self.fit_intercept, observe=watched)
        task = task.at(0.5 * double * l2)
        answer, evidence = closed_form.solve(task, tol=self.tol)
        self.n_iter_ = max(evidence.n_iter, 1)
        dtype, evidence = least_squares_in_type_of(dtype, task, answer.coef, answer.intercept, None, evidence)
        self._keep_coefficients(answer.coef[:, 0], float(answer.intercept[0]), dtype)
        facts = {**evidence.facts, "objective": evidence.facts["objective"] / double}
        self._keep_evidence(self._noted(replace(evidence, facts=facts)))
        return self

    def _classes(
        self, design: Design, codes: Array, weights: Array, loss: Loss, penalty: Penalty, options: dict[str, Any]
    ) -> list[tuple[Problem, Solution]]:
        """Softmax at once; two-class losses once, or once per class against the rest."""
        k = len(self.classes_)
        if loss.multiclass:
            problems = [Problem(design, codes, weights, loss, penalty, self.fit_intercept, n_classes=k)]
        else:
            positives = [1] if k == 2 else range(k)
            problems = [Problem(design, signs(codes, c), weights, loss, penalty, self.fit_intercept) for c in positives]
        found: list[Solution] = []
        for problem in problems:
            part = solve(choose_solver(problem), problem, **options)
            found.append(same_scores(part, problem) if loss.simplex else part)
            if part.evidence.status.cut_short:  # the other classes have no coefficients yet
                nothing = replace(part, coef=np.zeros_like(part.coef), intercept=0.0 * part.intercept)
                found += [nothing] * (len(problems) - len(found))
                break
        return list(zip(problems, found, strict=True))

    def _noted(self, evidence: Evidence) -> Evidence:
        """With a note on each parameter that was set but belongs to a part given by name, where an object was given."""
        defaults, notes = LinearModel().get_params(deep=False), list(evidence.notes)
        for part, names in (("loss", ("delta", "quantile", "epsilon", "power")), ("penalty", ("alpha", "l1_ratio"))):
            given = getattr(self, part)
            for name in names:
                if isinstance(given, Part) and getattr(self, name) != defaults[name]:
                    notes.append(f"{name} was not used: the {part} is {given!r}, which has its own parameters.")
        return replace(evidence, notes=tuple(notes))

    def _penalty(self, n_columns: int) -> Penalty:
        if self.alpha == 0 and not isinstance(self.penalty, Penalty):
            return NoPenalty()
        groups = np.arange(n_columns) if self.groups is None else np.asarray(self.groups)
        l1, l2 = self.alpha * self.l1_ratio, self.alpha * (1 - self.l1_ratio)
        penalty = as_penalty(self.penalty, {"strength": self.alpha, "l1": l1, "l2": l2, "groups": groups})
        penalty.check_columns(n_columns)
        return penalty

    def _check_state(self) -> None:
        if _is_classifier(self) != hasattr(self, "classes_") or _is_classifier(self) != (self.coef_.ndim == 2):
            raise ValueError(f"loss={self.loss!r} does not fit classes_ and the shape of coef_, {self.coef_.shape}.")

    def _attributes(self, state: State) -> dict[str, Any] | None:
        classifier = _is_classifier(self)
        if classifier and len(self.classes_) > 2 and state.coef.ndim == 1:
            return None  # one class against the rest is no working copy of this model
        coef = np.atleast_2d(state.coef.T) if classifier else state.coef
        extra = {"classes_": self.classes_} if classifier else {}
        return {"coef_": coef, "intercept_": np.atleast_1d(state.intercept) if classifier else state.intercept, **extra}

    @property
    def _raw_meaning(self) -> str:
        return as_loss(self.loss).link.raw_name(len(self.classes_) if _is_classifier(self) else None)

    @available_if(_is_classifier)
    @predicting
    def decision_function(self, X: Any) -> Array:
        """Raw predictions: (n,) for two classes, (n, k) for more."""
        raw = self._raw_prediction(X)
        return raw[:, 0] if raw.shape[1] == 1 else raw

    @available_if(_has_probabilities)
    @predicting
    def predict_proba(self, X: Any) -> Array:
        """Class probabilities; one-vs-rest scores are normalised to sum to one."""
        raw = self.decision_function(X)
        return agreeing(as_loss(self.loss).link.probabilities(raw), raw)

    @predicting
    def predict(self, X: Any) -> Array:
        """The class with the highest score, or what the raw prediction stands for (for "poisson" its exponential)."""
        if not _is_classifier(self):
            return as_loss(self.loss).link.inverse(self._raw_prediction(X))
        index = winners(self.decision_function(X))
        return self.classes_[index]

    @predicting
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy for classifiers, R² for regressors."""
        judge = accuracy_score if _is_classifier(self) else r2_score
        return float(judge(y, self.predict(X), sample_weight=sample_weight))
