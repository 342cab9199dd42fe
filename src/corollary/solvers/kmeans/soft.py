"""Soft k-means: rows belong to all centres, more to the nearer ones; the free energy falls in every iteration."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corollary.core.evidence import Status
from corollary.core.parallel import map_blocks, one_blas_thread
from corollary.core.types import Array
from corollary.solvers.kmeans.old_log import Log
from corollary.solvers.kmeans.rows import power_of_two
from corollary.solvers.loop import Observer, overflow

AT_REST = 1e-28  # squared movement, relative to the variance, that is rounding alone


@dataclass(frozen=True)
class SoftSums:
    """What a block of rows contributes to one iteration: a Summary, so blocks merge with ``+``.

    ``weight`` is Σ w r of each centre, ``offsets`` Σ w r (x − c), ``energy`` −Σ w ln Σ exp(−β d²) / β.
    """

    weight: Array
    offsets: Array
    energy: float

    def __add__(self, other: SoftSums) -> SoftSums:
        return SoftSums(self.weight + other.weight, self.offsets + other.offsets, self.energy + other.energy)

    def finish(self, centres: Array) -> Array:
        """Centres moved to the means of the rows, weighted by how far they belong; those without any stay."""
        return centres + self.offsets / np.where(self.weight > 0, self.weight, 1.0)[:, None]


@dataclass(frozen=True)
class SoftClustering:
    """What soft k-means found; ``rise`` is the largest rise of the energy relative to the total sum of squares."""

    centres: Array
    energy: float
    n_iter: int
    history: dict[str, list[float]]
    status: Status
    rise: float
    movement: float


def responsibilities(X: Array, centres: Array, stiffness: float) -> tuple[Array, Array]:
    """How far each row belongs to each centre (n × k, rows sum to 1), and the free energy of each row."""
    middle = centres.mean(axis=0)
    return _shares(X - middle, centres - middle, stiffness)


def _shares(rows: Array, centres: Array, stiffness: float) -> tuple[Array, Array]:
    own, squares = np.einsum("ij,ij->i", rows, rows), np.einsum("ij,ij->i", centres, centres)
    scores = squares - 2 * (rows @ centres.T)
    least = scores.min(axis=1)
    scores -= least[:, None]
    scores *= -stiffness
    np.exp(scores, out=scores)
    totals = scores.sum(axis=1)
    scores /= totals[:, None]
    return scores, np.maximum(own + least, 0.0) - np.log(totals) / stiffness


def summarize(X: Array, weights: Array, centres: Array, stiffness: float) -> SoftSums:
    """The summary of one block of rows about given centres."""
    middle = centres.mean(axis=0)  # rows far from zero would leave no digits for their distances
    rows, moved = X - middle, centres - middle
    shares, energies = _shares(rows, moved, stiffness)
    shares *= weights[:, None]
    weight = shares.sum(axis=0)
    return SoftSums(weight, shares.T @ rows - weight[:, None] * moved, float(weights @ energies))


def soft_kmeans(
    X: Array,
    weights: Array,
    centres: Array,
    stiffness: float,
    *,
    max_iter: int,
    tol: float,
    observe: Observer | None = None,
) -> SoftClustering:
    """Iterate until the squared movement of all centres is at most ``tol`` times the mean variance of the columns."""
    with one_blas_thread():
        return _Run(X, weights, centres, stiffness).run(max_iter, tol, observe)


class _Run:
    """The iteration, on rows scaled by a power of two so that squares neither overflow nor vanish."""

    def __init__(self, X: Array, weights: Array, centres: Array, stiffness: float) -> None:
        self.X, self.weights = X, weights
        self.total, self.spread, self.scale = _spread(X, weights)
        self.stiffness = stiffness / self.scale / self.scale
        self.centres = centres.astype(np.float64) * self.scale
        # distances of a block stay in a core's second cache
        self.size = max(64, min(X.shape[0], (1 << 15) // len(centres)))
        if not np.isfinite(self.stiffness) or self.stiffness == 0:
            raise overflow()

    def summary(self) -> SoftSums:
        parts = map_blocks(self._part, self.X.shape[0], self.size)
        total = next(parts)
        for part in parts:
            total = total + part
        return total

    def _part(self, start: int, stop: int) -> SoftSums:
        block = self.X[start:stop].astype(np.float64) * self.scale
        return summarize(block, self.weights[start:stop], self.centres, self.stiffness)

    def run(self, max_iter: int, tol: float, observe: Observer | None) -> SoftClustering:
        log, status, energy, rise, movement = Log(), Status.MAX_ITER, np.inf, 0.0, np.inf
        try:
            for iteration in range(1, max_iter + 1):
                summary = self.summary()
                if energy < np.inf and self.total > 0:
                    rise = max(rise, (summary.energy - energy) / self.total)
                energy = summary.energy
                after = summary.finish(self.centres)
                shift = float(((after - self.centres) ** 2).sum())
                movement = shift / self.spread if self.spread > 0 else shift
                self.centres = after
                record = log.add(iteration, energy / self.scale / self.scale, movement)
                if movement <= max(tol, AT_REST):
                    status = Status.CONVERGED
                    break
                if observe is not None and observe(record, lambda: self.centres / self.scale):
                    status = Status.BUDGET
                    break
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        last = self.summary().energy
        rise = max(rise, (last - energy) / self.total) if self.total > 0 and energy < np.inf else rise
        value = last / self.scale / self.scale
        if not np.isfinite(value):
            raise overflow()
        n_iter = len(log.history["iteration"])
        return SoftClustering(self.centres / self.scale, value, n_iter, log.history, status, rise, movement)


def _spread(X: Array, weights: Array) -> tuple[float, float, float]:
    """Total weighted sum of squares about the mean and mean variance of the columns, both scaled, and the scale."""
    mass = weights.sum()
    mean = np.asarray(weights / mass @ X, dtype=np.float64)
    scale = power_of_two(float(np.maximum(X.max(axis=0) - mean, mean - X.min(axis=0)).max()))

    def part(start: int, stop: int) -> float:
        moved = (X[start:stop] - mean) * scale
        return float(weights[start:stop] @ (moved * moved).sum(axis=1))

    total = float(sum(map_blocks(part, X.shape[0], 4096)))
    return total, total / mass / X.shape[1], scale
