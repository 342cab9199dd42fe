"""Leading eigenpairs of a symmetric operator by block Lanczos, with the residuals that say how good they are.

The basis grows by the residuals of the wanted pairs (which spans the same space as the powers of the operator on the
starting block), is orthonormalised twice, and is restarted from its best vectors when it is full. The products C Q are
kept, so a residual is a difference of known vectors and never a recurrence: rounding cannot hide in it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from corollary.core.evidence import Status
from corollary.core.parallel import one_blas_thread
from corollary.core.types import Array

KEPT_BLOCKS, KEPT = 6, 200  # the basis has at most this many starting blocks, or this many vectors if that is more
ROOM = 1 << 24  # … and these have at most so many numbers
Observe = Callable[[dict[str, float], Callable[[], Any]], bool]


@dataclass
class Pairs:
    """Eigenvalues in falling order, orthonormal vectors (d × k), the residual norm of each, and how it went."""

    values: Array
    vectors: Array
    residuals: Array
    status: Status
    products: int
    history: dict[str, list[float]] = field(default_factory=dict)

    @property
    def gap(self) -> float:
        """The largest residual, relative to the largest eigenvalue."""
        top = float(np.abs(self.values).max(initial=0.0))
        return float(self.residuals.max(initial=0.0)) / top if top > 0 else 0.0


def leading(
    apply: Callable[[Array], Array],
    start: Array,
    k: int,
    tol: float,
    max_products: int,
    observe: Observe | None = None,
) -> Pairs:
    """The k largest eigenpairs of ``apply`` (C V for V of shape d × l) from the span of ``start`` (d × l), l ≥ k.

    Stops when every residual ‖C v − λ v‖ is at most ``tol`` λ₁, after ``max_products`` columns were multiplied, when
    ``observe`` says so, or at Ctrl-C.
    """
    began, width = time.perf_counter(), start.shape[1]
    limit = min(len(start), max(KEPT_BLOCKS * width, min(KEPT, ROOM // len(start))))
    history: dict[str, list[float]] = {"iteration": [], "objective": [], "gap": [], "seconds": []}
    best: Pairs | None = None
    with one_blas_thread():  # the matrices here are narrow; ``apply`` brings threads of its own
        basis = _Basis(np.linalg.qr(start)[0], apply, limit)
        try:
            while True:
                best = basis.pairs(k, history)
                record = {
                    "iteration": float(len(history["gap"]) + 1),
                    "objective": float(best.values.sum()),
                    "gap": best.gap,
                    "seconds": time.perf_counter() - began,
                }
                for name, value in record.items():
                    history[name].append(value)
                stopped = observe is not None and observe(record, partial(_same, best))
                if best.gap <= tol or basis.size >= len(start):
                    return best
                if stopped or basis.products >= max_products:
                    best.status = Status.BUDGET if stopped else Status.MAX_ITER
                    return best
                if not basis.grow(width, tol):
                    best.status = Status.STALLED
                    return best
        except KeyboardInterrupt:
            if best is None:
                raise
            best.status = Status.INTERRUPTED
            return best


def _same(found: Pairs) -> Pairs:
    return found


class _Basis:
    """Orthonormal vectors Q, their products C Q, and the eigenpairs (values, Y) of T = Qᵀ C Q."""

    def __init__(self, Q: Array, apply: Callable[[Array], Array], limit: int) -> None:
        self.apply, self.limit = apply, limit
        self.products = self.size = 0
        # room for one more block than ever stays: columns are contiguous, so adding some copies nothing else
        self._Q, self._CQ = (np.empty((len(Q), limit + Q.shape[1]), order="F") for _ in range(2))
        self._T = np.empty((limit + Q.shape[1], limit + Q.shape[1]))
        self._add(Q)

    @property
    def Q(self) -> Array:
        return self._Q[:, : self.size]

    @property
    def CQ(self) -> Array:
        return self._CQ[:, : self.size]

    def _add(self, fresh: Array) -> None:
        old, new = self.size, self.size + fresh.shape[1]
        self._Q[:, old:new], self._CQ[:, old:new] = fresh, self.apply(fresh)
        self.size, self.products = new, self.products + fresh.shape[1]
        self._T[:new, old:new] = self.Q.T @ self._CQ[:, old:new]
        self._T[old:new, :new] = self._T[:new, old:new].T
        T = self._T[:new, :new]
        values, Y = np.linalg.eigh((T + T.T) / 2)
        self.values, self.Y = values[::-1], Y[:, ::-1]

    def pairs(self, k: int, history: dict[str, list[float]]) -> Pairs:
        """The k leading pairs, with the residuals of each."""
        vectors = self.Q @ self.Y[:, :k]
        residuals = np.linalg.norm(self.CQ @ self.Y[:, :k] - vectors * self.values[:k], axis=0)
        return Pairs(self.values[:k].copy(), vectors, residuals, Status.CONVERGED, self.products, history)

    def grow(self, width: int, tol: float) -> bool:
        """Add the residuals of the leading pairs that are not there yet; False if they add nothing but rounding."""
        lead = self.Y[:, :width]
        R = self.CQ @ lead - (self.Q @ lead) * self.values[:width]
        norms = np.linalg.norm(R, axis=0)
        missing = norms > 0.1 * tol * abs(float(self.values[0]))
        fresh = R[:, missing] / norms[missing]
        if self.size + fresh.shape[1] > self.limit:
            self._restart(max(width, self.limit // 2))
        fresh = _orthonormal(fresh, self.Q)[:, : len(self._Q) - self.size]
        if fresh.shape[1] == 0:
            return False
        self._add(fresh)
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
