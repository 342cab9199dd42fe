"""Held-out loss of boosting on real data, at the same number of trees and leaves: ours over the best peer's.

Five folds; categorical columns are given as such to everyone. The data lie in ``../shared/data`` beside the repository;
without them there is nothing to check.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import log_loss, root_mean_squared_error
from sklearn.model_selection import KFold, StratifiedKFold

from benchmarks.trees.boosting import LEAVES, ROUNDS
from benchmarks.workload import Check, load

DATA = Path(__file__).resolve().parents[2] / ".." / "shared" / "data"


def _categories(frame: Any) -> Any:
    for name in frame.columns:
        if not pd.api.types.is_numeric_dtype(frame[name]):
            frame[name] = frame[name].astype("category")
    return frame


def _adult() -> tuple[Any, Any]:
    frame = pd.read_csv(DATA / "classification" / "adult_train.csv.gz", na_values="?", skipinitialspace=True)
    return _categories(frame.iloc[:, :-1]), pd.factorize(frame.iloc[:, -1], sort=True)[0]


def _covtype() -> tuple[Any, Any]:
    frame = pd.read_csv(DATA / "classification" / "covtype_sample.csv.gz")
    return frame.drop(columns="Cover_Type"), pd.factorize(frame["Cover_Type"], sort=True)[0]


def _higgs() -> tuple[Any, Any]:
    parts = [
        pd.read_csv(DATA / "classification" / f"higgs_lightgbm.{part}.tsv.gz", sep="\t", header=None)
        for part in ("train", "test")
    ]
    frame = pd.concat(parts, ignore_index=True)
    X = frame.iloc[:, 1:]
    X.columns = [f"x{j}" for j in range(X.shape[1])]
    return X, frame.iloc[:, 0].to_numpy(dtype=int)


def _california() -> tuple[Any, Any]:
    frame = pd.read_csv(DATA / "regression" / "california_housing_ocean.csv.gz")
    return _categories(frame.drop(columns="median_house_value")), frame["median_house_value"].to_numpy(dtype=float)


def _models(kind: str, categorical: list[str]) -> dict[str, Callable[[Any, Any], Any]]:
    """Fitters by name. XGBoost takes categories only when asked; LightGBM reads them from the dtype."""
    return {
        "corollary": lambda X, y: load("corollary", f"GradientBoosting{kind}")(
            n_estimators=ROUNDS, max_leaf_nodes=LEAVES, random_state=0
        ).fit(X, y),
        "LightGBM": lambda X, y: load("lightgbm", f"LGBM{kind}")(
            n_estimators=ROUNDS, num_leaves=LEAVES, verbose=-1
        ).fit(X, y),
        "XGBoost": lambda X, y: load("xgboost", f"XGB{kind}")(
            n_estimators=ROUNDS,
            max_leaves=LEAVES,
            max_depth=0,
            grow_policy="lossguide",
            tree_method="hist",
            learning_rate=0.1,
            enable_categorical=bool(categorical),
        ).fit(X, y),
    }


def losses(read: Callable[[], tuple[Any, Any]], regression: bool, quick: bool = False) -> dict[str, float]:
    """Mean held-out loss over five folds, by library."""
    X, y = read()
    if quick:
        X, y = X.iloc[:3000], y[:3000]
    categorical = [name for name in X.columns if isinstance(X[name].dtype, pd.CategoricalDtype)]
    folds = (KFold if regression else StratifiedKFold)(5, shuffle=True, random_state=0)
    found: dict[str, list[float]] = {}
    for train, test in folds.split(X, y):
        for name, fit in _models("Regressor" if regression else "Classifier", categorical).items():
            model = fit(X.iloc[train], y[train])
            if regression:
                loss = root_mean_squared_error(y[test], model.predict(X.iloc[test]))
            else:
                loss = log_loss(y[test], model.predict_proba(X.iloc[test]), labels=np.unique(y))
            found.setdefault(name, []).append(float(loss))
    return {name: float(np.mean(each)) for name, each in found.items()}


def _relative(read: Callable[[], tuple[Any, Any]], regression: bool, quick: bool) -> Iterator[tuple[str, float]]:
    found = losses(read, regression, quick)
    best = min(value for name, value in found.items() if name != "corollary")
    for name, value in found.items():
        yield name, value / best


_SETS = {
    "adult": (_adult, False, "classification/adult_train.csv.gz", "log-loss on adult"),
    "covtype": (_covtype, False, "classification/covtype_sample.csv.gz", "log-loss on the covtype sample"),
    "higgs": (_higgs, False, "classification/higgs_lightgbm.train.tsv.gz", "log-loss on the Higgs sample"),
    "california": (_california, True, "regression/california_housing_ocean.csv.gz", "RMSE on California housing"),
}

CHECKS = tuple(
    Check(
        f"boosting-quality-{name}",
        f"{title}, over the best peer's (100 trees of 31 leaves, 5 folds)",
        "×",
        1.005,
        False,
        functools.partial(_relative, read, regression),
    )
    for name, (read, regression, file, title) in _SETS.items()
    if (DATA / file).exists()
)
