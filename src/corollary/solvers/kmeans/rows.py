"""How k-means touches X: what dense and sparse rows have in common, as they are or brought to length one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from corollary._compiled.kmeans import dense as kernels
from corollary.core.types import Array
from corollary.solvers.kmeans.bounds import Bounds
from corollary.solvers.loop import overflow


class Rows(ABC):
    """Weighted rows. ``total`` is Σ w ‖(x − shift) scale‖², ``spread`` the mean variance of the columns, scaled."""

    shift: Array
    scale: float
    total: float
    spread: float

    def __init__(self, X: Any, weights: Array, angular: bool) -> None:
        self.X, self.angular = X, angular
        self.weights = weights if weights.flags.writeable else weights.copy()  # one signature: kernels compile once
        self.n, self.d = X.shape
        self.mass = float(weights.sum())

    def block_rows(self, k: int) -> int:
        """Rows per block, from shapes alone: enough of them for threads, few enough that merging sums is cheap."""
        blocks = max(1, min(64, max(self.n // 16384, min(8, self.n // 2048)), self.n // (2 * k)))
        return -(-self.n // blocks)

    @abstractmethod
    def bounds(self, k: int) -> Bounds | None:
        """Bounds to skip rows with, where they pay."""

    @abstractmethod
    def assign(self, centres: Array, labels: Array, bounds: Bounds | None) -> tuple[Array, int]:
        """Give every row the label of its nearest centre; the change of the sums, and how many rows changed."""

    @abstractmethod
    def review(self, centres: Array, labels: Array) -> tuple[Array, Array]:
        """Squared (scaled) distance of each row to its own centre, and the sums of all clusters, from scratch."""

    @abstractmethod
    def take(self, rows: Array) -> Array:
        """These rows, dense, in float64."""

    def exchange(self, rows: Array, old: Array, new: Array, k: int) -> Array:
        """The change of the sums when rows change labels (−1 is none)."""
        change = np.zeros((k, self.d + 2))
        kernels.move_rows(self.take(rows), self.shift, self.scale, self.weights[rows], old, new, change)
        return change

    def centres(self, sums: Array, before: Array) -> Array:
        """The best centre of each cluster, in the dtype of X; one without rows stays where it was."""
        centres = before.copy()
        sums, weight = sums[:, : self.d], sums[:, self.d]
        if self.angular:
            length = np.sqrt(np.einsum("ij,ij->i", sums, sums))
            full = length > 0
            centres[full] = sums[full] / length[full, None]
        else:
            full = weight > 0
            centres[full] = sums[full] / weight[full, None] / self.scale + self.shift
        return np.asarray(centres.astype(self.X.dtype), dtype=np.float64)

    def cost(self, sums: Array) -> float:
        """The (scaled) cost when all centres are at their best: no pass over the rows is needed."""
        sums, weight = sums[:, : self.d], sums[:, self.d]
        squares = np.einsum("ij,ij->i", sums, sums)
        if self.angular:
            return max(0.0, self.mass - float(np.sqrt(squares).sum()))
        full = weight > 0
        return max(0.0, self.total - float((squares[full] / weight[full]).sum()))

    def unscaled(self, squared: float) -> float:
        """A sum of scaled squared distances as the user's cost (half the square, 1 − cosine, for directions)."""
        value = squared if self.angular else squared / self.scale / self.scale
        if not np.isfinite(value):
            raise overflow()
        return value


def power_of_two(reach: float) -> float:
    """The power of two that brings numbers up to ``reach`` to 1 or just below."""
    if not np.isfinite(reach):
        raise overflow()
    return 1.0 if reach == 0 else float(2.0 ** -np.clip(np.ceil(np.log2(reach)), -1000, 1000))


def check_lengths(lengths: Array) -> Array:
    """Lengths of rows that all have a direction."""
    if not (lengths > 0).all():
        row = int(np.argmin(lengths > 0))
        raise ValueError(f"metric='cosine' needs rows that have a direction, but row {row} of X is zero.")
    return lengths


def added(parts: list[tuple[Array, int]]) -> tuple[Array, int]:
    """The changes of all blocks as one, in block order."""
    change = parts[0][0]
    for part, _ in parts[1:]:
        change += part
    return change, sum(moved for _, moved in parts)
