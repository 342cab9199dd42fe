"""Prediction with a fitted booster: many rows at once, and one row at a time.

The fit happens before the clock starts: a candidate keeps its model beside the data.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.trees.boosting import binary, peers
from benchmarks.workload import Candidate, Check, Data, Quality, Workload

_models: dict[tuple[str, int, int], Any] = {}


def _predicting(candidate: Candidate) -> Candidate:
    def predict(data: Data, tolerance: float) -> Any:
        key = (candidate.name, *data.X.shape)
        if key not in _models:
            _models[key] = candidate.fit(data, tolerance)
        return _models[key].predict_proba(data.X)

    return Candidate(candidate.name, candidate.package, predict)


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
        candidates=tuple(_predicting(candidate) for candidate in peers("Classifier")),
        quality=Quality("training log-loss", _loss, 0.01),
        bar=1.5,
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
