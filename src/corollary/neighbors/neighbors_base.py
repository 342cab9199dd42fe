"""What the neighbour models share: the rows they keep, and how neighbours are asked for."""

from __future__ import annotations

import functools
from typing import Any, ClassVar

import numpy as np
import scipy.sparse

from corollary.base import Estimator, predicting
from corollary.core.door.weights import within_reach
from corollary.core.evidence import Evidence, Status
from corollary.core.fitted import Anything, Count, Fitted, Floats, Matrix, Options
from corollary.core.limits import N_JOBS, Choice, Instance, Integer, Limit, Real
from corollary.core.types import Array
from corollary.referee import neighbors as referee
from corollary.referee.verdict import Verification

SEARCH_LIMITS: dict[str, Limit] = {
    "n_neighbors": Integer(1),
    "algorithm": Choice("auto", "kd_tree", "brute"),
    "leaf_size": Integer(1),
    "metric": Instance("the name of a metric or a function of two rows", str, methods=("__call__",)),
    "p": Real(0, above=True),
    "metric_params": Choice(None) | Instance("a dict", dict),
    "n_jobs": N_JOBS,
}


class NeighborsModel(Estimator):
    """Training rows, and a search among them that is rebuilt when a model is loaded."""

    fitted: ClassVar[dict[str, Fitted]] = {
        "n_samples_fit_": Count("n", low=1),
        "_fit_X": Floats("n", "d") | Matrix("n", "d"),
        "effective_metric_": Anything(),
        "effective_metric_params_": Options(),
    }
    n_neighbors: int
    algorithm: str
    leaf_size: int
    metric: Any
    p: float
    metric_params: dict[str, Any] | None
    n_jobs: int | None

    n_samples_fit_: int

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        tags.input_tags.sparse = not self._precomputed
        return tags

    def __getstate__(self) -> Any:
        state = dict(super().__getstate__())
        state.pop("_search", None)  # it follows from the rows
        return state

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.metric, str) and self.metric == "precomputed"

    @functools.cached_property
    def _search(self) -> Any:
        from corollary.solvers.neighbors.search import make_search

        if self._fit_X.ndim != 2 or self._fit_X.shape != (self.n_samples_fit_, self.n_features_in_):
            raise ValueError(
                f"{type(self).__name__} was fitted to {self.n_samples_fit_} rows of {self.n_features_in_} columns, but "
                f"the rows it holds have the shape {self._fit_X.shape}."
            )
        return make_search(
            self._fit_X, self.metric, self.p, self.metric_params, self.algorithm, self.leaf_size, self.n_neighbors
        )

    def _keep_rows(self, X: Any, y: Any = None) -> None:
        """Keep the checked rows X, build the search and check it on a few of them."""
        from corollary.solvers.distances import distance_table
        from corollary.solvers.neighbors.check import check_search

        self._observer(X, y, 0, lambda state: {})
        if self._precomputed:
            X = distance_table(X)
        self._fit_X = X.tocsr() if scipy.sparse.issparse(X) else X
        self.n_samples_fit_ = int(X.shape[0])
        self.effective_metric_ = self.metric
        self.effective_metric_params_ = dict(self.metric_params or {})
        self.__dict__.pop("_search", None)
        check = check_search(self._search, self._fit_X, min(self.n_neighbors, self.n_samples_fit_))
        evidence = Evidence(
            status=Status.EXACT,
            certificate=check.certificate,
            solver=self._search.name,
            facts=check.facts,
            notes=check.notes,
        )
        self._keep_evidence(evidence)

    def _referee(self, X: Any, y: Any, sample_weight: Any) -> Verification:
        if self._precomputed or not isinstance(self.metric, str):
            return Verification(None, "the referee looks up rows by metrics that it knows")
        X, kept = self._queries(X), getattr(self, "rows_", np.arange(self.n_samples_fit_))  # those of positive weight
        if X.shape[0] <= kept[-1]:
            raise ValueError(f"X must be the rows of the fit, at least {kept[-1] + 1}, but it has {X.shape[0]}.")
        weights = np.ones(len(kept)) if sample_weight is None else within_reach(sample_weight)[0][kept]
        if not np.allclose(getattr(self, "multiplicity_", weights), weights, rtol=1e-9, atol=0):
            return Verification(False, "how often each row counts is not its weight")
        X, k = X[kept], min(self.n_neighbors, self.n_samples_fit_)
        if not _equal(self._fit_X, X):  # a search that is at hand may be of other rows than a file would hold
            return Verification(False, "the rows that are kept are not those of X")
        Q = X[np.linspace(0, X.shape[0] - 1, min(referee.ROWS, X.shape[0])).astype(int)]
        said, rows = self._nearest(Q, k)
        powers = {1.0: "manhattan", 2.0: "euclidean"}
        metric = powers.get(float(self.p), "") if self.metric == "minkowski" else self.metric
        if y is not None and not self._keeps(y[kept]):
            return Verification(False, "the targets that are kept are not those of the rows")
        return referee.nearest(X, Q, rows, said, metric, self.evidence_.certificate.tolerance)

    def _keeps(self, y: Array) -> bool:
        """Whether these are the targets that were kept, for models that keep any."""
        return True

    def _queries(self, X: Any) -> Any:
        with np.errstate(over="ignore", invalid="ignore"):  # of the sum by which scikit-learn looks for NaN
            X = self._validate_predict(X, sparse=not self._precomputed)
        if self._precomputed and (X < 0).any():
            raise ValueError("Negative values in data passed to X, which holds distances (metric='precomputed').")
        return X.tocsr() if scipy.sparse.issparse(X) else X

    @predicting
    def kneighbors(self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True) -> Any:
        """Distances and row numbers (m, n_neighbors) of the nearest training rows, the nearest first.

        Of rows at the same distance the first comes first. Without X, each training row gets its neighbours among the
        others. With ``return_distance=False`` only the row numbers are returned.
        """
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        if not Integer(1).accepts(k):
            raise ValueError(f"Expected n_neighbors > 0 and a whole number, but it is {k!r}.")
        distances, rows = self._nearest(None if X is None else self._queries(X), int(k))
        return (distances, rows) if return_distance else rows

    def _nearest(self, Q: Any, k: int) -> tuple[Array, Array]:
        """The k nearest of checked queries; of the training rows, themselves left out, if None."""
        most = self.n_samples_fit_ - (Q is None)
        if k > most:
            raise ValueError(
                f"Expected n_neighbors <= n_samples_fit, but n_neighbors = {k}, n_samples_fit = {self.n_samples_fit_}"
                f"{' and a row is not its own neighbour' if Q is None else ''}."
            )
        if Q is not None:
            found: tuple[Array, Array] = self._search.nearest(Q, k)
            return found
        distances, rows = self._search.nearest(self._fit_X, k + 1)
        own = rows == np.arange(len(rows))[:, None]
        own[~own.any(axis=1), -1] = True  # with many equal rows before it, the row itself may not be among them
        keep = ~own
        return distances[keep].reshape(-1, k), rows[keep].reshape(-1, k)

    @predicting
    def kneighbors_graph(self, X: Any = None, n_neighbors: int | None = None, mode: str = "connectivity") -> Any:
        """The neighbours as a CSR matrix (queries, training rows), of ones or (``mode="distance"``) distances."""
        _check_mode(mode)
        distances, rows = self.kneighbors(X, n_neighbors)
        values = np.ones(rows.size) if mode == "connectivity" else distances.ravel()
        starts = np.arange(0, rows.size + 1, rows.shape[1])
        return scipy.sparse.csr_matrix((values, rows.ravel(), starts), shape=(len(rows), self.n_samples_fit_))


def _equal(kept: Any, X: Any) -> bool:
    """Whether these are the rows that were kept, in their type."""
    with np.errstate(over="ignore"):
        X = X.astype(kept.dtype, copy=False)
    if scipy.sparse.issparse(kept) or scipy.sparse.issparse(X):
        return bool((scipy.sparse.csr_array(kept) != scipy.sparse.csr_array(X)).nnz == 0)
    return np.array_equal(kept, X)


def _check_mode(mode: Any) -> None:
    if mode not in ("connectivity", "distance"):
        raise ValueError(f"mode must be 'connectivity' or 'distance', but it is {mode!r}.")
