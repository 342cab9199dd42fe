"""Principal components at equal explained variance, and spectral clustering at an equal normalised cut."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.trees.boosting import estimator
from benchmarks.workload import OURS, Candidate, Data, Quality, Workload

COMPONENTS, CLUSTERS = 20, 8


def factors(n: int, d: int) -> Data:
    """Up to 100 factors of falling strength in noise, away from the origin."""
    rng = np.random.default_rng(0)
    r = min(d, 100)
    strength = 50.0 / np.sqrt(d) / np.arange(1, r + 1) ** 0.75
    X = (rng.standard_normal((n, r)) * strength) @ rng.standard_normal((r, d))
    for start in range(0, n, 1000):  # no second array of the size of X
        X[start : start + 1000] += rng.standard_normal(X[start : start + 1000].shape) + 3.0
    return Data(X, None)


def left_over(data: Data, fit: Any) -> float:
    """The share of the variance that the components do not explain, measured on the rows (the same for everyone)."""
    X, V = data.X, np.asarray(fit.components_, dtype=np.float64)
    mean = X.mean(axis=0)
    total = kept = 0.0
    for start in range(0, len(X), 4096):
        rows = X[start : start + 4096] - mean
        total += float(np.einsum("ij,ij->", rows, rows))
        scores = rows @ V.T
        kept += float(np.einsum("ij,ij->", scores, scores))
    return 1.0 - kept / total


def _pca(module: str, **arguments: Any) -> Callable[[Data, float], Any]:
    return estimator(module, "PCA", n_components=COMPONENTS, random_state=0, **arguments)


def _pca_workload(name: str, title: str, sizes: tuple[int, int], quick: tuple[int, int]) -> Workload:
    peers = [
        Candidate(f"scikit-learn, {solver}", "sklearn", _pca("sklearn.decomposition", svd_solver=solver))
        for solver in ("covariance_eigh", "randomized", "full", "arpack")
    ]
    return Workload(
        name,
        title,
        factors,
        sizes=sizes,
        quick_sizes=quick,
        candidates=(
            Candidate(OURS, OURS, _pca(OURS)),
            *peers,
            Candidate("scikit-learn-intelex", "sklearnex", _pca("sklearnex.decomposition")),
            Candidate(
                "scikit-learn-intelex, covariance_eigh",
                "sklearnex",
                _pca("sklearnex.decomposition", svd_solver="covariance_eigh"),
            ),
        ),
        quality=Quality("variance left over", left_over, 1e-4),
        bar=1.0,
        memory_bar=0.25,
    )


def groups(n: int, d: int) -> Data:
    """Eight overlapping clouds."""
    rng = np.random.default_rng(0)
    centres = rng.uniform(-10, 10, (CLUSTERS, d))
    return Data(centres[rng.integers(0, CLUSTERS, n)] + 4.0 * rng.standard_normal((n, d)), None)


def cut(data: Data, fit: Any) -> float:
    """The normalised cut of the labels, in the graph that the fit made."""
    W, labels = fit.affinity_matrix_, np.asarray(fit.labels_)
    member = np.eye(int(labels.max()) + 1)[labels]
    loops = np.asarray(W.diagonal())
    degree = np.asarray(W.sum(axis=1)).ravel() - loops
    volume = member.T @ degree
    inside = np.einsum("ij,ij->j", member, np.asarray(W @ member)) - member.T @ loops
    return float(np.sum(1.0 - inside / volume))


def _spectral_workload(name: str, title: str, **arguments: Any) -> Workload:
    options = {"n_clusters": CLUSTERS, "random_state": 0} | arguments
    return Workload(
        name,
        title,
        groups,
        sizes=(5_000, 10),
        quick_sizes=(400, 4),
        candidates=(
            Candidate(OURS, OURS, estimator(OURS, "SpectralClustering", **options)),
            Candidate("scikit-learn", "sklearn", estimator("sklearn.cluster", "SpectralClustering", **options)),
        ),
        quality=Quality("normalised cut", cut, 0.02),
        bar=2.0,
    )


WORKLOADS = (
    _pca_workload("pca-tall", "PCA, 20 components, many rows", (200_000, 200), (2_000, 40)),
    _pca_workload("pca-wide", "PCA, 20 components, many columns", (20_000, 2_000), (1_500, 600)),
    _spectral_workload(
        "spectral-neighbours", "Spectral clustering, 8 clusters, 10 neighbours", affinity="nearest_neighbors"
    ),
    _spectral_workload("spectral-kernel", "Spectral clustering, 8 clusters, Gaussian affinity", gamma=0.01),
)
