"""What docstrings promise of memory beyond X, of every estimator: the words, and the most bytes that they stand for.

The words are those of the docstring (a test compares them). "A few" is a number here, and ``SLACK`` is for what each
thread works on (two blocks of four megabytes) and the interpreter itself. ``benchmarks.peaks`` measures. Promises of
``WIDE`` are held against rows so many and so wide that neither that nor vectors hide a copy of X.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

SLACK = 12e6
THREADS = os.cpu_count() or 1
CLUSTERS = CLASSES = 8
MANY = 100  # classes
TREES = 4

Sizes = tuple[int, int]
Bytes = Callable[[int, int, int], float]  # of n rows, d columns and numbers of so many bytes


@dataclass(frozen=True)
class Promise:
    """An estimator with parameters, the size of X, and what its docstring says: in words and as bytes."""

    name: str
    words: str
    most: Bytes
    parameters: dict[str, Any] = field(default_factory=dict)
    sizes: Sizes = (100_000, 32)
    label: str = ""  # where an estimator has several promises
    whole: bool = False  # whether quick sizes are no smaller
    data: str = (
        ""  # "classes" (eight of them), "many" (a hundred), "counts" or "windows", where the task does not say it
    )

    @property
    def key(self) -> str:
        return f"{self.name}-{self.label}" if self.label else self.name

    def bar(self, dtype: str, sizes: Sizes | None = None) -> float:
        """The promise in MB."""
        n, d = sizes or self.sizes
        return (self.most(n, d, 4 if dtype == "float32" else 8) + SLACK) / 1e6

    def copies(self, dtype: str) -> float:
        """The promise in sizes of X."""
        n, d = self.sizes
        return 1e6 * self.bar(dtype) / (n * d * (4 if dtype == "float32" else 8))


def numbers(matrices: float = 0, vectors: float = 0, copies: float = 0) -> Bytes:
    """Float64 numbers: d × d matrices, vectors of length n and copies of X."""
    return lambda n, d, size: 8 * (matrices * d * d + vectors * n + copies * n * d)


def codes(vectors: float) -> Bytes:
    """One byte a cell, and vectors of length n."""
    return lambda n, d, size: n * d + 8 * vectors * n


def _forest(n: int, d: int, size: int) -> float:
    """Trees that grow until every row has a leaf of its own; each thread has room for one more and its rows."""
    return n * d + 2 * n * (85 * TREES + 70 * THREADS) + 8 * 8 * n + 50 * n * THREADS


def _rewritten(n: int, d: int, size: int) -> float:
    """What k-means takes: X in float32, and bounds of up to 60 clusters or groups of them."""
    return 4 * n * d + 60 * 4 * n


def _sampled(n: int, d: int, size: int) -> float:
    """What soft k-means takes: 32768 rows in both precisions, and eight numbers a row."""
    return 12 * 32768 * d + 8 * 8 * n


def _sums(n: int, d: int, size: int) -> float:
    """What softmax takes: vectors by rows and by columns, sums of parts of the rows, and room for one to a thread."""
    return 8 * MANY * (12 * n + (30 + THREADS) * d) + max(64 << 20, 16 * 8 * MANY * d)


def _triangle(n: int, d: int, size: int) -> float:
    return 4 * n * n + 16.8e6


def _of(name: str, words: str, most: Bytes, **parameters: Any) -> Promise:
    return Promise(name, words, most, parameters)


MATRICES = "memory for a few d × d matrices and a few vectors of length n"
NODES = "Memory: one byte a cell of X, and about 70 bytes a node of all trees"
TREE = "three float64 copies of the rows while a tree is built"
BYTES = "memory n d bytes"
TRIANGLE = "n²/2 distances, and 17 MB to rewrite it"
VECTORS = "twenty vectors of length n"
SORTED = "Memory 8 n d bytes and some twenty numbers a row"
SQUARE, WINDOWS = (4000, 16), (20_000, 144)
REWRITTEN = "a float32 copy of it (dense X), up to 60 floats a row"
SAMPLED = "the sample for the start and a float32 copy of it, a few numbers a row and O(k·d)"
COLUMNS = "a float64 copy of the working set"
SMALL = {"n_estimators": TREES, "random_state": 0}
BOTH = ("Classifier", "Regressor")

LINEAR = (
    *(_of(name, MATRICES, numbers(20, 6)) for name in ("LinearRegression", "Ridge", "RidgeCV")),
    *(
        _of(name, "memory d² and a few vectors of length n", numbers(20, 6), alpha=0.1)
        for name in ("Lasso", "ElasticNet")
    ),
    *(
        _of(name, "a d × d matrix a fold and some twenty vectors of length n", numbers(40, 20), cv=3, alphas=10)
        for name in ("LassoCV", "ElasticNetCV")
    ),
    _of("HuberRegressor", "Memory d² and a dozen vectors of length n", numbers(20, 12)),
    _of("LogisticRegression", "Memory for a dozen vectors of length n", numbers(20, 12)),
    Promise(
        "LogisticRegression", "a dozen vectors of length n (times k)", numbers(20, 12 * CLASSES), label="softmax",
        data="classes",
    ),
    Promise(
        "LogisticRegression", "64 MiB or 16 more of these", _sums, {"max_iter": 20}, (2000, 5000), "softmax-wide",
        data="many",
    ),
    Promise("LogisticRegression", COLUMNS, numbers(20, 12, 1), {"l1_ratio": 1.0, "C": 0.01}, label="l1"),
    Promise(
        "LogisticRegression", COLUMNS, numbers(20, 12 * CLASSES, 1), {"l1_ratio": 1.0, "C": 0.01}, label="softmax-l1",
        data="classes",
    ),
    _of(
        "LogisticRegressionCV", "The rows of one fold are copied at a time",
        lambda n, d, size: size * n * d + 16 * 8 * n, Cs=2, cv=3, l1_ratios=(0.0,), scoring="neg_log_loss",
        use_legacy_attributes=False,
    ),
    _of("LinearModel", "Memory for some fifteen vectors of length n", numbers(20, 15), loss="huber"),
)  # fmt: skip

TREES_AND_ENSEMBLES = (
    _of("DecisionStump", SORTED, numbers(0, 24, 1)),
    *(_of(f"DecisionTree{task}", SORTED, numbers(0, 24, 1), max_depth=8) for task in BOTH),
    *(
        Promise(f"{kind}{task}", NODES, _forest, SMALL)
        for kind in ("RandomForest", "ExtraTrees")
        for task in BOTH
    ),
    *(
        Promise(
            f"Bagging{task}", "for each thread a copy of X and what the fit of a member takes",
            lambda n, d, size: THREADS * (size * n * d + 8 * n * d + 24 * 8 * n + 2 * 85 * n),
            {"n_estimators": 2, "random_state": 0},
        )
        for task in BOTH
    ),
    _of("AdaBoostClassifier", f"{BYTES} and some {VECTORS}", codes(24), n_estimators=10),
    *(
        _of(f"GradientBoosting{task}", f"{BYTES} beyond X, plus some {VECTORS}", codes(24), n_estimators=10)
        for task in BOTH
    ),
    *(Promise(f"Voting{task}", "what their fits take", numbers(20, 36, 1)) for task in BOTH),
    *(
        Promise(
            f"{kind}{task}", "for each thread a copy of the rows of a fold and what the fit of a member takes",
            lambda n, d, size: THREADS * (size * n * d + 8 * n * d + 24 * 8 * n + 2 * 85 * n) / 2 + 2 * 85 * n,
            {"cv": 2},  # folds are halves; the member of all rows is kept
        )
        for kind in ("Blending", "Stacking")
        for task in BOTH
    ),
    Promise(
        "CostSensitiveClassifier", "what the fit of the classifier takes and a table of n × K probabilities",
        numbers(20, 24),
    ),
    Promise("HaarFeatures", "keeps 20 bytes a feature", lambda n, d, size: 20 * d * d, {}, WINDOWS, data="windows"),
    Promise(
        "CascadeClassifier", "candidates × windows bytes for ranks of responses",
        lambda n, d, size: 2000 * n + 4 * 8 * n * d, {"max_stages": 2, "max_candidates": 2000}, WINDOWS, data="windows",
    ),
)  # fmt: skip

NEIGHBOURS = (
    *(
        Promise(
            name, TREE, lambda n, d, size: 8 * n * (3 * d + 12) + 10e6 * THREADS, {"algorithm": "kd_tree"}, (400_000, 6)
        )
        for name in ("NearestNeighbors", "KNeighborsClassifier", "KNeighborsRegressor")
    ),
    Promise(
        "NearestNeighbors", "a float32 copy for products",
        lambda n, d, size: 4 * n * d + 12 * 8 * n + 10e6 * THREADS, {"algorithm": "brute"}, label="brute",
    ),
)  # fmt: skip

CLUSTER = (
    _of("KMeans", REWRITTEN, _rewritten, random_state=0),
    Promise(
        "KMeans", REWRITTEN, _rewritten, {"n_clusters": 256, "max_iter": 5, "random_state": 0}, label="bounds"
    ),
    _of(
        "MiniBatchKMeans", "memory O(batch_size · (d + k)) and six numbers a row beside X",
        lambda n, d, size: 4 * 8 * 1024 * (d + CLUSTERS) + 6 * 8 * n, random_state=0,
    ),
    _of("SoftKMeans", SAMPLED, _sampled, n_clusters=CLUSTERS, max_iter=20, random_state=0),
    Promise("KMedoids", "n² numbers of memory", lambda n, d, size: size * n * n, {"n_clusters": CLUSTERS}, SQUARE),
    *(
        Promise("AgglomerativeClustering", "O(nd) memory", numbers(0, 20, 4), {"linkage": linkage}, sizes, linkage)
        for linkage, sizes in (("ward", (20_000, 4)), ("single", (8000, 8)), ("centroid", (4000, 8)))
    ),
    *(
        Promise("AgglomerativeClustering", TRIANGLE, _triangle, {"linkage": linkage}, SQUARE, linkage)
        for linkage in ("complete", "average")
    ),
    Promise(
        "SpectralClustering", "O(n · neighbours) memory", lambda n, d, size: 20 * 8 * 10 * n,
        {"affinity": "nearest_neighbors", "random_state": 0}, (10_000, 8),
    ),
    Promise(
        "SpectralClustering", "8 n² bytes", lambda n, d, size: 8 * n * n + 8 * 500 * n,
        {"gamma": 0.1, "random_state": 0}, SQUARE, "rbf",
    ),
    _of(
        "GaussianMixture", "a few copies of the sample for the start and five numbers a row",
        lambda n, d, size: 1024 * CLUSTERS * d * THREADS + 512 * CLUSTERS * d * (d + 2) + 4 * 8 * 32768 * d + 40 * n,
        n_components=CLUSTERS, random_state=0,
    ),
    *(
        _of(name, "memory of three copies of X in float64", numbers(0, 8, 3))
        for name in ("BayesianNetwork", "BayesianNetworkClassifier", "ChowLiu", "TreeAugmentedNB")
    ),
    _of(
        "Mixture", "a few copies of the sample for the start and five numbers a row",
        lambda n, d, size: 8 * 2**20 * THREADS + 4 * 8 * 32768 * (d + CLUSTERS) + 40 * n,
        n_components=CLUSTERS, random_state=0,
    ),
    _of("HillClimb", "memory of three copies of X in float64", numbers(0, 12, 3), max_parents=2, tabu=0),
    _of("PCA", "memory of a d × d matrix for each thread", lambda n, d, size: 8 * d * d * THREADS, n_components=4),
)  # fmt: skip

ROWS = "three numbers a row"
BAYES = (
    Promise("GaussianNB", ROWS, numbers(0, 6), {}, (400_000, 32)),
    Promise("BernoulliNB", "the zeros and ones of the entries", numbers(0, 6, 1.1), {}, (400_000, 32)),
    Promise("MultinomialNB", ROWS, numbers(0, 6, 0.1), {}, (400_000, 32), data="counts"),
    Promise("CategoricalNB", "a copy of X with whole numbers", numbers(0, 8, 2.1), {}, (200_000, 32), data="counts"),
    Promise("MixedNB", "a copy of X (columns of a kind are put together)", numbers(0, 8, 2.1), {}, (200_000, 32)),
)

# of L1, nearly all columns are in the working set, but not all, which takes the most
WIDE = tuple(
    Promise(name, words, most, parameters, (300_000, 128), label, whole=True)
    for name, words, most, parameters, label in (
        ("LogisticRegression", COLUMNS, numbers(20, 12, 1), {"l1_ratio": 1.0}, "l1-wide"),
        ("KMeans", REWRITTEN, _rewritten, {"max_iter": 3, "random_state": 0}, "wide"),
        ("SoftKMeans", SAMPLED, _sampled, {"max_iter": 3, "random_state": 0}, "wide"),
    )
)

PROMISES = (*LINEAR, *TREES_AND_ENSEMBLES, *NEIGHBOURS, *CLUSTER, *BAYES, *WIDE)
