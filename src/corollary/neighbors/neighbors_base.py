"""What the neighbour models share: the rows they keep, and how neighbours are asked for."""

from __future__ import annotations

import functools
import numbers
import warnings
from typing import Any, ClassVar

import numpy as np
import scipy.sparse
import sklearn

from corollary.base import Estimator, caller_level, predicting
from corollary.core.door.weights import within_reach
from corollary.core.evidence import Evidence, Status
from corollary.core.fitted import Anything, Count, Fitted, Floats, Matrix, Options
from corollary.core.limits import N_JOBS, Choice, Instance, Integer, Limit, Real
from corollary.core.types import Array
from corollary.neighbors.given_rows import given_rows
from corollary.neighbors.kinship import KNeighborsMixin
from corollary.referee import neighbors as referee
from corollary.referee.verdict import Verification

SEARCH_LIMITS: dict[str, Limit] = {
    "n_neighbors": Choice(None) | Integer(1),
    "algorithm": Choice("auto", "ball_tree", "kd_tree", "brute"),
    "leaf_size": Integer(1),
    "metric": Instance("the name of a metric, a function of two rows", str, methods=("__call__",))
    | Instance("a DistanceMetric", methods=("pairwise",)),
    "p": Choice(None) | Real(0, above=True),
    "metric_params": Choice(None) | Instance("a dict", dict),
    "n_jobs": N_JOBS,
}


class NeighborsModel(Estimator, KNeighborsMixin):
    """Training rows, and a search among them that is rebuilt when a model is loaded."""

    fitted: ClassVar[dict[str, Fitted]] = {
        "n_samples_fit_": Count("n", low=1),
        "_fit_X": Floats("n", "d", finite=False) | Matrix("n", "d"),
        "effective_metric_": Anything(),
        "effective_metric_params_": Options(),
    }
    n_neighbors: int | None
    algorithm: str
    leaf_size: int
    metric: Any
    p: float | None
    metric_params: dict[str, Any] | None
    n_jobs: int | None

    n_samples_fit_: int

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = tags.input_tags.positive_only = self._precomputed
        tags.input_tags.sparse = tags.target_tags.multi_output = True
        tags.input_tags.allow_nan = self._with_gaps
        return tags

    def __getstate__(self) -> Any:
        state = dict(super().__getstate__())
        state.pop("_search", None)  # it follows from the rows
        return state

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.metric, str) and self.metric == "precomputed"

    @property
    def _with_gaps(self) -> bool:
        return isinstance(self.metric, str) and self.metric == "nan_euclidean"

    @property
    def _fit_method(self) -> str:
        """What scikit-learn calls the search that ran; ``evidence_.solver`` says more."""
        return "kd_tree" if self._search.name == "k-d tree" else "brute"

    @property
    def _door(self) -> dict[str, Any]:
        """What the door lets in."""
        return {"ensure_all_finite": "allow-nan"} if self._with_gaps else {}

    def _given(self, X: Any) -> Any:
        return given_rows(X, precomputed=self._precomputed)

    def _check_state(self) -> None:
        super()._check_state()
        if not (self._with_gaps or scipy.sparse.issparse(self._fit_X) or np.isfinite(self._fit_X).all()):
            raise ValueError("the rows that were kept have gaps, for which the metric has no distances.")

    @functools.cached_property
    def _search(self) -> Any:
        from corollary.solvers.neighbors.search import make_search

        if self._fit_X.ndim != 2 or self._fit_X.shape != (self.n_samples_fit_, self.n_features_in_):
            raise ValueError(
                f"{type(self).__name__} was fitted to {self.n_samples_fit_} rows of {self.n_features_in_} columns, but "
                f"the rows it holds have the shape {self._fit_X.shape}."
            )
        return make_search(
            self._fit_X, self.metric, self.p, self.metric_params, self.algorithm, self.leaf_size, self.n_neighbors or 1
        )

    def _keep_rows(self, X: Any, y: Any = None) -> None:
        """Keep the checked rows X, build the search and check it on a few of them."""
        from corollary.solvers.neighbors.check import check_search
        from corollary.solvers.neighbors.effective import effective_metric
        from corollary.solvers.neighbors.given import check_distances, check_square, fewest

        self._observer(X, y, 0, lambda state: {})
        if self._precomputed:
            check_square(X)
            check_distances(X)
        self._fit_X = X.tocsr() if scipy.sparse.issparse(X) else X
        self.n_samples_fit_ = int(X.shape[0])
        self.effective_metric_, self.effective_metric_params_ = effective_metric(
            self.metric, self.p, self.metric_params
        )
        self._check_metric()
        self.__dict__.pop("_search", None)
        k = min(self.n_neighbors or 1, self.n_samples_fit_)
        if self._precomputed and scipy.sparse.issparse(X):
            k = min(k, fewest(self._fit_X))
        check = check_search(self._search, self._fit_X, k)
        evidence = Evidence(
            status=Status.EXACT,
            certificate=check.certificate,
            solver=self._search.name,
            facts=check.facts,
            notes=check.notes,
        )
        self._keep_evidence(evidence)

    def _check_metric(self) -> None:
        """Refuse a tree for what is no metric; warn of parameters that do not do what their names say."""
        from corollary.solvers.neighbors.effective import below_one

        if self.p is not None and "p" in (self.metric_params or {}):
            words = "Parameter p is found in metric_params. The corresponding parameter from __init__ is ignored."
            warnings.warn(f"{type(self).__name__}: {words}", SyntaxWarning, stacklevel=caller_level())
        if scipy.sparse.issparse(self._fit_X) and self.algorithm in ("kd_tree", "ball_tree"):
            words = "cannot use tree with sparse input: using brute force, which gives the same neighbours."
            warnings.warn(f"{type(self).__name__}: {words}", stacklevel=caller_level())
        if below_one(self.effective_metric_, self.effective_metric_params_):
            if self.algorithm in ("kd_tree", "ball_tree"):
                raise ValueError(
                    f'algorithm="{self.algorithm}" does not support 0 < p < 1 for the Minkowski metric. To resolve '
                    'this problem either set p >= 1 or algorithm="brute".'
                )
            words = "Mind that for 0 < p < 1, Minkowski metrics are not distance metrics"
            known = ". Continuing the execution with `algorithm='brute'`, which needs none"  # as scikit-learn says it
            words += f"{known if self.algorithm == 'brute' else ''}: a detour can be shorter."
            warnings.warn(f"{type(self).__name__}: {words}", stacklevel=caller_level())

    def _referee(self, X: Any, y: Any, sample_weight: Any) -> Verification:
        if self._precomputed or not isinstance(self.metric, str):
            return Verification(None, "the referee looks up rows by metrics that it knows")
        if self.metric_params or self.n_neighbors is None:
            return Verification(None, "the referee looks up rows by metrics without further arguments")
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
        metric = powers.get(float(self.p or 2), "") if self.metric in ("minkowski", "p") else self.metric
        if self._with_gaps:
            if np.isnan(X).any():
                return Verification(None, "the referee does not look up rows with gaps")
            metric = "euclidean"
        if y is not None and not self._keeps(y[kept]):
            return Verification(False, "the targets that are kept are not those of the rows")
        return referee.nearest(X, Q, rows, said, metric, self.evidence_.certificate.tolerance)

    def _keeps(self, y: Array) -> bool:
        """Whether these are the targets that were kept, for models that keep any."""
        return True

    def _queries(self, X: Any) -> Any:
        with np.errstate(over="ignore", invalid="ignore"):  # of the sum by which scikit-learn looks for NaN
            X = self._validate_predict(self._given(X), **self._door)
        if self._precomputed:
            from corollary.solvers.neighbors.given import check_distances

            check_distances(X)
        return X.tocsr() if scipy.sparse.issparse(X) else X

    @predicting
    def kneighbors(self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True) -> Any:
        """Distances and row numbers (m, n_neighbors) of the nearest training rows, the nearest first.

        Of rows at the same distance the first comes first. Without X, each training row gets its neighbours among the
        others; one that more than ``n_neighbors`` equal rows come before gets the second of them and those after it, as
        in scikit-learn. With ``return_distance=False`` only the row numbers are returned.
        """
        k = _count(self.n_neighbors if n_neighbors is None else n_neighbors)
        if X is None:
            distances, rows = self._nearest(self._fit_X, k, np.arange(self.n_samples_fit_), skip_first=True)
        else:
            distances, rows = self._nearest(self._queries(X), k)
        return (distances, rows) if return_distance else rows

    def _nearest(self, Q: Any, k: int, own: Array | None = None, *, skip_first: bool = False) -> tuple[Array, Array]:
        """The k nearest of checked queries; query i, if it is the training row own[i], is not its own neighbour."""
        if k > self.n_samples_fit_ - (own is not None):
            sign, why = ("<=", "") if own is None else ("<", ": a row is not its own neighbour")
            raise ValueError(
                f"Expected n_neighbors {sign} n_samples_fit, but n_neighbors = {k}, n_samples_fit = "
                f"{self.n_samples_fit_}, n_samples = {Q.shape[0]}{why}."
            )
        if own is not None:
            return self._search.others(Q, own, k, skip_first=skip_first)
        return self._search.nearest(Q, k)

    @predicting
    def kneighbors_graph(self, X: Any = None, n_neighbors: int | None = None, mode: str = "connectivity") -> Any:
        """The neighbours as a CSR matrix (queries, training rows), of ones or (``mode="distance"``) distances."""
        _check_mode(mode)
        distances, rows = self.kneighbors(X, n_neighbors)
        values = np.ones(rows.size) if mode == "connectivity" else distances.ravel()
        starts = np.arange(0, rows.size + 1, rows.shape[1])
        return _graph((values, rows.ravel(), starts), (len(rows), self.n_samples_fit_))


def _equal(kept: Any, X: Any) -> bool:
    """Whether these are the rows that were kept, in their type."""
    with np.errstate(over="ignore"):
        X = X.astype(kept.dtype, copy=False)
    if scipy.sparse.issparse(kept) or scipy.sparse.issparse(X):
        return bool((scipy.sparse.csr_array(kept) != scipy.sparse.csr_array(X)).nnz == 0)
    return np.array_equal(kept, X, equal_nan=True)


def _graph(parts: tuple[Array, Array, Array], shape: tuple[int, int]) -> Any:
    """A CSR matrix, or array where scikit-learn is told to return arrays."""
    arrays = sklearn.get_config().get("sparse_interface") == "sparray"
    return (scipy.sparse.csr_array if arrays else scipy.sparse.csr_matrix)(parts, shape=shape)


def _count(k: Any) -> int:
    """The number of neighbours, if it is one."""
    if k is None:
        raise ValueError("n_neighbors is None: say how many in kneighbors(n_neighbors=…), or give it to the model.")
    if isinstance(k, (bool, np.bool_)) or not isinstance(k, numbers.Integral):
        raise TypeError(f"n_neighbors does not take {type(k)} value, enter integer value (it is {k!r}).")
    if k < 1:
        raise ValueError(f"Expected n_neighbors > 0. Got {k!r}")
    return int(k)


def _check_mode(mode: Any) -> None:
    if mode not in ("connectivity", "distance"):
        raise ValueError(
            f'Unsupported mode, must be one of "connectivity", or "distance" but got "{mode}" instead. The second '
            "keeps distances, the first only who is a neighbour."
        )
