"""Gradient boosting: 100 rounds of trees of 31 leaves, learning rate 0.1, 255 bins, binning included in the time.

Everyone gets the same rows and the same settings; what is left at the default (rows per leaf 20, or its nearest
equivalent) is written beside each candidate. The answers are compared by their loss on rows that nobody has seen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import expit

from benchmarks.workload import OURS, Candidate, Data, Quality, Workload, load

ROUNDS, LEAVES = 100, 31


def _features(rng: np.random.Generator, n: int, d: int) -> Any:
    """Half the columns normal, a quarter skewed, a quarter of few distinct values, as tables have them."""
    X = rng.standard_normal((n, d))
    X[:, d // 2 : 3 * d // 4] = np.exp(X[:, d // 2 : 3 * d // 4])
    X[:, 3 * d // 4 :] = np.round(2 * X[:, 3 * d // 4 :])
    return X


def _signal(X: Any, rng: np.random.Generator) -> Any:
    """Products, steps and waves of some of the columns."""
    a, b, c, e = (rng.permutation(X.shape[1])[:4] for _ in range(4))
    return (
        X[:, a[0]] * X[:, a[1]]
        + np.sin(2 * X[:, b[0]])
        + (X[:, c[0]] > 0.5) * X[:, c[1]]
        + 0.5 * X[:, e].sum(axis=1)
        + 0.3 * X[:, b[1]] ** 2
    )


def _split(X: Any, y: Any, n: int) -> Data:
    return Data(np.ascontiguousarray(X[:n]), y[:n], {"X_test": X[n:], "y_test": y[n:]})


def binary(n: int, d: int) -> Data:
    rng = np.random.default_rng(0)
    X = _features(rng, n + n // 5, d)
    z = _signal(X, rng)
    y = (rng.random(len(z)) < expit(z - np.median(z))).astype(np.int64)
    return _split(X, y, n)


def regression(n: int, d: int) -> Data:
    """Neither long tails, where a few rows decide who is best, nor products without main effects, found by luck."""
    rng = np.random.default_rng(0)
    X = _features(rng, n + n // 5, d)
    z = 2 * np.arcsinh(_signal(X + 1.0, rng))
    return _split(X, z + rng.standard_normal(len(z)), n)


def classes(n: int, d: int) -> Data:
    """Seven classes."""
    rng = np.random.default_rng(0)
    X = _features(rng, n + n // 5, d)
    scores = np.column_stack([_signal(X, rng) for _ in range(7)])
    return _split(X, np.argmax(scores + rng.gumbel(size=scores.shape), axis=1), n)


def log_loss(data: Data, fit: Any) -> float:
    probabilities = np.clip(fit.predict_proba(data.settings["X_test"]), 1e-15, 1.0)
    return float(-np.log(probabilities[np.arange(len(probabilities)), data.settings["y_test"]]).mean())


def squared_error(data: Data, fit: Any) -> float:
    return float(np.sqrt(np.mean((fit.predict(data.settings["X_test"]) - data.settings["y_test"]) ** 2)))


def estimator(module: str, name: str, **arguments: Any) -> Callable[[Data, float], Any]:
    def fit(data: Data, tolerance: float) -> Any:
        return load(module, name)(**arguments).fit(data.X, data.y)

    return fit


def peers(kind: str) -> tuple[Candidate, ...]:
    """Ours and the four libraries that people boost with; ``kind`` is "Classifier" or "Regressor"."""
    return (
        Candidate(OURS, OURS, estimator(OURS, f"GradientBoosting{kind}", n_estimators=ROUNDS, max_leaf_nodes=LEAVES)),
        Candidate(
            "LightGBM",
            "lightgbm",
            estimator("lightgbm", f"LGBM{kind}", n_estimators=ROUNDS, num_leaves=LEAVES, verbose=-1, n_jobs=-1),
        ),
        Candidate(
            "XGBoost",
            "xgboost",
            estimator(
                "xgboost",
                f"XGB{kind}",
                n_estimators=ROUNDS,
                max_leaves=LEAVES,
                max_depth=0,
                grow_policy="lossguide",
                tree_method="hist",
                max_bin=255,
                learning_rate=0.1,
                n_jobs=-1,
            ),
        ),
        Candidate(
            "scikit-learn Hist",
            "sklearn",
            estimator(
                "sklearn.ensemble",
                f"HistGradientBoosting{kind}",
                max_iter=ROUNDS,
                max_leaf_nodes=LEAVES,
                early_stopping=False,
            ),
        ),
        Candidate(
            "CatBoost",
            "catboost",
            estimator(
                "catboost",
                f"CatBoost{kind}",
                iterations=ROUNDS,
                max_leaves=LEAVES,
                grow_policy="Lossguide",
                learning_rate=0.1,
                border_count=254,
                min_data_in_leaf=20,
                verbose=False,
                allow_writing_files=False,
            ),
        ),
    )


WORKLOADS = (
    Workload(
        "boosting-binary",
        "Gradient boosting, two classes, 100 trees of 31 leaves",
        binary,
        sizes=(500_000, 28),
        quick_sizes=(3_000, 8),
        candidates=peers("Classifier"),
        quality=Quality("held-out log-loss", log_loss, 0.005),
    ),
    Workload(
        "boosting-regression",
        "Gradient boosting, regression, 100 trees of 31 leaves",
        regression,
        sizes=(200_000, 50),
        quick_sizes=(3_000, 8),
        candidates=peers("Regressor"),
        quality=Quality("held-out root mean squared error", squared_error, 0.005),
    ),
    Workload(
        "boosting-7-classes",
        "Gradient boosting, seven classes, 100 rounds of 31 leaves",
        classes,
        sizes=(100_000, 54),
        quick_sizes=(2_000, 8),
        candidates=peers("Classifier"),
        quality=Quality("held-out log-loss", log_loss, 0.005),
    ),
)
