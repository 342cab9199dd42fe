"""``n_jobs`` counts in predictions as it does in fit, and none of them works before a fit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import corollary.base
from corollary import (
    PCA,
    GaussianMixture,
    KDTree,
    KMeans,
    KMedoids,
    KNeighborsClassifier,
    KNeighborsRegressor,
    MiniBatchKMeans,
    Mixture,
    NearestNeighbors,
    SoftKMeans,
)
from corollary.core import parallel

X = np.random.default_rng(0).normal(size=(60, 3))
MODELS: list[tuple[Any, tuple[str, ...]]] = [
    (GaussianMixture(2), ("predict", "predict_proba", "score", "score_samples", "outlier_score", "bic", "aic")),
    (Mixture("gaussian", 2), ("predict", "predict_proba", "score", "score_samples", "outlier_score", "bic", "aic")),
    (SoftKMeans(2), ("predict", "predict_proba", "score")),
    (KMeans(2), ("predict", "transform", "score", "quantize")),
    (MiniBatchKMeans(2), ("predict", "transform", "score", "quantize")),
    (KMedoids(2), ("predict", "transform", "score")),
    (PCA(2), ("transform", "score", "score_samples", "reconstruction_error", "outlier_score")),
    (NearestNeighbors(), ("kneighbors", "kneighbors_graph", "radius_neighbors", "radius_neighbors_graph")),
    (KNeighborsClassifier(), ("predict", "predict_proba", "kneighbors")),
    (KNeighborsRegressor(), ("predict", "kneighbors")),
]


@pytest.mark.parametrize(("model", "names"), MODELS, ids=[type(model).__name__ for model, _ in MODELS])
def test_predictions_run_on_as_many_threads_as_asked_for(
    model: Any, names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in names:
        with pytest.raises(NotFittedError):
            getattr(model, name)(X)
    model.set_params(n_jobs=1).fit(X, np.arange(60) % 2)
    asked: list[Any] = []

    @contextmanager
    def record(n_jobs: int | None) -> Iterator[None]:
        asked.append(n_jobs)
        yield

    monkeypatch.setattr(corollary.base, "threads", record)
    for name in names:
        asked.clear()
        getattr(model, name)(X)
        assert set(asked) == {1}, name


def test_a_tree_takes_n_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    one, all_cores = KDTree(X, n_jobs=1), KDTree(X)
    np.testing.assert_array_equal(one.query(X, k=3)[1], all_cores.query(X, k=3)[1])
    with pytest.raises(ValueError, match="n_jobs must be"):
        KDTree(X, n_jobs=0.5)
    seen: list[int] = []
    nearest = one._search.nearest
    monkeypatch.setattr(
        type(one._search), "nearest", lambda self, Q, k: (seen.append(parallel.n_threads()), nearest(Q, k))[1]
    )
    one.query(X, k=3)
    assert seen == [1]
