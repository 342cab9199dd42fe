"""Estimators inside scikit-learn's own: what it composes of ours is what it would be by hand."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from instances import CASES, FIRST, Case, assert_close, assert_same, every, outputs
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import get_scorer
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    KFold,
    TunedThresholdClassifierCV,
    cross_validate,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.utils.validation import has_fit_parameter

import corollary


def standardised(X: Any) -> Any:
    return (X - X.mean(axis=0)) / X.std(axis=0)


@every([case for case in CASES if not case.tags.input_tags.positive_only])  # scaled counts are none
def test_in_a_pipeline(case: Case) -> None:
    X, y = case.data()
    pipeline = make_pipeline(StandardScaler(), case.make()).fit(X, y)
    direct = case.make().fit(standardised(X), y)
    assert_close(outputs(pipeline, X), outputs(direct, standardised(X)), rtol=1e-5, atol=1e-5)
    assert pipeline[-1].evidence_.holds


@every([case for case in FIRST if case.weighted and not case.tags.input_tags.positive_only])
def test_weights_are_routed(case: Case) -> None:
    X, y = case.data()
    weights = np.random.default_rng(6).integers(0, 3, len(y)).astype(float)
    direct = case.make().fit(standardised(X), y, sample_weight=weights)
    with sklearn.config_context(enable_metadata_routing=True):
        model = case.make().set_fit_request(sample_weight=True)
        if case.name == "LogisticRegressionCV":  # whose scorer decides, as in scikit-learn
            model.scoring = get_scorer(model.scoring).set_score_request(sample_weight=True)
        else:
            model.set_score_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipeline = make_pipeline(scaler, model).fit(X, y, sample_weight=weights)
        score = pipeline.score(X, y, sample_weight=weights)
    assert_close(outputs(pipeline, X), outputs(direct, standardised(X)), rtol=1e-5, atol=1e-5)
    assert np.isclose(score, direct.score(standardised(X), y, sample_weight=weights))


@every(FIRST)
def test_parameters_can_be_searched(case: Case) -> None:
    X, y = case.data()
    model = case.make()
    name, values = ("fit_intercept", [True, False]) if case.linear else ("random_state", [0, 1])
    grid = {name: values} if name in model.get_params() else {"n_jobs": [None, 1]}
    search = GridSearchCV(model, grid, cv=2).fit(X, y)
    assert search.best_estimator_.evidence_.holds
    assert clone(search).get_params()["estimator"].get_params().keys() == model.get_params().keys()


def test_transformers_give_the_container_they_are_asked_for() -> None:
    for case in FIRST:
        model = case.make()
        if hasattr(model, "transform"):
            X, y = case.data()
            frame = model.set_output(transform="pandas").fit(pd.DataFrame(X), y).transform(pd.DataFrame(X))
            assert isinstance(frame, pd.DataFrame)
            assert list(frame.columns) == list(model.get_feature_names_out())


# one estimator of each family, small enough to be fitted many times
CLASSIFIERS: dict[str, tuple[Any, dict[str, list[Any]]]] = {
    "linear": (corollary.LogisticRegression(), {"C": [0.1, 1.0]}),
    "tree": (corollary.DecisionTreeClassifier(max_depth=3), {"max_depth": [2, 3]}),
    "forest": (corollary.RandomForestClassifier(5, random_state=0), {"max_depth": [2, 3]}),
    "boosting": (corollary.GradientBoostingClassifier(n_estimators=4), {"learning_rate": [0.1, 0.3]}),
    "combining": (corollary.BaggingClassifier(n_estimators=3, random_state=0), {"n_estimators": [2, 3]}),
    "neighbors": (corollary.KNeighborsClassifier(), {"n_neighbors": [3, 5]}),
}
REGRESSORS: dict[str, tuple[Any, dict[str, list[Any]]]] = {
    "linear": (corollary.Ridge(), {"alpha": [0.1, 1.0]}),
    "tree": (corollary.DecisionTreeRegressor(max_depth=3), {"max_depth": [2, 3]}),
    "forest": (corollary.RandomForestRegressor(5, random_state=0), {"max_depth": [2, 3]}),
    "boosting": (corollary.GradientBoostingRegressor(n_estimators=4), {"learning_rate": [0.1, 0.3]}),
    "combining": (corollary.BaggingRegressor(n_estimators=3, random_state=0), {"n_estimators": [2, 3]}),
    "neighbors": (corollary.KNeighborsRegressor(), {"n_neighbors": [3, 5]}),
}
WITHOUT_TARGET: dict[str, tuple[Any, dict[str, list[Any]]]] = {
    "cluster": (corollary.KMeans(3, n_init=1, random_state=0), {"n_clusters": [2, 3]}),
    "mixture": (corollary.GaussianMixture(2, random_state=0), {"n_components": [1, 2]}),
    "decomposition": (corollary.PCA(2), {"n_components": [1, 2]}),
}
X = np.random.default_rng(0).normal(size=(90, 4)) + np.arange(4)
SIGNAL = X @ np.array([1.0, -2.0, 0.5, 0.0]) + np.random.default_rng(1).normal(size=90)
CLASSES = np.digitize(SIGNAL, np.quantile(SIGNAL, [1 / 3, 2 / 3]))
TWO = (np.median(SIGNAL) < SIGNAL).astype(int)

SUPERVISED = [
    pytest.param(model, grid, TWO if kind is CLASSIFIERS else SIGNAL, id=type(model).__name__)
    for kind in (CLASSIFIERS, REGRESSORS)
    for model, grid in kind.values()
]
EVERYTHING = [
    *SUPERVISED,
    *(pytest.param(model, grid, None, id=type(model).__name__) for model, grid in WITHOUT_TARGET.values()),
]
each_classifier = pytest.mark.parametrize("model", [model for model, _ in CLASSIFIERS.values()], ids=list(CLASSIFIERS))
each_regressor = pytest.mark.parametrize("model", [model for model, _ in REGRESSORS.values()], ids=list(REGRESSORS))
each_supervised = pytest.mark.parametrize(("model", "grid", "y"), SUPERVISED)
each_of_all = pytest.mark.parametrize(("model", "grid", "y"), EVERYTHING)


def fresh(model: Any, X: Any, y: Any) -> Any:
    """A clone, fitted to these rows by itself: what a composition must agree with."""
    return clone(model).fit(X, y)


@each_of_all
def test_column_transformer(model: Any, grid: Any, y: Any) -> None:
    frame = pd.DataFrame(X, columns=list("abcd")).assign(e=np.array(["u", "v", "w"] * 30))
    columns = ColumnTransformer([("numbers", StandardScaler(), list("abcd")), ("words", OneHotEncoder(), ["e"])])
    if hasattr(model, "transform"):  # inside as well as after
        columns = ColumnTransformer([("ours", clone(model), list("abcd")), ("words", OneHotEncoder(), ["e"])])
    pipeline = make_pipeline(columns, clone(model)).fit(frame, y)
    direct = fresh(model, clone(columns).fit_transform(frame), y)
    assert_close(outputs(pipeline, frame), outputs(direct, columns.transform(frame)), rtol=1e-6)


@each_of_all
@pytest.mark.parametrize("search", [GridSearchCV, HalvingGridSearchCV])
def test_searches(search: Any, model: Any, grid: Any, y: Any) -> None:
    found = search(clone(model), grid, cv=2).fit(X, y)
    assert np.isfinite(found.cv_results_["mean_test_score"]).all()
    assert_close(outputs(found, X), outputs(fresh(found.best_estimator_, X, y), X), rtol=1e-6)


@each_supervised
def test_cross_validate_returns_the_models(model: Any, grid: Any, y: Any) -> None:
    folds = list(KFold(3).split(X))
    found = cross_validate(model, X, y, cv=folds, return_estimator=True)
    for (train, test), each, score in zip(folds, found["estimator"], found["test_score"], strict=True):
        assert each.evidence_.holds
        assert score == pytest.approx(fresh(model, X[train], y[train]).score(X[test], y[test]))


@each_classifier
def test_calibration(model: Any) -> None:
    calibrated = CalibratedClassifierCV(model, cv=2).fit(X, CLASSES)
    np.testing.assert_allclose(calibrated.predict_proba(X).sum(axis=1), 1.0)
    prefit = CalibratedClassifierCV(FrozenEstimator(fresh(model, X, CLASSES))).fit(X, CLASSES)
    assert prefit.score(X, CLASSES) > 0.4


@each_classifier
def test_one_versus_rest(model: Any) -> None:
    several = OneVsRestClassifier(model).fit(X, CLASSES)
    own = [fresh(model, X, (k == CLASSES).astype(int)).predict_proba(X)[:, 1] for k in range(3)]
    total = np.sum(own, axis=0)[:, None]
    np.testing.assert_allclose(several.predict_proba(X) * total, np.stack(own, axis=1), atol=1e-12)


@each_classifier
def test_chains_of_classifiers(model: Any) -> None:
    both = np.stack([TWO, CLASSES > 0], axis=1).astype(int)
    chain = ClassifierChain(model).fit(X, both)
    first = fresh(model, X, TWO)
    second = fresh(model, np.column_stack([X, TWO]), both[:, 1])
    np.testing.assert_array_equal(chain.predict(X)[:, 0], first.predict(X))
    np.testing.assert_array_equal(chain.predict(X)[:, 1], second.predict(np.column_stack([X, first.predict(X)])))


@each_classifier
def test_self_training(model: Any) -> None:
    partly = np.where(np.arange(90) % 3 == 0, -1, TWO)
    trained = SelfTrainingClassifier(clone(model), threshold=0.6).fit(X, partly)
    known = trained.labeled_iter_ >= 0
    assert known.sum() >= (partly >= 0).sum()
    final = fresh(model, X[known], trained.transduction_[known])
    np.testing.assert_allclose(trained.predict_proba(X), final.predict_proba(X), atol=1e-12)


@each_classifier
def test_tuned_thresholds(model: Any) -> None:
    tuned = TunedThresholdClassifierCV(clone(model), cv=2, scoring="balanced_accuracy").fit(X, TWO)
    chances = fresh(model, X, TWO).predict_proba(X)[:, 1]
    np.testing.assert_array_equal(tuned.predict(X), (chances >= tuned.best_threshold_).astype(int))


@each_regressor
def test_several_targets(model: Any) -> None:
    both = np.stack([SIGNAL, np.abs(SIGNAL)], axis=1)
    several = MultiOutputRegressor(model).fit(X, both)
    for k in range(2):
        np.testing.assert_array_equal(several.predict(X)[:, k], fresh(model, X, both[:, k]).predict(X))


@each_regressor
def test_transformed_targets(model: Any) -> None:
    positive = np.exp(SIGNAL / 4)
    transformed = TransformedTargetRegressor(model, func=np.log, inverse_func=np.exp).fit(X, positive)
    np.testing.assert_allclose(transformed.predict(X), np.exp(fresh(model, X, np.log(positive)).predict(X)))


@each_of_all
def test_frozen(model: Any, grid: Any, y: Any) -> None:
    known = fresh(model, X, y)
    frozen = clone(FrozenEstimator(known)).fit(X[:5], None if y is None else y[:5])
    assert_same(outputs(frozen, X), outputs(known, X))
    assert frozen.estimator is known


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("name", ["cluster", "decomposition"])
def test_output_containers(name: str, library: str) -> None:
    module = pytest.importorskip(library)
    model = clone(WITHOUT_TARGET[name][0]).set_output(transform=library)
    table = module.DataFrame({column: X[:, k] for k, column in enumerate("abcd")})
    out = model.fit(table).transform(table)
    assert type(out) is module.DataFrame
    assert list(out.columns) == list(model.get_feature_names_out())
    plain = fresh(WITHOUT_TARGET[name][0], X, None).transform(X)
    np.testing.assert_allclose(out.to_numpy(), plain, rtol=1e-12)  # tables keep columns together, arrays rows
    assert list(model.feature_names_in_) == list("abcd")


@each_of_all
def test_pickles_and_memory_maps(model: Any, grid: Any, y: Any, tmp_path: Path) -> None:
    """What joblib's processes do: a model goes there and back, and rows are mapped from disk, read-only."""
    known = fresh(model, X, y)
    joblib.dump(known, tmp_path / "model")
    joblib.dump(X, tmp_path / "rows")
    mapped, rows = joblib.load(tmp_path / "model", mmap_mode="r"), joblib.load(tmp_path / "rows", mmap_mode="r")
    assert isinstance(rows, np.memmap)
    for again in (pickle.loads(pickle.dumps(known)), mapped, fresh(model, rows, y)):
        assert_same(outputs(again, rows), outputs(known, X))
    assert str(mapped.evidence_) == str(known.evidence_)
    fresh(mapped, X, y)
    mapped.fit(rows, y)  # a model of read-only arrays can learn anew
    assert_same(outputs(mapped, X), outputs(known, X))


@each_supervised
def test_weights_reach_every_fit_of_a_search(model: Any, grid: Any, y: Any) -> None:
    """Rows of weight zero are not there, however deep the fit is that they are routed to."""
    if not has_fit_parameter(model, "sample_weight"):
        assert "Neighbors" in type(model).__name__  # which take none in scikit-learn either
        return
    kept = np.arange(90) % 2 == 0
    wrong = np.where(kept, y, y[::-1])
    with sklearn.config_context(enable_metadata_routing=True):
        weighted = clone(model).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        folds = [(np.arange(0, 60), np.arange(60, 90))]
        search = GridSearchCV(weighted, grid, cv=folds, refit=False).fit(X, wrong, sample_weight=kept.astype(float))
    if "random_state" in model.get_params():
        return  # rows are drawn by their number
    train, test = (rows[kept[rows]] for rows in folds[0])
    for parameters, score in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True):
        direct = clone(model).set_params(**parameters).fit(X[train], y[train])
        assert score == pytest.approx(direct.score(X[test], y[test]), rel=1e-6)
