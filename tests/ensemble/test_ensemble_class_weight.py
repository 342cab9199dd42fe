"""``class_weight`` of ensembles is ``sample_weight`` that depends on the class, and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.class_weight import compute_sample_weight

from corollary.ensemble.combine.bagging.bagging import BaggingClassifier
from corollary.ensemble.combine.blending import BlendingClassifier
from corollary.ensemble.combine.stacking import StackingClassifier
from corollary.ensemble.forest.random_forest import RandomForestClassifier

PAIR = [("logistic", LogisticRegression()), ("bayes", GaussianNB())]


def data() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 4))
    return X, np.where(X[:, 0] + rng.normal(size=240) > 1.0, "rare", "usual")


def models() -> list[Any]:
    return [
        BaggingClassifier(GaussianNB(), n_estimators=5, random_state=0),
        StackingClassifier(PAIR, LogisticRegression(), cv=3),
        BlendingClassifier(PAIR, cv=3),
        RandomForestClassifier(10, bootstrap=False, max_features=None, max_depth=3, random_state=0),
    ]


@pytest.mark.parametrize("wanted", ["balanced", {"rare": 4.0}])
@pytest.mark.parametrize("model", models(), ids=lambda model: type(model).__name__)
def test_class_weights_are_sample_weights(model: Any, wanted: Any) -> None:
    X, y = data()
    by_class = model.set_params(class_weight=wanted).fit(X, y).predict_proba(X)
    by_row = model.set_params(class_weight=None).fit(X, y, sample_weight=compute_sample_weight(wanted, y))
    np.testing.assert_allclose(by_class, by_row.predict_proba(X), atol=1e-9)
    assert np.abs(by_class - model.fit(X, y).predict_proba(X)).max() > 1e-3


@pytest.mark.parametrize("model", models(), ids=lambda model: type(model).__name__)
def test_weights_of_classes_that_there_are_not(model: Any) -> None:
    with pytest.raises(ValueError, match="class_weight"):
        model.set_params(class_weight={"none": 2.0}).fit(*data())


def test_bags_are_judged_by_rows_as_they_are() -> None:
    X, y = data()
    model = BaggingClassifier(GaussianNB(), 20, oob_score=True, class_weight="balanced", random_state=0).fit(X, y)
    votes = model.oob_decision_function_
    kept = ~np.isnan(votes[:, 0])
    assert model.oob_score_ == pytest.approx(np.mean(model.classes_[votes[kept].argmax(axis=1)] == y[kept]))


def test_balanced_subsamples_weigh_what_was_drawn() -> None:
    """With one leaf each tree's probabilities are equal, whatever it drew, as long as it drew both classes."""
    X, y = data()
    model = RandomForestClassifier(20, class_weight="balanced_subsample", min_samples_leaf=240, random_state=0)
    np.testing.assert_allclose(model.fit(X, y).predict_proba(X), 0.5)
    balanced = model.set_params(class_weight="balanced").fit(X, y).predict_proba(X)[0]
    assert 1e-4 < abs(balanced[0] - 0.5) < 0.05  # by the classes of all rows, so each tree is off by its draws
