"""Every estimator with the settings that are tried. A new one joins by a line in ``TABLE``."""

from __future__ import annotations

from typing import Any

import numpy as np

from corollary.core.distribution import Gaussian
from corollary.registry import ESTIMATORS

CURVES = ("squared", "huber", "poisson", "tweedie", "logistic", "softmax", "squared_hinge", "exponential")
STRAIGHT = ("absolute", "quantile", "epsilon_insensitive", "hinge")
PENALTIES = ("none", "l2", "l1", "elastic_net")
CLASSIFYING = {"logistic", "softmax", "hinge", "squared_hinge", "exponential"}

LINEAR_MODEL: list[dict[str, Any]] = [
    *({"loss": loss, "penalty": penalty} for loss in CURVES for penalty in (*PENALTIES, "group", "l0")),
    *({"loss": loss, "penalty": penalty} for loss in STRAIGHT for penalty in PENALTIES),
    *({"loss": loss, "penalty": "none", "fit_intercept": False} for loss in ("huber", "logistic", "absolute")),
    *({"loss": loss, "alpha": 10.0} for loss in ("squared", "hinge", "logistic")),
]
LINKAGES = ("ward", "single", "complete", "average", "centroid")

TABLE: dict[str, list[dict[str, Any]]] = {
    "LinearRegression": [{}, {"fit_intercept": False}, {"positive": True}],
    "Ridge": [{}, {"alpha": 1e-6}, {"solver": "svd"}, {"solver": "sparse_cg"}, {"positive": True}, {"alpha": 0.0}],
    "RidgeCV": [{}, {"cv": 3}],
    "Lasso": [{"alpha": 0.1}, {"alpha": 1e-4}, {"positive": True}, {"fit_intercept": False}],
    "ElasticNet": [{"alpha": 0.1}, {"alpha": 1e-3, "l1_ratio": 0.0}, {"alpha": 0.1, "positive": True}],
    "LassoCV": [{"alphas": 4, "cv": 3}],
    "ElasticNetCV": [{"alphas": 3, "cv": 3, "l1_ratio": (0.5, 1.0)}],
    "HuberRegressor": [{}, {"epsilon": 1.05, "alpha": 0.0}, {"fit_intercept": False}],
    "LogisticRegression": [
        *({"C": C, "l1_ratio": ratio} for C in (1.0, 1e6) for ratio in (0.0, 0.5, 1.0)),
        *({"C": np.inf, "solver": solver} for solver in ("auto", "lbfgs", "newton")),
        {"class_weight": "balanced"},
        {"fit_intercept": False},
    ],
    "LogisticRegressionCV": [
        {"Cs": (0.1, 10.0), "l1_ratios": mixes, "cv": 3, "scoring": "neg_log_loss", "use_legacy_attributes": False}
        for mixes in ((0.0,), (0.5, 1.0))
    ],
    "LinearModel": LINEAR_MODEL,
    "DecisionStump": [{}],
    "DecisionTreeClassifier": [{}, {"criterion": "entropy", "max_depth": 3}, {"max_leaf_nodes": 5}],
    "DecisionTreeRegressor": [{}, {"criterion": "absolute_error", "max_depth": 3}, {"min_samples_leaf": 5}],
    "RandomForestClassifier": [{"n_estimators": 5}, {"n_estimators": 5, "max_depth": 3}],
    "RandomForestRegressor": [{"n_estimators": 5}, {"n_estimators": 5, "bootstrap": False}],
    "ExtraTreesClassifier": [{"n_estimators": 5}],
    "ExtraTreesRegressor": [{"n_estimators": 5}],
    "BaggingClassifier": [{"n_estimators": 4}],
    "BaggingRegressor": [{"n_estimators": 4}],
    "AdaBoostClassifier": [{"n_estimators": 8}, {"n_estimators": 8, "class_weight": "balanced"}],
    "GradientBoostingClassifier": [{"n_estimators": 8, "min_samples_leaf": 2}],
    "GradientBoostingRegressor": [
        *({"n_estimators": 8, "min_samples_leaf": 2, "loss": loss} for loss in ("squared_error", "absolute_error")),
        {"n_estimators": 8, "loss": "huber"},
    ],
    "VotingClassifier": [{}, {"voting": "soft"}, {"class_weight": "balanced"}, {"class_weight": "balanced", "cv": 3}],
    "VotingRegressor": [{}],
    "CostSensitiveClassifier": [{}, {"reject_cost": 0.3}, {"calibration": "temperature", "cv": 3}],
    "BlendingClassifier": [{"cv": 3}],
    "BlendingRegressor": [{"cv": 3}],
    "StackingClassifier": [{"cv": 3}],
    "StackingRegressor": [{"cv": 3}],
    "HaarFeatures": [{"max_features": 50}],
    "CascadeClassifier": [{"max_stages": 3}],
    "GaussianNB": [{}, {"var_smoothing": 0.1}, {"var_smoothing": 0.0}, {"class_weight": "balanced"}],
    "BernoulliNB": [{}, {"alpha": 0.0}, {"binarize": 1.0, "fit_prior": False}, {"binarize": None}],
    "MultinomialNB": [{}, {"alpha": 0.0}, {"alpha": 1e-12}],
    "CategoricalNB": [{}, {"alpha": 0.0}, {"min_categories": 5}],
    "MixedNB": [
        {},
        {"columns": {0: "categorical"}},
        {"columns": {0: "bernoulli"}},
        {"columns": {0: "poisson"}, "alpha": 0.0},
    ],
    "NearestNeighbors": [{}, {"algorithm": "brute"}, {"metric": "manhattan"}, {"metric": "cosine"}],
    "KNeighborsClassifier": [{}, {"weights": "distance"}, {"metric": "cosine"}],
    "KNeighborsRegressor": [{}, {"weights": "distance"}, {"algorithm": "kd_tree"}],
    "KMeans": [{"n_clusters": 3}, {"n_clusters": 2, "tol": 0.0}, {"n_clusters": 3, "metric": "cosine"}],
    "MiniBatchKMeans": [{"n_clusters": 3}],
    "SoftKMeans": [{"n_clusters": 3}, {"n_clusters": 2, "stiffness": 0.1}],
    "KMedoids": [{"n_clusters": 3}, {"n_clusters": 2, "metric": "manhattan"}],
    "AgglomerativeClustering": [{"n_clusters": 3, "linkage": linkage} for linkage in LINKAGES],
    "SpectralClustering": [{"n_clusters": 2}, {"n_clusters": 3, "affinity": "nearest_neighbors", "n_neighbors": 5}],
    "GaussianMixture": [{"n_components": 2, "covariance_type": kind} for kind in ("full", "tied", "diag", "spherical")],
    "ChowLiu": [{}, {"pseudo_counts": 0.0}],
    "HillClimb": [{}, {"criterion": "bdeu", "restarts": 1}, {"criterion": "aic", "max_parents": 1, "tabu": 0}],
    "TreeAugmentedNB": [{}, {"pseudo_counts": 0.0}, {"class_weight": "balanced", "n_bins": 3}],
    "BayesianNetwork": [{}, {"pseudo_counts": 0.0}, {"equivalent_sample_size": 10.0, "n_bins": 2}],
    "BayesianNetworkClassifier": [{}, {"pseudo_counts": 0.0, "n_bins": 2}],
    "Mixture": [
        {"distribution": Gaussian(kind, 1e-6), "n_components": 2} for kind in ("full", "tied", "diag", "spherical")
    ],
    "PCA": [{}, {"n_components": 2}, {"n_components": 0.9}, {"n_components": 1, "whiten": True}],
}

NAMES = sorted(TABLE)


def target_of(name: str, settings: dict[str, Any]) -> str | None:
    """What the model learns: numbers, amounts, classes, images or nothing."""
    if name in ("HaarFeatures", "CascadeClassifier"):
        return "images"
    tasks, loss = ESTIMATORS[name].tasks, settings.get("loss")
    if name == "LinearModel":
        return "classes" if loss in CLASSIFYING else "amounts" if loss in ("poisson", "tweedie") else "numbers"
    return "classes" if "classification" in tasks else "numbers" if "regression" in tasks else None


def make(name: str, settings: dict[str, Any], seed: int) -> Any:
    """A fresh model; what is random has that seed."""
    model = ESTIMATORS[name].load()(**settings)
    if "random_state" in model.get_params(deep=False):
        model.set_params(random_state=seed)
    return model
