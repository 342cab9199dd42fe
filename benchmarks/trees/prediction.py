"""Prediction with fitted boosters and forests: many rows at once, one row at a time, and Shapley values of some.

The fit happens before the clock starts: a candidate keeps its model beside the data.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.trees.boosting import binary, estimator, peers
from benchmarks.workload import OURS, Candidate, Check, Data, Quality, Workload, load

_models: dict[tuple[str, int, int], Any] = {}


def _predicting(candidate: Candidate) -> Candidate:
    def predict(data: Data, tolerance: float) -> Any:
        key = (candidate.name, *data.X.shape)
        if key not in _models:
            _models[key] = candidate.fit(data, tolerance)
        return _models[key].predict_proba(data.X)

    return Candidate(candidate.name, candidate.package, predict)


def _converted(data: Data, tolerance: float) -> Any:
    """LightGBM's trees, walked by oneDAL."""
    gbm = next(candidate for candidate in peers("Classifier") if candidate.package == "lightgbm")
    return load("daal4py", "mb").convert_model(gbm.fit(data, tolerance).booster_)


def _forest(module: str) -> Any:
    return estimator(module, "RandomForestClassifier", n_estimators=100, n_jobs=-1, random_state=0)


def _explaining(name: str, package: str, explain: Any) -> Candidate:
    """A candidate that gives (sums of Shapley values and base, raw predictions) of all rows."""
    fit = next(candidate.fit for candidate in peers("Classifier") if candidate.package == package)

    def run(data: Data, tolerance: float) -> Any:
        key = (name, *data.X.shape)
        if key not in _models:
            _models[key] = fit(data, tolerance)
        return explain(_models[key], data.X)

    return Candidate(name, package, run)


def _ours(model: Any, X: Any) -> Any:
    return load("corollary.tree.shap", "shap_values")(model, X).predictions, model.decision_function(X)


def _lightgbm(model: Any, X: Any) -> Any:
    return model.predict(X, pred_contrib=True).sum(axis=1), model.predict(X, raw_score=True)


def _xgboost(model: Any, X: Any) -> Any:
    rows, booster = load("xgboost", "DMatrix")(X), model.get_booster()
    return booster.predict(rows, pred_contribs=True).sum(axis=1), booster.predict(rows, output_margin=True)


def _off(data: Data, answer: Any) -> float:
    sums, raw = answer
    return float(np.abs(sums - raw).max() / np.abs(raw).max())


def _loss(data: Data, probabilities: Any) -> float:
    chosen = np.clip(probabilities, 1e-15, 1.0)[np.arange(len(data.y)), data.y]
    return float(-np.log(chosen).mean())


def _latency(quick: bool) -> Iterator[tuple[str, float]]:
    """Median microseconds of predict_proba on one row, for each candidate."""
    data = binary(2_000 if quick else 50_000, 28)
    row = data.X[:1].copy()
    for candidate in peers("Classifier"):
        if not candidate.installed:
            continue
        model = candidate.fit(data, 0.0)
        times = []
        for _ in range(200):
            began = time.perf_counter()
            model.predict_proba(row)
            times.append(time.perf_counter() - began)
        yield candidate.name, 1e6 * float(np.median(times))


WORKLOADS = (
    Workload(
        "boosting-predict",
        "Class probabilities from 100 trees of 31 leaves",
        binary,
        sizes=(500_000, 28),
        quick_sizes=(3_000, 8),
        candidates=tuple(
            _predicting(candidate) for candidate in (*peers("Classifier"), Candidate("oneDAL", "daal4py", _converted))
        ),
        quality=Quality("training log-loss", _loss, 0.01),
        bar=1.5,
    ),
    Workload(
        "forest-predict",
        "Class probabilities from a forest of 100 trees grown to the end",
        binary,
        sizes=(50_000, 28),
        quick_sizes=(2_000, 8),
        candidates=tuple(
            _predicting(Candidate(name, package, _forest(module)))
            for name, package, module in (
                (OURS, OURS, OURS),
                ("scikit-learn", "sklearn", "sklearn.ensemble"),
                ("scikit-learn-intelex", "sklearnex", "sklearnex.ensemble"),
            )
        ),
        quality=Quality("1 + training log-loss", lambda data, answer: 1.0 + _loss(data, answer), 0.05),
    ),
    Workload(
        "boosting-shap",
        "Shapley values of 100 trees of 31 leaves",
        binary,
        sizes=(5_000, 28),
        quick_sizes=(500, 8),
        candidates=(
            _explaining(OURS, OURS, _ours),
            _explaining("LightGBM", "lightgbm", _lightgbm),
            _explaining("XGBoost", "xgboost", _xgboost),
        ),
        quality=Quality("distance of the sums from the predictions", _off, 1e-4, absolute=True),
    ),
)

CHECKS = (
    Check(
        "boosting-latency",
        "Class probabilities of one row from 100 trees of 31 leaves",
        "µs",
        50.0,
        False,
        _latency,
    ),
)
