"""How k-means touches X: what dense, sparse and streamed rows have in common, as they are or brought to length one."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from corollary._compiled.kmeans import dense as kernels
from corollary.core.parallel import rows_per_part
from corollary.core.scaling import of_length_one
from corollary.core.types import Array
from corollary.solvers.kmeans.bounds import Bounds
from corollary.solvers.loop import overflow

Place = tuple[Array, float]  # what is taken away from every row, and what it is then multiplied by


@dataclass(frozen=True)
class SumChange:
    """What a block of rows contributes to one iteration: a Summary, so blocks merge with ``+``.

    ``sums`` (k × (d + 2)) is the change of Σ w (x − shift) scale, of the weight and of the number of rows of each
    cluster, by the rows whose label changed; ``moved`` is how many did.
    """

    sums: Array
    moved: int

    def __add__(self, other: SumChange) -> SumChange:
        return SumChange(self.sums + other.sums, self.moved + other.moved)


PART, PARTS = 512, 256  # the fewest rows of a part, and the most parts


def part_rows(n: int, k: int) -> int:
    """Rows of a part, from shapes alone: enough parts for threads, whose sums are few beside the numbers of X."""
    return rows_per_part(n, 4 * k, most=max(1, min(PARTS, n // PART)), fewest=1, room=n)


def count_parts(n: int, size: int) -> int:
    """How many parts of so many rows there are."""
    return -(-n // size)


@lru_cache(maxsize=8)
def key_factors(d: int) -> Array:
    """With which the numbers of a row add up to its key."""
    return np.random.RandomState(0).uniform(0.5, 1.0, size=d)


def writable(array: Array) -> Array:
    """The array, or a copy if it is read-only: kernels then compile for one kind only."""
    return array if array.flags.writeable else array.copy()


class KMeansRows(ABC):
    """Weighted rows. ``total`` is Σ w ‖(x − shift) scale‖², ``spread`` the mean variance of the columns, scaled."""

    held = True  # whether single rows can be had without reading all
    keys: Array  # a number for each row that depends on its values alone

    def __init__(self, shape: tuple[int, int], dtype: Any, weights: Array, angular: bool) -> None:
        self.n, self.d = shape
        self.dtype, self.angular = np.dtype(dtype), angular
        self.weights = writable(weights)
        self.mass = float(self.weights.sum())

    def _settle(self, place: Place, total: float, moment: Array) -> None:
        """Keep the place of the rows and what is known of them there; ``moment`` is Σ w (x − shift) scale."""
        self.shift, self.scale = place
        self.total, self.moment = total, moment
        mean = moment / (self.mass or 1.0)
        self.spread = max(0.0, (total / (self.mass or 1.0) - float(mean @ mean)) / self.d)

    def bounds(self, k: int) -> Bounds | None:
        """Bounds that let rows be skipped; None where they cost more than they save."""
        return None

    def heads(self, centres: Array) -> Array:
        """The centres from which distances are taken: of directions the length does not count, nor its rounding."""
        return of_length_one(centres) if self.angular else centres

    @cached_property
    def order(self) -> tuple[Array, Array]:
        """The rows in the order of their keys, and the place of each in it."""
        order = np.argsort(self.keys, kind="stable")
        place = np.empty(self.n, dtype=np.int32)
        place[order] = np.arange(self.n, dtype=np.int32)
        return order, place

    @abstractmethod
    def assign(self, centres: Array, labels: Array, bounds: Bounds | None) -> SumChange:
        """Give every row the label of its nearest centre, one of the :meth:`heads`."""

    def advance(
        self, count: int, tol: float, centres: Array, sums: Array, labels: Array, bounds: Bounds | None
    ) -> Array | None:
        """At most ``count`` whole iterations, in place, and what is known of each; None where each is taken by hand.

        They end early when nothing moves, when so little does that ``tol`` is reached, or when a cluster has no rows:
        then that iteration has its labels and sums, but its centres have not moved.
        """
        return None

    @abstractmethod
    def review(self, centres: Array, labels: Array) -> tuple[Array, Array]:
        """Squared (scaled) distance of each row to its own centre c, and Σ w (x − c) scale of the clusters, afresh.

        Centres are the :meth:`heads`. The sums have the columns of :class:`SumChange`. About the centres, and not about
        a common shift, no digit is lost however far away the data, or a single row, may lie.
        """

    @abstractmethod
    def take(self, rows: Array) -> Array:
        """These rows, dense, in float64."""

    def exchange(self, rows: Array, old: Array, new: Array, k: int) -> Array:
        """The change of the sums when rows change labels (−1 is none)."""
        change, touched = np.zeros((k, self.d + 2)), np.ones(k, dtype=bool)
        given = self.take(rows), self.shift, self.scale, self.weights[rows], old, new
        kernels.move_rows(0, len(rows), *given, change, touched)
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
        return np.asarray(centres.astype(self.dtype), dtype=np.float64)

    def cost(self, sums: Array) -> float:
        """The (scaled) cost when all centres are at their best: no pass over the rows is needed."""
        sums, weight = sums[:, : self.d], sums[:, self.d]
        squares = np.einsum("ij,ij->i", sums, sums)
        if self.angular:
            return max(0.0, self.mass - float(np.sqrt(squares).sum()))
        full = weight > 0
        return max(0.0, self.total - float((squares[full] / weight[full]).sum()))

    def about_shift(self, centres: Array, sums: Array) -> Array:
        """The sums of a review as the iteration has them: Σ w (x − shift) scale."""
        moved = sums.copy()
        moved[:, : self.d] += sums[:, self.d, None] * ((self.heads(centres) - self.shift) * self.scale)
        return moved

    def means(self, centres: Array, sums: Array) -> Array:
        """The best centres of a review, in float64 whatever X is; a centre without rows stays."""
        weight = np.where(sums[:, self.d] > 0, sums[:, self.d], 1.0)[:, None]
        heads = self.heads(centres)
        means: Array = heads + sums[:, : self.d] / weight / self.scale
        if self.angular:
            means = np.where((means != 0).any(axis=1, keepdims=True), self.heads(means), heads)
        return means

    def saving(self, centres: Array, sums: Array) -> float:
        r"""By how much the (scaled) cost falls when each centre c moves to the best place for its rows.

        With S = Σ w (x − c) and W = Σ w of a cluster that is ‖S‖² / W. For directions s = S + W c it is
        2 (‖s‖ − s·c) = 2 ‖p‖² / (‖s‖ + s·c) where p is the part of S across c.
        """
        offsets, weight = sums[:, : self.d], sums[:, self.d]
        if not self.angular:
            mean = offsets / np.where(weight > 0, weight, 1.0)[:, None]  # divided first: weights may be of any size
            return float(weight @ np.einsum("ij,ij->i", mean, mean))
        centres = self.heads(centres)
        total = offsets + weight[:, None] * centres
        across = offsets - np.einsum("ij,ij->i", offsets, centres)[:, None] * centres
        both = np.sqrt(np.einsum("ij,ij->i", total, total)) + np.einsum("ij,ij->i", total, centres)
        across, both = across[both > 0], both[both > 0]
        return float(2 * np.einsum("ij,ij->i", across / both[:, None], across).sum())

    def narrowed(self, centres: Array) -> Array:
        """The centres in the dtype of X, if that changes none of them; else as they are, in float64."""
        narrow = centres.astype(self.dtype)
        return narrow if (narrow == centres).all() else centres

    def unscaled(self, squared: float) -> float:
        """A sum of scaled squared distances as a cost (half the square, 1 − cosine, for directions)."""
        value = self.restored(squared)
        if not math.isfinite(value):
            raise overflow()
        return value

    def restored(self, squared: float, weight_unit: float = 1.0) -> float:
        """The same where a weight of one had become ``weight_unit``.

        All of it is powers of two, which are taken together: one after the other, squares of small rows would vanish
        before their large weights had their say.
        """
        scale, unit = math.frexp(1.0 if self.angular else self.scale)[1] - 1, math.frexp(weight_unit)[1] - 1
        try:
            return math.ldexp(squared, -2 * scale - unit)
        except OverflowError:
            return math.inf
