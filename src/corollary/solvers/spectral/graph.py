"""A weighted graph for spectral clustering: checked, symmetric, with its connected components and degrees."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from corollary.core.parallel import block_rows, each_block, map_blocks
from corollary.core.types import Array

ASYMMETRY = 1e-10  # of the largest weight: what rounding may leave


class Graph:
    """Symmetric weights W (n × n, CSR or dense) ≥ 0; edges from a vertex to itself (``loops``) take no part.

    ``notes`` says what had to be changed. Weights that were ``made_here`` are known to be symmetric and not negative,
    and may be changed in place.
    """

    def __init__(self, W: Any, *, made_here: bool = False) -> None:
        if len(W.shape) != 2 or W.shape[0] != W.shape[1]:
            raise ValueError(f"An affinity matrix must be square, but it has shape {W.shape}.")
        self.notes: tuple[str, ...] = ()
        self.sparse = bool(sparse.issparse(W))
        values = W.data if self.sparse else W
        if not made_here and np.min(values, initial=0.0) < 0:
            raise ValueError(
                f"An affinity must not be negative, but the least one is {float(np.min(values)):.3g}. Distances "
                "can be made affinities by exp(−distance²)."
            )
        W = W.astype(np.float64, copy=False)
        self.loops = np.array(W.diagonal(), dtype=np.float64)
        self.W: Any = self._without_loops(W if made_here else self._symmetric(W), made_here)
        self.n = int(W.shape[0])
        self.degree = np.asarray(self.W.sum(axis=1), dtype=np.float64).ravel()
        if not np.isfinite(self.degree).all():
            raise ValueError("The sum of the affinities of a row is too large for float64. Divide them by a constant.")

    def _without_loops(self, W: Any, ours: bool) -> Any:
        """Loops are taken out, not subtracted from sums: next to them the weights of an outlier are rounding."""
        if self.sparse:
            W = sparse.csr_array(W, copy=not ours)
            W.setdiag(0.0)
            W.eliminate_zeros()
        elif self.loops.any():
            W = W if ours or self.notes else W.copy()  # what was made symmetric is a copy already
            np.fill_diagonal(W, 0.0)
        return W

    def with_loops(self) -> Any:
        """W as it came, or was made symmetric. A dense W is changed in place: do not use the graph after this."""
        if self.sparse:
            return sparse.csr_array(self.W + sparse.diags_array(self.loops))
        if self.loops.any():
            np.fill_diagonal(self.W, self.loops)
        return self.W

    def _symmetric(self, W: Any) -> Any:
        if self.sparse:
            difference = abs(W - W.T)
            worst = float(difference.max()) if difference.nnz else 0.0
            largest = float(W.max()) if W.nnz else 0.0
        else:
            size = block_rows(len(W), 16 * len(W))
            worst = max(map_blocks(lambda a, b: float(np.abs(W[a:b] - W[:, a:b].T).max()), len(W), size))
            largest = float(W.max())
        if worst <= ASYMMETRY * largest:
            return W
        self.notes += ("The affinity was not symmetric and was replaced by the mean of it and its transpose.",)
        return 0.5 * (W + W.T)

    @cached_property
    def root(self) -> Array:
        """1/√degree, and 0 for a vertex without edges."""
        out = np.zeros(self.n)
        np.divide(1.0, np.sqrt(self.degree), out=out, where=self.degree > 0)
        return out

    @cached_property
    def components(self) -> Array:
        """The number of the connected component of each vertex, largest component (in vertices) first."""
        labels = connected_components(self.W, directed=False)[1] if self.sparse else self._dense_components()
        order = np.argsort(-np.bincount(labels), kind="stable")
        rank = np.empty(len(order), dtype=np.intp)
        rank[order] = np.arange(len(order))
        return rank[labels]

    def _dense_components(self) -> Array:
        labels = np.full(self.n, -1, dtype=np.intp)
        number = 0
        for start in range(self.n):
            if labels[start] >= 0:
                continue
            frontier = np.array([start])
            labels[start] = number
            while len(frontier):
                reached = np.zeros(self.n, dtype=bool)
                for vertex in frontier:
                    reached |= self.W[vertex] > 0
                    if reached.all():
                        break
                frontier = np.flatnonzero(reached & (labels < 0))
                labels[frontier] = number
            number += 1
        return labels

    @cached_property
    def adjacency(self) -> Any:
        """D^(−1/2) W D^(−1/2) without loops; only for sparse graphs."""
        root = sparse.diags_array(self.root)
        return sparse.csr_array(root @ self.W @ root)

    def apply(self, V: Array) -> Array:
        """D^(−1/2) W D^(−1/2) V without loops, for V (n × l)."""
        if self.sparse:
            return np.asarray(self.adjacency @ V)
        scaled = self.root[:, None] * V
        out = np.empty_like(scaled)
        each_block(lambda a, b: np.matmul(self.W[a:b], scaled, out=out[a:b]), self.n, block_rows(self.n, 8 * self.n))
        out *= self.root[:, None]
        return out

    def laplacian(self, V: Array) -> Array:
        """(I − D^(−1/2) W D^(−1/2)) V; a vertex without edges has a row of zeros."""
        return np.asarray(V * (self.degree > 0)[:, None] - self.apply(V))

    def normalised_cut(self, labels: Array) -> float:
        """Σ over clusters of (weight of the edges that leave it) / (sum of its degrees)."""
        member = np.eye(int(labels.max()) + 1)[labels]
        volume = member.T @ self.degree
        inside = np.einsum("ij,ij->j", member, np.asarray(self.W @ member))
        left = np.maximum(volume - inside, 0.0)
        return float(np.divide(left, volume, out=np.zeros_like(left), where=volume > 0).sum())
