"""What ``corollary compare`` tries of each model: settings to begin with, and ranges to draw more of them from.

Plain tables, as the registry is: reading them imports nothing. A model without a line here is tried as the registry
constructs it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Range = tuple[Any, ...]  # ("log" | "whole" (on a log scale) | "linear", low, high), or ("one of", value, value, …)


@dataclass(frozen=True)
class Space:
    """The configurations of a model.

    ``first`` are tried in this order, the sensible defaults first; a comparison without a time tries ``short`` of them.
    A search then draws from ``ranges``. ``cost`` orders models from cheap to dear; ``share`` of the time is what one
    fit of a search may take. ``wide`` is what it sees of a table with more columns than rows (and
    more than 1 000): all of them ("plain"), a few principal components ("reduced"), or all of these ("rotated"), which
    changes nothing for a model with a penalty that does not mind turning. A model that searches by itself what another
    line has as a range is not ``searched`` again. ``pairs``: predicting looks at pairs of rows, which is known to be
    slow before it is tried.
    """

    first: tuple[Mapping[str, Any], ...] = ({},)
    ranges: Mapping[str, Range] = field(default_factory=dict)
    short: int = 1
    cost: int = 5
    share: float = 0.03
    wide: str = "reduced"
    searched: bool = True
    pairs: bool = False


_BOOSTING = Space(
    first=(
        {"n_estimators": 200, "early_stopping": True},
        {"learning_rate": 0.2, "n_estimators": 600, "max_leaf_nodes": 63, "l2_regularization": 2.0,
         "early_stopping": True},
        {"learning_rate": 0.07, "n_estimators": 1000, "max_leaf_nodes": 48, "l2_regularization": 1.0,
         "max_features_per_tree": 0.7, "early_stopping": True, "n_iter_no_change": 20},
        {"learning_rate": 0.12, "n_estimators": 600, "max_leaf_nodes": 160, "l2_regularization": 5.0,
         "max_features_per_tree": 0.8, "early_stopping": True},
        {"learning_rate": 0.05, "n_estimators": 1500, "max_leaf_nodes": 16, "max_features_per_tree": 0.6,
         "early_stopping": True, "n_iter_no_change": 30},
    ),
    ranges={
        "learning_rate": ("log", 0.03, 0.3),
        "max_leaf_nodes": ("whole", 8, 255),
        "min_samples_leaf": ("whole", 3, 100),
        "l2_regularization": ("log", 0.01, 100.0),
        "max_features_per_tree": ("linear", 0.4, 1.0),
        "subsample": ("one of", 1.0, 1.0, 0.8, 0.6),
        "category_smoothing": ("log", 1.0, 100.0),
        "n_estimators": ("one of", 2000),
        "early_stopping": ("one of", True),
        "n_iter_no_change": ("one of", 20),
    },
    short=1,
    cost=3,
    share=0.06,
)  # fmt: skip

_SMALL_BOOSTING = Space(
    first=(
        {"learning_rate": 0.1, "n_estimators": 60, "max_leaf_nodes": 8},
        {"learning_rate": 0.03, "n_estimators": 250, "max_leaf_nodes": 6, "l2_regularization": 1.0, "subsample": 0.7,
         "max_features_per_tree": 0.6},
        {},
        {"learning_rate": 0.05, "n_estimators": 100, "max_leaf_nodes": 4, "subsample": 0.8},
    ),
    ranges={
        "learning_rate": ("log", 0.01, 0.2),
        "n_estimators": ("whole", 30, 500),
        "max_leaf_nodes": ("whole", 3, 31),
        "min_samples_leaf": ("whole", 3, 40),
        "l2_regularization": ("log", 0.01, 30.0),
        "subsample": ("linear", 0.5, 1.0),
        "max_features_per_tree": ("linear", 0.4, 1.0),
        "category_smoothing": ("log", 1.0, 100.0),
    },
    short=2,
    cost=3,
    share=0.08,
)  # fmt: skip

_FOREST_RANGES: dict[str, Range] = {
    "min_samples_leaf": ("whole", 1, 30),
    "max_features": ("one of", "sqrt", 0.2, 0.35, 0.5, 0.7, 1.0),
    "n_estimators": ("one of", 200),
}
_CLASS_FORESTS = Space(
    first=({"min_samples_leaf": 5}, {}, {"min_samples_leaf": 20}, {"max_features": 0.35}),
    ranges=_FOREST_RANGES | {"criterion": ("one of", "gini", "entropy")}, short=3, cost=6, share=0.06, wide="plain",
)  # fmt: skip
_NUMBER_FORESTS = Space(
    first=({"max_features": 0.35, "min_samples_leaf": 2}, {}, {"min_samples_leaf": 5}), ranges=_FOREST_RANGES,
    short=2, cost=6, share=0.06, wide="plain",
)  # fmt: skip
_TREES = Space(({}, {"min_samples_leaf": 30}), {"min_samples_leaf": ("whole", 3, 200)}, short=2, cost=2)
_NEIGHBOURS = Space(
    ({"n_neighbors": 15, "weights": "distance"}, {}, {"n_neighbors": 40}),
    {"n_neighbors": ("whole", 1, 100), "weights": ("one of", "uniform", "distance"), "p": ("one of", 1, 2)},
    short=2, cost=5, pairs=True,
)  # fmt: skip

SPACES: dict[str, Space] = {
    "GaussianNB": Space(({}, {"var_smoothing": 1e-3}), {"var_smoothing": ("log", 1e-9, 1.0)}, short=2, cost=1),
    "LinearRegression": Space(cost=1, wide="plain"),
    "RidgeCV": Space(cost=1, wide="plain"),
    "LassoCV": Space(cost=4, share=0.05, wide="plain"),
    "ElasticNetCV": Space(cost=5, searched=False),
    "HuberRegressor": Space(
        ({}, {"alpha": 1.0}), {"alpha": ("log", 1e-4, 100.0), "epsilon": ("linear", 1.1, 2.5)}, cost=4
    ),
    "LogisticRegression": Space(
        ({}, {"C": 0.1}, {"C": 10.0}), {"C": ("log", 1e-3, 1e3)}, short=3, cost=4, share=0.1, wide="rotated"
    ),
    "LogisticRegressionCV": Space(cost=7, searched=False),
    "DecisionTreeClassifier": _TREES,
    "DecisionTreeRegressor": _TREES,
    "RandomForestClassifier": _CLASS_FORESTS,
    "RandomForestRegressor": _NUMBER_FORESTS,
    "ExtraTreesClassifier": _CLASS_FORESTS,
    "ExtraTreesRegressor": _NUMBER_FORESTS,
    "AdaBoostClassifier": Space(({}, {"n_estimators": 50}), {"n_estimators": ("whole", 20, 400)}, cost=7),
    "GradientBoostingClassifier": _BOOSTING,
    "GradientBoostingRegressor": _BOOSTING,
    "KNeighborsClassifier": _NEIGHBOURS,
    "KNeighborsRegressor": _NEIGHBOURS,
    "TreeAugmentedNB": Space(cost=8),
    "BayesianNetworkClassifier": Space(cost=8),
}  # fmt: skip

SMALL = 2500  # rows below which boosting has none to set aside for early stopping: the rounds are searched for
SMALL_SPACES: dict[str, Space] = {
    "GradientBoostingClassifier": _SMALL_BOOSTING,
    "GradientBoostingRegressor": _SMALL_BOOSTING,
}
