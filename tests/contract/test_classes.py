"""How estimator classes are written: constructors, limits, documentation, scikit-learn's names."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import textwrap
from typing import Any

import pytest

from corollary.base import Estimator
from corollary.registry import ESTIMATORS, TRANSFORMERS

NAMES = sorted(ESTIMATORS)

# parameters of scikit-learn's classes that ours lack, and why
LEFT_OUT = {
    "penalty": "deprecated there",
    "dual": "there is no dual solver to ask for",
    "intercept_scaling": "the intercept is never penalised",
    "verbose": "callbacks show progress",
    "refit": "the choice is always refitted",
    "use_legacy_attributes": "there is no legacy",
}
# the name of scikit-learn's, but an algorithm with parameters of its own: trees on histograms
OTHER_ALGORITHM = {"GradientBoostingClassifier", "GradientBoostingRegressor"}
# what ours have beyond scikit-learn's, and why
ADDED = {
    "categorical_features": "categories are read as they are",
    "max_bins": "trees on bins",
    "keep_targets": "quantiles need the answers of the training rows",
    "n_jobs": "threads",
    "class_weight": "of the members together",
    "cv": "a vote is judged on held-out rows",
    "metric": "k-means of directions",
    "moves": "k-means leaves a local optimum by splitting and merging",
    "landmarks": "more rows than an affinity between all pairs allows",
    "radius": "a graph of all neighbours within a distance",
    "offset": "neighbours weigh 1 / (offset + distance ** power)",
    "power": "see offset",
    "bandwidth": "of Gaussian weights",
    "unknown": "rows without a label are learnt from",
    "tol": "of EM, for such rows",
    "max_iter": "of EM",
}
# parameters whose default differs, and why
OTHER_DEFAULT = {
    "estimators": "None is a linear model and a small tree",
    "tol": "it is a relative duality gap",
    "solver": "'auto' chooses",
    "algorithm": "'auto' chooses",
    "max_iter": "it is a limit, not a budget",
    "scoring": "log-loss judges probabilities",
    "l1_ratios": "the default there is a warning",
}


def load(name: str) -> Any:
    return ESTIMATORS[name].load()


def parameters(cls: Any) -> dict[str, Any]:
    return {name: each.default for name, each in inspect.signature(cls).parameters.items()}


@pytest.mark.parametrize("name", NAMES)
def test_init_only_assigns(name: str) -> None:
    """It has no body of its own: ``assigning`` makes attributes of the arguments, and of nothing else."""
    cls = load(name)
    tree = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(cls.__init__))))
    function = tree.body[0]
    assert isinstance(function, ast.FunctionDef)
    assert [ast.unparse(statement) for statement in function.body] == ["..."]
    given = {each: object() for each in parameters(cls)}
    assert vars(cls(**given)) == given
    assert vars(cls(**given | {next(iter(given)): None})) == given | {next(iter(given)): None}


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_has_a_limit_that_allows_its_default(name: str) -> None:
    cls = load(name)
    assert issubclass(cls, Estimator)
    assert set(cls.limits) == set(parameters(cls))
    for parameter, default in parameters(cls).items():
        assert cls.limits[parameter].accepts(default), parameter


@pytest.mark.parametrize("name", NAMES)
def test_documentation(name: str) -> None:
    """An example, and every parameter explained here or in the class that the text refers to."""
    cls = load(name)
    own = inspect.getdoc(cls) or ""
    assert ">>> " in own
    assert f"import {name}" in own
    referred = [ESTIMATORS[each].load().__doc__ or "" for each in re.findall(r":class:`(\w+)`", own)]
    text = " ".join([own, *referred])
    for word in ("Parameters", "Attributes", "evidence"):
        assert word in text
    for parameter in parameters(cls):
        assert re.search(rf"\b{parameter}\b", text), parameter
    for method, function in inspect.getmembers(cls, inspect.isfunction):
        if not method.startswith("_") and function.__module__.startswith("corollary"):
            assert inspect.getdoc(function), method


@pytest.mark.parametrize("name", NAMES)
def test_parameters_are_those_of_scikit_learn(name: str) -> None:
    module = {"linear": "linear_model", "bayes": "naive_bayes"}.get(ESTIMATORS[name].family, ESTIMATORS[name].family)
    if module == "graphical":  # scikit-learn has no such family
        return
    theirs = getattr(importlib.import_module(f"sklearn.{module}"), name, None)
    if theirs is None or name in OTHER_ALGORITHM:  # not everything in the canon is there
        return
    ours, original = parameters(load(name)), parameters(theirs)
    assert set(ours) - set(original) <= set(ADDED if ESTIMATORS[name].family != "linear" else ())
    assert set(original) - set(ours) <= set(LEFT_OUT)
    for parameter, default in ours.items():
        if parameter not in OTHER_DEFAULT and parameter in original:
            assert default == original[parameter], parameter


def test_the_registry_has_all_estimators() -> None:
    """Nothing public lies around unregistered."""
    modules = {importlib.import_module(f"corollary.{entry.module}") for entry in ESTIMATORS.values()}
    for module in modules:
        for name, cls in inspect.getmembers(module, inspect.isclass):
            concrete = issubclass(cls, Estimator) and "limits" in vars(cls)
            if concrete and cls.__module__ == module.__name__ and not name.startswith("_"):
                assert name in ESTIMATORS or name in TRANSFORMERS or cls is Estimator
