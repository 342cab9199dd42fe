"""The least eigenvectors of a graph's normalised Laplacian, component by component, with measured residuals.

A graph of c connected components has the eigenvalue 0 exactly c times, with the known eigenvectors D^(1/2) 1 of each
component. Only what comes after them is computed, within each component with its known eigenvector projected out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh, splu

from corollary.core.evidence import Status
from corollary.core.parallel import block_rows, each_block, one_blas_thread, sum_blocks
from corollary.core.types import Array
from corollary.solvers.eigen import leading
from corollary.solvers.spectral.graph import Graph

DENSE, SPARSE = 1000, 300  # vertices up to which a full decomposition is quickest
FACTOR = 30_000  # vertices up to which a sparse factor may be tried
PATIENCE, MOST_STEPS = 4, 800  # restarts of Lanczos iteration before that, and in all
SHIFT = -1e-4


@dataclass(frozen=True)
class Embedding:
    """Eigenvalues (rising) and D^(−1/2) u of the eigenvectors u (n × k); the largest ‖L u − λ u‖, measured."""

    vectors: Array
    values: Array
    residual: float
    status: Status
    solver: str


def embed(graph: Graph, k: int, tol: float, random: np.random.RandomState) -> Embedding:
    """The k least eigenpairs; of the largest components, if there are more than k."""
    labels = graph.components
    count = min(k, int(labels.max()) + 1)
    known = np.zeros((graph.n, count))
    weight = np.where(graph.degree > 0, np.sqrt(graph.degree), 1.0)
    inside = np.flatnonzero(labels < count)
    known[inside, labels[inside]] = weight[inside]
    known /= np.linalg.norm(known, axis=0)
    values, vectors, names = [np.full(count, -1.0)], [known], []
    for number in range(count if count < k else 0):
        members = np.flatnonzero(labels == number)
        wanted = min(k - count, len(members) - 1)
        if wanted > 0:
            found, V, name = _within(graph, members, known[members, number], wanted, tol, random)
            padded = np.zeros((graph.n, len(found)))
            padded[members] = V
            values.append(found)
            vectors.append(padded)
            names.append(name)
    order = np.argsort(np.concatenate(values), kind="stable")[:k]
    U = np.hstack(vectors)[:, order]
    LU = graph.laplacian(U)
    rayleigh = np.maximum(np.einsum("ij,ij->j", U, LU), 0.0)
    rayleigh[:count] = 0.0  # known
    residual = float(np.linalg.norm(LU - U * rayleigh, axis=0).max())
    U *= np.where(U[np.argmax(np.abs(U), axis=0), np.arange(U.shape[1])] < 0, -1.0, 1.0)
    status = Status.CONVERGED if residual <= tol else Status.MAX_ITER
    solver = " and ".join(dict.fromkeys(names)) or "connected components"
    return Embedding(U / weight[:, None], rayleigh, residual, status, solver)


def _within(
    graph: Graph, members: Array, known: Array, k: int, tol: float, random: np.random.RandomState
) -> tuple[Array, Array, str]:
    """The k least eigenpairs of one component after the known one."""
    m, whole = len(members), len(members) == graph.n
    if m <= max(SPARSE if graph.sparse else DENSE, 3 * k):
        L = np.eye(m) - _dense_part(graph, members) + 3.0 * np.outer(known, known)
        with one_blas_thread():
            values, V = eigh(L, subset_by_index=(0, k - 1))
        return values, V, "dense eigenvectors"
    start = random.standard_normal((m, k + 4))
    start -= np.outer(known, known @ start)
    if graph.sparse:
        part = graph.adjacency if whole else graph.adjacency[members][:, members]
        return _lanczos(part, known, start, k, tol)
    if not whole:
        graph = Graph(graph.W[np.ix_(members, members)], made_here=True)
    pairs = leading(lambda V: _deflated(graph.apply(V), V, known), start, k, 0.2 * tol, MOST_STEPS * (k + 4))
    return 2.0 - pairs.values, pairs.vectors, "block Lanczos iteration"


def _deflated(product: Array, V: Array, known: Array) -> Array:
    """(2I − L) V without the known eigenvector: the wanted eigenvalues are largest, the known one −1."""
    along = 3.0 * (known @ V)
    return np.asarray(product + V - (np.outer(known, along) if V.ndim == 2 else known * along))


def _lanczos(part: Any, known: Array, start: Array, k: int, tol: float) -> tuple[Array, Array, str]:
    """A sparse component: Lanczos with products, or with a factorisation if many eigenvalues are near zero."""
    m = len(known)
    operator = LinearOperator((m, m), matvec=lambda v: _deflated(part @ v, v, known), dtype=np.float64)
    basis, last = min(m - 1, 3 * k + 29), PATIENCE if m <= FACTOR else MOST_STEPS
    try:
        values, V = eigsh(operator, k, which="LA", ncv=basis, tol=0.1 * tol, v0=start[:, 0], maxiter=last)
    except ArpackNoConvergence as error:
        if m <= FACTOR:
            return _by_factor(part, known, start, k, tol)
        if len(error.eigenvalues) < k:
            raise ValueError(
                f"The eigenvectors of a graph of {m} rows were not found in {last} restarts. Raise n_neighbors or "
                "radius, or loosen eigen_tol."
            ) from None
        values, V = error.eigenvalues, error.eigenvectors
    order = np.argsort(-values, kind="stable")
    return 2.0 - values[order], np.ascontiguousarray(V[:, order]), "Lanczos iteration"


def _by_factor(part: Any, known: Array, start: Array, k: int, tol: float) -> tuple[Array, Array, str]:
    """Eigenvalues that crowd near 0 lie far apart for the inverse of L − σI, which is positive definite for σ < 0."""
    eye = sparse.eye_array(len(known))
    factor = splu(sparse.csc_array((1.0 - SHIFT) * eye - part), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0,
                  options={"SymmetricMode": True})  # fmt: skip

    def inverse(V: Array) -> Array:
        solved = factor.solve(V - np.outer(known, known @ V))
        return np.asarray(solved - np.outer(known, known @ solved))

    pairs = leading(inverse, start, k, 1e-4 * tol, MOST_STEPS * (k + 4))
    return SHIFT + 1.0 / pairs.values, pairs.vectors, "block Lanczos iteration on a sparse factor"


def _dense_part(graph: Graph, members: Array) -> Array:
    if graph.sparse:
        return np.asarray(graph.adjacency[members][:, members].toarray())
    root = graph.root[members]
    part = graph.W[np.ix_(members, members)] * np.outer(root, root)
    np.fill_diagonal(part, 0.0)
    return np.asarray(part)


def embed_landmarks(kernel: Callable[[int, int], Array], n: int, landmarks: Array, k: int, tol: float) -> Embedding:
    """The k least eigenpairs of a Gaussian affinity's Laplacian, approximated from m landmarks (Nyström).

    With L the landmarks and K(L, L) = Q S Qᵀ, the affinity is about Φ Φᵀ, Φ = K(X, L) Q S^(−1/2). Its degrees are
    Φ(Φᵀ1), and the eigenvectors of the normalised affinity come from the m × m matrix Φᵀ D⁻¹ Φ. ``kernel(a, b)`` is
    K(X[a:b], L); three passes of it are made, and no n × n matrix.
    """
    m = len(landmarks)
    among = np.concatenate([kernel(int(i), int(i) + 1) for i in landmarks])
    S, Q = np.linalg.eigh((among + among.T) / 2)
    floor = 1e-12 * m * S[-1]
    large = floor < S
    P = Q[:, large] / np.sqrt(S[large])
    k, size = min(k, P.shape[1]), block_rows(n, 16 * m)  # rows that are alike span fewer directions
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
