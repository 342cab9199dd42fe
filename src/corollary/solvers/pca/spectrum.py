"""Principal components of rows: four ways to the same eigenpairs of AᵀA, and the residual that each must show.

* ``covariance``: the d × d matrix AᵀA in one pass, and its eigenvectors. Eigenvalues below about 10⁻¹³ of the
  largest are rounding.
* ``triangle``: A = QR by blocks, then the singular values of R, which keep the digits that squaring loses.
* ``copy``: the singular values of A itself, for fewer rows than columns.
* ``iteration``: block Lanczos on products with A; a pass over X for each step, and no d × d matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace

import numpy as np

from corollary.core.evidence import Certificate, Evidence, Kind, Status, honest
from corollary.core.memory import check_memory
from corollary.core.parallel import one_blas_thread
from corollary.core.types import Array
from corollary.solvers.eigen import RESIDUAL, BlockLanczos, leading
from corollary.solvers.loop import Observer, Rules, run
from corollary.solvers.pca.rows import CentredRows

EPS = float(np.finfo(np.float64).eps)
EXACT_TOL, ITERATIVE_TOL = 1e-11, 1e-7
LOST = 1e-9  # an eigenvalue below this share of the first has lost digits in the covariance
SPARSER = 8  # one row of so many is enough for a start
PASSES = 9.0  # what an iteration usually takes
PATIENCE, MOST_STEPS = 25, 200  # steps of an iteration that has a direct way to fall back on, and of one that has none
LARGEST_GRAM = 8000  # columns
WAYS = {"full": "triangle", "covariance_eigh": "covariance", "randomized": "iteration", "arpack": "iteration"}
NAMES = {
    "covariance": "eigenvectors of the covariance",
    "triangle": "singular vectors of a triangular factor",
    "copy": "singular vectors of the centred rows",
}
Choose = Callable[[Array, int], int]  # (all eigenvalues of the covariance, falling; columns) -> how many to keep


@dataclass(frozen=True)
class Spectrum:
    """Eigenvalues of AᵀA (falling) with orthonormal vectors (k × d), and what is known about them."""

    values: Array
    vectors: Array
    rank: int
    evidence: Evidence


def choose_way(rows: CentredRows, k: int | None) -> str:
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
        return _direct(_Components(values, vectors, kept, floor), lambda V: G @ V, "covariance", tol)


def by_factor(rows: CentredRows, k: int | Choose, tol: float, way: str) -> Spectrum:
    """Singular values of R (``way`` "triangle") or of A itself ("copy"); the mean must be known."""
    n, d = rows.shape
    check_memory(24 * d * min(n, d), "The factor of X", "ask for fewer components with svd_solver='randomized'")
    A = rows.triangle() if way == "triangle" else rows.dense()
    _, singular, Vt = np.linalg.svd(A, full_matrices=False)
    values = np.zeros(d) if callable(k) else np.zeros(max(len(singular), min(k, d)))
    values[: len(singular)] = singular**2
    kept = k(values, d) if callable(k) else min(k, d)
    floor = (max(n, d) * EPS * float(singular[0])) ** 2
    return _direct(_Components(values, Vt.T, kept, floor), lambda V: A.T @ (A @ V), way, tol)


def by_iteration(
    rows: CentredRows,
    k: int,
    tol: float,
    random: np.random.RandomState,
    oversamples: int = 10,
    max_steps: int = 200,
    observe: Observer | None = None,
) -> Spectrum:
    """The k leading eigenpairs by products with A; the residuals are then measured again by a pass of their own."""
    n, d = rows.shape
    tol, tall = tol or ITERATIVE_TOL, d <= n
    start = _start(rows, min(n, d, k + oversamples), random)
    algorithm = BlockLanczos(rows.normal if tall else rows.outer, start, min(k, start.shape[1]), 0.5 * tol)
    found = run(algorithm, Rules(max_steps, 0.5 * tol, observe))
    pairs = found.state
    vectors = pairs.vectors
    if not tall:
        vectors = np.linalg.qr(rows.back(vectors))[0]  # the right singular vectors, in the same order
    floor = 16 * max(n, d) * EPS * float(pairs.values[0])
    parts = _Components(np.maximum(pairs.values, 0.0), vectors, k, floor)
    products = rows.normal(parts.V)
    residual, missed = parts.residual(products), missed_share(parts.V, products, rows.squares)
    certificate = Certificate(Kind.STATIONARY, RESIDUAL, residual, tol)
    status = Status.CONVERGED if certificate.holds and not found.stopped else honest(found.status, certificate)
    note = f"No other directions explain a share of the variance that is larger by more than {missed:.1g}."
    facts = {"rank": float(parts.rank), "share of the variance that other directions could add": missed}
    evidence = replace(
        found.evidence(facts=facts, notes=(note,) if missed <= tol else ()),
        status=status,
        certificate=certificate,
        history={**found.history, "certificate": [*found.history["certificate"][:-1], residual]},
    )
    return Spectrum(parts.values, parts.vectors, parts.rank, evidence)


def _start(rows: CentredRows, width: int, random: np.random.RandomState) -> Array:
    """Random directions. With many rows, a few steps on a sample improve them: half a pass that saves about two."""
    n, d = rows.shape
    start = random.standard_normal((min(n, d), width))
    some = rows.every(SPARSER) if n >= max(d, 4 * SPARSER * width) else None
    return start if some is None else leading(some.normal, start, width, 0.0, 4 * width).vectors


def missed_share(V: Array, products: Array, total: float) -> float:
    """A bound on the share of the variance that any k directions explain beyond V (d × k); ``products`` are AᵀA V.

    Residuals alone show eigenpairs, not that they are the largest. But with G = VᵀCV and D the block of C on all other
    directions, the k largest eigenvalues of C have a sum of at most Σ top-k of diag(G, D) plus Σ‖Cv − VGᵢ‖ (Ky Fan),
    and no eigenvalue of D is larger than its trace, which is what is left of the total variance.
    """
    if total <= 0.0:
        return 0.0
    G = V.T @ products
    across = float(np.linalg.norm(products - V @ G, axis=0).sum())
    rest = max(total - float(np.trace(G)), 0.0)
    return min(rest, across + max(rest - float(np.linalg.eigvalsh((G + G.T) / 2)[0]), 0.0)) / total


class _Components:
    """Eigenpairs cut at k, completed where there is no variance, with signs fixed."""

    def __init__(self, values: Array, vectors: Array, k: int, floor: float) -> None:
        self.rank = int(np.count_nonzero(values > floor))
        known = min(self.rank, k)
        V = complete(np.asarray(vectors[:, :known]), k)
        self.V = V * np.where(V[np.argmax(np.abs(V), axis=0), np.arange(k)] < 0, -1.0, 1.0)
        self.values = np.where(values > floor, values, 0.0)
        self.known = np.zeros(k)
        self.known[:known] = self.values[:known]

    @property
    def vectors(self) -> Array:
        return np.ascontiguousarray(self.V.T)

    def residual(self, products: Array) -> float:
        """The largest ‖C v − λ v‖ over the first eigenvalue."""
        if self.rank == 0 or len(self.known) == 0:
            return 0.0
        return float(np.linalg.norm(products - self.V * self.known, axis=0).max() / self.values[0])


def _direct(parts: _Components, apply: Callable[[Array], Array], way: str, tol: float) -> Spectrum:
    """What a whole decomposition found, with its residuals measured."""
    certificate = Certificate(Kind.EXACT, RESIDUAL, parts.residual(apply(parts.V)), tol or EXACT_TOL)
    evidence = Evidence(Status.EXACT, certificate, NAMES[way], facts={"rank": float(parts.rank)})
    return Spectrum(parts.values, parts.vectors, parts.rank, evidence)


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
    rows: CentredRows,
    k: int | Choose,
    solver: str,
    tol: float,
    random: np.random.RandomState,
    oversamples: int,
    max_steps: int,
    observe: Observer | None,
) -> Spectrum:
    """Eigenpairs by the named solver of PCA; "auto" may switch to another after a look at the data, and notes it."""
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
        if found.evidence.status is not Status.MAX_ITER or not direct or max_steps:
            return found
        notes = ("The spectrum falls too slowly for iteration, so the covariance was formed.",)
        way = "covariance"
    if way == "covariance":
        check_memory(40 * d * d, f"The covariance of {d} columns", "use svd_solver='randomized' with few components")
        found = by_covariance(rows.scatter().xx, k, tol)
        if not (auto and lost_digits(found, whole)):
            return _noted(found, notes)
        notes += ("Small eigenvalues lose digits in the covariance, so a factor of X was taken instead.",)
        way = "triangle" if n >= d else "copy"
    else:
        rows.survey()
    return _noted(by_factor(rows, k, tol, way), notes)


def _noted(found: Spectrum, notes: tuple[str, ...]) -> Spectrum:
    return replace(found, evidence=replace(found.evidence, notes=notes))


def lost_digits(found: Spectrum, whole: bool) -> bool:
    """Whether the covariance has rounded away digits of an eigenvalue that was asked for (or of any, if ``whole``)."""
    if found.rank == 0:
        return False
    last = len(found.values) if whole else min(len(found.vectors), len(found.values))
    return bool(found.values[last - 1] < LOST * found.values[0])
