"""Gaussian mixtures: exactly 20 iterations of EM from the same start, compared by their log-likelihood."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.workload import OURS, Candidate, Data, Quality, Workload, load

COMPONENTS, ITERATIONS = 8, 20


def clouds(n: int, d: int) -> Data:
    """Clouds of different shapes that overlap, so that EM still climbs after the last iteration; one start for all."""
    rng = np.random.default_rng(0)
    centres = 0.7 * rng.standard_normal((COMPONENTS, d))
    shapes = 0.3 * rng.standard_normal((COMPONENTS, d, d)) / np.sqrt(d) + np.eye(d)
    members = rng.integers(COMPONENTS, size=n)
    X = rng.standard_normal((n, d))
    for k in range(COMPONENTS):
        own = members == k
        X[own] = X[own] @ shapes[k] + centres[k]
    start = {"weights_init": np.full(COMPONENTS, 1 / COMPONENTS), "means_init": X[:COMPONENTS].copy()}
    return Data(X, None, start)


def surprise(data: Data, fit: Any) -> float:
    """Minus the mean log density of the rows."""
    return -float(fit.score(data.X))


def _mixture(module: str, kind: str) -> Callable[[Data, float], Any]:
    def fit(data: Data, tolerance: float) -> Any:
        d = data.X.shape[1]
        precisions = np.repeat(np.eye(d)[None], COMPONENTS, axis=0) if kind == "full" else np.ones((COMPONENTS, d))
        model = load(module, "GaussianMixture")(
            COMPONENTS,
            covariance_type=kind,
            tol=0.0,
            max_iter=ITERATIONS,
            precisions_init=precisions,
            random_state=0,
            **data.settings,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it stopped at max_iter, as it was asked to
            return model.fit(data.X)

    return fit


def _workload(kind: str) -> Workload:
    return Workload(
        f"gaussian-mixture-{kind}",
        f"Gaussian mixture, {kind} covariances, k = {COMPONENTS}, {ITERATIONS} iterations of EM",
        clouds,
        sizes=(100_000, 32),
        quick_sizes=(2_000, 8),
        candidates=(
            Candidate(OURS, OURS, _mixture(OURS, kind)),
            Candidate("scikit-learn", "sklearn", _mixture("sklearn.mixture", kind)),
        ),
        quality=Quality("− mean log-likelihood", surprise, 1e-6),
        bar=4.0,
    )


WORKLOADS = (_workload("full"), _workload("diag"))
