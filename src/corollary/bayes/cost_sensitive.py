"""Decisions of least expected cost from the probabilities of any classifier."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np
import scipy.sparse
from sklearn.base import ClassifierMixin, clone, is_classifier
from sklearn.model_selection import check_cv
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    check_array,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from corollary.base import Estimator, assigning, check_weights, fitting, predicting
from corollary.bayes.costs import cost_matrix, decide, decisions_of, mean_cost, regret, with_reject
from corollary.bayes.temperature import COLDEST, HOTTEST, at_temperature, best_temperature
from corollary.core.door.metadata import enabled, of_rows, refuse
from corollary.core.door.sparse_input import sound
from corollary.core.door.target import refuse_missing
from corollary.core.evidence import Certificate, Evidence, Kind, Status
from corollary.core.fitted import Fitted, Floats, Labels, Model, Number
from corollary.core.inner_models import asks_for_weights, is_frame, take_rows, weakened, weight_argument
from corollary.core.limits import N_JOBS, ArrayLike, Choice, Instance, Integer, Limit, Real
from corollary.core.membership import as_member
from corollary.core.types import Array
from corollary.referee.verdict import Verification

REGRET = "cost of a decision above the cheapest of all"
TOLERANCE = 1e-12
WITH_CHANCES = "a classifier with predict_proba (CalibratedClassifierCV adds it to one that has none)"


class CostSensitiveClassifier(ClassifierMixin, Estimator):
    r"""Decides what is cheapest to be wrong about: any classifier with probabilities, and what each mistake costs.

    .. math:: \hat y(x) = \arg\min_j \sum_k C_{kj} \, p(k \mid x)

    where C is what deciding j costs if k is true. With ``reject_cost`` there is one more decision, to decide nothing.

    Parameters
    ----------
    estimator : classifier with ``predict_proba``, or None
        None is logistic regression.
    cost : array of shape (K, K), frame, dict of dicts, or None
        ``cost[i][j]``, or ``cost[truth][decision]`` by label: what a decision costs (or, below zero, earns). Rows and
        columns of an array are in the order of ``classes_``; those of a pandas frame have the classes as index (truth)
        and columns (decision), in any order; of a frame without index, rows are in the order of the columns. In a
        dictionary a right decision costs 0 unless told. None is 0 where right and 1 where wrong, and the most probable
        class is decided.
    reject_cost : float ≥ 0 or None, default None
        What it costs to decide nothing (to ask a person, say). None: something is always decided.
    reject_label : label or None, default None
        What ``predict`` says where nothing is decided. None is "rejected" where labels are text, and −1 where they are
        numbers.
    calibration : {"temperature"} or None, default None
        Whether probabilities are made bolder or humbler, p^(1/T), by the T of least log-loss on held-out rows.
    cv : int ≥ 2, splitter, splits, "prefit" or None, default None
        Folds whose rows the classifier has not seen: for calibration, and to measure what decisions cost. None makes no
        folds, or five to calibrate. With "prefit" the classifier comes fitted, and the rows of ``fit`` are new to it.
    n_jobs : int or None
        Threads, for classifiers of this library.

    Attributes
    ----------
    estimator_ : fitted classifier
    classes_ : array of shape (K,)
    decisions_ : array of shape (K,), or (K + 1,) with ``reject_cost``
        What ``predict`` can say: the classes, and the label of deciding nothing.
    cost_ : array of shape (K, K), or (K, K + 1) with ``reject_cost``
    temperature_ : float
        1 without calibration.
    n_features_in_ : int
    feature_names_in_ : array of shape (d,)
        Where X has names.
    evidence_ : Evidence

    Notes
    -----
    ``predict_proba`` is that of the classifier (calibrated, if asked), and ``predict`` is by cost, so it is *not* the
    most probable class unless costs are 0 and 1. ``expected_cost`` is what it minimises. ``score`` is the accuracy, in
    which deciding nothing is never right; ``mean_cost`` is what decisions cost on rows of known class.

    *Cost.* One fit of the classifier, and one more for each fold; decisions take O(n K²). Memory: what the fit of the
    classifier takes and a table of n × K probabilities.

    *Evidence.* Exact: every decision for the rows of the fit costs no more than any other, each of which was tried. It
    is about the decisions, not about the probabilities: those have evidence of their own, and if what the classifier
    claims does not hold, this evidence says so. Facts: the mean cost of decisions and of the most probable class, on
    held-out rows if there are any.

    References
    ----------
    Elkan (2001), The foundations of cost-sensitive learning. Chow (1970), On optimum recognition error and reject
    tradeoff. Guo et al. (2017), On calibration of modern neural networks.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from corollary import CostSensitiveClassifier
    >>> data = load_breast_cancer()
    >>> X, y = data.data[:, :4], data.target_names[data.target]
    >>> cost = {"malignant": {"benign": 50}, "benign": {"malignant": 1}}
    >>> model = CostSensitiveClassifier(cost=cost, reject_cost=0.4).fit(X, y)
    >>> model.decisions_.tolist(), model.evidence_.holds
    (['benign', 'malignant', 'rejected'], True)
    >>> bool(model.mean_cost(X, y) < CostSensitiveClassifier().fit(X, y).mean_cost(X, y, cost=cost))
    True
    """

    limits: ClassVar[dict[str, Limit]] = {
        "estimator": Choice(None) | Instance(WITH_CHANCES, methods=("fit", "predict_proba")),
        "cost": Choice(None) | Instance("a dict of dicts", dict) | ArrayLike(),
        "reject_cost": Choice(None) | Real(0, finite=True),
        "reject_label": Choice(None) | Instance("a label", str, int, float, np.generic),
        "calibration": Choice(None, "temperature"),
        "cv": Choice(None, "prefit")
        | Integer(2)
        | Instance("a splitter", methods=("split", "get_n_splits"))
        | Instance("an iterable of splits", methods=("__next__",))
        | Instance("a list of splits", list, tuple),
        "n_jobs": N_JOBS,
    }
    fitted: ClassVar[dict[str, Fitted]] = {
        "estimator_": Model("predict_proba", columns="d"),
        "classes_": Labels("k"),
        "cost_": Floats("k", "?"),
        "temperature_": Number(COLDEST, HOTTEST),
    }

    @assigning
    def __init__(
        self,
        estimator: Any = None,
        cost: Any = None,
        *,
        reject_cost: float | None = None,
        reject_label: Any = None,
        calibration: str | None = None,
        cv: Any = None,
        n_jobs: int | None = None,
    ) -> None: ...

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self._given()).input_tags
        tags.input_tags.sparse, tags.input_tags.allow_nan = inner.sparse, inner.allow_nan
        return tags

    def _given(self) -> Any:
        """The classifier, as it was given."""
        if self.estimator is None:
            from corollary.linear.logistic import LogisticRegression

            return LogisticRegression()
        return self.estimator

    @property
    def decisions_(self) -> Array:
        """What ``predict`` can say: the classes, and with ``reject_cost`` the label of deciding nothing."""
        check_is_fitted(self)
        return decisions_of(self.classes_, self.reject_cost, self.reject_label)

    @property
    def _prefit(self) -> bool:
        return isinstance(self.cv, str)

    def get_metadata_routing(self) -> Any:
        """Who gets which metadata (see scikit-learn's guide): the classifier's ``fit`` does, when this one is called.

        With ``set_fit_request(sample_weight=True)`` of this model itself, the classifier gets the weights it is given.
        """
        if asks_for_weights(self):
            return super().get_metadata_routing()
        mapping = MethodMapping().add(caller="fit", callee="fit")
        return MetadataRouter(owner=self).add(estimator=self._given(), method_mapping=mapping)

    def _check_state(self) -> None:
        classes = getattr(self.estimator_, "classes_", None)
        if not isinstance(classes, np.ndarray) or classes.tolist() != self.classes_.tolist():
            raise ValueError(f"the classifier has the classes {classes!r}, but the model has {self.classes_!r}.")
        decisions_of(self.classes_, self.reject_cost, self.reject_label)  # or say why not
        if not np.array_equal(self.cost_, with_reject(cost_matrix(self.cost, self.classes_), self.reject_cost)):
            raise ValueError("cost_ is not what cost and reject_cost say.")
        if self.calibration is None and self.temperature_ != 1:
            raise ValueError(f"temperature_ must be 1 without calibration, but it is {self.temperature_}.")

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **metadata: Any) -> CostSensitiveClassifier:
        """Fit the classifier to X (n × d array, sparse matrix or frame) and labels y (n,).

        ``metadata`` goes to the classifier, if it asks for it, with scikit-learn's metadata routing enabled.
        """
        refuse(self, "fit", metadata)
        if not is_classifier(self._given()):
            raise ValueError(f"CostSensitiveClassifier: estimator must be a classifier, but it is {self.estimator!r}.")
        X, y = self._table(X, reset=True), self._labels_of(X, y)
        weights = check_weights(sample_weight, X)
        told = self._told(None if sample_weight is None else weights, metadata)
        weights = self._within_reach(weights)
        self._observer(X, y, 0, lambda state: {})
        self.estimator_ = self._fitted_to(X, y, told)
        self.classes_ = np.asarray(self.estimator_.classes_)
        decisions_of(self.classes_, self.reject_cost, self.reject_label)  # or say why not
        self.cost_ = with_reject(cost_matrix(self.cost, self.classes_), self.reject_cost)
        codes = self._codes(y, weights)
        held, inner = self._held_out(X, y, told)
        self.temperature_ = 1.0
        if held is not None and self.calibration is not None:
            rows, said = held
            counted = weights[rows] > 0
            self.temperature_ = best_temperature(said[counted], codes[rows][counted], weights[rows][counted])
        self._keep_evidence(self._found(X, codes, weights, held, inner))
        return self

    def _table(self, X: Any, *, reset: bool) -> Any:
        """Frames as they are, so that the classifier sees names; anything else as an array or CSR matrix."""
        if is_frame(X):
            validate_data(self, X, reset=reset, skip_check_array=True)
            return X
        X = validate_data(self, sound(X), accept_sparse=True, dtype=None, ensure_all_finite=False, reset=reset)
        return X.tocsr() if scipy.sparse.issparse(X) else X

    def _labels_of(self, X: Any, y: Any) -> Array:
        if y is None:
            raise ValueError("CostSensitiveClassifier requires y to be passed, but the target y is None.")
        refuse_missing(y, numeric=False)
        y = check_array(column_or_1d(y, warn=True), ensure_2d=False, dtype=None, input_name="y")
        check_consistent_length(X, y)
        check_classification_targets(y)
        labels: Array = y
        return labels

    def _told(self, sample_weight: Any, metadata: dict[str, Any]) -> dict[str, Any]:
        """What the classifier's ``fit`` is called with beside X and y."""
        given = {} if sample_weight is None else {"sample_weight": sample_weight}
        if enabled() and not asks_for_weights(self):
            return dict(process_routing(self, "fit", **given, **metadata).estimator.fit)
        if metadata:
            raise ValueError(
                "CostSensitiveClassifier asks for sample_weight itself, so that its classifier gets nothing else: take "
                f"set_fit_request back, or leave {sorted(metadata)} out."
            )
        name = weight_argument(self._given())
        if given and name is None and not self._prefit:
            raise TypeError(
                f"Underlying estimator {type(self._given()).__name__} does not support sample weights. Leave them out, "
                "or take another classifier."
            )
        return {} if name is None or not given else {name: sample_weight}

    def _fitted_to(self, X: Any, y: Array, told: dict[str, Any]) -> Any:
        if self._prefit:
            check_is_fitted(self._given())
            return self._given()
        return clone(self._given()).fit(X, y, **told)

    def _codes(self, y: Array, weights: Array) -> Array:
        """The class number of each row; rows that do not count may be of a class that the classifier left out."""
        codes = np.minimum(np.searchsorted(self.classes_, y), len(self.classes_) - 1)
        strange = (self.classes_[codes] != y) & (weights > 0)
        if strange.any():
            unknown, known = y[strange].tolist()[0], self.classes_.tolist()
            raise ValueError(f"y has the class {unknown!r}, which the classifier does not know: it knows {known!r}.")
        return codes

    def _held_out(self, X: Any, y: Array, told: dict[str, Any]) -> tuple[tuple[Array, Array] | None, list[Evidence]]:
        """Rows that the classifier had not seen with what it says of them, if there are any, and its evidence then."""
        if self._prefit:
            return (np.arange(len(y)), self._said(self.estimator_, X)), []
        if self.cv is None and self.calibration is None:
            return None, []
        rows, said, evidence = [], [], []
        for fit, held in self._splits(X, y):
            known = {name: of_rows(value, fit, len(y)) for name, value in told.items()}
            with as_member():
                model = clone(self._given()).fit(take_rows(X, fit), y[fit], **known)
            rows.append(held)
            said.append(self._said(model, take_rows(X, held)))
            evidence += [model.evidence_] if hasattr(model, "evidence_") else []
        return (np.concatenate(rows), np.concatenate(said)), evidence

    def _splits(self, X: Any, y: Array) -> list[tuple[Array, Array]]:
        found, rows = check_cv(self.cv, y, classifier=True), np.arange(len(y))
        with warnings.catch_warnings():  # a class with fewer rows than folds: where it was not seen it gets nothing
            warnings.filterwarnings("ignore", "The least populated class", UserWarning)
            return [(rows[fit], rows[held]) for fit, held in found.split(X, y)]

    def _said(self, model: Any, X: Any) -> Array:
        """The probabilities of all classes, by a classifier that may have seen only some of them."""
        said = np.asarray(model.predict_proba(X))
        if len(model.classes_) == len(self.classes_):
            return said
        table = np.zeros((len(said), len(self.classes_)), dtype=said.dtype)
        table[:, np.searchsorted(self.classes_, model.classes_)] = said
        return table

    def _found(self, X: Any, codes: Array, weights: Array, held: Any, inner: list[Evidence]) -> Evidence:
        p = at_temperature(self._said(self.estimator_, X), self.temperature_)
        decided = decide(p, self.cost_)
        certificate = Certificate(Kind.EXACT, REGRET, regret(p, self.cost_, decided), TOLERANCE)
        rows, where = np.arange(len(codes)), "on the rows of the fit"
        if held is not None:
            rows, where = held[0], "on held-out rows"
            p = at_temperature(held[1], self.temperature_)
            decided = decide(p, self.cost_)
        facts = {}
        if weights[rows].any():
            facts[f"mean cost {where}"] = mean_cost(self.cost_, codes[rows], decided, weights[rows])
            usual = p.argmax(axis=1)
            facts[f"mean cost of the most probable class {where}"] = mean_cost(
                self.cost_, codes[rows], usual, weights[rows]
            )
            if self.reject_cost is not None:
                nothing = decided == len(self.classes_)
                facts[f"share of rows without a decision {where}"] = float(
                    weights[rows] @ nothing / weights[rows].sum()
                )
        if self.calibration is not None:
            facts["temperature"] = self.temperature_
        evidence = Evidence(Status.EXACT, certificate, "expected cost", facts=facts, notes=self._notes())
        return weakened(evidence, [self.estimator_, *inner])

    def _notes(self) -> tuple[str, ...]:
        if self._prefit:
            return ("The classifier came fitted: if it had seen these rows, costs look lower than they are.",)
        return ()

    @predicting
    def predict_proba(self, X: Any) -> Array:
        """The probabilities of the classifier, calibrated if that was asked for."""
        return at_temperature(self._said(self.estimator_, self._table(X, reset=False)), self.temperature_)

    @predicting
    def predict_log_proba(self, X: Any) -> Array:
        """Their logarithms."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    @predicting
    def predict(self, X: Any) -> Array:
        """The decision of least expected cost, the first of them in a tie."""
        return self.decisions_[decide(self.predict_proba(X), self.cost_)]

    @predicting
    def expected_cost(self, X: Any) -> Array:
        """What each of ``decisions_`` is expected to cost, (n, K) or (n, K + 1)."""
        expected: Array = self.predict_proba(X).astype(np.float64) @ self.cost_
        return expected

    @predicting
    def mean_cost(self, X: Any, y: Any, sample_weight: Any = None, cost: Any = None) -> float:
        """What the decisions cost on rows of known class, on average: a loss, the smaller the better.

        ``cost`` prices the decisions in another way than they were made by.
        """
        table = self.cost_ if cost is None else with_reject(cost_matrix(cost, self.classes_), self.reject_cost)
        X = self._table(X, reset=False)
        weights = check_weights(sample_weight, X)
        codes = self._codes(self._labels_of(X, y), weights)
        return mean_cost(table, codes, decide(self.predict_proba(X), self.cost_), weights)

    def _referee(self, X: Any, y: Any, sample_weight: Any) -> Verification:
        from corollary.bayes.cost_claims import verify_decisions

        return verify_decisions(self, X, y, sample_weight)
