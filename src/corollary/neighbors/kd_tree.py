"""A k-d tree as an object of its own."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_array

from corollary.core.limits import N_JOBS, Integer, Real
from corollary.core.parallel import threads
from corollary.core.types import Array


class KDTree:
    """Rows arranged so that the neighbours of a point are found without looking at most of them.

    Boxes are halved at the median of their widest column until ``leaf_size`` to twice as many rows are left; a query
    skips every box that is farther than its k-th neighbour so far.

    Parameters
    ----------
    X : array (n, d)
    leaf_size : int ≥ 1, default=40
    metric : str, default="minkowski"
        "minkowski" ("p"), "euclidean" ("l2"), "manhattan" ("l1"), "chebyshev" ("infinity") or "cosine".
    p : float > 0, default=2
        The power of "minkowski".
    n_jobs : int or None
        Threads; None means all usable cores.

    Attributes
    ----------
    data : array (n, d)
        The rows.
    valid_metrics : list of str
        Names of metrics, of the class.

    Notes
    -----
    *Cost*: O(n d log n) to build, with three copies of the rows as float64 meanwhile.

    *Evidence*: neighbours are exact, and of equal distances the first row comes first; :class:`NearestNeighbors` checks
    itself against brute force.

    Examples
    --------
    >>> import numpy as np
    >>> from corollary import KDTree
    >>> tree = KDTree(np.array([[0.0, 0.0], [1.0, 1.0], [4.0, 0.0]]))
    >>> distances, rows = tree.query([[3.0, 0.0]], k=2)
    >>> rows.tolist(), distances.round(3).tolist()
    ([[2, 1]], [[1.0, 2.236]])
    >>> tree.query_radius([[0.5, 0.5]], r=1.0, count_only=True)
    array([2])
    """

    valid_metrics: ClassVar[list[str]] = [
        "euclidean", "l2", "minkowski", "p", "manhattan", "cityblock", "l1", "chebyshev", "infinity", "cosine"
    ]  # fmt: skip

    def __init__(
        self, X: Any, leaf_size: int = 40, metric: str = "minkowski", p: float = 2, *, n_jobs: int | None = None
    ) -> None:
        from corollary.solvers.neighbors.effective import effective_metric
        from corollary.solvers.neighbors.search import make_search

        if not Integer(1).accepts(leaf_size):
            raise ValueError(f"leaf_size must be a whole number ≥ 1, but it is {leaf_size!r}.")
        if not p > 0:
            raise ValueError(f"p must be a number > 0, but it is {p!r}.")
        if not N_JOBS.accepts(n_jobs):
            raise ValueError(f"n_jobs must be {N_JOBS}, but it is {n_jobs!r}.")
        self.n_jobs, self._metric = n_jobs, effective_metric(metric, float(p), None)
        self.data: Array = check_array(X, dtype=(np.float64, np.float32), order="C", input_name="X")
        with threads(n_jobs):
            self._search = make_search(self.data, metric, float(p), None, "kd_tree", int(leaf_size), 1)

    def query(
        self,
        X: Any,
        k: int = 1,
        return_distance: bool = True,
        dualtree: bool = False,
        breadth_first: bool = False,
        sort_results: bool = True,
    ) -> Any:
        """Distances and row numbers (m, k) of the k nearest rows, the nearest first; the flags are scikit-learn's."""
        if not Integer(1, len(self.data)).accepts(k):
            raise ValueError(
                f"k must be a whole number ≥ 1 and ≤ {len(self.data)}, the number of rows, but it is {k!r}."
            )
        Q = self._queries(X)
        with threads(self.n_jobs):
            distances, rows = self._search.nearest(Q, int(k))
        return (distances, rows) if return_distance else rows

    def query_radius(
        self, X: Any, r: Any, return_distance: bool = False, count_only: bool = False, sort_results: bool = False
    ) -> Any:
        """Row numbers of all rows within r (a number, or one for each query), the nearest first, as an array of arrays.

        With ``return_distance`` a second such array holds the distances; ``count_only`` gives the numbers of rows.
        """
        if count_only and return_distance:
            raise ValueError("count_only and return_distance cannot both be true: choose one.")
        if sort_results and not return_distance:
            raise ValueError("return_distance must be True if sort_results is True: what it sorts by is not returned.")
        Q = self._queries(X)
        limits = np.asarray(r, dtype=np.float64)
        if limits.ndim > 1 or limits.size not in (1, len(Q)) or not (limits >= 0).all():
            raise ValueError(f"r must be a number ≥ 0 or one for each of {len(Q)} rows, but it is {r!r}.")
        with threads(self.n_jobs):
            places, distances, rows = self._search.within(Q, np.broadcast_to(limits, (len(Q),)).copy())
        if count_only:
            return np.diff(places)
        from corollary.neighbors.nearest_neighbors import _arrays

        return (_arrays(rows, places), _arrays(distances, places)) if return_distance else _arrays(rows, places)

    def two_point_correlation(self, X: Any, r: Any, dualtree: bool = False) -> Array:
        """How many pairs of a row of X and a row of the tree are within each of the distances r."""
        from corollary.solvers.neighbors.density import pairs_within

        with threads(self.n_jobs):
            return pairs_within(self._search, self._queries(X), np.atleast_1d(np.asarray(r, dtype=np.float64)))

    def kernel_density(
        self,
        X: Any,
        h: float,
        kernel: str = "gaussian",
        atol: float = 0,
        rtol: float = 1e-8,
        breadth_first: bool = True,
        return_log: bool = False,
    ) -> Array:
        """The sum over all rows of a kernel of width h that integrates to one, at each row of X, or its logarithm.

        ``kernel`` is "gaussian", "tophat", "epanechnikov", "exponential", "linear" or "cosine". Sums are exact to
        rounding, whatever ``atol`` and ``rtol`` allow.
        """
        from corollary.solvers.neighbors.blocks import PairwiseSearch
        from corollary.solvers.neighbors.density import KERNELS, log_densities

        if kernel not in KERNELS:
            raise ValueError(f"kernel must be one of {', '.join(KERNELS)}, but it is {kernel!r}.")
        if not Real(0, above=True, finite=True).accepts(h):
            raise ValueError(f"h must be a number > 0, but it is {h!r}.")
        metric, options = self._metric
        options = {name: value for name, value in options.items() if value is not None}
        with threads(self.n_jobs):
            table = PairwiseSearch(self.data, "chebyshev" if metric == "infinity" else metric, options)
            found = log_densities(self._search, table, self._queries(X), float(h), kernel)
        return found if return_log else np.exp(found)

    def _queries(self, X: Any) -> Array:
        Q: Array = check_array(X, dtype=(np.float64, np.float32), input_name="X")
        if Q.shape[1] != self.data.shape[1]:
            raise ValueError(f"X has {Q.shape[1]} columns, but the tree has {self.data.shape[1]}.")
        return Q
