"""k-medoids: clusters whose centres are rows of the data, for any metric."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils import check_random_state

from corollary.base import Estimator, assigning, check_weights, fitting, predicting
from corollary.core.fitted import Count, Fitted, Floats, Integers, Nothing, Number, Options
from corollary.core.limits import N_JOBS, RANDOM_STATE, ArrayLike, Choice, Instance, Integer, Limit, Real
from corollary.core.parallel import block_rows, map_blocks
from corollary.core.scaling import power_of_two
from corollary.core.types import Array
from corollary.referee.medoids import swaps
from corollary.referee.verdict import Verification
from corollary.solvers.distance_tables import ComputedDistances, Distances, read_matrix, stored_distances
from corollary.solvers.distances import between, check_square, complete_options
from corollary.solvers.loop import Observer, Rules, Run, best_of, run
from corollary.solvers.medoids.alternate import Alternate
from corollary.solvers.medoids.sampled import Sampled
from corollary.solvers.medoids.start import first_medoids
from corollary.solvers.medoids.swaps import EagerSwaps, Medoids, best_single

_ALL_DISTANCES = 15_000  # rows up to which method="auto" works with all distances
_SAMPLES = 5
FAINT = 2.0**16
VANISHING = 2.0**-1000  # sums below this lose digits
METRICS = (
    "precomputed", "euclidean", "l2", "manhattan", "l1", "cityblock", "cosine", "chebyshev", "minkowski", "sqeuclidean",
    "seuclidean", "mahalanobis", "correlation", "canberra", "braycurtis", "hamming", "jaccard", "dice",
    "rogerstanimoto", "russellrao", "sokalsneath", "yule", "haversine",
)  # fmt: skip


class KMedoids(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, Estimator):
    r"""Clusters around k rows of the data, the medoids, that minimise the summed distances to the nearest of them.

    .. math:: \min_{M \subset \{1 \dots n\},\, |M| = k} \; \sum_{i=1}^n w_i \min_{m \in M} d(x_i, x_m)

    Parameters
    ----------
    n_clusters : int ≥ 1, default 8
    metric : str, callable or "precomputed", default "euclidean"
        A metric of :func:`sklearn.metrics.pairwise_distances` or a function of two rows, symmetric and not negative.
        With "precomputed", X is the n × n matrix of distances.
    method : {"auto", "fasterpam", "alternate", "clara"}
        "fasterpam" swaps a medoid for another row as soon as that lowers the cost, until no swap does. "alternate"
        only moves medoids within their clusters: quicker and worse. "clara" does the swaps within samples. "auto" is
        "fasterpam" up to 15 000 rows and "clara" beyond.
    init : {"build", "k-medoids++", "random"} or array of k row numbers
        "build" adds one medoid after the other, each the best there is.
    max_iter : int ≥ 0, default 300
        Passes over all candidates.
    tol : float ≥ 0, default 1e-9
        A swap must lower the cost by more than this share of it.
    n_init : "auto" or int ≥ 1
        Starts, of which the best is kept, or samples of "clara". "auto" is 1, and 5 samples. Starts with "build" or an
        array are the same each time, so they are made once.
    metric_params : dict or None
        Further arguments of the metric. Variances that a metric needs (V, VI) are those of X unless given.
    random_state : int, RandomState or None
    n_jobs : int or None
        Threads; None means all usable cores. The answer does not depend on it.

    Attributes
    ----------
    medoid_indices_ : array of shape (k,)
        Row numbers of the medoids.
    cluster_centers_ : array of shape (k, d), or None for precomputed distances
    labels_ : array of shape (n,)
    inertia_ : float
        The cost above.
    metric_params_ : dict
        ``metric_params``, completed.
    n_iter_ : int
        Passes over all candidates, or samples of "clara".
    n_features_in_, feature_names_in_ : as in scikit-learn
    evidence_ : Evidence

    Notes
    -----
    *Cost.* All distances once, n² d operations and n² numbers of memory; if they do not fit they are computed anew in
    each pass, in blocks. A pass is O(n²) for all k (n − k) swaps. "clara": samples of 2000 rows and O(n k d).

    *Evidence.* Stationary: the certificate is the largest gain of any single swap, as a share of the cost, at most
    ``tol`` when the search ends by itself. For "clara" it is about swaps within the sample, for "alternate" about moves
    within clusters. A single medoid is exact: every row is tried. History: "objective" after each pass (for "clara",
    each sample), which never rises.

    References
    ----------
    Kaufman and Rousseeuw (1990), Finding Groups in Data. Schubert and Rousseeuw (2021), Fast and eager k-medoids
    clustering.

    Examples
    --------
    >>> import numpy as np
    >>> from corollary import KMedoids
    >>> X = np.array([[1.0], [2.0], [3.0], [50.0], [51.0], [99.0]])
    >>> model = KMedoids(n_clusters=2, metric="manhattan").fit(X)
    >>> model.cluster_centers_.ravel().tolist(), model.inertia_, model.evidence_.holds
    ([2.0, 51.0], 51.0, True)
    """

    fitted: ClassVar[dict[str, Fitted]] = {
        "medoid_indices_": Integers("k", low=0, below="n"),
        "cluster_centers_": Floats("k", "d") | Nothing(),
        "labels_": Integers("n", low=0, below="k"),
        "inertia_": Number(low=0, finite=False),
        "n_iter_": Count(),
        "metric_params_": Options(),
    }
    limits: ClassVar[dict[str, Limit]] = {
        "n_clusters": Integer(1),
        "metric": Choice(*METRICS) | Instance("a function of two rows", methods=("__call__",)),
        "method": Choice("auto", "fasterpam", "alternate", "clara"),
        "init": Choice("build", "k-medoids++", "random") | ArrayLike(),
        "max_iter": Integer(0),
        "tol": Real(low=0),
        "n_init": Choice("auto") | Integer(1),
        "metric_params": Choice(None) | Instance("a dict", dict),
        "random_state": RANDOM_STATE,
        "n_jobs": N_JOBS,
    }
    medoid_indices_: Array
    cluster_centers_: Array | None
    labels_: Array
    inertia_: float

    @assigning
    def __init__(
        self,
        n_clusters: int = 8,
        *,
        metric: Any = "euclidean",
        method: str = "auto",
        init: Any = "build",
        max_iter: int = 300,
        tol: float = 1e-9,
        n_init: Any = "auto",
        metric_params: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None: ...

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = tags.input_tags.positive_only = self._precomputed
        tags.input_tags.sparse = not tags.input_tags.pairwise and not callable(self.metric)
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.metric, str) and self.metric == "precomputed"

    def _check_state(self) -> None:
        if self._precomputed != (self.cluster_centers_ is None):
            raise ValueError("cluster_centers_ are None with metric='precomputed', and only then.")
        if self._precomputed and len(self.labels_) != self.n_features_in_:
            raise ValueError(f"{len(self.labels_)} labels, but distances to {self.n_features_in_} rows.")

    @property
    def _n_features_out(self) -> int:
        return len(self.medoid_indices_)

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KMedoids:
        """Choose the medoids; a row of weight w counts as w rows, and one of weight zero cannot be a medoid."""
        X, weights = self._validate_rows(
            X, sample_weight, sparse=not self._precomputed, ensure_all_finite=not self._precomputed
        )
        if sp.issparse(X):
            X = X.tocsr()
        self._check_start(weights)
        method, notes = self._chosen_method(X.shape[0])
        self.metric_params_ = complete_options(self.metric, self.metric_params or {}, X, weights)
        unit = 1.0
        if weights.max() < 1 / FAINT:  # brought to about one, or products with small distances would vanish
            unit = power_of_two(float(weights.max()))
            weights = weights * unit
        random = check_random_state(self.random_state)
        observe = self._observer(X, y, self.max_iter, lambda answer: self._attributes(X, answer, unit))
        if method == "clara":
            found = self._sampled(X, weights, random, observe)
        else:
            distances, note = self._distances(X)
            notes += note
            found = self._searched(distances, weights, method, random, observe)
        if not np.isfinite(found.measure.objective):
            raise ValueError("The summed distances are not finite in float64. Rescale X to magnitudes below 1e100.")
        if 0 < found.measure.objective < VANISHING:
            raise ValueError("The summed distances vanish in float64. Multiply X by a power of two, such as 2**500.")
        self.__dict__.update(self._attributes(X, found.state.answer(), unit), n_iter_=found.n_iter)
        self._keep_evidence(found.evidence(facts=found.measure.more, notes=notes + self._doubts()))
        return self

    def _referee(self, X: Any, y: Any, sample_weight: Any) -> Verification:
        X = self._validate_predict(X)
        if not isinstance(self.metric, str) or self._chosen_method(X.shape[0])[0] != "fasterpam":
            return Verification(None, "the referee tries swaps of all rows, by metrics that it knows")
        weights, tolerance = check_weights(sample_weight, X), self.evidence_.certificate.tolerance
        delivered = self.labels_, self.inertia_, self.cluster_centers_
        return swaps(X, weights, self.medoid_indices_, self.metric, tolerance, *delivered)

    def _check_start(self, weights: Array) -> None:
        rows, k = int((weights > 0).sum()), self.n_clusters
        if k > rows:
            counted = "n_samples" if rows == len(weights) else "rows of positive weight"
            raise ValueError(f"{counted}={rows} should be >= n_clusters={k}: each cluster needs a row of its own.")
        if isinstance(self.init, str):
            return
        start = np.asarray(self.init)
        right = start.shape == (k,) and start.dtype.kind in "iu" and len(np.unique(start)) == k
        if not right or not ((start >= 0) & (start < len(weights))).all():
            raise ValueError(
                f"init must be {k} different row numbers from 0 to {len(weights) - 1}, but it is {self.init!r}."
            )
        if self.method == "clara":
            raise ValueError("init as row numbers cannot be used with method='clara', which draws samples of rows.")

    def _chosen_method(self, n: int) -> tuple[str, tuple[str, ...]]:
        if self.method != "auto":
            if self.method == "clara" and self._precomputed:
                raise ValueError("method='clara' is for rows that have no distances yet; metric is 'precomputed'.")
            return self.method, ()
        if n <= _ALL_DISTANCES or self._precomputed or not isinstance(self.init, str):
            return "fasterpam", ()
        return "clara", (
            f"{n:,} rows have {n * (n - 1) // 2:,} distances, so swaps were made within samples; method='fasterpam' "
            "makes them among all rows.",
        )

    def _distances(self, X: Any) -> tuple[Distances, tuple[str, ...]]:
        if self._precomputed:
            return read_matrix(X), ()
        options = self.metric_params_
        try:
            return stored_distances(X, self.metric, options), ()
        except MemoryError as error:
            if callable(self.metric):
                few = X[:200]
                check_square(between(few, few, self.metric, options), "the metric")
            again = f"{str(error).split(' Instead')[0]} They were computed anew in each pass."
            return ComputedDistances(X, self.metric, options), (again,)

    def _searched(
        self, distances: Distances, weights: Array, method: str, random: np.random.RandomState, observe: Observer | None
    ) -> Run[Any]:
        if self.n_clusters == 1:
            return best_single(distances, weights, self.tol)
        same = not isinstance(self.init, str) or self.init == "build"
        count = 1 if same or self.n_init == "auto" else self.n_init
        starts = (first_medoids(distances, weights, self.n_clusters, self.init, random) for _ in range(count))
        rules = Rules(self.max_iter, self.tol, observe)
        if method == "alternate":
            return best_of((Alternate(distances, weights, start) for start in starts), rules)
        return best_of((EagerSwaps(distances, weights, start, self.tol) for start in starts), rules)

    def _sampled(self, X: Any, weights: Array, random: np.random.RandomState, observe: Observer | None) -> Run[Any]:
        search = Sampled(
            X, weights, self.n_clusters, metric=self.metric, options=self.metric_params_, init=self.init,
            rules=Rules(self.max_iter, self.tol), random=random,
        )  # fmt: skip
        return run(search, Rules(_SAMPLES if self.n_init == "auto" else self.n_init, self.tol, observe))

    def _attributes(self, X: Any, answer: Medoids, unit: float) -> dict[str, Any]:
        """What makes a working model of an answer."""
        centers: Any = None if self._precomputed else X[answer.points]
        return {
            "medoid_indices_": answer.points.astype(np.int64),
            "cluster_centers_": centers.toarray() if sp.issparse(centers) else centers,
            "labels_": answer.labels.astype(np.int32),
            "inertia_": float(answer.cost) / unit / self._weight_unit,  # the product of both may overflow
        }

    def _doubts(self) -> tuple[str, ...]:
        """A sentence if some clusters have no rows: medoids that coincide."""
        used = len(np.unique(self.labels_))
        if used == self.n_clusters:
            return ()
        return (f"Only {used} of the {self.n_clusters} medoids differ; the data have too few distinct rows.",)

    @predicting
    def transform(self, X: Any) -> Array:
        """The distance of each row to each medoid (with precomputed distances, X is rows × training rows)."""
        return self._to_medoids(X)

    def _to_medoids(self, X: Any) -> Array:
        X = self._validate_predict(X, sparse=not self._precomputed)
        if self._precomputed:
            return np.asarray(X[:, self.medoid_indices_])
        if sp.issparse(X):
            X = X.tocsr()
        centers, options = self.cluster_centers_, self.metric_params_
        size = block_rows(X.shape[0], 8 * (X.shape[1] + len(self.medoid_indices_)))
        parts = map_blocks(lambda a, b: between(X[a:b], centers, self.metric, options), X.shape[0], size)
        return np.concatenate(list(parts)).astype(X.dtype, copy=False)

    @predicting
    def predict(self, X: Any) -> Array:
        """The nearest medoid of each row."""
        return np.argmin(self._to_medoids(X), axis=1).astype(np.int32)

    @predicting
    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the (weighted) sum of distances to the nearest medoid."""
        nearest = self._to_medoids(X).min(axis=1).astype(np.float64)
        return -float(check_weights(sample_weight, nearest[:, None]) @ nearest)
