"""Ensembles of different models, each with a name: reading the list, reading tables, fitting, and asking for votes."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.utils import get_tags
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted, column_or_1d, validate_data

from corollary.base import Estimator, check_weights
from corollary.core.evidence import Certificate, Kind
from corollary.core.limits import Choice, Instance, Limit
from corollary.core.types import Array
from corollary.ensemble.members import fit_member, is_ours, run_all, weight_argument
from corollary.labels import encode_labels

NAMED: Limit = Choice(None) | Instance("a list of (name, estimator) pairs", list, tuple)
MEASURED = 2000  # training rows on which a vote is compared with its voters


def is_frame(X: Any) -> bool:
    """Whether X is a table with named columns, which members may want to see."""
    return isinstance(nw.from_native(X, eager_only=True, pass_through=True), nw.DataFrame)


def take_rows(X: Any, rows: Array) -> Any:
    """Some rows of an array, a sparse matrix or a frame of any kind."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if is_frame(X):
        return nw.from_native(X, eager_only=True)[rows].to_native()
    return X[rows]


def class_votes(member: Any, X: Any, labels: Array) -> Array:
    """Probabilities (n, k) of ``labels``, or a whole vote for the predicted one if the member has no probabilities."""
    if hasattr(member, "predict_proba"):
        said = np.asarray(member.predict_proba(X), dtype=np.float64)
        votes = np.zeros((len(said), len(labels)))
        votes[:, np.searchsorted(labels, member.classes_)] = said
        return votes
    return one_hot(np.searchsorted(labels, member.predict(X)), len(labels))


def one_hot(codes: Array, n_classes: int) -> Array:
    out = np.zeros((len(codes), n_classes))
    out[np.arange(len(codes)), codes] = 1.0
    return out


def squared_error(vote: Array, truth: Array, weights: Array) -> float:
    """Mean of (vote − truth)²; of votes (n, k) for class numbers, the Brier score."""
    target = one_hot(truth, vote.shape[1]) if vote.ndim == 2 else truth
    return float(np.average(np.square(vote - target).reshape(len(target), -1).sum(axis=1), weights=weights))


def excess_of_vote(votes: list[Array], shares: Array, truth: Array, weights: Array) -> Certificate:
    """A weighted mean has at most the mean squared error of its parts (Jensen): by how much it is exceeded."""
    mean = sum(share * vote for share, vote in zip(shares, votes, strict=True))
    together = squared_error(np.asarray(mean), truth, weights)
    limit = float(np.dot(shares, [squared_error(vote, truth, weights) for vote in votes]))
    return Certificate(
        Kind.CHECKED, "excess error of the vote over its members", max(0.0, together - limit) / (limit or 1.0), 1e-9
    )


class NamedMembers(Estimator):
    """An estimator with ``estimators``, a list of (name, estimator) pairs whose parameters are its own too."""

    estimators: Any
    n_jobs: Any
    class_weight: Any  # of classifiers
    estimators_: list[Any]
    classes_: Array

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

    def _pairs(self) -> list[tuple[str, Any]]:
        """The pairs, as far as they are pairs."""
        given = self.estimators if isinstance(self.estimators, (list, tuple)) else ()
        return [pair for pair in given if isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], str)]

    @property
    def named_estimators(self) -> dict[str, Any]:
        """The members as given, by name."""
        return dict(self._pairs())

    @property
    def named_estimators_(self) -> dict[str, Any]:
        """The fitted members, by name."""
        check_is_fitted(self)
        fitted = iter(self.estimators_)
        return {name: next(fitted) for name in self._names}

    def _members(self) -> list[tuple[str, Any]]:
        """The members that take part, after checking the list."""
        owner = type(self).__name__
        if self.estimators is None:
            return default_members(bool(is_classifier(self)))
        pairs = self._pairs()
        if not pairs or len(pairs) != len(self.estimators):
            raise ValueError(
                f"{owner}: estimators must be a non-empty list of (name, estimator) pairs, but it is "
                f"{self.estimators!r}."
            )
        names = [name for name, _ in pairs]
        known = super().get_params(deep=False)
        wrong = [name for name in names if "__" in name or name in known or names.count(name) > 1]
        if wrong:
            raise ValueError(
                f"{owner}: names of estimators must differ from each other and from parameters, and have no '__': "
                f"{wrong!r}."
            )
        pairs = [(name, member) for name, member in pairs if not (isinstance(member, str) and member == "drop")]
        if not pairs:
            raise ValueError(f"{owner}: all estimators are dropped; at least one is required.")
        right, kind = (is_classifier, "classifier") if is_classifier(self) else (is_regressor, "regressor")
        for name, member in pairs:
            if not hasattr(member, "fit") or not right(member):
                raise ValueError(f"{owner}: estimator {name!r} should be a {kind}, but it is {member!r}.")
        return pairs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = [get_tags(member).input_tags for _, member in self._pairs() if hasattr(member, "fit")]
        tags.input_tags.sparse = self.estimators is None or all(each.sparse for each in inner)
        tags.input_tags.allow_nan = bool(inner) and all(each.allow_nan for each in inner)
        return tags

    def _table(self, X: Any, *, reset: bool) -> Any:
        """Frames as they are, so that members see the columns' names; anything else as an array or CSR matrix."""
        if is_frame(X):
            validate_data(self, X, reset=reset, skip_check_array=True)
            return X
        X = validate_data(self, X, accept_sparse=True, dtype=None, ensure_all_finite=False, reset=reset)
        return X.tocsr() if scipy.sparse.issparse(X) else X

    def _read(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Array, Array | None, Array]:
        """(X, y as members see it, weights as given, weights); class numbers for a classifier."""
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        X = self._table(X, reset=True)
        numeric = not is_classifier(self)
        y = column_or_1d(y, warn=True)
        y = check_array(y, ensure_2d=False, dtype=np.float64 if numeric else None, input_name="y")
        check_consistent_length(X, y)
        weights = check_weights(sample_weight, X)
        if not numeric:
            self.classes_, y, weights = encode_labels(y, weights, self.class_weight)
        plain = sample_weight is None and (numeric or self.class_weight is None)
        return X, y, None if plain else weights, weights

    def _fit_members(self, members: list[tuple[str, Any]], X: Any, y: Array, weights: Array | None) -> None:
        jobs = [(clone(member), X, y, weights) for _, member in members]
        ours = all(is_ours(member) for _, member in members)
        self.estimators_ = run_all(fit_member, jobs, ours=ours, n_jobs=self.n_jobs)
        self._names = [name for name, _ in members]
        self._labels = np.arange(len(self.classes_)) if is_classifier(self) else None

    def _keep_prefit(self, members: list[tuple[str, Any]]) -> None:
        """Members that come fitted are used as they are; they know labels, not class numbers."""
        for _, member in members:
            check_is_fitted(member)
        self.estimators_, self._names = [member for _, member in members], [name for name, _ in members]
        self._labels = self.classes_ if is_classifier(self) else None

    def _say(self, member: Any, X: Any) -> Array:
        """What a member says of rows: votes (n, k) of a classifier, numbers (n,) of a regressor."""
        if self._labels is not None:
            return class_votes(member, X, self._labels)
        return np.asarray(member.predict(X), dtype=np.float64)

    def _said(self, X: Any) -> list[Array]:
        """What each member says of rows that were read already."""
        ours = all(map(is_ours, self.estimators_))
        jobs = [(member, X) for member in self.estimators_]
        return run_all(self._say, jobs, ours=ours, n_jobs=self.n_jobs, prefer="threads")

    def _sampled(self, X: Any, *others: Array) -> tuple[Any, ...]:
        """At most ``MEASURED`` of the rows, evenly spread."""
        n = len(others[0])
        if n <= MEASURED:
            return (X, *others)
        rows = np.linspace(0, n - 1, MEASURED).astype(np.intp)
        return (take_rows(X, rows), *(values[rows] for values in others))


def float_type(X: Any) -> Any:
    """The type of results: float32 for float32 arrays, else float64."""
    return np.float32 if getattr(X, "dtype", None) == np.float32 else np.float64


def shares_of(weights: Any, members: list[tuple[str, Any]], given: Any) -> Array:
    """Weights of the members that take part, as shares of one."""
    if weights is None:
        return np.full(len(members), 1.0 / len(members))
    values = np.asarray(weights, dtype=np.float64)
    n_given = len(members) if given is None else len(given)
    if values.shape != (n_given,):
        raise ValueError(f"weights must be {n_given} numbers, one for each estimator, but they are {weights!r}.")
    if given is not None:  # dropped members had weights too
        kept = {name for name, _ in members}
        values = values[[name in kept for name, _ in given]]
    if not np.isfinite(values).all() or (values < 0).any() or not values.sum() > 0:
        raise ValueError(f"weights must be finite, not negative and not all zero, but they are {weights!r}.")
    return values / values.sum()


def without_weights(members: list[tuple[str, Any]], weights: Array | None) -> tuple[str, ...]:
    """A sentence about members that cannot be told how much each row counts."""
    deaf = [name for name, member in members if weights is not None and weight_argument(member) is None]
    return (f"Fitted without sample_weight, which they do not take: {', '.join(deaf)}.",) if deaf else ()


def default_members(classifier: bool) -> list[tuple[str, Any]]:
    """What ``estimators=None`` stands for: a linear model and a small tree, which err in different ways."""
    if classifier:
        from corollary.linear.logistic import LogisticRegression
        from corollary.tree.decision_tree import DecisionTreeClassifier

        return [("linear", LogisticRegression()), ("tree", DecisionTreeClassifier(max_depth=6, random_state=0))]
    from corollary.linear.ridge import Ridge
    from corollary.tree.decision_tree import DecisionTreeRegressor

    return [("linear", Ridge()), ("tree", DecisionTreeRegressor(max_depth=6, random_state=0))]


def score_of(vote: Array, truth: Array, weights: Array) -> float:
    """Accuracy of votes (n, k) for class numbers, or R² of numbers (n,)."""
    if vote.ndim == 2:
        return float(np.average(vote.argmax(axis=1) == truth, weights=weights))
    spread = squared_error(np.full(len(truth), np.average(truth, weights=weights)), truth, weights)
    error = squared_error(vote, truth, weights)
    return 1.0 - error / spread if spread > 0 else float(error == 0)
