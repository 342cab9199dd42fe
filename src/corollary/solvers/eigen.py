"""Leading eigenpairs of a symmetric operator by block Lanczos, with the residuals that say how good they are.

The basis grows by the residuals of the wanted pairs (which spans the same space as the powers of the operator on the
starting block), is orthonormalised twice, and is restarted from its best vectors when it is full. The products C Q are
kept, so a residual is a difference of known vectors and never a recurrence: rounding cannot hide in it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from corollary.core.evidence import Kind
from corollary.core.types import Array
from corollary.solvers.loop import Algorithm, Measure, Rules, run

KEPT_BLOCKS, KEPT = 6, 200  # the basis has at most this many starting blocks, or this many vectors if that is more
ROOM = 1 << 24  # … and these have at most so many numbers
RESIDUAL = "largest eigen-residual over the first eigenvalue"


@dataclass(frozen=True)
class Pairs:
    """Eigenvalues in falling order, orthonormal vectors (d × k), and the residual norm of each."""

    values: Array
    vectors: Array
    residuals: Array
    complete: bool = False  # the basis spans everything: there is nothing left to add
    stuck: bool = False  # what was left to add was rounding

    @property
    def residual(self) -> float:
        """The largest residual, relative to the largest eigenvalue."""
        top = float(np.abs(self.values).max(initial=0.0))
        return float(self.residuals.max(initial=0.0)) / top if top > 0 else 0.0


class BlockLanczos(Algorithm[Pairs]):
    """The k largest eigenpairs of ``apply`` (C V for V of shape d × l) from the span of ``start`` (d × l), l ≥ k.

    An iteration multiplies one block of at most l vectors. Each residual ‖C v − λ v‖ that comes out small shows that
    (λ, v) is near an eigenpair; that none is larger than those found is not shown by them.
    """

    name = "block Lanczos iteration"
    kind = Kind.STATIONARY
    certificate_name = RESIDUAL

    def __init__(self, apply: Callable[[Array], Array], start: Array, k: int, tol: float) -> None:
        self.apply, self.start, self.k, self.tol = apply, start, k, tol

    def init(self) -> Pairs:
        width = self.start.shape[1]
        limit = min(len(self.start), max(KEPT_BLOCKS * width, min(KEPT, ROOM // len(self.start))))
        self.basis = _Basis(self.apply, len(self.start), width, limit)
        nothing = np.zeros(0)
        return Pairs(nothing, nothing, nothing)

    def step(self, state: Pairs) -> Pairs:
        if self.basis.size == 0:
            self.basis.add(np.linalg.qr(self.start)[0])
        elif not self.basis.grow(self.tol):
            return replace(state, stuck=True)
        return self.basis.pairs(self.k)

    def beyond(self, count: int) -> Pairs:
        """The k wanted pairs and, as far as they have come, at most ``count`` more."""
        return self.basis.pairs(min(self.k + count, self.basis.size))

    def measure(self, state: Pairs) -> Measure | None:
        if len(state.values) == 0:
            return None
        return Measure(-float(state.values.sum()), state.residual, done=state.complete, stalled=state.stuck)


def leading(apply: Callable[[Array], Array], start: Array, k: int, tol: float, max_products: int) -> Pairs:
    """The pairs of :class:`BlockLanczos` with residuals of at most ``tol`` λ₁, or after ``max_products`` products.

    For callers that keep no partial answer: Ctrl-C is raised.
    """
    limit = max(1, max_products // start.shape[1])
    return run(BlockLanczos(apply, start, k, tol), Rules(limit, tol)).uninterrupted().state


class _Basis:
    """Orthonormal vectors Q, their products C Q, and the eigenpairs (values, Y) of T = Qᵀ C Q."""

    def __init__(self, apply: Callable[[Array], Array], d: int, width: int, limit: int) -> None:
        self.apply, self.width, self.limit = apply, width, limit
        self.size = 0
        # room for one more block than ever stays: columns are contiguous, so adding some copies nothing else
        self._Q, self._CQ = (np.empty((d, limit + width), order="F") for _ in range(2))
        self._T = np.empty((limit + width, limit + width))

    @property
    def Q(self) -> Array:
        return self._Q[:, : self.size]

    @property
    def CQ(self) -> Array:
        return self._CQ[:, : self.size]

    def add(self, fresh: Array) -> None:
        """Extend the basis by orthonormal vectors, and multiply them."""
        old, new = self.size, self.size + fresh.shape[1]
        self._Q[:, old:new], self._CQ[:, old:new] = fresh, self.apply(fresh)
        self.size = new
        self._T[:new, old:new] = self.Q.T @ self._CQ[:, old:new]
        self._T[old:new, :new] = self._T[:new, old:new].T
        T = self._T[:new, :new]
        values, Y = np.linalg.eigh((T + T.T) / 2)
        self.values, self.Y = values[::-1], Y[:, ::-1]

    def pairs(self, k: int) -> Pairs:
        """The k leading pairs, with the residuals of each."""
        vectors = self.Q @ self.Y[:, :k]
        residuals = np.linalg.norm(self.CQ @ self.Y[:, :k] - vectors * self.values[:k], axis=0)
        return Pairs(self.values[:k].copy(), vectors, residuals, complete=self.size >= len(self._Q))

    def grow(self, tol: float) -> bool:
        """Add the residuals of the leading pairs that are not there yet; False if they add nothing but rounding."""
        lead = self.Y[:, : self.width]
        R = self.CQ @ lead - (self.Q @ lead) * self.values[: self.width]
        norms = np.linalg.norm(R, axis=0)
        missing = norms > 0.1 * tol * abs(float(self.values[0]))
        fresh = R[:, missing] / norms[missing]
        if self.size + fresh.shape[1] > self.limit:
            self._restart(max(self.width, self.limit // 2))
        fresh = _orthonormal(fresh, self.Q)[:, : len(self._Q) - self.size]
        if fresh.shape[1] == 0:
            return False
        self.add(fresh)
        return True

    def _restart(self, count: int) -> None:
        """Keep the span of the best ``count`` pairs."""
        count = min(count, self.size)
        keep = self.Y[:, :count]
        self._Q[:, :count], self._CQ[:, :count] = self.Q @ keep, self.CQ @ keep
        self._T[:count, :count] = np.diag(self.values[:count])
        self.size = count


def _orthonormal(W: Array, Q: Array) -> Array:
    """An orthonormal basis of what W adds to the span of Q (both have unit columns)."""
    for _ in range(2):
        W = W - Q @ (Q.T @ W)
        W, R = np.linalg.qr(W)
        size = np.abs(np.diag(R))
        W = W[:, size > 1e-8 * size.max(initial=0.0)] if size.max(initial=0.0) > 1e-12 else W[:, :0]
    return np.asarray(W)
