"""Spectral embedding of a Gaussian affinity from landmarks (Nyström): no n × n matrix, three passes of n × m kernels.

With L the m landmarks and K(L, L) = Q S Qᵀ, the affinity is approximated by Φ Φᵀ, Φ = K(X, L) Q S^(−1/2). Its degrees
are Φ(Φᵀ1), and the eigenvectors of the normalised affinity come from the m × m matrix Φᵀ D⁻¹ Φ.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from corollary.core.evidence import Status
from corollary.core.parallel import block_rows, each_block, sum_blocks
from corollary.core.types import Array
from corollary.solvers.spectral.embedding import Embedding


def embed_landmarks(kernel: Callable[[int, int], Array], n: int, landmarks: Array, k: int, tol: float) -> Embedding:
    """The k least eigenpairs of the approximate Laplacian; ``kernel(a, b)`` is K(X[a:b], X[landmarks])."""
    m = len(landmarks)
    among = np.concatenate([kernel(int(i), int(i) + 1) for i in landmarks])
    S, Q = np.linalg.eigh((among + among.T) / 2)
    floor = 1e-12 * m * S[-1]
    large = floor < S
    P = Q[:, large] / np.sqrt(S[large])
    size = block_rows(n, 16 * m)
    sums = sum_blocks(lambda a, b: kernel(a, b).sum(axis=0), n, size) @ P
    root = np.empty(n)

    def gram(start: int, stop: int) -> Array:
        rows = kernel(start, stop) @ P
        degree = rows @ sums
        # an approximation can make a degree zero or less: such a row is far from all landmarks
        root[start:stop] = 1.0 / np.sqrt(np.maximum(degree, 1e-10))
        rows *= root[start:stop, None]
        return rows.T @ rows

    M = sum_blocks(gram, n, size)
    values, Y = np.linalg.eigh((M + M.T) / 2)
    values, Y = values[::-1][:k], Y[:, ::-1][:, :k]
    vectors = np.empty((n, k))
    step = P @ (Y / np.sqrt(np.maximum(values, 1e-300)))

    def rows_of(start: int, stop: int) -> None:
        vectors[start:stop] = kernel(start, stop) @ step * root[start:stop, None] ** 2

    each_block(rows_of, n, size)
    # ‖N u − μ u‖ for u = Φ̃ y/√μ is the length of Φ̃ (M y − μ y)/√μ
    off = (M @ Y - Y * values) / np.sqrt(np.maximum(values, 1e-300))
    residual = float(np.sqrt(np.maximum(np.einsum("ij,ij->j", off, M @ off), 0.0)).max())
    status = Status.CONVERGED if residual <= tol else Status.STALLED
    return Embedding(vectors, np.maximum(1.0 - values, 0.0), residual, status, "Nyström landmarks")
