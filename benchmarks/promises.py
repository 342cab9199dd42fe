"""What docstrings promise of memory, held against the peak of one fit beyond X, of every estimator.

Each fit runs in a process of its own, on float32 and on float64 rows (``benchmarks.memory`` says how the peak is
taken). A promise is the formula in a docstring, with a number for "a few"; ``SLACK`` is for buffers of threads and the
interpreter itself. Where nothing is promised the figure stands alone.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from benchmarks.memory import ROOT, TIMEOUT, extra_peak
from benchmarks.workload import OURS, Check, load

SLACK = 12e6
DTYPES = ("float32", "float64")
QUICK = (2000, 8)
THREADS = os.cpu_count() or 1
CLUSTERS = 8

Bytes = Callable[[int, int, int], float]  # of n rows, d columns and numbers of so many bytes


@dataclass(frozen=True)
class Promise:
    """An estimator with parameters, the size of X, and what its docstring says: in words and as bytes."""

    name: str
    words: str = ""
    most: Bytes | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    sizes: tuple[int, int] = (100_000, 32)
    label: str = ""  # where an estimator has several promises

    @property
    def key(self) -> str:
        return f"{self.name}-{self.label}" if self.label else self.name

    def bar(self, dtype: str) -> float | None:
        """The promise in MB."""
        if self.most is None:
            return None
        n, d = self.sizes
        return (self.most(n, d, 4 if dtype == "float32" else 8) + SLACK) / 1e6


def _matrices(n: int, d: int, size: int) -> float:
    return 20 * 8 * d * d


def _matrices_and_vectors(n: int, d: int, size: int) -> float:
    return 20 * 8 * d * d + 12 * 8 * n


def _codes(n: int, d: int, size: int) -> float:
    return n * d + 12 * 8 * n


def _forest(n: int, d: int, size: int) -> float:
    return n * d + 70 * 2 * n * (SMALL["n_estimators"] + THREADS) + 12 * 8 * n


def _copies(n: int, d: int, size: int) -> float:
    return 4 * 8 * n * d


def _of(name: str, *words: Any, **parameters: Any) -> Promise:
    return Promise(name, *words, parameters=parameters)


FEW = "a few d × d matrices"
CODES = "n d bytes and a few vectors of length n"
NODES = "one byte a cell and 70 bytes a node of all trees"
SMALL = {"n_estimators": 4, "random_state": 0}
TREE, FEWER, SQUARE = (100_000, 6), (20_000, 32), (4000, 16)

PROMISES = (
    *(_of(name, FEW, _matrices) for name in ("LinearRegression", "Ridge")),
    _of("RidgeCV", f"{FEW} and vectors of length n", _matrices_and_vectors),
    *(_of(name, "d²", _matrices, alpha=0.1) for name in ("Lasso", "ElasticNet")),
    *(_of(name, cv=3, alphas=10) for name in ("LassoCV", "ElasticNetCV")),
    _of("HuberRegressor", "d² and a few vectors of length n", _matrices_and_vectors),
    _of("LogisticRegression", "vectors of length n", _matrices_and_vectors),
    Promise("LogisticRegression", parameters={"l1_ratio": 1.0, "C": 0.01}, label="l1"),
    _of("LogisticRegressionCV", "the rows of one fold", lambda n, d, size: size * n * d + 12 * 8 * n, Cs=2, cv=3),
    _of("LinearModel", loss="huber"),
    _of("DecisionStump"),
    _of("DecisionTreeClassifier", "8 n d bytes", lambda n, d, size: 8 * n * d + 12 * 8 * n, max_depth=8),
    _of("DecisionTreeRegressor", "8 n d bytes", lambda n, d, size: 8 * n * d + 12 * 8 * n, max_depth=8),
    *(
        _of(f"{kind}{task}", NODES, _forest, **SMALL)
        for kind in ("RandomForest", "ExtraTrees")
        for task in ("Classifier", "Regressor")
    ),
    *(
        Promise(f"Bagging{task}", parameters={"n_estimators": 2, "random_state": 0}, sizes=FEWER)
        for task in ("Classifier", "Regressor")
    ),
    _of("AdaBoostClassifier", "n d bytes", _codes, n_estimators=10),
    *(_of(f"GradientBoosting{task}", CODES, _codes, n_estimators=10) for task in ("Classifier", "Regressor")),
    *(
        Promise(f"{kind}{task}", parameters={} if kind == "Voting" else {"cv": 2}, sizes=FEWER)
        for kind in ("Voting", "Blending", "Stacking")
        for task in ("Classifier", "Regressor")
    ),
    *(
        Promise(
            name, "three float64 copies", lambda n, d, size: 3 * 8 * n * d + 12 * 8 * n, {"algorithm": "kd_tree"}, TREE
        )
        for name in ("NearestNeighbors", "KNeighborsClassifier", "KNeighborsRegressor")
    ),
    Promise(
        "NearestNeighbors",
        "half a copy of float64 rows, a dozen numbers a row, ten MB a thread",
        lambda n, d, size: 4 * n * d * (size == 8) + 12 * 8 * n + 10e6 * THREADS,
        {"algorithm": "brute"},
        label="brute",
    ),
    _of("KMeans", "a float32 copy and 17 floats a row", lambda n, d, size: 4 * n * d + 17 * 4 * n, random_state=0),
    _of("MiniBatchKMeans", "batch_size (d + k) numbers", lambda n, d, size: 4 * 8 * 1024 * (d + 8), random_state=0),
    _of("SoftKMeans", "k d numbers", lambda n, d, size: 8 * 8 * d, n_clusters=CLUSTERS, random_state=0),
    Promise("KMedoids", "n² numbers", lambda n, d, size: 8 * n * n, {"n_clusters": CLUSTERS}, SQUARE),
    *(
        Promise("AgglomerativeClustering", "n d numbers", _copies, {"linkage": linkage}, sizes, linkage)
        for linkage, sizes in (("ward", (20_000, 4)), ("single", (8000, 8)), ("centroid", (4000, 8)))
    ),
    Promise(
        "AgglomerativeClustering",
        "n²/2 numbers",
        lambda n, d, size: 4 * n * n,
        {"linkage": "complete"},
        SQUARE,
        "complete",
    ),
    Promise(
        "SpectralClustering",
        "n · neighbours numbers",
        lambda n, d, size: 20 * 8 * 10 * n,
        {"affinity": "nearest_neighbors", "random_state": 0},
        (10_000, 8),
    ),
    Promise(
        "SpectralClustering",
        "8 n² bytes",
        lambda n, d, size: 8 * n * n,
        {"gamma": 0.1, "random_state": 0},
        SQUARE,
        "rbf",
    ),
    _of(
        "GaussianMixture", "a few MB a thread", lambda n, d, size: 8e6 * THREADS, n_components=CLUSTERS, random_state=0
    ),
    _of("PCA", "a d × d matrix a thread", lambda n, d, size: 20 * 8 * d * d * THREADS, n_components=4),
)


def rows(n: int, d: int, dtype: str, task: str) -> tuple[Any, ...]:
    """X around eight centres, and a target of the kind that the estimator learns from."""
    import numpy as np

    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d), dtype=np.float32 if dtype == "float32" else np.float64)
    X[:, 0] += 4 * rng.integers(0, CLUSTERS, n)
    if task not in ("classification", "regression"):
        return (X,)
    y = X[:, :3].sum(axis=1) + rng.standard_normal(n)
    return X, (y > np.median(y)).astype(np.int64) if task == "classification" else y


def child(key: str, dtype: str, n: int, d: int) -> None:
    """Fit fewer rows, then those of that size, and print the extra peak as JSON."""
    promise = next(each for each in PROMISES if each.key == key)
    entry = load("corollary.registry", "ESTIMATORS")[promise.name]
    model = entry.load()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # enough rows to take the same path: small ones do without compiled code, whose import takes 80 MB
        model(**promise.parameters).fit(*rows(max(QUICK[0], n // 4), d, dtype, entry.tasks[0]))
        data = rows(n, d, dtype, entry.tasks[0])
        extra = extra_peak(lambda: model(**promise.parameters).fit(*data))
    print(json.dumps({"extra": extra, "data": data[0].nbytes}))


def measure(promise: Promise, dtype: str, quick: bool) -> Iterator[tuple[str, float]]:
    """MB of X, and of the fit beyond it."""
    n, d = QUICK if quick else promise.sizes
    command = [sys.executable, "-m", "benchmarks.promises", promise.key, dtype, str(n), str(d)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    yield "X", found["data"] / 1e6
    yield "over X", found["extra"] / found["data"]
    yield OURS, found["extra"] / 1e6


def _checks() -> Iterator[Check]:
    for promise in PROMISES:
        for dtype in DTYPES:
            title = f"{promise.key}, {dtype}" + (f": {promise.words}" if promise.words else "")
            take = functools.partial(measure, promise, dtype)
            yield Check(f"{promise.key}-{dtype}", title, "MB", promise.bar(dtype), False, take)


CHECKS = tuple(_checks())

if __name__ == "__main__":
    child(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
