"""Ensembles of different models, each with a name: reading the list, reading tables, fitting, and asking for votes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Self

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils import Bunch, get_tags
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted, column_or_1d, validate_data

from corollary.base import Estimator, check_weights, fitting, predicting
from corollary.core.door.metadata import enabled, refuse
from corollary.core.door.sparse_input import sound
from corollary.core.door.target import refuse_missing
from corollary.core.evidence import Evidence
from corollary.core.fitted import Fitted, Labels, ListOf, Maybe, Model, Nothing, Text
from corollary.core.limits import N_JOBS, Choice, Instance, Limit
from corollary.core.types import Array
from corollary.ensemble.combine.held_out import HeldOut, hold_out, splits_of
from corollary.ensemble.combine.votes import float_type, is_frame, score_of, votes_of, weighted_sum
from corollary.ensemble.members import check_members, fit_member, in_order
from corollary.ensemble.plots import plot_weights
from corollary.ensemble.routing import Told, asks_for_weights, deaf, router_of
from corollary.labels import encode_labels

Members = list[tuple[str, Any]]

NAMED_LIMITS: dict[str, Limit] = {
    "estimators": Choice(None) | Instance("a list of (name, estimator) pairs", list, tuple),
    "n_jobs": N_JOBS,
}


class NamedMembers(Estimator):
    """An estimator with ``estimators``, a list of (name, estimator) pairs whose parameters are its own too."""

    fitted: ClassVar[dict[str, Fitted]] = {
        "estimators_": ListOf(Model("predict", columns="d"), "members", low=1),
        "_names": ListOf(Text(), "members"),
        "_labels": Labels() | Nothing(),
        "classes_": Maybe(Labels()),
    }
    estimators: Any
    n_jobs: Any
    cv: Any  # of those that hold out rows
    estimators_: list[Any]
    classes_: Array
    _labels: Array | None  # what members call the classes

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters, with ``deep`` also the members by name and their parameters as ``name__parameter``."""
        found: dict[str, Any] = super().get_params(deep=deep)
        for name, member in self._pairs() if deep else ():
            found[name] = member
            if hasattr(member, "get_params"):
                found |= {f"{name}__{key}": value for key, value in member.get_params(deep=True).items()}
        return found

    def set_params(self, **changes: Any) -> Any:
        """Set parameters; a member's name replaces the member, ``name__parameter`` changes it."""
        if "estimators" in changes:
            self.estimators = changes.pop("estimators")
        names = {name for name, _ in self._pairs()}
        if new := {key: changes.pop(key) for key in list(changes) if key in names}:
            self.estimators = [(name, new.get(name, member)) for name, member in self.estimators]
        return super().set_params(**changes)

    def _check_state(self) -> None:
        if (self._labels is None) == bool(is_classifier(self)) or hasattr(self, "classes_") != bool(
            is_classifier(self)
        ):
            raise ValueError("classes_ are what a classifier has, and nothing else.")
        if self._labels is not None and len(self._labels) != len(self.classes_):
            raise ValueError(f"members know {len(self._labels)} classes, but there are {len(self.classes_)}.")
        check_members(self._speak_of_classes(), self._labels)

    def _speak_of_classes(self) -> list[Any]:
        """The members whose classes must be those of the ensemble."""
        return self.estimators_

    def _pairs(self) -> Members:
        """The pairs, as far as they are pairs."""
        given = self.estimators if isinstance(self.estimators, (list, tuple)) else ()
        return [pair for pair in given if isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], str)]

    @property
    def named_estimators(self) -> Bunch:
        """The members as given, by name."""
        return Bunch(**dict(self._pairs()))

    @property
    def named_estimators_(self) -> Bunch:
        """The fitted members, by name; ``"drop"`` for those that were left out."""
        if not hasattr(self, "estimators_"):
            raise NotFittedError(f"{type(self).__name__} has no named_estimators_ before fit.")
        dropped = {name: member for name, member in self._pairs() if _is_dropped(member)}
        return Bunch(**dropped | dict(zip(self._names, self.estimators_, strict=True)))

    def get_metadata_routing(self) -> Any:
        """Who gets which metadata (see scikit-learn's guide): the members' ``fit`` do, when this one is called.

        With ``set_fit_request(sample_weight=True)`` of the ensemble itself, all members get the weights it is given.
        """
        return super().get_metadata_routing() if asks_for_weights(self) else self._router()

    def _router(self) -> Any:
        return router_of(self, self._pairs())

    def _members(self) -> Members:
        """The members that take part, after checking the list."""
        owner = type(self).__name__
        if self.estimators is None:
            return default_members(bool(is_classifier(self)), getattr(self, "class_weight", None) is not None)
        pairs = self._pairs()
        if not pairs or len(pairs) != len(self.estimators):
            raise ValueError(
                f"{owner}: Invalid 'estimators' attribute, 'estimators' should be a non-empty list of (name, "
                f"estimator) pairs, but it is {self.estimators!r}."
            )
        names = [name for name, _ in pairs]
        known = super().get_params(deep=False)
        wrong = [name for name in names if "__" in name or name in known or names.count(name) > 1]
        if wrong:
            raise ValueError(
                f"{owner}: names of estimators must differ from each other and from parameters, and have no '__': "
                f"{wrong!r}."
            )
        pairs = [(name, member) for name, member in pairs if not _is_dropped(member)]
        if not pairs:
            raise ValueError(f"{owner}: All estimators are dropped. At least one is required.")
        kind = "classifier" if is_classifier(self) else "regressor"
        for name, member in pairs:
            if not hasattr(member, "fit") or not self._is_of_kind(member):
                raise ValueError(f"{owner}: estimator {name!r} should be a {kind}, but it is {member!r}.")
        return pairs

    def _is_of_kind(self, member: Any) -> bool:
        return bool(is_classifier(member) if is_classifier(self) else is_regressor(member))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = [get_tags(member).input_tags for _, member in self._pairs() if hasattr(member, "fit")]
        tags.input_tags.sparse = self.estimators is None or all(each.sparse for each in inner)
        tags.input_tags.allow_nan = bool(inner) and all(each.allow_nan for each in inner)
        return tags

    def _table(self, X: Any, *, reset: bool) -> Any:
        """Frames as they are, so that members see the columns' names; anything else as an array or CSR matrix.

        Of pipelines, which choose columns by name, a frame may have more columns than there were in training.
        """
        if is_frame(X):
            X = X if reset else self._known_columns(X)
            validate_data(self, X, reset=reset, skip_check_array=True)
            return X
        X = validate_data(self, sound(X), accept_sparse=True, dtype=None, ensure_all_finite=False, reset=reset)
        return X.tocsr() if scipy.sparse.issparse(X) else X

    def _known_columns(self, X: Any) -> Any:
        """The columns of a frame that there were in training, if all are there and every member is a pipeline."""
        names = getattr(self, "feature_names_in_", None)
        if names is None or not all(isinstance(member, Pipeline) for _, member in self._pairs()):
            return X
        frame = nw.from_native(X, eager_only=True)
        return frame.select(list(names)).to_native() if set(names) < set(frame.columns) else X

    @fitting
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **metadata: Any) -> Self:
        """Fit the members, and whatever puts them together, to X (n × d array, sparse matrix or frame) and y (n,).

        ``metadata`` goes to the members that ask for it, with scikit-learn's metadata routing enabled.
        """
        refuse(self, "fit", metadata)
        members = self._members()
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        routed = self._routed(members, sample_weight, metadata)
        X, classifier = self._table(X, reset=True), is_classifier(self)
        refuse_missing(y, numeric=not classifier)
        self._refuse_targets(y)
        weights = self._within_reach(check_weights(sample_weight, X))
        class_weight = getattr(self, "class_weight", None)
        self._names, self._labels = [name for name, _ in members], None
        y, weights = self._read_target(X, y, weights)
        plain = class_weight is None and (sample_weight is None or routed is not None)
        self._observer(X, y, 0, lambda state: {})
        given = None if plain else weights / self._weight_unit  # members bring them within reach themselves
        self._keep_evidence(self._fit(members, X, y, Told(given, routed), weights))
        return self

    def _routed(self, members: Members, sample_weight: Any, metadata: dict[str, Any]) -> dict[str, Any] | None:
        """What routing sends each member; None where weights simply go to all, who must take them."""
        if enabled() and not asks_for_weights(self):
            return Told.by_routing(self, [name for name, _ in members], sample_weight, metadata).routed
        if metadata:
            raise ValueError(
                f"{type(self).__name__} asks for sample_weight itself, so that its members get nothing else: take "
                f"set_fit_request back, or leave {sorted(metadata)} out."
            )
        for _, member in deaf(self._weighed(members)) if sample_weight is not None else ():
            raise TypeError(
                f"Underlying estimator {type(member).__name__} does not support sample weights. Leave it out, or "
                "sample_weight."
            )
        return None

    def _read_target(self, X: Any, y: Any, weights: Array) -> tuple[Array, Array]:
        """y as members see it (class numbers, though those that come fitted know labels), and weights by class."""
        y = column_or_1d(y, warn=True)
        y = check_array(y, ensure_2d=False, dtype=None if is_classifier(self) else np.float64, input_name="y")
        check_consistent_length(X, y)
        if is_classifier(self):
            by_class = getattr(self, "class_weight", None)
            self.classes_, y, weights = encode_labels(y, weights, by_class, one_class=self._one_class)
            self._labels = self.classes_ if self._prefit else np.arange(len(self.classes_))
        return y, weights

    @property
    def _one_class(self) -> bool:
        """Whether members may learn rows of one class, if they can."""
        return False

    def _refuse_targets(self, y: Any) -> None:
        """Raise for targets that this ensemble has no use for, in words that say so."""

    def _weighed(self, members: Members) -> Members:
        """All who are told weights."""
        return members

    @abstractmethod
    def _fit(self, members: Members, X: Any, y: Array, told: Told, weights: Array) -> Evidence:
        """Fit to data that were read; ``told`` is what the members' fits are called with."""

    @property
    def _prefit(self) -> bool:
        """Whether the members come fitted."""
        return isinstance(getattr(self, "cv", None), str)

    def _fit_members(self, members: Members, X: Any, y: Array, told: Told) -> None:
        """Fit copies to all rows; members that come fitted are used as they are."""
        each = [member for _, member in members]
        if self._prefit:
            for member in each:
                check_is_fitted(member)
            self.estimators_ = each
            return
        calls = [
            partial(fit_member, clone(member), X, y, one_of_many=False, told=told.of(name, member))
            for name, member in members
        ]
        self.estimators_ = []
        for name, member in zip(self._names, in_order(calls, each, self.n_jobs), strict=True):
            self.estimators_.append(member)
            if self._progress is not None:
                self._progress.say(f"({len(self.estimators_)} of {len(calls)}) {name} is fitted")

    def _speakers(self) -> list[Callable[..., Array]]:
        """How each member is asked: functions of (member, X), which processes can be sent."""
        return [partial(votes_of, labels=self._labels)] * len(self._names)

    def _said(self, X: Any) -> list[Array]:
        """What each member says of rows that were read already."""
        calls = [partial(say, member, X) for say, member in zip(self._speakers(), self.estimators_, strict=True)]
        return list(in_order(calls, self.estimators_, self.n_jobs, "threads"))

    def _column_names(self, widths: list[int]) -> list[str]:
        """Names of the columns that members of these widths make."""
        owner = type(self).__name__.lower()
        pairs = zip(self._names, widths, strict=True)
        return [f"{owner}_{name}{'' if width == 1 else j}" for name, width in pairs for j in range(width)]

    def _held_out(self, members: Members, X: Any, y: Array, told: Told) -> HeldOut:
        """What the members say of rows that they have not seen."""
        if self._prefit:
            self._fit_members(members, X, y, told)
            return HeldOut(self._said(X), np.arange(len(y)))
        splits = splits_of(self.cv, X, y, bool(is_classifier(self)))
        return hold_out(members, self._speakers(), X, y, told, splits, self.n_jobs)


class WeightedMembers(NamedMembers):
    """Members whose votes are added up with weights."""

    @property
    def _judged(self) -> str:
        """The rows that scores are of."""
        return "held-out"

    @property
    @abstractmethod
    def _counts(self) -> Array:
        """How much each member counts."""

    def _vote(self, X: Any) -> tuple[Array, Any]:
        X = self._table(X, reset=False)
        return weighted_sum(self._counts, self._said(X)), float_type(X)

    def _scores(self, said: dict[str, Array], truth: Array, weights: Array) -> dict[str, float]:
        return {f"{self._judged} score of {name}": score_of(each, truth, weights) for name, each in said.items()}

    @predicting
    def plot(self, ax: Any = None) -> Any:
        """Draw the members' weights beside their scores; returns the matplotlib axes."""
        scores = {name: self.evidence_.facts[f"{self._judged} score of {name}"] for name in self._names}
        return plot_weights(self._names, self._counts, scores, ax)


def _is_dropped(member: Any) -> bool:
    return isinstance(member, str) and member == "drop"


def without_weights(members: Members, told: Told) -> tuple[str, ...]:
    """A sentence about members that cannot be told how much each class counts."""
    names = [name for name, _ in deaf(members)] if told.weights is not None else []
    return (f"Fitted without sample_weight, which they do not take: {', '.join(names)}.",) if names else ()


def default_members(classifier: bool, by_class: bool = False) -> Members:
    """What ``estimators=None`` stands for: a linear model and a small tree, which err in different ways.

    ``by_class``: classes weigh differently, and rows of a light one get no leaf of their own.
    """
    if classifier:
        from corollary.linear.logistic import LogisticRegression
        from corollary.tree.decision_tree import DecisionTreeClassifier

        tree = DecisionTreeClassifier(max_depth=6, random_state=0, min_weight_fraction_leaf=0.01 if by_class else 0.0)
        return [("linear", LogisticRegression()), ("tree", tree)]
    from corollary.linear.ridge import Ridge
    from corollary.tree.decision_tree import DecisionTreeRegressor

    return [("linear", Ridge()), ("tree", DecisionTreeRegressor(max_depth=6, random_state=0))]
