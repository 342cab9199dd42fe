"""Principal components of rows: four ways to the same eigenpairs of AᵀA, and the angles that each can show.

* ``covariance``: the d × d matrix AᵀA in one pass, and its eigenvectors. Eigenvalues below about 10⁻¹³ of the
  largest are rounding, unless that is a matter of the columns' units alone.
* ``triangle``: A = QR by blocks, then the singular values of R, which keep the digits that squaring loses.
* ``copy``: the singular values of A itself, for fewer rows than columns.
* ``iteration``: block Lanczos on products with A; a pass over X for each step, and no d × d matrix.

Rounding counts as a change of the columns of A by ``grain`` of their lengths s. AᵀA v is then off by at most
2 grain ‖s‖ (s·|v|), and λ by 2 grain (s·|v|)²; A v by grain (s·|v|), and Aᵀ u by grain ‖s‖.
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
from corollary.solvers.eigen import BlockLanczos, Pairs, leading
from corollary.solvers.loop import Observer, Rules, run
from corollary.solvers.pca.angles import ANGLE, Levels, angle_bounds
from corollary.solvers.pca.rows import CentredRows

EPS = float(np.finfo(np.float64).eps)
EXACT_TOL, ITERATIVE_TOL, LEAST_ANGLE = 1e-11, 1e-7, 1e-5
BEYOND = 8  # eigenvalues that are looked at beyond those asked for: they say how far apart the last ones are
WELL, MOST_ROTATED = 1e-5, 2000  # least singular value, and most columns, of what is decomposed by rotations
TINIEST = float(np.finfo(np.float64).tiny)
LOST = 1e-9  # an eigenvalue below this share of the first has lost digits in the covariance
SPARSER = 8  # one row of so many is enough for a start
PASSES = 9.0  # what an iteration usually takes
PATIENCE, MOST_STEPS = 25, 200  # steps of an iteration that has a direct way to fall back on, and of one that has none
LARGEST_GRAM = 8000  # columns
FEW = 500  # columns whose covariance is too small to ask for the memory that is free
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
    accurate: bool = False  # small eigenvalues have their digits


def choose_way(rows: CentredRows, k: int | None) -> str:
    """The cheapest way for k components (None: the whole spectrum is needed), by shape alone."""
    n, d = rows.shape
    small = min(n, d)
    if k is not None and small > 500 and 4 * (k + 10) <= small:
        gram = n * d + 10.0 * d * d  # per column: a symmetric product and the eigenvectors
        if n < d or d > LARGEST_GRAM or 4 * PASSES * n * (k + 10) < gram:
            return "iteration"
    return "covariance" if n >= d else "copy"


def grain(n: float) -> float:
    """What rounding does to sums over n rows, relatively: a few units, and a random walk."""
    return (8.0 + 0.125 * float(np.sqrt(n))) * EPS


def angle_tolerance(tol: float) -> float:
    """The sine at which the certificate holds, for residuals of at most ``tol`` λ₁."""
    return max(LEAST_ANGLE, min(1e4 * tol, 0.1))


def by_covariance(G: Array, k: int | Choose, tol: float, n: float, lengths: Array | None = None) -> Spectrum:
    """Eigenpairs of a centred second-moment matrix G (d × d) of n rows, added up from columns of these lengths."""
    d = len(G)
    s = np.sqrt(np.diag(G)) if lengths is None else lengths
    with one_blas_thread() if d <= 500 else nullcontext():
        if callable(k) or d <= 300 or 4 * k > d:
            values, vectors = np.linalg.eigh(G)
        else:
            from scipy.linalg import eigh

            values, vectors = eigh(G, subset_by_index=(max(d - k - BEYOND, 0), d - 1))
        values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
        floor: Array = np.full(len(values), 16 * d * EPS * float(values[0]))
        graded = by_units(G, s) if len(values) == d and values[-1] < LOST * values[0] else None
        if graded is not None:
            values, vectors = graded
            floor = 16 * d * grain(n) * (s @ np.abs(vectors)) ** 2
        kept = k(values, d) if callable(k) else min(k, d)
        parts = _Components(values, vectors, kept, floor)
        W = parts.some(BEYOND)
        left = np.linalg.norm(G @ W - W * parts.levels(W), axis=0)
        share = s @ np.abs(W)
        noise = 2 * grain(n) * share
        levels = parts.known_levels(W, left + noise * float(np.linalg.norm(s)), noise * share)
        return _direct(parts, levels, "covariance", tol, accurate=graded is not None)


def by_units(G: Array, s: Array) -> tuple[Array, Array] | None:
    """Eigenpairs of G = D B D with D = diag(s), if small eigenvalues come from small columns: B is well conditioned.

    B = L Lᵀ has no digits to lose then, and one-sided Jacobi rotations of Lᵀ D find even the smallest singular values
    to all their digits (Z. Drmač and K. Veselić, 2008). None where B is not like that.
    """
    if not (s > 0).all():
        return None
    try:
        L = np.linalg.cholesky(G / s / s[:, None])
    except np.linalg.LinAlgError:
        return None
    found = jacobi(L.T * s)
    return None if found is None else (found[1] ** 2, found[2].T)


def jacobi(A: Array) -> tuple[Array, Array, Array] | None:
    """The singular value decomposition U, σ, Vᵀ of A (m × d, m ≥ d) to all digits that columns of any length allow.

    None where columns are not far from each other's length, or dependent: then there is nothing to gain.
    """
    from scipy.linalg.lapack import dgejsv

    lengths = np.linalg.norm(A, axis=0)
    if A.shape[1] > MOST_ROTATED or not lengths.min() > 0 or lengths.max() < 1e3 * lengths.min():
        return None
    if np.linalg.svd(A / lengths, compute_uv=False)[-1] < WELL:
        return None
    sigma, U, V, work, _, info = dgejsv(A, joba=0, jobu=0, jobv=0, jobr=0, jobp=0)
    return None if info else (U[:, : A.shape[1]], sigma * (work[0] / work[1]), V.T)


def by_factor(rows: CentredRows, k: int | Choose, tol: float, way: str) -> Spectrum:
    """Singular values of R (``way`` "triangle") or of A itself ("copy"); the mean must be known."""
    n, d = rows.shape
    check_memory(24 * d * min(n, d), "The factor of X", "ask for fewer components with svd_solver='randomized'")
    A = rows.triangle() if way == "triangle" else rows.dense()
    graded = jacobi(A) if way == "triangle" else None
    U, singular, Vt = graded or np.linalg.svd(A, full_matrices=False)
    values = np.zeros(d) if callable(k) else np.zeros(max(len(singular), min(k, d)))
    values[: len(singular)] = singular**2
    kept = k(values, d) if callable(k) else min(k, d)
    floor = np.full(len(values), (max(n, d) * EPS * float(singular[0])) ** 2)
    s = np.sqrt(np.einsum("ij,ij->j", A, A) + rows.blur())
    if graded:
        floor = (16 * d * EPS * (s @ np.abs(Vt.T))) ** 2
    parts = _Components(values, Vt.T, kept, floor)
    W = parts.some(BEYOND)
    sigma, found = np.sqrt(parts.levels(W)), U[:, : W.shape[1]]
    found = np.hstack([found * parts.signs[: found.shape[1]], np.zeros((len(U), W.shape[1] - found.shape[1]))])
    found[:, sigma == 0] = 0.0
    left = np.hypot(
        np.linalg.norm(A @ W - found * sigma, axis=0), np.linalg.norm(A.T @ found - W * sigma * (sigma > 0), axis=0)
    )
    noise = grain(n) * (s @ np.abs(W))
    total = float(np.linalg.norm(s))
    # the mean is rounded, too: that adds a square of rank one to AᵀA
    blur = np.minimum(np.sqrt(rows.wobble), rows.wobble / np.maximum(sigma, np.sqrt(rows.wobble) + TINIEST))
    levels = parts.known_levels(W, left + noise + grain(n) * total + blur, noise + blur, root=True)
    return _direct(parts, levels, way, tol, accurate=True)


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
    pairs, beyond = found.state, algorithm.beyond(BEYOND)
    vectors = pairs.vectors
    if not tall:
        vectors = np.linalg.qr(rows.back(vectors))[0]  # the right singular vectors, in the same order
    floor = np.full(len(pairs.values), 16 * max(n, d) * EPS * float(pairs.values[0]))
    parts = _Components(np.maximum(pairs.values, 0.0), vectors, k, floor)
    products = rows.normal(parts.V)
    missed = missed_share(parts.V, products, rows.squares)
    levels = _iterated(parts, products, rows, beyond)
    angles = angle_bounds(levels, k, angle_tolerance(tol))
    # without convergence nothing is claimed of angles, however they came out
    largest = angles.largest if parts.residual(products) <= tol else max(angles.largest, parts.residual(products) / tol)
    certificate = Certificate(Kind.STATIONARY, ANGLE, largest, angle_tolerance(tol))
    status = Status.CONVERGED if certificate.holds and not found.stopped else honest(found.status, certificate)
    note = f"No other directions explain a share of the variance that is larger by more than {missed:.1g}."
    facts = {"rank": float(parts.rank), "share of the variance that other directions could add": missed}
    facts["largest eigen-residual over the first eigenvalue"] = parts.residual(products)
    evidence = replace(
        found.evidence(facts=facts, notes=((note,) if missed <= tol else ()) + angles.notes(parts.rank)),
        status=status,
        certificate=certificate,
        # angles are known at the end only
        history={"eigen-residual" if name == "certificate" else name: of for name, of in found.history.items()},
    )
    return Spectrum(parts.values, parts.vectors, parts.rank, evidence, accurate=True)


def _iterated(parts: _Components, products: Array, rows: CentredRows, beyond: Pairs) -> Levels:
    """What an iteration knows of the eigenvalues: those kept, and how far the next ones have come."""
    known, k = parts.known, len(parts.known)
    total, top = np.sqrt(rows.squares + float(rows.blur().sum())), np.sqrt(float(known[0]))
    # A v is off by grain ‖A‖, and Aᵀ (A v) by grain ‖A‖ ‖A v‖ besides
    noise = grain(rows.shape[0]) * total * (top + np.sqrt(known)) + rows.wobble
    left = np.linalg.norm(products - parts.V * known, axis=0) + noise
    if parts.rank < k:  # so whatever is left has no variance, too
        return Levels(known, left, noise, whole=True)
    more, theirs = np.clip(beyond.values[k:], 0.0, known[-1]), beyond.residuals[k:] + noise[-1]
    if beyond.complete and rows.shape[0] < rows.shape[1]:  # in directions that no row has there is no variance
        more, theirs = np.append(more, 0.0), np.append(theirs, parts.least)
    slack = np.append(noise, np.full(len(more), noise[-1]))
    return Levels(np.append(known, more), np.append(left, theirs), slack, whole=beyond.complete)


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
    """Eigenpairs cut at k, completed where there is no variance (values up to ``floor``), with signs fixed."""

    def __init__(self, values: Array, vectors: Array, k: int, floor: Array) -> None:
        self.values = np.where(values > floor, values, 0.0)
        self.rank = int(np.count_nonzero(self.values))
        self.least = float(floor.max(initial=0.0))
        known = min(self.rank, k)
        V = complete(np.asarray(vectors[:, :known]), k)
        signs = np.where(V[np.argmax(np.abs(V), axis=0), np.arange(k)] < 0, -1.0, 1.0)
        self.V, self.found = V * signs, vectors
        self.signs = np.ones(max(vectors.shape[1], k))
        self.signs[:k] = signs
        self.known = np.zeros(k)
        self.known[:known] = self.values[:known]

    @property
    def vectors(self) -> Array:
        return np.ascontiguousarray(self.V.T)

    def some(self, more: int) -> Array:
        """The components, and a few of those that were not kept."""
        k = self.V.shape[1]
        return np.hstack([self.V, self.found[:, k : max(k, min(k + more, self.rank))]])

    def levels(self, W: Array) -> Array:
        """The eigenvalues of :meth:`some` components."""
        return np.append(self.known, self.values[len(self.known) : W.shape[1]])

    def known_levels(self, W: Array, residuals: Array, slack: Array, *, root: bool = False) -> Levels:
        """What is known of some components; values without variance come last, and are all alike."""
        values, d = self.levels(W), len(W)
        least = self.least
        if root:
            values, least = np.sqrt(values), float(np.sqrt(least))
        whole = self.rank <= W.shape[1]
        if whole and self.rank == W.shape[1] < d:
            values, residuals, slack = (np.append(a, b) for a, b in ((values, 0.0), (residuals, least), (slack, least)))
        return Levels(values, residuals, slack, whole)

    def residual(self, products: Array) -> float:
        """The largest ‖C v − λ v‖ over the first eigenvalue."""
        if self.rank == 0 or len(self.known) == 0:
            return 0.0
        return float(np.linalg.norm(products - self.V * self.known, axis=0).max() / self.values[0])


def _direct(parts: _Components, levels: Levels, way: str, tol: float, *, accurate: bool) -> Spectrum:
    """What a whole decomposition found, with the angles that its residuals allow."""
    angles = angle_bounds(levels, len(parts.known), angle_tolerance(tol))
    certificate = Certificate(Kind.EXACT, ANGLE, angles.largest, angle_tolerance(tol))
    facts, notes = {"rank": float(parts.rank)}, angles.notes(parts.rank)
    evidence = Evidence(Status.EXACT, certificate, NAMES[way], facts=facts, notes=notes)
    return Spectrum(parts.values, parts.vectors, parts.rank, evidence, accurate)


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
    if k == 0:
        return no_components(rows, tol)
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
        if d > FEW:
            instead = "use svd_solver='randomized' with few components"
            check_memory(40 * d * d, f"The covariance of {d} columns", instead)
        moments = rows.scatter()
        found = by_covariance(moments.xx, k, tol, rows.count, np.sqrt(np.diag(moments.xx) + rows.blur()))
        if not (auto and lost_digits(found, whole)):
            return _noted(found, notes)
        notes += ("Small eigenvalues lose digits in the covariance, so a factor of X was taken instead.",)
        way = "triangle" if n >= d else "copy"
    else:
        rows.survey()
    return _noted(by_factor(rows, k, tol, way), notes)


def no_components(rows: CentredRows, tol: float) -> Spectrum:
    """The mean and ‖A‖² are all that is asked for."""
    rows.survey()
    certificate = Certificate(Kind.EXACT, ANGLE, 0.0, angle_tolerance(tol))
    evidence = Evidence(Status.EXACT, certificate, "the mean and the sum of squares", notes=("There is no component.",))
    return Spectrum(np.empty(0), np.empty((0, rows.shape[1])), 0, evidence)


def _noted(found: Spectrum, notes: tuple[str, ...]) -> Spectrum:
    return replace(found, evidence=replace(found.evidence, notes=notes + found.evidence.notes))


def lost_digits(found: Spectrum, whole: bool) -> bool:
    """Whether the covariance has rounded away digits of an eigenvalue that was asked for (or of any, if ``whole``)."""
    if found.rank == 0 or found.accurate:
        return False
    last = len(found.values) if whole else min(len(found.vectors), len(found.values))
    return bool(found.values[last - 1] < LOST * found.values[0])
