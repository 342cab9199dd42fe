"""The ten nearest of 100 000 rows for 20 000 queries: building what the search needs is part of the time.

Everyone gets float64 rows; faiss takes float32, so its answers may be off in the seventh digit, which the rule allows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workload import OURS, Candidate, Data, Quality, Workload, load

NEIGHBORS = 10


def rows(n: int, d: int) -> Data:
    """Normal rows, and a fifth as many queries."""
    rng = np.random.default_rng(0)
    return Data(rng.standard_normal((n, d)), None, {"queries": rng.standard_normal((n // 5, d))})


def mean_distance(data: Data, found: Any) -> float:
    """Mean distance of the neighbours found, recomputed from the first 500 queries: missing a neighbour raises it."""
    gap = data.X[found[:500]] - data.settings["queries"][:500, None]
    return float(np.sqrt((gap**2).sum(axis=2)).mean())


def _model(module: str, **arguments: Any) -> Any:
    def search(data: Data, tolerance: float) -> Any:
        model = load(module, "NearestNeighbors")(n_neighbors=NEIGHBORS, **arguments).fit(data.X)
        return np.asarray(model.kneighbors(data.settings["queries"])[1])

    return search


def _scipy(data: Data, tolerance: float) -> Any:
    tree = load("scipy.spatial", "cKDTree")(data.X)
    return tree.query(data.settings["queries"], NEIGHBORS, workers=-1)[1]


def _faiss(data: Data, tolerance: float) -> Any:
    index = load("faiss", "IndexFlatL2")(data.X.shape[1])
    index.add(data.X.astype(np.float32))
    return index.search(data.settings["queries"].astype(np.float32), NEIGHBORS)[1]


def _workload(name: str, title: str, d: int, *peers: Candidate) -> Workload:
    return Workload(
        name,
        title,
        rows,
        sizes=(100_000, d),
        quick_sizes=(2_000, d),
        candidates=(Candidate(OURS, OURS, _model(OURS)), *peers, Candidate("faiss flat", "faiss", _faiss)),
        quality=Quality("mean distance of the neighbours", mean_distance, 1e-6),
        memory_bar=200e6 / (100_000 * d * 8),
    )


WORKLOADS = (
    _workload(
        "neighbors-8",
        "Ten nearest neighbours, 8 columns",
        8,
        Candidate("scikit-learn", "sklearn", _model("sklearn.neighbors", algorithm="kd_tree", n_jobs=-1)),
        Candidate("scikit-learn-intelex", "sklearnex", _model("sklearnex.neighbors", algorithm="kd_tree", n_jobs=-1)),
        Candidate("SciPy cKDTree", "scipy", _scipy),
    ),
    _workload(
        "neighbors-64",
        "Ten nearest neighbours, 64 columns",
        64,
        Candidate("scikit-learn", "sklearn", _model("sklearn.neighbors", algorithm="brute", n_jobs=-1)),
        Candidate("scikit-learn-intelex", "sklearnex", _model("sklearnex.neighbors", algorithm="brute", n_jobs=-1)),
    ),
)
