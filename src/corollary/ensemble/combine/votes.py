"""What members are asked about, what they say of it, and how good that is."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, mean_squared_error, r2_score

from corollary.base import predicting
from corollary.core.evidence import Certificate, Kind
from corollary.core.inner_models import is_frame as is_frame
from corollary.core.inner_models import take_rows as take_rows
from corollary.core.scaling import answer_type, magnitude
from corollary.core.types import Array
from corollary.labels import agreeing

AGAIN = "error of the vote counted again"


class NoVoteError(ValueError):
    """A member was asked, and what it said is not an answer for each row."""


def predicted(member: Any, X: Any, **options: Any) -> Any:
    """What a member predicts, one entry for each row; raises NoVoteError for anything else, such as None."""
    said = member.predict(X, **options)
    if np.shape(said)[:1] != (X.shape[0],):
        what = "nothing" if said is None else f"something of shape {np.shape(said)}"
        raise NoVoteError(f"{type(member).__name__}.predict was asked about {X.shape[0]} rows and said {what}.")
    return said


def has_vote(member: Any) -> bool:
    """Whether a member can say anything of rows."""
    return hasattr(member, "predict")


def float_type(X: Any) -> Any:
    """The type of results: float32 for float32 arrays, else float64."""
    return np.float32 if getattr(X, "dtype", None) == np.float32 else np.float64


def columns_type(dtype: Any, said: list[Array]) -> Any:
    """The type of members' answers side by side: ``dtype``, or float64 where it cannot hold what one of them says."""
    return np.result_type(*(answer_type(dtype, magnitude(each)) for each in said))


def one_hot(codes: Array, n_classes: int) -> Array:
    """1 in the column of each row's class number, 0 elsewhere."""
    out = np.zeros((len(codes), n_classes))
    out[np.arange(len(codes)), codes] = 1.0
    return out


def votes_of(member: Any, X: Any, labels: Array | None, **options: Any) -> Array:
    """What a regressor predicts (n,); of a classifier of ``labels`` its probabilities (n, k).

    A classifier without probabilities casts a whole vote for what it predicts. ``options`` go to its method.
    """
    if labels is None:
        return np.asarray(predicted(member, X), dtype=np.float64)
    if not hasattr(member, "predict_proba"):
        return one_hot(np.searchsorted(labels, predicted(member, X, **options)), len(labels))
    said = np.asarray(member.predict_proba(X, **options), dtype=np.float64)
    votes = np.zeros((len(said), len(labels)))
    votes[:, np.searchsorted(labels, getattr(member, "classes_", labels))] = said  # who does not tell knows them all
    return votes


def decisions_of(member: Any, X: Any, labels: Array, **options: Any) -> Array:
    """Decision values of a classifier of some of the labels, (n, k), or (n, 1) if there are two.

    Labels that it does not know get its lowest value; who has no such values says 1 of what it predicts, −1 of others.
    """
    known = np.searchsorted(labels, member.classes_)
    if not hasattr(member, "decision_function"):
        said = 2.0 * one_hot(np.searchsorted(labels, member.predict(X)), len(labels)) - 1.0
        return said[:, 1:] if len(labels) == 2 else said
    said = np.asarray(member.decision_function(X, **options), dtype=np.float64)
    if len(labels) == 2 and said.ndim == 1:
        return said[:, None]
    said = np.column_stack([-said, said]) if said.ndim == 1 else said
    votes = np.repeat(said.min(axis=1, keepdims=True), len(labels), axis=1)
    votes[:, known] = said
    return votes


def weighted_sum(weights: Any, votes: list[Array]) -> Array:
    """Σ weight · vote over the members."""
    total: Array = sum(weight * vote for weight, vote in zip(weights, votes, strict=True))
    return total


def score_of(vote: Array, truth: Array, weights: Array) -> float:
    """Accuracy of votes (n, k) for class numbers, or R² of numbers (n,)."""
    if vote.ndim == 2:
        return float(accuracy_score(truth, vote.argmax(axis=1), sample_weight=weights))
    if len(truth) < 2:  # R² compares rows with each other
        return float((vote == truth).all())
    return float(r2_score(truth, vote, sample_weight=weights))


def squared_error(vote: Array, truth: Array, weights: Array) -> float:
    """Mean of (vote − truth)²; of votes (n, k) for class numbers, the Brier score."""
    target = one_hot(truth, vote.shape[1]) if vote.ndim == 2 else truth
    return float(mean_squared_error(target, vote, sample_weight=weights, multioutput="raw_values").sum())


def counted_again(model: Any, X: Any, members: list[Any], shares: Array, whole_votes: bool = False) -> Certificate:
    """How far what a model answers is from Σ share · vote, its members asked one by one; relative to the largest.

    ``whole_votes``: a classifier casts one vote for what it predicts, whatever its probabilities.
    """
    labels = model._labels
    answer = np.asarray(model.predict(X) if labels is None else model._mean_vote(X))
    expected = np.zeros(answer.shape)
    for share, member in zip(shares, members, strict=True):
        if whole_votes and labels is not None:
            expected += share * one_hot(np.searchsorted(labels, member.predict(X)), len(labels))
        else:
            expected += share * votes_of(member, X, labels)
    size = float(np.abs(expected).max(initial=0.0)) or 1.0
    off = float(np.abs(answer - expected).max(initial=0.0)) / size - 4 * float(np.finfo(answer.dtype).eps)
    return Certificate(Kind.CHECKED, AGAIN, max(0.0, off), 1e-9)


class ByVote(ClassifierMixin):
    """A classifier whose probabilities are a mean of its members' votes, ``_vote(X)`` → (votes (n, k), dtype)."""

    @predicting
    def _mean_vote(self: Any, X: Any) -> Array:
        votes, dtype = self._vote(X)
        return agreeing(votes.astype(dtype), votes)

    def predict_proba(self: Any, X: Any) -> Array:
        """The mean of the members' probabilities, or of their votes where they have none."""
        mean: Array = self._mean_vote(X)
        return mean

    @predicting
    def predict(self: Any, X: Any) -> Array:
        """The class of the highest mean, the first of them in a tie."""
        best = self._mean_vote(X).argmax(axis=1)
        return self.classes_[best]


class ByMean(RegressorMixin):
    """A regressor whose prediction is a mean, or a weighted sum, of its members', ``_vote(X)`` → (numbers, dtype)."""

    @predicting
    def predict(self: Any, X: Any) -> Array:
        """The mean of the members' predictions, weighted where they have weights."""
        said, dtype = self._vote(X)
        return said.astype(answer_type(dtype, magnitude(said)))
