"""Estimators inside scikit-learn's own: pipelines, metadata routing, output containers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import sklearn
from instances import CASES, FIRST, Case, assert_close, every, outputs
from sklearn.base import clone
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler


def standardised(X: Any) -> Any:
    return (X - X.mean(axis=0)) / X.std(axis=0)


@every(CASES)
def test_in_a_pipeline(case: Case) -> None:
    X, y = case.data()
    pipeline = make_pipeline(StandardScaler(), case.make()).fit(X, y)
    direct = case.make().fit(standardised(X), y)
    assert_close(outputs(pipeline, X), outputs(direct, standardised(X)), rtol=1e-5, atol=1e-5)
    assert pipeline[-1].evidence_.holds


@every([case for case in FIRST if case.weighted])
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
