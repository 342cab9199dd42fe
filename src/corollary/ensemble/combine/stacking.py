"""Stacking: a final model that learns from what others say of rows that they had not seen."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse
from sklearn.base import ClassifierMixin, RegressorMixin, TransformerMixin, clone, is_classifier, is_regressor
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_array, check_consistent_length

from corollary.base import assigning, predicting
from corollary.core.door.metadata import enabled
from corollary.core.evidence import Certificate, Evidence, Kind, Status
from corollary.core.fitted import Count, Fitted, Labels, ListOf, Model, Text
from corollary.core.limits import CLASS_WEIGHT, Boolean, Choice, Instance, Integer, Limit
from corollary.core.scaling import answer_type, magnitude
from corollary.core.types import Array
from corollary.ensemble.combine.held_out import CV, SEEN, HeldOut
from corollary.ensemble.combine.named import NAMED_LIMITS, Members, NamedMembers, without_weights
from corollary.ensemble.combine.votes import columns_type, float_type, is_frame, one_hot, score_of, take_rows, votes_of
from corollary.ensemble.members import check_members, fit_member, weakened
from corollary.ensemble.routing import Told, router_of
from corollary.referee.verdict import Verification

METHODS = ("predict_proba", "decision_function", "predict")


def final_has(name: str) -> Callable[[Any], bool]:
    """Whether the final model, fitted or not, has a method; its own AttributeError says why not."""

    def check(self: Any) -> bool:
        getattr(vars(self).get("final_estimator_", self._final()), name)
        return True

    return check


def columns_said(member: Any, X: Any, method: str, labels: Array | None) -> Array:
    """A member's predictions as columns (n, m); of the probabilities of two classes the second says it all.

    Of several labels at once, the probabilities may be a list with an array for each.
    """
    if labels is not None and method == "predict_proba" and is_classifier(member):
        votes = votes_of(member, X, labels)
        return votes[:, 1:] if votes.shape[1] == 2 else votes
    said = getattr(member, method)(X)
    if isinstance(said, list):
        said = np.hstack([np.asarray(each)[:, 1:] for each in said])
    if labels is not None and method == "predict" and is_classifier(member):
        said = np.searchsorted(labels, said)
    said = np.asarray(said, dtype=np.float64)
    return said.reshape(len(said), -1)


class _Stacking(TransformerMixin, NamedMembers):
    """Fits the final model to held-out predictions, and the members to all rows."""

    fitted: ClassVar[dict[str, Fitted]] = {
        "stack_method_": ListOf(Text("predict_proba", "decision_function", "predict"), "members"),
        "final_estimator_": Model("predict"),
        "_widths": ListOf(Count(low=1), "members"),
    }
    final_estimator: Any
    passthrough: bool
    stack_method_: list[str]

    def _check_state(self) -> None:
        super()._check_state()
        check_members([self.final_estimator_], self.classes_ if is_classifier(self) else None)
        for method, member in zip(self.stack_method_, self.estimators_, strict=True):
            if not hasattr(member, method):
                raise ValueError(f"a member has no {method}.")
        width = sum(self._widths) + (self.n_features_in_ if self.passthrough else 0)
        if getattr(self.final_estimator_, "n_features_in_", width) != width:
            raise ValueError(f"final_estimator_ takes {self.final_estimator_.n_features_in_} columns, not {width}.")

    @abstractmethod
    def _final(self) -> Any:
        """The final model, not fitted."""

    def _methods(self, members: Members) -> list[str]:
        return ["predict"] * len(members)

    def _members(self) -> Members:
        kind = "classifier" if is_classifier(self) else "regressor"
        if is_classifier(self._final()) is not is_classifier(self):
            raise ValueError(f"final_estimator should be a {kind}, but it is {self.final_estimator!r}.")
        return super()._members()

    def _speakers(self) -> list[Callable[..., Array]]:
        return [partial(columns_said, method=method, labels=self._labels) for method in self.stack_method_]

    def _fit(self, members: Members, X: Any, y: Array, told: Told, weights: Array) -> Evidence:
        final = clone(self._final())
        self.stack_method_ = self._methods(members)
        found = self._held_out(members, X, y, told)
        rows = found.rows
        table = self._joined(found.votes, take_rows(X, rows) if self.passthrough else None)
        target = self._as_given(y)[rows]
        known = Told(told.weights).of("final_estimator", final, rows, len(y))
        self.final_estimator_ = fit_member(final, table, target, one_of_many=False, told=known)
        self._fit_members(members, X, y, told)
        self._widths = [votes.shape[1] for votes in found.votes]
        facts = self._scores(found, y[rows], weights[rows])
        facts["score of the final model on held-out columns"] = self._final_score(table, target, weights[rows])
        notes = without_weights([*members, ("final_estimator", final)], told)
        if self._prefit:
            notes += ("The members came fitted: if they had seen these rows, the final model trusts them too much.",)
        inner = getattr(self.final_estimator_, "evidence_", None)
        if isinstance(inner, Evidence):
            facts[f"{inner.certificate.name} of the final model"] = inner.certificate.value
        certificate = Certificate(Kind.CHECKED, SEEN, found.seen, 0.0)
        evidence = Evidence(Status.EXACT, certificate, "stacking", facts=facts, notes=notes)
        return weakened(evidence, [self.final_estimator_, *self.estimators_, *found.evidence])

    def _referee(self, X: Any, y: Any, sample_weight: Any) -> Verification:
        from corollary.ensemble.combine.claims import verify_stack

        return verify_stack(self, X, y, sample_weight)

    def _joined(self, columns: list[Array], X: Any) -> Any:
        table = np.hstack(columns)
        if X is None:
            return table
        if scipy.sparse.issparse(X):
            return scipy.sparse.hstack([scipy.sparse.csr_array(table), X], format="csr")
        rows = nw.from_native(X, eager_only=True).to_numpy() if is_frame(X) else X
        return np.hstack([table, rows])

    def _scores(self, found: HeldOut, truth: Array, weights: Array) -> dict[str, float]:
        """Held-out scores of the members, from their columns; none of several labels at once."""
        facts: dict[str, float] = {}
        if truth.ndim > 1:
            return facts
        for name, method, votes in zip(self._names, self.stack_method_, found.votes, strict=True):
            vote = votes[:, 0] if votes.shape[1] == 1 else votes
            if is_classifier(self) and vote.ndim == 1:  # class numbers, or what speaks for the second of two classes
                threshold = 0.5 if method == "predict_proba" else 0.0
                codes = np.rint(vote) if method == "predict" else vote > threshold  # a regressor may say any number
                vote = one_hot(np.clip(codes, 0, len(self.classes_) - 1).astype(np.intp), len(self.classes_))
            facts[f"held-out score of {name}"] = score_of(vote, truth, weights)
        return facts

    @predicting
    def transform(self, X: Any) -> Any:
        """The columns that the final model sees: what the members say, and X itself with ``passthrough``."""
        X = self._table(X, reset=False)
        said = self._said(X)
        return self._features(X, said).astype(columns_type(float_type(X), said))

    def _features(self, X: Any, said: list[Array]) -> Any:
        return self._joined(said, X if self.passthrough else None)

    def _ask(self, method: str, X: Any, **options: Any) -> Any:
        X = self._table(X, reset=False)
        said = getattr(self.final_estimator_, method)(self._features(X, self._said(X)), **options)
        if not isinstance(said, np.ndarray) or said.dtype.kind != "f":
            return said
        return said.astype(answer_type(float_type(X), magnitude(said)), copy=False)

    @available_if(final_has("predict"))
    @predicting
    def predict(self, X: Any, **options: Any) -> Any:
        """What the final model makes of the members' predictions.

        ``options`` go to its ``predict``: ``return_std=True``, say, is about the uncertainty of the final model alone.
        """
        if options and enabled():
            options = process_routing(self, "predict", **options).final_estimator_.predict
        return self._ask("predict", X, **options)

    def _as_given(self, y: Array) -> Array:
        """What members learnt, as the final model learns it."""
        return self.classes_[y] if is_classifier(self) else y

    def _router(self) -> Any:
        final = vars(self).get("final_estimator_", self.final_estimator)
        return router_of(self, self._pairs(), final_estimator_=(final, {"predict": "predict"}))

    def _weighed(self, members: Members) -> Members:
        return [*members, ("final_estimator", self._final())]

    def _final_score(self, table: Any, target: Array, weights: Array) -> float:
        w = weights if weights.any() else None
        measure = accuracy_score if is_classifier(self) else r2_score
        return float(measure(target, self.final_estimator_.predict(table), sample_weight=w))

    @predicting
    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the columns of ``transform``; ``input_features`` are those of X, where it is passed through."""
        names = self._column_names(self._widths)
        if self.passthrough:
            names += names_of_columns(self, input_features)
        return np.array(names, dtype=object)


def names_of_columns(model: Any, given: Any) -> list[str]:
    """The names of the columns of X: those of the fit, those that are given, or x0, x1, …"""
    known = getattr(model, "feature_names_in_", None)
    if given is None:
        return list(known) if known is not None else [f"x{j}" for j in range(model.n_features_in_)]
    names = list(given)
    if len(names) != model.n_features_in_ or (known is not None and names != list(known)):
        raise ValueError(
            f"input_features should have length equal to number of features ({model.n_features_in_}) and be those of "
            f"feature_names_in_, where fit saw names, but they are {names!r}."
        )
    return names


class StackingClassifier(ClassifierMixin, _Stacking):
    """A classifier that learns how far to trust others, from what they say of rows that they had not seen.

    Parameters
    ----------
    estimators : list of (name, classifier) pairs, or None
        "drop" in place of a classifier leaves it out. None is logistic regression and a small tree. A regressor is
        fitted to class numbers.
    final_estimator : classifier or None, default None
        None is logistic regression.
    cv : int ≥ 2, float in (0, 1), splitter, splits, "prefit" or None, default None
        Where rows that members have not seen come from: folds (None is 5), one held-out share of the rows (a float), or
        members that were fitted elsewhere.
    stack_method : {"auto", "predict_proba", "decision_function", "predict"}, default "auto"
        What members are asked for; "auto" is the first of these that a member has. Of the probabilities of two classes
        the second is used.
    n_jobs : int or None
        Members of this library are fitted on threads (None: all usable cores), others by joblib (None: one at a time).
    verbose : int ≥ 0 or bool, default 0
        Whether to show progress.
    passthrough : bool, default False
        Whether the final model sees X too.
    class_weight : dict, "balanced" or None, default None
        What the rows of each class count, times ``sample_weight``; members that take no weights ignore it.

    Attributes
    ----------
    estimators_ : list of members, fitted to all rows
        Their classes are the numbers of ``classes_``.
    named_estimators_ : Bunch
        The same, by name.
    final_estimator_ : fitted classifier
    stack_method_ : list of str
        What each member is asked for.
    classes_ : array of shape (k,), or a list of such for several labels at once
    n_features_in_ : int
    feature_names_in_ : array of shape (d,)
        Where X has names.
    evidence_ : Evidence

    Notes
    -----
    *Cost.* One fit of each member for each fold and one more, and the final fit. Memory: for each
    thread a copy of the rows of a fold and what the fit of a member takes.

    *Evidence.* Checked: no prediction that the final model learnt from was by a model that had seen the row. The final
    model and the members have evidence of their own; if what one of them claims does not hold, the stack's evidence
    says so. Facts: held-out accuracy of each member.

    References
    ----------
    Wolpert (1992), Stacked generalization.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from corollary.ensemble.combine.stacking import StackingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = StackingClassifier([("near", KNeighborsClassifier()), ("bayes", GaussianNB())]).fit(X, y)
    >>> bool(model.score(X, y) > 0.95), model.evidence_.holds
    (True, True)
    """

    classes_: Any
    fitted: ClassVar[dict[str, Fitted]] = {"classes_": Labels() | ListOf(Labels(None))}
    limits: ClassVar[dict[str, Limit]] = NAMED_LIMITS | {
        "final_estimator": Choice(None) | Instance("a classifier", methods=("fit",)),
        "cv": CV,
        "stack_method": Choice("auto", *METHODS),
        "verbose": Boolean() | Integer(0),
        "passthrough": Boolean(),
        "class_weight": CLASS_WEIGHT,
    }

    @assigning
    def __init__(
        self,
        estimators: Any = None,
        final_estimator: Any = None,
        *,
        cv: Any = None,
        stack_method: str = "auto",
        n_jobs: int | None = None,
        verbose: Any = 0,
        passthrough: bool = False,
        class_weight: Any = None,
    ) -> None: ...

    def _read_target(self, X: Any, y: Any, weights: Array) -> tuple[Array, Array]:
        if type_of_target(y, input_name="y") != "multilabel-indicator":
            return super()._read_target(X, y, weights)
        if self.class_weight is not None or self._prefit:
            raise ValueError("y has several labels for a row: neither class_weight nor cv='prefit' goes with that.")
        y = check_array(y, accept_sparse="csr", dtype=None, input_name="y")
        y = y.toarray() if scipy.sparse.issparse(y) else y
        check_consistent_length(X, y)
        pairs = [np.unique(column, return_inverse=True) for column in y.T]
        self.classes_ = [classes for classes, _ in pairs]
        return np.column_stack([codes for _, codes in pairs]), weights

    def _as_given(self, y: Array) -> Array:
        if y.ndim == 1:
            return super()._as_given(y)
        return np.column_stack([classes[codes] for classes, codes in zip(self.classes_, y.T, strict=True)])

    def _check_state(self) -> None:
        if not isinstance(self.classes_, list):
            super()._check_state()

    def _referee(self, X: Any, y: Any, sample_weight: Any) -> Verification:
        if isinstance(self.classes_, list):
            return Verification(None, "what is claimed of several labels at once is not judged")
        return super()._referee(X, y, sample_weight)

    def _is_of_kind(self, member: Any) -> bool:
        return bool(is_classifier(member) or is_regressor(member))  # numbers say something of ordered classes

    def _speak_of_classes(self) -> list[Any]:
        return [member for member in self.estimators_ if not is_regressor(member)]

    def _final(self) -> Any:
        from corollary.linear.logistic import LogisticRegression

        return LogisticRegression() if self.final_estimator is None else self.final_estimator

    def _methods(self, members: Members) -> list[str]:
        wanted = METHODS if self.stack_method == "auto" else (self.stack_method,)
        chosen = []
        for name, member in members:
            able = [method for method in wanted if hasattr(member, method)]
            if not able:
                raise ValueError(
                    f"stack_method={self.stack_method!r}, but estimator {name!r} does not implement the method "
                    f"{' or '.join(wanted)}."
                )
            chosen.append(able[0])
        return chosen

    @available_if(final_has("predict_proba"))
    @predicting
    def predict_proba(self, X: Any) -> Array:
        """Probabilities by the final model."""
        return self._ask("predict_proba", X)

    @available_if(final_has("decision_function"))
    @predicting
    def decision_function(self, X: Any) -> Array:
        """Scores by the final model."""
        return self._ask("decision_function", X)


class StackingRegressor(RegressorMixin, _Stacking):
    """A regressor that learns how far to trust others, from what they predict for rows that they had not seen.

    Parameters
    ----------
    estimators : list of (name, regressor) pairs, or None
        "drop" in place of a regressor leaves it out. None is ridge regression and a small tree.
    final_estimator : regressor or None, default None
        None is ridge regression with its penalty chosen by leave-one-out.
    cv : int ≥ 2, float in (0, 1), splitter, splits, "prefit" or None, default None
        Where rows that members have not seen come from: folds (None is 5), one held-out share of the rows (a float), or
        members that were fitted elsewhere.
    n_jobs : int or None
        Members of this library are fitted on threads (None: all usable cores), others by joblib (None: one at a time).
    verbose : int ≥ 0 or bool, default 0
        Whether to show progress.
    passthrough : bool, default False
        Whether the final model sees X too.

    Attributes
    ----------
    estimators_ : list of members, fitted to all rows
    named_estimators_ : Bunch
        The same, by name.
    final_estimator_ : fitted regressor
    stack_method_ : list of str
        ``"predict"`` for each member.
    n_features_in_ : int
    feature_names_in_ : array of shape (d,)
        Where X has names.
    evidence_ : Evidence

    Notes
    -----
    *Cost* and *Evidence*: as for :class:`StackingClassifier`, with held-out R².

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> from corollary import Ridge
    >>> from corollary.ensemble.combine.stacking import StackingRegressor
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> model = StackingRegressor([("linear", Ridge()), ("near", KNeighborsRegressor())]).fit(X, X[:, 0] ** 2 + X[:, 1])
    >>> bool(model.score(X, X[:, 0] ** 2 + X[:, 1]) > 0.7), model.evidence_.holds
    (True, True)
    """

    limits: ClassVar[dict[str, Limit]] = NAMED_LIMITS | {
        "final_estimator": Choice(None) | Instance("a regressor", methods=("fit",)),
        "cv": CV,
        "verbose": Boolean() | Integer(0),
        "passthrough": Boolean(),
    }

    @assigning
    def __init__(
        self,
        estimators: Any = None,
        final_estimator: Any = None,
        *,
        cv: Any = None,
        n_jobs: int | None = None,
        verbose: Any = 0,
        passthrough: bool = False,
    ) -> None: ...

    def _final(self) -> Any:
        from corollary.linear.ridge_cv import RidgeCV

        return RidgeCV() if self.final_estimator is None else self.final_estimator
