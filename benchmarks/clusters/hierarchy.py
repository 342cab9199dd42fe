"""Agglomerative clustering from the vectors: 15 000 normal rows of 10 columns, distances included in the time.

fastcluster takes part with ``linkage_vector`` where that has the linkage and with ``linkage`` otherwise. Trees are
compared by the sum of their heights, which is the same for everyone up to rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.memory import extra_peak
from benchmarks.workload import OURS, Candidate, Check, Data, Quality, Workload, load

VECTORS = ("single", "ward", "centroid")  # those fastcluster has without a table of distances


def normal(n: int, d: int) -> Data:
    return Data(np.random.default_rng(0).standard_normal((n, d)), None)


def _ours(linkage: str) -> Callable[[Data, float], Any]:
    def fit(data: Data, tolerance: float) -> Any:
        return load(OURS, "AgglomerativeClustering")(linkage=linkage).fit(data.X).linkage_matrix_

    return fit


def _peer(module: str, name: str, linkage: str) -> Callable[[Data, float], Any]:
    def fit(data: Data, tolerance: float) -> Any:
        return load(module, name)(data.X, linkage)

    return fit


def _heights(data: Data, tree: Any) -> float:
    return float(tree[:, 2].sum())


def _workload(linkage: str) -> Workload:
    return Workload(
        f"linkage-{linkage}",
        f"Agglomerative clustering, {linkage} linkage",
        normal,
        sizes=(15_000, 10),
        quick_sizes=(400, 4),
        candidates=(
            Candidate(OURS, OURS, _ours(linkage)),
            Candidate(
                "fastcluster",
                "fastcluster",
                _peer("fastcluster", "linkage_vector" if linkage in VECTORS else "linkage", linkage),
            ),
            Candidate("SciPy", "scipy", _peer("scipy.cluster.hierarchy", "linkage", linkage)),
        ),
        quality=Quality("sum of heights", _heights, 1e-9),
    )


def _memory(quick: bool) -> Iterator[tuple[str, float]]:
    """The larger of the two, in mebibytes."""
    for linkage in ("single", "ward"):
        _ours(linkage)(normal(200, 10), 0.0)  # imports and compilation are paid for
    peaks = []
    for linkage in ("single", "ward"):
        data = normal(1_000 if quick else 100_000, 10)
        peaks.append(extra_peak(lambda linkage=linkage, data=data: _ours(linkage)(data, 0.0)) / 2**20)
    yield OURS, max(peaks)


WORKLOADS = tuple(_workload(linkage) for linkage in ("single", "complete", "average", "ward", "centroid"))

CHECKS = (
    Check(
        "linkage-memory",
        "Single and Ward's linkage of 100 000 × 10: memory beyond the data",
        "MiB",
        1024.0,
        False,
        _memory,
    ),
)
