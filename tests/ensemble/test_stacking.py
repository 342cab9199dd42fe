"""Stacking: the final model learns from rows that members had not seen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn.ensemble
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from corollary import Kind, LogisticRegression, Ridge, RidgeCV
from corollary.ensemble.combine.stacking import StackingClassifier, StackingRegressor
from corollary.ensemble.combine.voting import VotingRegressor

CLASSIFIERS = [("linear", LogisticRegression()), ("bayes", GaussianNB()), ("machine", LinearSVC())]
REGRESSORS = [("linear", Ridge()), ("near", KNeighborsRegressor()), ("nearest", KNeighborsRegressor(1))]


def data(n: int = 90, classes: int = 3) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    target = X @ np.array([1.0, -2.0, 0.5, 0.0]) + X[:, 0] ** 2 + 0.5 * rng.normal(size=n)
    return X, np.searchsorted(np.quantile(target, np.arange(1, classes) / classes), target), target


@pytest.mark.parametrize("passthrough", [False, True])
@pytest.mark.parametrize("method", ["auto", "predict"])
@pytest.mark.parametrize("classes", [2, 3])
def test_stacks_are_those_of_scikit_learn(classes: int, method: str, passthrough: bool) -> None:
    X, y, _ = data(classes=classes)
    y = np.array(["a", "b", "c"])[y]
    options = {"cv": StratifiedKFold(4), "stack_method": method, "passthrough": passthrough}
    final = LogisticRegression(tol=1e-12)
    ours = StackingClassifier(CLASSIFIERS, final, **options).fit(X, y)
    theirs = sklearn.ensemble.StackingClassifier(CLASSIFIERS, final, **options).fit(X, y)
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X), atol=1e-9)
    np.testing.assert_allclose(ours.final_estimator_.coef_, theirs.final_estimator_.coef_, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-6)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-5)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    assert ours.stack_method_ == theirs.stack_method_
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()
    assert ours.evidence_.holds


@pytest.mark.parametrize("passthrough", [False, True])
def test_regressions_are_those_of_scikit_learn(passthrough: bool) -> None:
    X, _, target = data()
    options = {"cv": KFold(3, shuffle=True, random_state=0), "passthrough": passthrough}
    ours = StackingRegressor(REGRESSORS, Ridge(), **options).fit(X, target)
    theirs = sklearn.ensemble.StackingRegressor(REGRESSORS, Ridge(), **options).fit(X, target)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-6)
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X))
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()


def test_defaults_are_our_linear_models_and_no_more_is_claimed_than_was_checked() -> None:
    X, y, target = data()
    classifier = StackingClassifier(CLASSIFIERS[:2]).fit(X, y)
    assert isinstance(classifier.final_estimator_, LogisticRegression)
    inner = classifier.final_estimator_.evidence_.certificate
    assert classifier.evidence_.facts["relative duality gap of the final model"] == inner.value
    assert classifier.evidence_.certificate.kind is Kind.CHECKED
    assert str(classifier.evidence_).startswith("Checked: share of held-out predictions")
    regressor = StackingRegressor(REGRESSORS).fit(X, target)
    assert isinstance(regressor.final_estimator_, RidgeCV)
    assert regressor.evidence_.facts["held-out score of linear"] < 1
    foreign = StackingRegressor(REGRESSORS, LinearRegression()).fit(X, target)
    assert foreign.evidence_.holds
    assert foreign.evidence_.certificate.name.startswith("share of held-out predictions")


def test_held_out_scores_by_hand() -> None:
    X, y, _ = data(classes=2)
    members = [*CLASSIFIERS, ("near", KNeighborsClassifier())]
    for method in ("auto", "predict"):
        model = StackingClassifier(members, cv=3, stack_method=method).fit(X, y)
        for name, member in members:
            right = [
                clone(member).fit(X[fit], y[fit]).predict(X[held]) == y[held]
                for fit, held in StratifiedKFold(3).split(X, y)
            ]
            expected = np.concatenate(right).mean()
            assert model.evidence_.facts[f"held-out score of {name}"] == pytest.approx(expected)


def test_members_that_come_fitted() -> None:
    X, y, _ = data()
    y = np.array(["a", "b", "c"])[y]
    members = [(name, member.fit(X[:45], y[:45])) for name, member in CLASSIFIERS]
    ours = StackingClassifier(members, cv="prefit").fit(X[45:], y[45:])
    theirs = sklearn.ensemble.StackingClassifier(members, LogisticRegression(), cv="prefit").fit(X[45:], y[45:])
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-6)
    assert ours.estimators_[0] is members[0][1]
    assert "came fitted" in str(ours.evidence_)


def test_splits_that_leak_fail_the_check() -> None:
    X, _, target = data()
    rows = np.arange(len(target))
    model = StackingRegressor(REGRESSORS, cv=[(rows, rows)])
    with pytest.warns(UserWarning, match="had seen the row"):
        model.fit(X, target)
    assert model.evidence_.certificate.value == 1.0


def test_only_held_out_rows_teach_the_final_model() -> None:
    X, _, target = data()
    model = StackingRegressor(REGRESSORS, Ridge(), cv=[(np.arange(60), np.arange(60, 90))]).fit(X, target)
    P = np.column_stack([clone(m).fit(X[:60], target[:60]).predict(X[60:]) for _, m in REGRESSORS])
    np.testing.assert_allclose(model.final_estimator_.coef_, Ridge().fit(P, target[60:]).coef_, rtol=1e-6)


def test_weights_reach_members_and_the_final_model() -> None:
    X, _, target = data()
    weights = np.random.default_rng(0).integers(0, 3, len(target)).astype(float)
    model = StackingRegressor([("a", Ridge())], Ridge(), cv=3).fit(X, target, sample_weight=weights)
    P = np.empty(90)
    for fit, held in KFold(3).split(X):
        P[held] = Ridge().fit(X[fit], target[fit], sample_weight=weights[fit]).predict(X[held])
    expected = Ridge().fit(P[:, None], target, sample_weight=weights)
    np.testing.assert_allclose(model.final_estimator_.coef_, expected.coef_, rtol=1e-8)
    with pytest.raises(TypeError, match="KNeighborsRegressor does not support sample weights"):
        StackingRegressor([("a", Ridge())], KNeighborsRegressor(), cv=3).fit(X, target, sample_weight=weights)


def test_tables_and_sparse_matrices_pass_through() -> None:
    X, _, target = data()
    frame = pd.DataFrame(X, columns=list("abcd"))
    plain = StackingRegressor(REGRESSORS, Ridge(), passthrough=True, cv=3).fit(X, target)
    model = StackingRegressor(REGRESSORS, Ridge(), passthrough=True, cv=3).fit(frame, target)
    np.testing.assert_allclose(model.predict(frame), plain.predict(X))
    assert model.get_feature_names_out()[-1] == "d"
    held = sparse.csr_array(X)
    wide = StackingRegressor(REGRESSORS[:1], Ridge(), passthrough=True, cv=3).fit(held, target)
    assert sparse.issparse(wide.transform(held))
    dense = StackingRegressor(REGRESSORS[:1], Ridge(), passthrough=True, cv=3).fit(X, target)
    np.testing.assert_allclose(wide.predict(held), dense.predict(X), rtol=1e-6)


@pytest.mark.parametrize("size", [1e-310, 1e200])
def test_numbers_that_float32_cannot_hold_are_delivered_in_float64(size: float) -> None:
    X, _, target = data()
    model = StackingRegressor([("plain", LinearRegression())], LinearRegression(), cv=3).fit(X, size * target)
    narrow = X.astype(np.float32)
    assert model.predict(narrow).dtype == model.transform(narrow).dtype == np.float64
    assert np.isfinite(model.predict(narrow)).all()
    assert model.predict(narrow).any()
    assert model.transform(narrow).any()
    mean = VotingRegressor([("plain", LinearRegression())]).fit(X, size * target)
    np.testing.assert_array_equal(mean.transform(narrow)[:, 0], mean.predict(narrow))
    assert mean.transform(narrow).any()


def test_bad_input() -> None:
    X, y, target = data()
    for message, model, labels in (
        ("non-empty list", StackingClassifier([]), y),
        ("final_estimator should be a classifier", StackingClassifier(CLASSIFIERS, Ridge()), y),
        ("final_estimator should be a regressor", StackingRegressor(REGRESSORS, GaussianNB()), target),
        (
            "'machine' does not implement the method",
            StackingClassifier(CLASSIFIERS, stack_method="predict_proba"),
            y,
        ),
        ("'linear' should be a regressor", StackingRegressor(CLASSIFIERS), target),
        ("only one class", StackingClassifier(CLASSIFIERS), np.zeros(len(y))),
        ("cv must be", StackingClassifier(CLASSIFIERS, cv="folds"), y),  # a text has the method split of a splitter
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(X, labels)
        assert not hasattr(model, "estimators_")


@parametrize_with_checks(
    [
        StackingClassifier(CLASSIFIERS[:2], cv=3),
        StackingRegressor([REGRESSORS[0]], Ridge(), cv=3, passthrough=True),
    ]
)
def test_scikit_learn_check(estimator: Any, check: Any) -> None:
    check(estimator)
