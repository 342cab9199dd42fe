"""Votes that are judged on rows which members had not seen: errors, excess over members, intervals, the referee."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.dummy import DummyRegressor
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit, StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from corollary import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    Kind,
    LogisticRegression,
    Ridge,
    VotingClassifier,
    VotingRegressor,
)
from corollary.ensemble.combine.excess import shares_apart, squares_apart
from corollary.io import load, save
from corollary.referee import held_out

CLASSIFIERS = [("linear", LogisticRegression()), ("bayes", GaussianNB()), ("near", KNeighborsClassifier())]
REGRESSORS = [("linear", Ridge()), ("near", KNeighborsRegressor())]


def data(n: int = 150) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    target = X @ np.array([1.0, -2.0, 0.5, 0.0]) + rng.normal(size=n)
    return X, np.searchsorted(np.quantile(target, [0.3, 0.6]), target), target


@pytest.mark.parametrize("voting", ["hard", "soft"])
def test_held_out_errors_are_those_of_scikit_learns_folds(voting: str) -> None:
    X, y, _ = data()
    model = VotingClassifier(CLASSIFIERS, voting=voting, cv=StratifiedKFold(5)).fit(X, np.array(list("abc"))[y])
    plain = VotingClassifier(CLASSIFIERS, voting=voting).fit(X, np.array(list("abc"))[y])
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))  # the model itself is the same
    out = cross_val_predict(plain, X, np.array(list("abc"))[y], cv=StratifiedKFold(5))
    assert model.held_out_error_ == pytest.approx(np.mean(out != np.array(list("abc"))[y]))
    assert model.evidence_.facts["held-out score of the vote"] == pytest.approx(1 - model.held_out_error_)
    for (name, member), (mean, low, high) in zip(CLASSIFIERS, model.held_out_excess_, strict=True):
        wrong = np.mean(cross_val_predict(member, X, y, cv=StratifiedKFold(5)) != y)
        assert mean == pytest.approx(model.held_out_error_ - wrong)
        assert low <= mean <= high
        assert model.evidence_.facts[f"held-out share of wrong labels of {name}"] == pytest.approx(wrong)
    assert model.evidence_.holds
    assert model.evidence_.certificate.kind is Kind.CHECKED
    assert "rows that members had not seen" in str(model.evidence_)
    assert "95 % interval" in str(model.evidence_)
    assert model.evidence_.verify(X, np.array(list("abc"))[y]).stands


def test_held_out_squares_of_regressors_with_weights() -> None:
    X, _, target = data()
    weights = np.random.default_rng(1).integers(0, 3, len(X)).astype(float)
    constant = DummyRegressor(strategy="constant", constant=0.5)
    model = VotingRegressor([("constant", constant)], cv=3).fit(X, target, sample_weight=weights)
    out = np.full(len(X), 0.5)
    assert model.held_out_error_ == pytest.approx(np.average((out - target) ** 2, weights=weights))
    assert len(model.held_out_rows_) == np.count_nonzero(weights)
    np.testing.assert_array_equal(model.held_out_excess_, np.zeros((1, 3)))  # a vote of one is that member
    members = [REGRESSORS[0], ("tree", DecisionTreeRegressor(max_depth=3))]
    both = VotingRegressor(members, cv=3, weights=[1, 3]).fit(X, target, sample_weight=weights)
    assert both.evidence_.verify(X, target, weights).stands
    assert "held-out score of linear" in both.evidence_.facts
    assert both.plot() is not None


def test_without_cv_nothing_is_held_out_and_the_sentence_says_how_to() -> None:
    X, y, _ = data()
    model = VotingClassifier(CLASSIFIERS, cv=3).fit(X, y)
    model.set_params(cv=None).fit(X, y)
    assert not [name for name in vars(model) if name.startswith("held_out")]
    assert "nothing is claimed of new rows; with cv=5" in str(model.evidence_)
    assert "training score of the vote" in model.evidence_.facts


def test_a_worse_vote_is_said_to_be_worse() -> None:
    X, y, _ = data(600)
    noise = DecisionTreeClassifier(max_depth=1)
    members = [("linear", LogisticRegression()), ("one", noise), ("two", clone(noise)), ("three", clone(noise))]
    model = VotingClassifier(members, cv=5).fit(X, y)
    assert model.held_out_excess_[0, 1] > 0
    assert "that member alone is better" in str(model.evidence_)
    assert model.evidence_.holds  # what is checked holds: nothing was claimed about the best vote


def test_splits_may_be_anything_and_overlap_is_told() -> None:
    X, y, target = data()
    groups = np.repeat(np.arange(30), 5)
    for cv in (0.3, ShuffleSplit(4, random_state=0), list(GroupKFold(3).split(X, y, groups))):
        model = VotingClassifier(CLASSIFIERS, voting="soft", cv=cv).fit(X, y)
        assert model.evidence_.verify(X, y).stands, cv
    once = VotingRegressor(REGRESSORS, cv=KFold(3).split(X)).fit(X, target)
    assert once.evidence_.verify(X, target).stands is None
    seen = [(np.arange(100), np.arange(50, 150))]
    with pytest.warns(UserWarning, match="share of held-out predictions by a model that had seen the row 0.5"):
        model = VotingRegressor(REGRESSORS, cv=seen).fit(X, target)
    assert not model.evidence_.holds
    weights = np.r_[np.ones(100), np.zeros(50)]
    with pytest.raises(ValueError, match="no row that cv holds out has a weight"):
        VotingRegressor(cv=[(np.arange(100), np.arange(100, 150))]).fit(X, target, sample_weight=weights)
    for wrong in ("prefit", 1, 1.5):
        with pytest.raises(ValueError, match="cv must be"):
            VotingRegressor(REGRESSORS, cv=wrong).fit(X, target)


def test_tables_sparse_matrices_and_files(tmp_path: Path) -> None:
    X, y, target = data()
    frame = VotingClassifier(CLASSIFIERS, cv=3).fit(pd.DataFrame(X, columns=list("abcd")), y)
    plain = VotingClassifier(CLASSIFIERS, cv=3).fit(X, y)
    np.testing.assert_array_equal(frame.held_out_votes_, plain.held_out_votes_)
    assert frame.evidence_.verify(pd.DataFrame(X, columns=list("abcd")), y).stands
    VotingRegressor(REGRESSORS[:1], cv=3).fit(sparse.csr_array(X), target)
    ours = [("linear", LogisticRegression()), ("tree", DecisionTreeClassifier(max_depth=3))]
    for model, answer in ((VotingClassifier(ours, voting="soft", cv=3), y), (VotingRegressor(cv=3), target)):
        save(model.fit(X, answer), tmp_path / "model.zip")
        again = load(tmp_path / "model.zip")
        np.testing.assert_array_equal(again.held_out_excess_, model.held_out_excess_)
        assert again.evidence_.verify(X, answer).stands


def test_the_answer_does_not_depend_on_threads_or_jobs() -> None:
    X, y, _ = data()
    one, two = (VotingClassifier(CLASSIFIERS, cv=3, n_jobs=jobs).fit(X, y) for jobs in (1, 2))
    np.testing.assert_array_equal(one.held_out_excess_, two.held_out_excess_)


def test_forged_numbers_are_refuted() -> None:
    X, y, target = data()
    for make, answer in ((VotingClassifier(CLASSIFIERS, cv=3), y), (VotingRegressor(REGRESSORS, cv=3), target)):
        for name, change in (
            ("held_out_error_", lambda value: value * 0.99),
            ("held_out_excess_", lambda value: value - 1e-3),
            ("held_out_votes_", lambda value: value[:, ::-1]),
            ("held_out_votes_", lambda value: value[:, :-1]),
        ):
            model = make.fit(X, answer)
            setattr(model, name, change(getattr(model, name)))
            assert model.evidence_.verify(X, answer).stands is False, name
        assert make.fit(X, answer).evidence_.verify(X, answer[::-1]).stands is False


class Guess(ClassifierMixin, BaseEstimator):
    """Whoever is fitted twice says something else."""

    def fit(self, X: Any, y: Any) -> Guess:
        self.classes_, self.seed_ = np.unique(y), np.random.default_rng().integers(2**31)
        return self

    def predict(self, X: Any) -> Any:
        return np.random.default_rng(self.seed_).choice(self.classes_, len(X))


def test_random_members_are_not_decided() -> None:
    X, y, _ = data()
    model = VotingClassifier([("linear", LogisticRegression()), ("guess", Guess())], weights=[10, 1], cv=3)
    model.fit(X, y)
    found = model.evidence_.verify(X, y)
    assert found.stands is None
    assert "random" in found.words


@pytest.mark.parametrize("size", [1e-200, 1.0, 1e180])
def test_squares_beyond_float64_are_told_without_nan(size: float) -> None:
    X, _, target = data()
    model = VotingRegressor([("near", KNeighborsRegressor()), ("nearest", KNeighborsRegressor(1))], cv=3)
    model.fit(X, size * target)
    assert not np.isnan(model.held_out_excess_).any()
    assert model.evidence_.verify(X, size * target).stands is not False


def test_a_large_constant_in_y_costs_no_digits() -> None:
    X, _, target = data()
    target = np.round(1024 * target) / 1024  # so that nothing is lost by adding
    model, far = (VotingRegressor([*REGRESSORS[1:], ("nearest", KNeighborsRegressor(1))], cv=3) for _ in range(2))
    model.fit(X, target)
    far.fit(X, target + 2.0**30)
    np.testing.assert_allclose(far.held_out_excess_, model.held_out_excess_, rtol=1e-5)
    assert far.evidence_.verify(X, target + 2.0**30).stands


def test_intervals_cover() -> None:
    """Of 600 samples, the interval misses the true difference about as often as it says."""
    rng = np.random.default_rng(0)
    for n, missed in ((20, 0), (200, 0)):
        for _ in range(600):
            u = rng.random(n)
            vote, member = u < 0.25, (u > 0.1) & (u < 0.3)  # 0.1 in the vote alone, 0.05 in the member alone
            _, low, high = shares_apart(vote, member, np.ones(n), 0.025)
            missed += not low <= 0.05 <= high
        assert missed < 48, n
        missed = 0
        for _ in range(600):
            own, other = rng.normal(size=(2, n))
            _, low, high = squares_apart(own**2, 1.5 * other**2, np.ones(n), 0.025)
            missed += not low <= -0.5 <= high
        assert missed < 60, n


def test_few_rows_without_a_difference_are_no_certainty() -> None:
    none = np.zeros(10, dtype=bool)
    mean, low, high = shares_apart(none, none, np.ones(10), 0.025)
    assert mean == 0
    assert low < -0.2
    assert high > 0.2
    assert squares_apart(np.ones(3), np.ones(3), np.array([1.0, 1e-9, 1e-9]), 0.025)[1:] == (-np.inf, np.inf)
    interval = stats.ttest_1samp(np.array([1.0, 2.0, 4.0]), 0).confidence_interval(0.95)
    assert squares_apart(np.array([1.0, 2.0, 4.0]), np.zeros(3), np.ones(3), 0.025)[1:] == pytest.approx(interval)


def test_ties_that_rounding_decides_refute_nothing() -> None:
    said = np.array([[[0.4, 0.6]], [[0.6, 0.4]], [[0.5, 0.5]]])
    for error in (0.0, 1.0):
        wrong = [np.array([error > 0]), *(each.argmax(axis=1) != 1 for each in said)]
        excess = np.array([shares_apart(wrong[0], each, np.ones(1), 0.025 / 3) for each in wrong[1:]])
        assert held_out.vote(said, np.ones(3), np.array([1]), np.ones(1), error, excess).stands is not False
