"""What models with centres share: labels, distances, quantisation and pictures."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_array

from corollary.base import Estimator, caller_level, check_weights, predicting
from corollary.core.blocks import Blocks, BlockSource
from corollary.core.fitted import Count, Fitted, Floats, Integers, Maybe
from corollary.core.scaling import answer_type, magnitude
from corollary.core.types import Array
from corollary.solvers.draws import Reservoir
from corollary.solvers.kmeans.nearest import distances_to, nearest
from corollary.solvers.kmeans.rows import KMeansRows
from corollary.solvers.kmeans.seeding import plus_plus, random_rows


class CentreModel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, Estimator):
    """A model that is its ``cluster_centers_``."""

    fitted: ClassVar[dict[str, Fitted]] = {
        "cluster_centers_": Floats("k", "d"),
        "labels_": Maybe(Integers("?", low=0, below="k")),
        "n_iter_": Count(),
    }
    n_clusters: int
    init: Any
    n_init: Any
    cluster_centers_: Array
    labels_: Array
    _takes_sparse: ClassVar[bool] = True
    _many_starts: ClassVar[int] = 10  # where n_init="auto" leaves it to us and starts are drawn at random

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._takes_sparse
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    @property
    def _angular(self) -> bool:
        return getattr(self, "metric", "euclidean") == "cosine"

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:
        """Fit, and the label of each row."""
        return self.fit(X, sample_weight=sample_weight).labels_

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:
        """Fit, and the distance of each row to each centre."""
        return self.fit(X, sample_weight=sample_weight).transform(X)

    @predicting
    def predict(self, X: Any) -> Array:
        """The number of the nearest centre of each row of X; the first of those at equal distance."""
        X = self._validate_predict(X, sparse=self._takes_sparse)
        return nearest(X, self.cluster_centers_, self._angular)[0]

    @predicting
    def transform(self, X: Any) -> Array:
        """The distance of each row to each centre (n × k): Euclidean, or 1 − cosine."""
        X = self._validate_predict(X, sparse=self._takes_sparse)
        found = distances_to(X, self.cluster_centers_, self._angular)
        return found.astype(answer_type(X.dtype, magnitude(found)), copy=False)

    @predicting
    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the cost of X with these centres: larger is better."""
        X = self._validate_predict(X)
        weights = check_weights(sample_weight, X)
        return -float(weights @ nearest(X, self.cluster_centers_, self._angular)[1])

    @predicting
    def quantize(self, X: Any) -> Array:
        """Each row replaced by its nearest centre: k different rows are left of X."""
        return self.inverse_transform(self.predict(X))

    @predicting
    def inverse_transform(self, X: Any) -> Array:
        """Centres for labels (a vector), or for what :meth:`transform` gave (n × k distances: the nearest centre)."""
        k = len(self.cluster_centers_)
        codes = check_array(X, ensure_2d=False, dtype=None, input_name="X")
        if codes.ndim == 2:
            if codes.shape[1] != k:
                raise ValueError(f"X must have {k} columns, one distance per centre, but it has {codes.shape[1]}.")
            codes = codes.argmin(axis=1)
        elif codes.dtype.kind not in "iu" or codes.min() < 0 or codes.max() >= k:
            raise ValueError(f"labels must be whole numbers from 0 to {k - 1}, but they are {codes[:5]!r}…")
        return np.asarray(self.cluster_centers_[codes])

    @predicting
    def plot(self, X: Any, ax: Any = None) -> Any:
        """Draw the rows of X by cluster with the centres (projected on two principal axes beyond two columns)."""
        from corollary.cluster.cluster_plots import scatter

        labels = self.predict(X)
        names = getattr(self, "feature_names_in_", None)
        return scatter(self._validate_predict(X, sparse=False), labels, self.cluster_centers_, ax=ax, names=names)

    def _streamed(self, blocks: Blocks, size: int, rng: np.random.RandomState) -> tuple[BlockSource, Reservoir]:
        """Blocks, checked whenever they are read, and an empty sample of their rows."""
        source = self._validate_blocks(blocks, target=False, every=True)  # rows without weight have labels too
        return source, Reservoir(max(size, 3 * self.n_clusters), rng)

    @staticmethod
    def _note_sample(kept: Reservoir) -> tuple[str, ...]:
        if kept.seen <= kept.size:
            return ()
        return (f"The start was chosen from {kept.size:,} of {kept.seen:,} rows, drawn at random.",)

    def _check_count(self, weights: Array) -> None:
        self._check_present(int((weights > 0).sum()))

    def _check_present(self, present: int) -> None:
        if present < self.n_clusters:
            raise ValueError(
                f"n_samples={present} should be >= n_clusters={self.n_clusters}: each cluster needs a row of positive "
                "weight. Ask for fewer clusters."
            )

    def _begin(self, X: Any, weights: Array, rng: np.random.RandomState, rows: KMeansRows | None = None) -> Array:
        """One start, told of."""
        start = self._start(X, weights, rng, rows)
        self._tell("Initialization complete")
        return start

    def _start(self, X: Any, weights: Array, rng: np.random.RandomState, rows: KMeansRows | None = None) -> Array:
        """Starting centres by the rule ``init``; ``rows`` are those of X, if they are there."""
        k = self.n_clusters
        if isinstance(self.init, str):
            if self.init == "k-means++":
                return plus_plus(X, weights, k, rng, rows=rows)
            return random_rows(X, weights, k, rng)
        given = self.init(X, k, random_state=rng) if callable(self.init) else self.init
        centres: Array = check_array(given, dtype=X.dtype, order="C", copy=True, input_name="init")
        if centres.shape != (k, X.shape[1]):
            what = f"clusters {k}" if len(centres) != k else f"features of the data {X.shape[1]}"
            raise ValueError(
                f"The shape of the initial centers {centres.shape} does not match the number of {what}: init must be "
                f"{k} centres of {X.shape[1]} features, shape {(k, X.shape[1])}."
            )
        return centres

    @property
    def _given_centres(self) -> bool:
        return not isinstance(self.init, str) and not callable(self.init)

    @property
    def _n_init(self) -> int:
        """How many starts to try."""
        if self._given_centres:
            return 1  # the same start would give the same answer
        if self.n_init != "auto":
            return int(self.n_init)
        return 1 if isinstance(self.init, str) and self.init == "k-means++" else self._many_starts

    def _warn_single_start(self) -> None:
        """Given centres are one start, so that a larger ``n_init`` cannot be what was meant."""
        if self._given_centres and self.n_init not in ("auto", 1):
            self._warn(
                "Explicit initial center position passed: performing only one init, since each of "
                f"n_init={self.n_init} would start from the same centres. Leave n_init at 'auto' or 1."
            )

    def _tell(self, text: str) -> None:
        """A line for those who asked for them by ``verbose``."""
        if self._progress is not None:
            self._progress.say(text)

    def _warn(self, text: str) -> None:
        warnings.warn(f"{type(self).__name__}: {text}", RuntimeWarning, stacklevel=caller_level())

    def _warn_empty(self, empty: int) -> tuple[str, ...]:
        """Too few distinct rows are worth a warning: the model has fewer clusters than were asked for."""
        if not empty:
            return ()
        k = self.n_clusters
        note = (
            f"Number of distinct clusters ({k - empty}) found smaller than n_clusters ({k}). Possibly due to duplicate "
            "points in X: it has no more rows that differ by more than rounding."
        )
        warnings.warn(f"{type(self).__name__}: {note}", ConvergenceWarning, stacklevel=caller_level())
        return (note,)
