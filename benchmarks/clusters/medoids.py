"""k-medoids from a distance matrix, everyone from the same first medoids, until no swap lowers the cost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from benchmarks.workload import OURS, Candidate, Data, Quality, Workload, load

CLUSTERS = 20


def distances(dtype: type) -> Callable[[int, int], Data]:
    def make(n: int, d: int) -> Data:
        """Forty overlapping groups of points, more than clusters, so that the swaps have something to decide."""
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n, d)) + 2 * rng.normal(size=(40, d))[rng.integers(0, 40, n)]
        start = rng.choice(n, CLUSTERS, replace=False)
        return Data(cdist(X, X).astype(dtype), None, {"start": start})

    return make


def ours(data: Data, tolerance: float) -> Any:
    model = load(OURS, "KMedoids")(CLUSTERS, metric="precomputed", init=data.settings["start"])
    return model.fit(data.X).medoid_indices_


def fasterpam(threads: int) -> Callable[[Data, float], Any]:
    def fit(data: Data, tolerance: float) -> Any:
        # without a seed one thread takes the candidates in their order; several threads need one, and it warns
        return load("kmedoids", "fasterpam")(data.X, data.settings["start"].copy(), n_cpu=threads).medoids

    return fit


def cost(data: Data, medoids: Any) -> float:
    return float(data.X[np.asarray(medoids, dtype=np.int64)].min(axis=0).sum(dtype=np.float64))


def _workload(name: str, dtype: type) -> Workload:
    return Workload(
        name,
        f"k-medoids, k = {CLUSTERS}, from a matrix of {np.dtype(dtype).name} distances",
        distances(dtype),
        sizes=(5_000, 10),
        quick_sizes=(300, 4),
        candidates=(
            Candidate(OURS, OURS, ours),
            Candidate("kmedoids", "kmedoids", fasterpam(1)),
            Candidate("kmedoids, all cores", "kmedoids", fasterpam(-1)),
        ),
        quality=Quality("cost", cost, 0.01),
    )


WORKLOADS = (_workload("k-medoids", np.float64), _workload("k-medoids-float32", np.float32))
