"""Estimators that learn without a target, as the instances that the contract is tested on.

Starts are given, not drawn: a weight of three and three rows would draw different numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from corollary.core.distribution import Gaussian
from corollary.registry import ESTIMATORS

N_ROWS, N_COLUMNS = 60, 5
CENTRES = np.array([[0.0, 0, 0, 0, 0], [6, 6, 0, 0, 3], [0, 6, 6, -6, 0]])
START = CENTRES + 0.3

# name -> parameters of each instance
UNLABELLED: dict[str, list[dict[str, Any]]] = {
    "NearestNeighbors": [{"n_neighbors": 4}, {"n_neighbors": 3, "algorithm": "brute", "metric": "manhattan"}],
    "KMeans": [{"n_clusters": 3, "init": START, "n_init": 1}, {"n_clusters": 3, "metric": "cosine", "init": START}],
    "MiniBatchKMeans": [{"n_clusters": 3, "init": START, "n_init": 1, "random_state": 0}],
    "SoftKMeans": [{"n_clusters": 3, "init": START, "stiffness": 0.5}],
    "KMedoids": [{"n_clusters": 3}, {"n_clusters": 3, "metric": "manhattan"}],
    "AgglomerativeClustering": [
        {"n_clusters": 3},
        {"n_clusters": 3, "linkage": "single"},
        {"n_clusters": 3, "linkage": "complete"},
        {"n_clusters": 3, "linkage": "average"},
        {"n_clusters": 3, "linkage": "centroid"},
    ],
    "SpectralClustering": [
        {"n_clusters": 3, "gamma": 0.1, "random_state": 0},
        {"n_clusters": 3, "affinity": "nearest_neighbors", "n_neighbors": 8, "random_state": 0},
    ],
    "GaussianMixture": [
        {"n_components": 3, "means_init": START, "covariance_type": kind, "reg_covar": 1e-3}
        for kind in ("full", "tied", "diag", "spherical")
    ],
    "ChowLiu": [{}, {"equivalent_sample_size": 5.0, "n_bins": 3}],
    "BayesianNetwork": [{}, {"pseudo_counts": 0.0, "n_bins": 3}],
    "HillClimb": [{}, {"criterion": "bdeu", "n_bins": 3, "max_parents": 2, "restarts": 1, "random_state": 0}],
    "Mixture": [
        {"distribution": Gaussian(kind, 1e-3), "n_components": 3, "init": START}
        for kind in ("full", "tied", "diag", "spherical")
    ],
    "PCA": [{"n_components": 2}, {"n_components": 0.9}, {"n_components": 2, "whiten": True}],
}


@dataclass(frozen=True)
class Case:
    """One instance, with its rows: three clouds of different shape."""

    name: str
    position: int
    started: bool = True  # whether a start is given

    @property
    def parameters(self) -> dict[str, Any]:
        given = UNLABELLED[self.name][self.position]
        return given if self.started else {key: value for key, value in given.items() if value is not START}

    @property
    def label(self) -> str:
        inside = ", ".join(f"{key}={value}" for key, value in self.parameters.items() if not hasattr(value, "shape"))
        return f"{self.name}({inside})"

    def make(self, **changes: Any) -> Any:
        """A fresh unfitted model; ``changes`` it does not know are left out."""
        model = ESTIMATORS[self.name].load()(**self.parameters)
        known = model.get_params(deep=False)
        return model.set_params(**{key: value for key, value in changes.items() if key in known})

    def rows(self, *, n: int = N_ROWS, seed: int = 0) -> Any:
        rng = np.random.default_rng(seed)
        clouds = rng.normal(size=(n, N_COLUMNS)) * np.array([1.0, 0.7, 1.2, 0.9, 0.5])
        return clouds + CENTRES[np.arange(n) % 3]

    def fitted(self, **options: Any) -> tuple[Any, Any]:
        X = self.rows(**options)
        return self.make().fit(X), X

    @cached_property
    def tags(self) -> Any:
        return get_tags(self.make())

    @property
    def sparse(self) -> bool:
        return bool(self.tags.input_tags.sparse)

    @property
    def weighted(self) -> bool:
        return bool(has_fit_parameter(self.make(), "sample_weight"))

    @property
    def sampled(self) -> bool:
        """Whether rows are drawn at random by their number."""
        return self.name == "MiniBatchKMeans"


CASES = [Case(name, i) for name, each in UNLABELLED.items() for i in range(len(each))]
FIRST = [case for case in CASES if case.position == 0]


def free(case: Case) -> Case:
    """The same estimator, free to choose its start: a given one fits rows of five columns only."""
    return replace(case, started=False)


def said(model: Any, X: Any) -> dict[str, Any]:
    """All that a fitted model says about X, by method; clusters by the first row that each holds."""
    names = ("predict_proba", "transform", "score_samples", "kneighbors")
    found = {name: getattr(model, name)(X) for name in names if hasattr(model, name)}
    if "kneighbors" in found:
        found["kneighbors"], found["neighbors"] = found["kneighbors"]
    if hasattr(model, "predict"):
        found["predict"] = model.predict(X)
    return found


def partition(labels: Any) -> Any:
    """Labels renumbered in the order in which they first appear, so that equal partitions are equal arrays."""
    _, first, codes = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[codes]
