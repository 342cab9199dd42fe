"""Classes that count differently, or not at all, or that are alone: what is claimed of them is judged by that."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from corollary import AdaBoostClassifier, BaggingClassifier, DecisionTreeClassifier, VotingClassifier
from corollary.core.types import Array

TREES = [("small", DecisionTreeClassifier(max_depth=2)), ("bayes", GaussianNB())]
WEIGHTS = [None, "balanced", {0: 1.0, 1: 5.0}, {1: 0.25}]


def data(classes: int = 2) -> tuple[Array, Array]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 4))
    score = X[:, 0] + X[:, 1] + rng.normal(size=90)
    return X, np.searchsorted(np.quantile(score, np.arange(1, classes) / classes) + 0.4, score)


@pytest.mark.parametrize("class_weight", WEIGHTS)
@pytest.mark.parametrize("model", [
    AdaBoostClassifier(n_estimators=8),
    AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=8),
    AdaBoostClassifier(GaussianNB(), n_estimators=3),
    BaggingClassifier(n_estimators=4, random_state=0),
    VotingClassifier(),
    VotingClassifier(voting="soft"),
    VotingClassifier(TREES, cv=3),
], ids=str)  # fmt: skip
@pytest.mark.parametrize("classes", [2, 3])
def test_true_fits_are_not_refuted(model: Any, class_weight: Any, classes: int) -> None:
    X, y = data(classes)
    for weights in (None, np.random.default_rng(1).integers(0, 4, len(y)).astype(float)):
        model.set_params(class_weight=class_weight).fit(X, y, sample_weight=weights)
        found = model.evidence_.verify(X, y, weights)
        assert found.stands is True, found.words


def test_other_class_weights_are_refuted() -> None:
    X, y = data()
    for model in (AdaBoostClassifier(n_estimators=8), VotingClassifier(cv=3)):
        model.set_params(class_weight="balanced").fit(X, y).set_params(class_weight={0: 1.0, 1: 7.0})
        assert model.evidence_.verify(X, y).stands is False


def test_members_are_judged_by_the_weights_of_their_classes() -> None:
    X, y = data()
    model = VotingClassifier(class_weight={0: 1.0, 1: 5.0}).fit(X, y)
    model.estimators_[0].coef_ = model.estimators_[0].coef_ * 1.01
    found = model.evidence_.verify(X, y)
    assert found.stands is False
    assert "member linear" in found.words


ALONE = [
    BaggingClassifier(n_estimators=4, random_state=0),
    AdaBoostClassifier(n_estimators=4),
    VotingClassifier(TREES),
    VotingClassifier(TREES, voting="soft"),
]


@pytest.mark.parametrize("model", ALONE, ids=str)
def test_one_class_is_fitted_and_judged(model: Any) -> None:
    X, y = data()
    alone = np.full(len(y), "only")
    model.fit(X, alone)
    assert model.classes_.tolist() == ["only"]
    assert (model.predict(X) == "only").all()
    assert model.evidence_.verify(X, alone).stands is True


@pytest.mark.parametrize("model", ALONE[:2], ids=str)
def test_a_class_without_weight(model: Any) -> None:
    X, y = data()
    model.fit(X, y, sample_weight=y)
    assert model.evidence_.verify(X, y, y).stands is True
    model.set_params(class_weight={0: 0, 1: 1}).fit(X, y)
    assert (model.predict(X) == 1).all()
    assert model.evidence_.verify(X, y).stands is True
    with pytest.raises(ValueError, match="was not fitted to"):
        model.evidence_.verify(X, np.where(y == 1, 1, 9))
    model.set_params(class_weight=None)


def test_one_class_that_a_member_cannot_learn() -> None:
    X, y = data()
    with pytest.raises(ValueError, match="class"):
        VotingClassifier().fit(X, 0 * y)
