"""Affinities between rows: neighbour graphs (sparse) and kernels (n × n, refused where they do not fit)."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import KERNEL_PARAMS, pairwise_kernels

from corollary.core.memory import check_memory
from corollary.core.parallel import block_rows, each_block
from corollary.core.types import Array
from corollary.neighbors.graph import kneighbors_graph, radius_neighbors_graph
from corollary.neighbors.nearest_neighbors import NearestNeighbors

KERNELS = ("rbf", *sorted(set(KERNEL_PARAMS) - {"rbf"}))
GRAPHS = ("nearest_neighbors", "radius", "precomputed", "precomputed_nearest_neighbors")
REACH = 1e5  # exponents up to this lose 1e-10 or so in a product
INSTEAD = "use affinity='nearest_neighbors', whose graph is sparse, or landmarks"


class GaussianKernel:
    """exp(−γ‖x − z‖²) between rows start:stop of X and chosen rows Z of it (all, if not given).

    One product gives the exponent: (√2γ x, −γ‖x‖², 1) · (√2γ z, 1, −γ‖z‖²). Where rows are so far from their middle
    that this would cancel, distances are from differences.
    """

    def __init__(self, X: Any, gamma: float, rows: Array | None = None) -> None:
        given = X = X.astype(np.float64, copy=False)
        stack: Any = np.hstack
        if sparse.issparse(X):
            X, stack = sparse.csr_array(X), partial(sparse.hstack, format="csr")
        else:
            X = X - X.mean(axis=0)  # distances do not change, and the products that give them lose fewer digits
        squares = -gamma * np.asarray((X * X).sum(axis=1)).reshape(-1, 1)
        if not np.isfinite(squares).all():
            raise ValueError("Squares of X overflow in float64. Divide X by a constant, and gamma by its square.")
        self.apart: tuple[Array, Array] | None = None
        self.gamma = gamma
        if -float(squares.min()) > REACH:  # a product would leave no digits of small distances
            if sparse.issparse(given):
                check_memory(8 * X.shape[0] * X.shape[1], "X as a dense array, which far rows need,", INSTEAD)
                given = X.toarray()
            self.apart = given, given if rows is None else given[rows]
            return
        X, ones = X * np.sqrt(2 * gamma), np.ones_like(squares)
        self.left, right = stack((X, squares, ones)), stack((X, ones, squares))
        self.right = (right if rows is None else right[rows]).T

    def __call__(self, start: int, stop: int, out: Array | None = None) -> Array:
        if self.apart is not None:
            found = np.exp(-self.gamma * cdist(self.apart[0][start:stop], self.apart[1], "sqeuclidean"))
            if out is not None:
                out[...] = found
            return found
        if sparse.issparse(self.left):
            block = (self.left[start:stop] @ self.right).toarray()
        else:
            block = np.matmul(self.left[start:stop], self.right, out=out)
        np.minimum(block, 0.0, out=block)
        return np.exp(block, out=block if out is None else out)


def gaussian_affinity(X: Any, gamma: float) -> Array:
    """The whole matrix, in blocks on threads, with ones on its diagonal."""
    n = X.shape[0]
    check_memory(8 * n * n, f"The affinity matrix of {n} rows", INSTEAD)
    kernel, W = GaussianKernel(X, gamma), np.empty((n, n))
    each_block(lambda a, b: kernel(a, b, W[a:b]), n, block_rows(n, 16 * n))
    np.fill_diagonal(W, 1.0)
    return W


def affinity_matrix(X: Any, affinity: Any, options: dict[str, Any]) -> Any:
    """W by name: neighbour graphs are CSR with weight 1 for mutual neighbours and ½ for one-sided ones."""
    n = X.shape[0]
    if affinity == "nearest_neighbors":
        count = options["n_neighbors"]
        if count > n:
            raise ValueError(f"n_neighbors must be at most the number of rows, but it is {count} for {n} rows.")
        return _half_and_half(kneighbors_graph(X, count, include_self=True, n_jobs=options["n_jobs"]))
    if affinity == "radius":
        return _half_and_half(radius_neighbors_graph(X, options["radius"], n_jobs=options["n_jobs"]))
    if affinity == "precomputed_nearest_neighbors":
        index = NearestNeighbors(n_neighbors=options["n_neighbors"], metric="precomputed").fit(X)
        return _half_and_half(index.kneighbors_graph(X, mode="connectivity"))
    if affinity == "precomputed":
        return X
    if affinity == "rbf":
        return gaussian_affinity(X, options["gamma"])
    check_memory(16 * n * n, f"The affinity matrix of {n} rows", INSTEAD)
    parameters = dict(options["kernel_params"] or {})
    if not callable(affinity):
        parameters |= {name: options[name] for name in ("gamma", "degree", "coef0")}
    W = pairwise_kernels(X, metric=affinity, filter_params=True, **parameters)
    return np.asarray(W, dtype=np.float64)


def _half_and_half(graph: Any) -> Any:
    graph = sparse.csr_array(graph, dtype=np.float64)
    graph.sort_indices()
    return sparse.csr_array(0.5 * (graph + graph.T))
