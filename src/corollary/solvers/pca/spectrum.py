"""Principal components of rows: four ways to the same eigenpairs of AᵀA, and the residual that each must show.

* ``covariance``: the d × d matrix AᵀA in one pass, and its eigenvectors. Eigenvalues below about 10⁻¹³ of the
  largest are rounding.
* ``triangle``: A = QR by blocks, then the singular values of R, which keep the digits that squaring loses.
* ``copy``: the singular values of A itself, for fewer rows than columns.
* ``iteration``: block Lanczos on products with A; a pass over X for each step, and no d × d matrix.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field, replace

import numpy as np

from corollary.core.evidence import Certificate, Evidence, Kind, Status
from corollary.core.memory import check_memory
from corollary.core.parallel import one_blas_thread
from corollary.core.types import Array
from corollary.solvers.eigen import Observe, leading
from corollary.solvers.pca.rows import Rows

EPS = float(np.finfo(np.float64).eps)
EXACT_TOL, ITERATIVE_TOL = 1e-11, 1e-7
LOST = 1e-9  # an eigenvalue below this share of the first has lost digits in the covariance
SPARSER = 8  # one row of so many is enough for a start
PASSES = 9.0  # what an iteration usually takes
PATIENCE, MOST_STEPS = 25, 200  # steps of an iteration that has a direct way to fall back on, and of one that has none
LARGEST_GRAM = 8000  # columns
WAYS = {"full": "triangle", "covariance_eigh": "covariance", "randomized": "iteration", "arpack": "iteration"}
Choose = Callable[[Array, int], int]  # (all eigenvalues of the covariance, falling; columns) -> how many to keep


@dataclass
class Spectrum:
    """Eigenvalues of AᵀA (falling) with orthonormal vectors (k × d), and what is known about them."""

    values: Array
    vectors: Array
    residual: float
    way: str
    tolerance: float
    rank: int
    status: Status = Status.EXACT
    n_iter: int = 0
    history: dict[str, list[float]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def evidence(self, began: float, facts: dict[str, float]) -> Evidence:
        name = "largest eigen-residual over the first eigenvalue"
        return Evidence(
            status=self.status,
            certificate=Certificate(Kind.EXACT, name, self.residual, self.tolerance),
            solver=NAMES[self.way],
            n_iter=self.n_iter,
            seconds=time.perf_counter() - began,
            history=self.history,
            facts=facts | {"rank": float(self.rank)},
            notes=self.notes,
        )


NAMES = {
    "covariance": "eigenvectors of the covariance",
    "triangle": "singular vectors of a triangular factor",
    "copy": "singular vectors of the centred rows",
    "iteration": "block Lanczos iteration",
}


def choose_way(rows: Rows, k: int | None) -> str:
    """The cheapest way for k components (None: the whole spectrum is needed), by shape alone."""
    n, d = rows.shape
    small = min(n, d)
    if k is not None and small > 500 and 4 * (k + 10) <= small:
        gram = n * d + 10.0 * d * d  # per column: a symmetric product and the eigenvectors
        if n < d or d > LARGEST_GRAM or 4 * PASSES * n * (k + 10) < gram:
            return "iteration"
    return "covariance" if n >= d else "copy"


def by_covariance(G: Array, k: int | Choose, tol: float) -> Spectrum:
    """Eigenpairs of a centred second-moment matrix G (d × d)."""
    d = len(G)
    with one_blas_thread() if d <= 500 else nullcontext():
        if callable(k) or d <= 300 or 4 * k > d:
            values, vectors = np.linalg.eigh(G)
        else:
            from scipy.linalg import eigh

            values, vectors = eigh(G, subset_by_index=(d - k, d - 1))
        values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
        kept = k(values, d) if callable(k) else min(k, d)
        floor = 16 * d * EPS * float(values[0])
        return _finished(values, vectors, kept, floor, lambda V: G @ V, "covariance", tol or EXACT_TOL)


def by_factor(rows: Rows, k: int | Choose, tol: float, way: str) -> Spectrum:
    """Singular values of R (``way`` "triangle") or of A itself ("copy"); the mean must be known."""
    n, d = rows.shape
    check_memory(24 * d * min(n, d), "The factor of X", "ask for fewer components with svd_solver='randomized'")
    A = rows.triangle() if way == "triangle" else rows.dense()
    _, singular, Vt = np.linalg.svd(A, full_matrices=False)
    values = np.zeros(d) if callable(k) else np.zeros(max(len(singular), min(k, d)))
    values[: len(singular)] = singular**2
    kept = k(values, d) if callable(k) else min(k, d)
    floor = (max(n, d) * EPS * float(singular[0])) ** 2
    return _finished(values, Vt.T, kept, floor, lambda V: A.T @ (A @ V), way, tol or EXACT_TOL)


def by_iteration(
    rows: Rows,
    k: int,
    tol: float,
    random: np.random.RandomState,
    oversamples: int = 10,
    max_steps: int = 200,
    observe: Observe | None = None,
) -> Spectrum:
    """The k leading eigenpairs by products with A; the residuals are then measured again by a pass of their own."""
    n, d = rows.shape
    tol = tol or ITERATIVE_TOL
    tall = d <= n
    width = min(min(n, d), k + oversamples)
    start = random.standard_normal((min(n, d), width))
    some = rows.every(SPARSER) if tall and n >= 4 * SPARSER * width else None
    if some is not None:  # a few steps on some of the rows cost half a pass and save two
        start = leading(some.normal, start, width, 0.0, 4 * width).vectors
    pairs = leading(rows.normal if tall else rows.outer, start, min(k, width), 0.5 * tol, max_steps * width, observe)
    vectors = pairs.vectors
    if not tall:
        vectors = np.linalg.qr(rows.back(vectors))[0]  # the right singular vectors, in the same order
    floor = 16 * max(n, d) * EPS * float(pairs.values[0])
    found = _finished(np.maximum(pairs.values, 0.0), vectors, k, floor, rows.normal, "iteration", tol)
    status = Status.CONVERGED if found.residual <= tol else pairs.status
    if status is Status.CONVERGED and found.residual > tol:
        status = Status.STALLED
    return replace(found, status=status, n_iter=len(pairs.history["gap"]), history=pairs.history)


def _finished(
    values: Array, vectors: Array, k: int, floor: float, apply: Callable[[Array], Array], way: str, tol: float
) -> Spectrum:
    """Cut at k, complete what has no variance, fix the signs, and measure the residuals."""
    rank = int(np.count_nonzero(values > floor))
    known = min(rank, k)
    V = complete(np.asarray(vectors[:, :known]), k)
    values = np.where(values > floor, values, 0.0)
    V = V * np.where(V[np.argmax(np.abs(V), axis=0), np.arange(k)] < 0, -1.0, 1.0)
    residual = 0.0
    if rank > 0 and k > 0:
        size = np.zeros(k)
        size[:known] = values[:known]
        residual = float(np.linalg.norm(apply(V) - V * size, axis=0).max() / values[0])
    return Spectrum(values, np.ascontiguousarray(V.T), residual, way, tol, rank)


def complete(V: Array, k: int) -> Array:
    """Orthonormal columns V and k − r more, which depend on the span of V alone: what has no variance has no direction.

    So repeated rows and weighted rows, or two solvers, agree on components that the data say nothing about.
    """
    d, r = V.shape
    if r >= k:
        return V
    extra = np.random.RandomState(0).standard_normal((d, k - r))
    for _ in range(2):
        extra -= V @ (V.T @ extra)
        extra, R = np.linalg.qr(extra)
        extra = extra * np.where(np.diag(R) < 0, -1.0, 1.0)
    return np.hstack([V, extra])


def find_spectrum(
    rows: Rows,
    k: int | Choose,
    solver: str,
    tol: float,
    random: np.random.RandomState,
    oversamples: int,
    max_steps: int,
    observe: Observe | None,
) -> Spectrum:
    """Eigenpairs by the named solver of PCA; "auto" may change its mind once it has seen the data, and says so."""
    n, d = rows.shape
    whole = callable(k)
    auto = solver == "auto"
    way = WAYS.get(solver) or choose_way(rows, None if callable(k) else k)
    if way == "triangle" and n < d:
        way = "copy"
    notes: tuple[str, ...] = ()
    if way == "iteration":
        if callable(k):
            raise ValueError(
                f"svd_solver='{solver}' finds a given number of components; a share of the variance or 'mle' needs all "
                "eigenvalues: use 'auto', 'full' or 'covariance_eigh'."
            )
        rows.survey()
        tol = EXACT_TOL if solver == "arpack" and not tol else tol
        direct = auto and d <= min(n, LARGEST_GRAM)
        limit = max_steps or (PATIENCE if direct else MOST_STEPS)
        found = by_iteration(rows, k, tol, random, oversamples, limit, observe)
        if found.status is not Status.MAX_ITER or not direct or max_steps:
            return found
        notes = ("The spectrum falls too slowly for iteration, so the covariance was formed.",)
        way = "covariance"
    if way == "covariance":
        check_memory(40 * d * d, f"The covariance of {d} columns", "use svd_solver='randomized' with few components")
        found = by_covariance(rows.scatter().xx, k, tol)
        if not (auto and lost_digits(found, whole)):
            return replace(found, notes=notes)
        notes += ("Small eigenvalues lose digits in the covariance, so a factor of X was taken instead.",)
        way = "triangle" if n >= d else "copy"
    else:
        rows.survey()
    return replace(by_factor(rows, k, tol, way), notes=notes)


def lost_digits(found: Spectrum, whole: bool) -> bool:
    """Whether the covariance has rounded away digits of an eigenvalue that was asked for (or of any, if ``whole``)."""
    if found.rank == 0:
        return False
    last = len(found.values) if whole else min(len(found.vectors), len(found.values))
    return bool(found.values[last - 1] < LOST * found.values[0])
