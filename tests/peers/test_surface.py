"""Whatever scikit-learn's class of the same name has, ours has: parameters, methods, attributes of the same shape."""

from __future__ import annotations

import inspect
import warnings
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, is_classifier, is_regressor

import corollary
from corollary.patch import MODULES, replaceable
from corollary.registry import ESTIMATORS

PAIRS = [name for family in MODULES for names in replaceable(family).values() for name in names if name in ESTIMATORS]

# what both are fitted with where the defaults do not fit without arguments, or would leave attributes unset
MEMBERS = "VotingClassifier VotingRegressor StackingClassifier StackingRegressor"
ARGUMENTS: dict[str, dict[str, Any]] = {
    "RandomForestClassifier": {"n_estimators": 30, "oob_score": True, "random_state": 0},
    "RandomForestRegressor": {"n_estimators": 30, "oob_score": True, "random_state": 0},
    "ExtraTreesClassifier": {"n_estimators": 30, "oob_score": True, "bootstrap": True, "random_state": 0},
    "ExtraTreesRegressor": {"n_estimators": 30, "oob_score": True, "bootstrap": True, "random_state": 0},
    "BaggingClassifier": {"n_estimators": 30, "oob_score": True, "random_state": 0},
    "BaggingRegressor": {"n_estimators": 30, "oob_score": True, "random_state": 0},
    "GradientBoostingClassifier": {"n_estimators": 5, "subsample": 0.5, "random_state": 0},
    "GradientBoostingRegressor": {"n_estimators": 5, "subsample": 0.5, "random_state": 0},
    "RidgeCV": {"store_cv_results": True},
    "AgglomerativeClustering": {"compute_distances": True},
    "GaussianMixture": {"n_components": 2, "random_state": 0},
    "KMeans": {"n_clusters": 3, "n_init": 1, "random_state": 0},
    "MiniBatchKMeans": {"n_clusters": 3, "n_init": 1, "random_state": 0},
    "SpectralClustering": {"n_clusters": 3, "random_state": 0},
}

AS_LONG_AS_THE_FIT = {"lower_bounds_"}  # one entry an iteration

# what is not there yet, to be emptied; a family that has all of it needs no line
_FOREST = (
    "attribute estimator_, attribute estimators_, attribute estimators_samples_, method decision_path, "
    "parameter verbose"
)
_BOOSTING = (
    "attribute estimators_, attribute init_, attribute max_features_, attribute n_estimators_, attribute train_score_, "
    "attribute n_trees_per_iteration_, attribute oob_improvement_, attribute oob_score_, attribute oob_scores_, "
    "parameter ccp_alpha, parameter criterion, parameter init, parameter min_impurity_decrease, parameter verbose, "
    "parameter min_samples_split, parameter min_weight_fraction_leaf"
)
MISSING = {
    "Ridge": "attribute n_iter_ is number; not NoneType",
    "DecisionTreeClassifier": "attribute tree_",
    "DecisionTreeRegressor": "attribute tree_",
    "RandomForestClassifier": _FOREST,
    "RandomForestRegressor": _FOREST,
    "ExtraTreesClassifier": _FOREST,
    "ExtraTreesRegressor": _FOREST,
    "BaggingClassifier": "parameter verbose",
    "BaggingRegressor": "parameter verbose",
    "GradientBoostingClassifier": f"{_BOOSTING}, attribute n_classes_",
    "GradientBoostingRegressor": _BOOSTING,
    "VotingClassifier": "attribute le_, parameter verbose",
    "VotingRegressor": "parameter verbose",
    "StackingClassifier": "parameter verbose",
    "StackingRegressor": "parameter verbose",
    "KMeans": "parameter copy_x, parameter verbose",
    "MiniBatchKMeans": "parameter verbose",
    "SpectralClustering": "parameter verbose",
    "GaussianMixture": "parameter verbose, parameter verbose_interval",
}


def fitted(cls: type[Any]) -> Any:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4)) + np.arange(4)
    arguments = dict(ARGUMENTS.get(cls.__name__, {}))
    if cls.__name__ in MEMBERS.split():
        from sklearn.linear_model import LogisticRegression, Ridge

        one = LogisticRegression() if "Classifier" in cls.__name__ else Ridge()
        arguments["estimators"] = [("one", one), ("two", one)]
    model = cls(**arguments)
    signal = X @ np.array([1.0, -1.0, 0.5, 0.0]) + rng.normal(size=80)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if is_classifier(model):
            return model.fit(X, np.digitize(signal, [0.0, 1.5]))
        return model.fit(X, signal) if is_regressor(model) else model.fit(X)


def kind(value: Any) -> str:
    """What a value is, and its shape."""
    if isinstance(value, BaseEstimator):
        return "estimator"
    if isinstance(value, (str, dict)) or value is None:
        return type(value).__name__
    if isinstance(value, (bool, np.bool_)):
        return "truth value"
    if np.ndim(value) == 0 and isinstance(value, (int, float, np.number)):
        return "number"
    if isinstance(value, np.ndarray) or sparse.issparse(value):
        return f"array of shape {value.shape}"
    if isinstance(value, (list, tuple)):
        return f"sequence of {len(value)}"
    return "object"


def attributes(model: Any) -> dict[str, str]:
    """Public fitted attributes, properties included."""
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in dir(model):
            if name.endswith("_") and not name.startswith("_"):
                try:
                    found[name] = kind(getattr(model, name))
                except AttributeError:
                    continue  # a property that these parameters do not have
    return found


def methods(model: Any) -> set[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        names = [name for name in dir(model) if not name.startswith("_") and not name.endswith("_")]
        return {name for name in names if inspect.ismethod(getattr(model, name, None))}


def lacking(name: str) -> set[str]:
    """What our class of this name lacks, in words."""
    place = next(place for family in MODULES for place, names in replaceable(family).items() if name in names)
    theirs, ours = getattr(import_module(place), name), getattr(corollary, name)
    lacks = {
        f"parameter {each}" for each in inspect.signature(theirs).parameters.keys() - inspect.signature(ours).parameters
    }
    a, b = fitted(theirs), fitted(ours)
    lacks |= {f"method {each}" for each in methods(a) - methods(b)}
    known = attributes(b)
    for attribute, what in attributes(a).items():
        if attribute not in known:
            lacks.add(f"attribute {attribute}")
        elif known[attribute] != what and attribute not in AS_LONG_AS_THE_FIT:
            lacks.add(f"attribute {attribute} is {known[attribute]}, not {what}".replace(",", ";"))
    return lacks


@pytest.mark.parametrize("name", PAIRS)
def test_everything_of_scikit_learns_class_is_there(name: str) -> None:
    try:
        lacks = lacking(name)
    except (TypeError, ValueError) as error:
        lacks = {f"fit: {error}"}
    allowed = set(MISSING.get(name, "").split(", "))
    if lacks & allowed:
        print(f"{name} still lacks", *sorted(lacks & allowed), sep="\n  ")
    assert sorted(lacks - allowed) == []
