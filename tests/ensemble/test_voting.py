"""Voting, and what all ensembles of named members share: names, parameters, tables, weights."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn.ensemble
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from corollary import LogisticRegression, Ridge, Status
from corollary.ensemble.adaboost.adaboost import AdaBoostClassifier
from corollary.ensemble.combine.bagging.bagging import BaggingClassifier
from corollary.ensemble.combine.blending import BlendingClassifier
from corollary.ensemble.combine.stacking import StackingClassifier
from corollary.ensemble.combine.voting import VotingClassifier, VotingRegressor

CLASSIFIERS = [("linear", LogisticRegression()), ("bayes", GaussianNB()), ("near", KNeighborsClassifier())]
REGRESSORS = [("linear", Ridge()), ("near", KNeighborsRegressor()), ("plain", LinearRegression())]


def data(n: int = 90, classes: int = 3) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    target = X @ np.array([1.0, -2.0, 0.5, 0.0]) + 0.5 * rng.normal(size=n)
    return X, np.searchsorted(np.quantile(target, np.arange(1, classes) / classes), target), target


@pytest.mark.parametrize("weights", [None, [3, 1, 1.5], [0, 0, 1]])
@pytest.mark.parametrize("voting", ["hard", "soft"])
def test_votes_are_those_of_scikit_learn(voting: str, weights: Any) -> None:
    X, y, _ = data()
    y = np.array(["a", "b", "c"])[y]
    ours = VotingClassifier(CLASSIFIERS, voting=voting, weights=weights).fit(X, y)
    theirs = sklearn.ensemble.VotingClassifier(CLASSIFIERS, voting=voting, weights=weights).fit(X, y)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X))
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()
    if voting == "soft":
        np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X))
        stacked = ours.set_params(flatten_transform=False).transform(X)
        np.testing.assert_allclose(stacked, theirs.set_params(flatten_transform=False).transform(X))
        np.testing.assert_array_equal(ours.classes_[ours.predict_proba(X).argmax(axis=1)], ours.predict(X))
    assert hasattr(ours, "predict_proba") is (voting == "soft")
    assert ours.evidence_.holds


def test_means_are_those_of_scikit_learn() -> None:
    X, _, target = data()
    ours = VotingRegressor(REGRESSORS, weights=[1, 2, 3]).fit(X, target)
    theirs = sklearn.ensemble.VotingRegressor(REGRESSORS, weights=[1, 2, 3]).fit(X, target)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X))
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X))
    assert ours.evidence_.holds
    assert ours.evidence_.facts["training score of the vote"] == pytest.approx(ours.score(X, target))


def test_names_and_parameters() -> None:
    X, y, _ = data()
    model = VotingClassifier(CLASSIFIERS)
    assert model.get_params()["near__n_neighbors"] == 5
    assert "near" not in model.get_params(deep=False)
    model = clone(model).set_params(near__n_neighbors=3, bayes="drop").fit(X, y)
    assert model.named_estimators_["bayes"] == "drop"
    assert model.estimators_ == [model.named_estimators_[name] for name in ("linear", "near")]
    assert model.named_estimators_["near"].n_neighbors == 3
    assert CLASSIFIERS[2][1].n_neighbors == 5
    model.set_params(near=GaussianNB(), estimators=CLASSIFIERS)
    assert isinstance(model.named_estimators["near"], GaussianNB)
    search = GridSearchCV(VotingClassifier(CLASSIFIERS), {"near__n_neighbors": [1, 5], "bayes": ["drop", GaussianNB()]})
    assert search.fit(X, y).best_score_ > 0.5


def test_dropped_members_take_their_weight_with_them() -> None:
    X, y, _ = data()
    members = [*CLASSIFIERS[:2], ("near", "drop")]
    model = VotingClassifier(members, voting="soft", weights=[1, 3, 100]).fit(X, y)
    alone = VotingClassifier(CLASSIFIERS[:2], voting="soft", weights=[1, 3]).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), alone.predict_proba(X))


def test_weights_reach_members_that_take_them() -> None:
    X, y, _ = data()
    weights = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    pipeline = make_pipeline(StandardScaler().fit(X), LogisticRegression())
    members = [*CLASSIFIERS, ("pipe", pipeline)]
    with pytest.raises(TypeError, match="KNeighborsClassifier does not support sample weights"):
        VotingClassifier(members, voting="soft").fit(X, y, sample_weight=weights)
    members[2] = ("near", "drop")
    model = VotingClassifier(members, voting="soft").fit(X, y, sample_weight=weights)
    alone = LogisticRegression().fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(model.named_estimators_["linear"].predict_proba(X), alone.predict_proba(X), rtol=1e-5)
    scaled = LogisticRegression().fit(StandardScaler().fit_transform(X), y, sample_weight=weights)
    np.testing.assert_allclose(model.named_estimators_["pipe"][-1].coef_, scaled.coef_, rtol=1e-4)
    told = VotingClassifier(CLASSIFIERS, class_weight="balanced").fit(X, y)
    assert "do not take: near." in str(told.evidence_)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.Table.from_pandas])
def test_members_see_the_names_of_columns(make: Any) -> None:
    X, y, _ = data()
    frame = pd.DataFrame(X, columns=list("abcd"))
    held = frame if make is pd.DataFrame else make(frame)
    member = make_pipeline(make_column_transformer((StandardScaler(), ["a", "b"])), LogisticRegression())
    model = VotingClassifier([("some", member), ("all", LogisticRegression())], voting="soft").fit(held, y)
    assert model.feature_names_in_.tolist() == list("abcd")
    direct = clone(member).fit(frame, y)
    np.testing.assert_allclose(model.transform(held)[:, :3], direct.predict_proba(frame), rtol=1e-6)


def test_output_containers() -> None:
    X, y, _ = data()
    model = VotingClassifier(CLASSIFIERS).set_output(transform="pandas").fit(X, y)
    assert list(model.transform(X).columns) == ["votingclassifier_linear", "votingclassifier_bayes",
                                                "votingclassifier_near"]  # fmt: skip


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no members": ({"estimators": []}, "non-empty list"),
    "not pairs": ({"estimators": [LogisticRegression()]}, "non-empty list"),
    "same names": ({"estimators": [("a", GaussianNB()), ("a", GaussianNB())]}, "must differ"),
    "name of a parameter": ({"estimators": [("voting", GaussianNB())]}, "must differ"),
    "underscores": ({"estimators": [("a__b", GaussianNB())]}, "no '__'"),
    "all dropped": ({"estimators": [("a", "drop")]}, "All estimators are dropped"),
    "a regressor": ({"estimators": [("a", Ridge())]}, "'a' should be a classifier"),
    "too few weights": ({"weights": [1.0]}, "weights must be 3 numbers"),
    "negative weights": ({"weights": [1.0, -1.0, 1.0]}, "not negative"),
    "zero weights": ({"weights": [0, 0, 0]}, "not all zero"),
    "unknown voting": ({"voting": "loud"}, "voting must be 'hard' or 'soft'"),
    "no probabilities": ({"voting": "soft", "estimators": [("a", LinearSVC())]}, "needs predict_proba"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_parameters(what: str) -> None:
    X, y, _ = data()
    changes, message = BAD[what]
    model = VotingClassifier(CLASSIFIERS).set_params(**changes)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    assert not hasattr(model, "estimators_")


@pytest.mark.parametrize("make", [
    lambda weak: VotingClassifier([("good", LogisticRegression()), ("weak", weak)]),
    lambda weak: BlendingClassifier([("good", LogisticRegression()), ("weak", weak)], cv=3),
    lambda weak: StackingClassifier([("good", LogisticRegression()), ("weak", weak)], cv=3),
    lambda weak: BaggingClassifier(weak, 3, random_state=0),
    lambda weak: AdaBoostClassifier(weak, n_estimators=2),
])  # fmt: skip
def test_an_ensemble_shows_no_more_than_its_members(make: Any) -> None:
    X, y, _ = data()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = make(LogisticRegression(solver="lbfgs", max_iter=1)).fit(X, y)
    assert any("fits of members" in str(each.message) for each in caught)
    assert all(issubclass(each.category, ConvergenceWarning) for each in caught)
    assert not model.evidence_.holds
    assert model.evidence_.status is Status.MAX_ITER
    assert model.evidence_.certificate.name == "relative duality gap"


def test_bad_data() -> None:
    X, y, target = data()
    with pytest.raises(ValueError, match="only one class"):
        VotingClassifier(CLASSIFIERS).fit(X, np.ones(len(y)))
    with pytest.raises(ValueError, match="zero for every row"):
        VotingClassifier(CLASSIFIERS[:2]).fit(X, y, sample_weight=np.zeros(len(y)))
    with pytest.raises(ValueError, match="y contains NaN"):
        VotingRegressor(REGRESSORS).fit(X, np.where(target > 1, np.nan, target))
    with pytest.raises(ValueError, match="X contains NaN"):
        VotingRegressor(REGRESSORS).fit(np.where(X > 1, np.nan, X), target)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        VotingRegressor(REGRESSORS).fit(X[1:], target)


def test_plot() -> None:
    X, y, _ = data()
    ax = VotingClassifier(CLASSIFIERS, weights=[1, 1, 2]).fit(X, y).plot()
    assert sorted(patch.get_width() for patch in ax.patches) == [0.25, 0.25, 0.5]


@parametrize_with_checks(
    [
        VotingClassifier(CLASSIFIERS[:2]),
        VotingRegressor([REGRESSORS[0], REGRESSORS[2]]),
    ]
)
def test_scikit_learn_check(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("voting", ["hard", "soft"])
def test_a_vote_that_is_not_the_sum_of_its_members_is_caught(monkeypatch: pytest.MonkeyPatch, voting: str) -> None:
    from corollary.ensemble.combine import named

    X, y = load_iris(return_X_y=True)
    members = [("linear", LogisticRegression()), ("bayes", GaussianNB())]
    right = VotingClassifier(members, voting=voting, weights=[2, 1]).fit(X, y).evidence_
    assert right.holds
    assert right.certificate.name == "error of the vote counted again"
    assert "nothing is claimed of new rows" in str(right)
    real = named.weighted_sum
    monkeypatch.setattr(named, "weighted_sum", lambda weights, votes: real(weights[::-1], votes))
    with pytest.warns(UserWarning, match="error of the vote counted again"):
        assert not VotingClassifier(members, voting=voting, weights=[2, 1]).fit(X, y).evidence_.holds


class Mute(ClassifierMixin, BaseEstimator):
    def fit(self, X: Any, y: Any) -> Mute:
        return self


@pytest.mark.parametrize("voting", ["hard", "soft"])
def test_of_a_vote_that_cannot_be_counted_nothing_is_claimed(voting: str) -> None:
    X, y, _ = data()
    with pytest.warns(UserWarning, match=r"members that cannot predict 0\.5 > 0 .*Without predict: mute"):
        model = VotingClassifier([("mute", Mute()), ("linear", LogisticRegression())], voting=voting).fit(X, y)
    evidence = model.evidence_
    assert (evidence.holds, evidence.status, evidence.facts) == (False, Status.MUTE, {})
    with pytest.raises(AttributeError, match="predict"):
        model.predict(X)


@pytest.mark.parametrize("polars", [False, True])
def test_pipelines_that_vote_may_be_shown_more_columns_than_they_were_fitted_to(polars: bool) -> None:
    import pandas as pd
    import polars as pl
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import make_pipeline

    from corollary import KNeighborsRegressor, Ridge, VotingRegressor

    X = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 2)), columns=["a", "b"])
    chosen = ColumnTransformer([("both", "passthrough", ["a", "b"])])
    members = [(name, make_pipeline(chosen, model)) for name, model in (("r", Ridge()), ("n", KNeighborsRegressor()))]
    kind = pl.DataFrame if polars else pd.DataFrame
    model = VotingRegressor(members).fit(kind(dict(X)), X["a"])
    more = kind({"b": X["b"], "new": X["a"], "a": X["a"]})
    np.testing.assert_array_equal(model.predict(more), model.predict(kind(dict(X))))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(kind({"a": X["a"], "new": X["a"]}))
