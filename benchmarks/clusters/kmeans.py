"""k-means from the same starting centres, for the same number of iterations."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.workload import OURS, Candidate, Data, Quality, Workload, load

ITERATIONS = 60


def mixture(clusters: int) -> Callable[[int, int], Data]:
    def make(n: int, d: int) -> Data:
        """Overlapping Gaussian groups of different sizes and widths; the start is rows drawn at random."""
        rng = np.random.default_rng(0)
        middles = rng.normal(size=(clusters, d)) * rng.uniform(0.5, 1.5, size=(clusters, 1))
        group = rng.choice(clusters, n, p=rng.dirichlet(np.full(clusters, 2.0)))
        X = middles[group] + rng.normal(size=(n, d)) * rng.uniform(0.5, 1.2, size=(clusters, 1))[group]
        start = X[rng.choice(n, clusters, replace=False)]
        # faiss computes in float32 and is not charged for the conversion
        return Data(X, None, {"start": start, "single": X.astype(np.float32)})

    return make


def estimator(module: str, **options: Any) -> Callable[[Data, float], Any]:
    def fit(data: Data, tolerance: float) -> Any:
        start = data.settings["start"]
        model = load(module, "KMeans")(len(start), init=start, n_init=1, max_iter=ITERATIONS, tol=0.0, **options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the number of iterations is fixed, converged or not
            return model.fit(data.X).cluster_centers_

    return fit


def faiss(data: Data, tolerance: float) -> Any:
    start, X = data.settings["start"].astype(np.float32), data.settings["single"]
    model = load("faiss", "Kmeans")(X.shape[1], len(start), niter=ITERATIONS, max_points_per_centroid=len(X))
    model.train(X, init_centroids=start)
    return model.centroids


def inertia(data: Data, centres: Any) -> float:
    centres, total = np.asarray(centres, dtype=np.float64), 0.0
    squares = (centres**2).sum(axis=1)
    for start in range(0, len(data.X), 10_000):
        block = data.X[start : start + 10_000]
        total += float((block**2).sum() + (squares - 2 * block @ centres.T).min(axis=1).sum())
    return total


def workload(clusters: int, sizes: tuple[int, int], quick_sizes: tuple[int, int]) -> Workload:
    return Workload(
        f"k-means-{clusters}",
        f"k-means, k = {clusters}, {ITERATIONS} iterations from the same start",
        mixture(clusters),
        sizes=sizes,
        quick_sizes=quick_sizes,
        candidates=(
            Candidate(OURS, OURS, estimator(OURS)),
            Candidate("scikit-learn (lloyd)", "sklearn", estimator("sklearn.cluster")),
            Candidate("scikit-learn (elkan)", "sklearn", estimator("sklearn.cluster", algorithm="elkan")),
            Candidate("scikit-learn-intelex", "sklearnex", estimator("sklearnex.cluster")),
            Candidate("faiss", "faiss", faiss),
        ),
        quality=Quality("inertia", inertia, 1e-3),
        bar=1.5,
    )


WORKLOADS = (workload(64, (200_000, 32), (5_000, 8)), workload(256, (50_000, 128), (5_000, 16)))
