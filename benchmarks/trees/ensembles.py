"""Forests, one exact tree and AdaBoost, at scikit-learn's settings."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.trees.boosting import binary, estimator
from benchmarks.workload import OURS, Candidate, Data, Quality, Workload


def error(data: Data, fit: Any) -> float:
    return float(np.mean(fit.predict(data.settings["X_test"]) != data.settings["y_test"]))


def training_error(data: Data, fit: Any) -> float:
    """A tree grown to the end must make none; one is added so that ratios make sense."""
    return 1.0 + float(np.mean(fit.predict(data.X) != data.y))


def _forest(module: str) -> Any:
    return estimator(module, "RandomForestClassifier", n_estimators=100, n_jobs=-1, random_state=0)


WORKLOADS = (
    Workload(
        "random-forest",
        "Random forest, 100 trees grown to the end, √d columns a node",
        binary,
        sizes=(200_000, 28),
        quick_sizes=(2_000, 8),
        candidates=(
            Candidate(OURS, OURS, _forest(OURS)),
            Candidate("scikit-learn", "sklearn", _forest("sklearn.ensemble")),
            Candidate("scikit-learn-intelex", "sklearnex", _forest("sklearnex.ensemble")),
        ),
        quality=Quality("held-out error", error, 0.02),
    ),
    Workload(
        "exact-tree",
        "One exact tree grown to the end",
        binary,
        sizes=(200_000, 30),
        quick_sizes=(2_000, 8),
        candidates=(
            Candidate(OURS, OURS, estimator(OURS, "DecisionTreeClassifier", random_state=0)),
            Candidate("scikit-learn", "sklearn", estimator("sklearn.tree", "DecisionTreeClassifier", random_state=0)),
        ),
        quality=Quality("1 + training error", training_error, 1e-9),
        bar=1.5,
    ),
    Workload(
        "adaboost",
        "AdaBoost, 200 stumps",
        binary,
        sizes=(50_000, 50),
        quick_sizes=(2_000, 8),
        candidates=(
            Candidate(OURS, OURS, estimator(OURS, "AdaBoostClassifier", n_estimators=200, random_state=0)),
            Candidate(
                "scikit-learn",
                "sklearn",
                estimator("sklearn.ensemble", "AdaBoostClassifier", n_estimators=200, random_state=0),
            ),
        ),
        quality=Quality("held-out error", error, 0.02),
        bar=30.0,
    ),
)
