"""Every estimator of the registry as the instances that the contract is tested on, and the data they are fitted to.

A new estimator joins all contract tests with one line in ``TABLE``: its name and the parameters of its instances. What
an instance promises (its task, sparse input, weights, iterations) is read from the instance itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from corollary import Status
from corollary.core.loss import Quantile, Tweedie
from corollary.core.penalty import L1
from corollary.registry import ESTIMATORS

N_ROWS, N_COLUMNS = 60, 5
GROUPS = [0, 0, 1, 1, 2]

# name -> parameters of each instance. Cross-validated models get short grids: the contract is about the fit. A smaller
# ``tol`` is there where scikit-learn compares more digits of a prediction than an objective exact to 1e-8 gives.
TABLE: dict[str, list[dict[str, Any]]] = {
    "LinearRegression": [{}, {"fit_intercept": False}, {"positive": True}],
    "Ridge": [
        {},
        {"alpha": 0.1, "solver": "svd"},
        {"alpha": 0.5, "solver": "sparse_cg", "tol": 1e-14},
        {"positive": True},
    ],
    "RidgeCV": [{"alphas": (0.1, 1.0)}, {"alphas": (0.1, 1.0), "cv": 3}],
    "Lasso": [{"alpha": 0.1}, {"alpha": 0.05, "positive": True}, {"alpha": 0.1, "fit_intercept": False}],
    "ElasticNet": [{"alpha": 0.1}, {"alpha": 0.1, "l1_ratio": 0.0}],
    "LassoCV": [{"alphas": 4, "cv": 3}],
    "ElasticNetCV": [{"alphas": 3, "cv": 3, "l1_ratio": (0.5, 1.0)}],
    "HuberRegressor": [{}, {"epsilon": 1.1, "alpha": 0.1}],
    "LogisticRegression": [
        {},
        {"l1_ratio": 1.0},
        {"l1_ratio": 0.5, "C": 0.3},
        {"solver": "lbfgs"},
        {"class_weight": "balanced"},
    ],
    "LogisticRegressionCV": [
        {
            "Cs": (0.1, 1.0),
            "l1_ratios": (0.0,),
            "cv": 3,
            "tol": 1e-10,
            "scoring": "neg_log_loss",
            "use_legacy_attributes": False,
        },
        # with more columns than rows, a relative gap g leaves coefficients uncertain by √g; they are compared to 1e-7
        {
            "Cs": (0.1, 1.0),
            "l1_ratios": (0.5, 1.0),
            "cv": 3,
            "tol": 1e-13,
            "scoring": "neg_log_loss",
            "use_legacy_attributes": False,
        },
    ],
    "LinearModel": [
        {},
        {"penalty": "elastic_net", "alpha": 0.05},
        {"penalty": "group", "alpha": 0.05},
        {"penalty": "l0", "alpha": 0.05},
        {"loss": "absolute", "penalty": "l1", "alpha": 0.05, "tol": 1e-11},
        {"loss": "quantile", "quantile": 0.75, "penalty": "l2", "alpha": 0.05},
        {"loss": "epsilon_insensitive", "penalty": "elastic_net", "alpha": 0.05, "tol": 1e-11},
        {"loss": "huber", "alpha": 0.05},
        {"loss": "huber", "delta": 0.01, "alpha": 1e-4, "tol": 1e-11},
        {"loss": "huber", "penalty": "l1", "alpha": 0.05},
        {"loss": "poisson", "alpha": 0.05},
        {"loss": "tweedie", "alpha": 0.05},
        {"loss": Tweedie(1.8), "penalty": L1(0.02)},
        {"loss": "logistic", "penalty": "group", "alpha": 0.02},
        {"loss": "softmax", "penalty": "l1", "alpha": 0.02, "tol": 1e-11},
        {"loss": "softmax", "penalty": "group", "alpha": 0.02, "tol": 1e-11},
        {"loss": "hinge", "alpha": 0.05},
        {"loss": "squared_hinge", "penalty": "l1", "alpha": 0.02},
        {"loss": "exponential", "alpha": 0.05},
    ],
    # 0 and 1 as costs: with others the decision is not the most probable class, on purpose
    "CostSensitiveClassifier": [{}, {"cv": 3, "calibration": "temperature"}],
    "DecisionStump": [{}],
    "DecisionTreeClassifier": [{}, {"criterion": "entropy", "max_depth": 3}, {"max_leaf_nodes": 5}],
    "DecisionTreeRegressor": [{}, {"criterion": "absolute_error", "max_depth": 3}, {"ccp_alpha": 0.1}],
    "RandomForestClassifier": [{"n_estimators": 8, "random_state": 0}],
    "RandomForestRegressor": [{"n_estimators": 4, "random_state": 0}],
    "ExtraTreesClassifier": [{"n_estimators": 4, "random_state": 0}],
    "ExtraTreesRegressor": [{"n_estimators": 4, "random_state": 0}],
    "BaggingClassifier": [{"n_estimators": 3, "random_state": 0}],
    "BaggingRegressor": [{"n_estimators": 3, "random_state": 0}],
    "AdaBoostClassifier": [{"n_estimators": 6}, {"n_estimators": 6, "class_weight": "balanced"}],
    "VotingClassifier": [{"voting": "soft"}, {"voting": "soft", "cv": 3, "class_weight": "balanced"}],
    "VotingRegressor": [{}, {"cv": 3}],
    "BlendingClassifier": [{"cv": 3}],
    "BlendingRegressor": [{"cv": 3}, {"cv": 3, "sum_to_one": True}],
    "StackingClassifier": [{"cv": 3}],
    "StackingRegressor": [{"cv": 3}],
    "GradientBoostingClassifier": [
        {"n_estimators": 6, "min_samples_leaf": 1, "max_leaf_nodes": 6},
        {"n_estimators": 4, "min_samples_leaf": 1, "growth": "depth", "max_depth": 2, "l2_regularization": 1.0},
    ],
    "GradientBoostingRegressor": [
        {"n_estimators": 12, "min_samples_leaf": 1, "max_leaf_nodes": 6, "learning_rate": 0.3},
        {"n_estimators": 12, "min_samples_leaf": 1, "loss": "absolute_error", "learning_rate": 0.3},
        {"n_estimators": 12, "min_samples_leaf": 1, "loss": Quantile(0.5), "learning_rate": 0.3},
        {"n_estimators": 12, "min_samples_leaf": 1, "loss": "tweedie", "learning_rate": 0.3},
    ],
    "BayesianNetworkClassifier": [{}, {"equivalent_sample_size": 5.0, "n_bins": 3}],
    "GaussianNB": [{}, {"var_smoothing": 1e-3}],
    "BernoulliNB": [{}, {"alpha": 0.2, "binarize": 1.0, "fit_prior": False}],
    "MultinomialNB": [{}, {"alpha": 0.1}],
    "CategoricalNB": [{}, {"alpha": 0.1, "min_categories": 12}],
    "MixedNB": [{}, {"alpha": 0.5, "var_smoothing": 1e-6}],
    "KNeighborsClassifier": [{"n_neighbors": 4}, {"n_neighbors": 3, "weights": "distance"}],
    "KNeighborsRegressor": [{"n_neighbors": 4}, {"n_neighbors": 3, "weights": "distance", "algorithm": "brute"}],
    "TreeAugmentedNB": [{}, {"n_bins": 3, "equivalent_sample_size": 2.0, "class_weight": "balanced"}],
}


@dataclass(frozen=True)
class Case:
    """One instance, with its data."""

    name: str
    parameters: tuple[tuple[str, Any], ...]

    @property
    def label(self) -> str:
        inside = ", ".join(f"{key}={value}" for key, value in self.parameters)
        return f"{self.name}({inside})"

    def make(self, **changes: Any) -> Any:
        """A fresh unfitted model; ``changes`` it does not know are left out."""
        model = ESTIMATORS[self.name].load()(**dict(self.parameters))
        known = model.get_params(deep=False)
        return model.set_params(**{key: value for key, value in changes.items() if key in known})

    @cached_property
    def tags(self) -> Any:
        return get_tags(self.make())

    @property
    def classifier(self) -> bool:
        return bool(is_classifier(self.make()))

    @property
    def sparse(self) -> bool:
        return bool(self.tags.input_tags.sparse)

    @property
    def weighted(self) -> bool:
        return bool(has_fit_parameter(self.make(), "sample_weight"))

    @property
    def folds(self) -> bool:
        """Whether rows are dealt into folds, so that their order and number matter."""
        return self.make().get_params(deep=False).get("cv") is not None

    @cached_property
    def iterative(self) -> bool:
        """Whether the fit is a sequence of iterations, which callbacks see."""
        return self.fitted()[0].evidence_.status is not Status.EXACT

    @property
    def exact(self) -> dict[str, Any]:
        """Parameters that ask for about as many digits as the solver has."""
        return {"tol": 1e-11}

    @property
    def digits(self) -> dict[str, float]:
        """To what tolerance ``exact`` fits of the same rows agree: about the root of the relative gap."""
        return {"rtol": 1e-6, "atol": 1e-6}

    @property
    def family(self) -> str:
        return ESTIMATORS[self.name].family

    @property
    def linear(self) -> bool:
        return self.family == "linear"

    @property
    def convex(self) -> bool:
        return self.linear and dict(self.parameters).get("penalty") != "l0"

    @property
    def enough(self) -> int:
        """Iterations that solve a hard problem: few for methods of second order, many for proximal gradient."""
        parameters = dict(self.parameters)
        return 5000 if parameters.get("loss") == "softmax" and parameters.get("penalty") == "group" else 100

    @property
    def missing(self) -> bool:
        """Whether missing values are values like any other."""
        return bool(self.tags.input_tags.allow_nan)

    @property
    def counting(self) -> bool:
        """Whether columns are counts or categories: whole numbers from zero, which smoothing adds to."""
        return bool(
            self.tags.input_tags.positive_only or self.tags.input_tags.categorical or self.name == "BernoulliNB"
        )

    def rows_like(self, X: Any) -> Any:
        """Rows that the model can take, made of any numbers."""
        return np.rint(np.abs(X)) if self.counting else X

    @property
    def sampled(self) -> bool:
        """Whether rows are drawn at random by their number, so that their order and number matter."""
        return self.name in SAMPLED and dict(self.parameters).get("bootstrap") is not False

    @property
    def drawn(self) -> bool:
        """Whether rows are drawn at random in any way."""
        return self.sampled or self.name.startswith("Bagging")

    @property
    def tube(self) -> float:
        """How far from the target a prediction may be at no loss."""
        return float(self.make().epsilon) if dict(self.parameters).get("loss") == "epsilon_insensitive" else 0.0

    def data(self, *, n: int = N_ROWS, classes: int = 2, seed: int = 0) -> tuple[Any, Any]:
        """Well-behaved rows of full rank with noise, and a target of the right kind."""
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n, N_COLUMNS)) + np.arange(N_COLUMNS) / 2
        signal = X @ np.array([1.0, -2.0, 0.5, 0.0, 1.5]) + rng.normal(size=n)
        signal -= np.median(signal)
        if self.counting:
            X = np.floor(np.clip(2 * X + 3, 0, 9))
        if self.classifier:
            # noise keeps the classes from being separable
            edges = np.quantile(signal, np.arange(1, classes) / classes)
            return X, np.searchsorted(edges, signal + rng.normal(size=n))
        if self.tags.target_tags.positive_only:
            return X, rng.poisson(np.exp(0.2 * signal)).astype(float)
        return X, signal + 3.0

    def fitted(self, **options: Any) -> tuple[Any, Any, Any]:
        """(model, X, y)."""
        X, y = self.data(**options)
        return self.make().fit(X, y), X, y


# a column is a pixel to these, so the data of the contract make no sense to them; tests/ensemble has their own
OF_IMAGES = {"HaarFeatures", "CascadeClassifier"}

# forests and bags draw rows unless they are told not to
SAMPLED = frozenset({"RandomForestClassifier", "RandomForestRegressor", "ExtraTreesClassifier", "ExtraTreesRegressor"})

CASES = [Case(name, tuple(parameters.items())) for name, each in TABLE.items() for parameters in each]

# one instance of each class, for promises that do not depend on parameters
FIRST = [next(case for case in CASES if case.name == name) for name in TABLE]


def every(cases: list[Case]) -> pytest.MarkDecorator:
    """Parametrise a test over cases, as its argument ``case``."""
    return pytest.mark.parametrize("case", cases, ids=[case.label for case in cases])


def outputs(model: Any, X: Any) -> dict[str, Any]:
    """All that a fitted model says about X, by method."""
    names = ("predict", "decision_function", "predict_proba", "transform")
    return {name: getattr(model, name)(X) for name in names if hasattr(model, name)}


def assert_same(first: dict[str, Any], second: dict[str, Any]) -> None:
    """Bit-identical outputs."""
    assert first.keys() == second.keys()
    for name, value in first.items():
        np.testing.assert_array_equal(value, second[name], err_msg=name)


def assert_close(first: dict[str, Any], second: dict[str, Any], **tolerance: Any) -> None:
    """Outputs that agree; numbers to within ``tolerance``, labels exactly."""
    assert first.keys() == second.keys()
    for name, value in first.items():
        if np.asarray(value).dtype.kind in "fc":
            np.testing.assert_allclose(value, second[name], err_msg=name, **tolerance)
        else:
            np.testing.assert_array_equal(value, second[name], err_msg=name)
