"""Whatever scikit-learn's class of the same name has, ours has: parameters, methods, attributes of the same shape."""

from __future__ import annotations

import inspect
import warnings
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import BaseEstimator, is_classifier, is_regressor
from sklearn.utils import get_tags

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
TELLS_MORE = {("Ridge", "n_iter_")}  # None in scikit-learn where nothing iterates; its own checks want a number

NUMPYS = " of NumPy's"  # numbers that have ``round()`` and ``dtype``; where scikit-learn's do not, ours may


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
        if get_tags(model).input_tags.positive_only:
            X = np.floor(np.abs(X))  # counts
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
    if isinstance(value, (list, tuple)):
        return f"sequence of {len(value)}"
    if np.ndim(value) == 0 and isinstance(value, (int, float, np.number)):
        return f"number{NUMPYS}" if isinstance(value, np.number) else "number"
    if isinstance(value, np.ndarray) or sparse.issparse(value):
        return f"array of shape {value.shape}"
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
        elif (
            what not in (known[attribute], known[attribute].removesuffix(NUMPYS))
            and attribute not in AS_LONG_AS_THE_FIT
            and (name, attribute) not in TELLS_MORE
        ):
            lacks.add(f"attribute {attribute} is {known[attribute]}, not {what}".replace(",", ";"))
    return lacks


@pytest.mark.parametrize("name", PAIRS)
def test_everything_of_scikit_learns_class_is_there(name: str) -> None:
    try:
        lacks = lacking(name)
    except (TypeError, ValueError) as error:
        lacks = {f"fit: {error}"}
    assert sorted(lacks) == []


def shaped(value: Any) -> tuple[type[Any], tuple[int, ...], Any]:
    return type(value), value.shape, value.dtype


def test_types_and_shapes_that_methods_return() -> None:
    from sklearn import ensemble, linear_model, tree

    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = (X[:, 0] + 0.1 * rng.normal(size=60) > 0).astype(int)
    for place in (ensemble, corollary):
        boosted = place.GradientBoostingClassifier(n_estimators=2, random_state=0).fit(X, y)
        assert [stage.shape for stage in boosted.staged_decision_function(X)] == [(60, 1)] * 2
        paths, starts = place.RandomForestClassifier(2, random_state=0).fit(X, y).decision_path(X)
        assert (type(paths), paths.dtype, starts.dtype) == (sparse.csr_matrix, np.int64, np.int64)
    stages = list(boosted.staged_decision_function(X))
    np.testing.assert_array_equal(stages[-1][:, 0], boosted.decision_function(X))
    for place in (tree, corollary):
        assert shaped(place.DecisionTreeClassifier(max_depth=1).fit(X, y).decision_path(X)) == (
            sparse.csr_matrix, (60, 3), np.int64,
        )  # fmt: skip
    for interface, expected in (("spmatrix", sparse.csr_matrix), ("sparray", sparse.csr_array)):
        for place in (linear_model, corollary):
            with config_context(sparse_interface=interface):
                found = place.Lasso(alpha=0.1).fit(X, y).sparse_coef_
            assert shaped(found) == (expected, (1, 3), np.float64)
