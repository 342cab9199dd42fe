"""What lets k-means skip work without changing its answer: a float32 sieve of known error, and bounds on distances."""

from __future__ import annotations

import numpy as np

from corollary._compiled.kmeans import dense as kernels
from corollary.core.types import Array

UNIT = 2.0**-24  # half the spacing of float32 around 1
TILE = 1 << 16  # scores of one tile: 256 KiB of float32, which a core's second cache holds
GROUP = 8  # centres that share a lower bound
CROWD = 0.7  # share of unsettled rows at which all rows of a block are looked at
NO_BOUNDS = np.empty((0, 0), dtype=np.float32)


class Bounds:
    """Bounds on distances to the own centre and to groups of other centres; see the kernels for their meaning.

    ``slack`` covers the rounding of all float32 arithmetic with them.
    """

    def __init__(self, n: int, k: int, size: int) -> None:
        self.size = size
        self.starts = np.arange(0, k, size)
        self.upper = np.empty(n, dtype=np.float32)
        self.lower = np.empty((n, len(self.starts)), dtype=np.float32)
        self.fresh = True
        self._grown, self._shrunk = np.zeros(k), np.zeros(len(self.starts))
        self.drift(np.zeros(k))

    def drift(self, lengths: Array) -> None:
        """Centres have moved by these (scaled) lengths."""
        safe = lengths * (1 + 1e-9)
        self._grown += safe
        self._shrunk += np.maximum.reduceat(safe, self.starts)
        self.grown, self.shrunk = self._grown.astype(np.float32), self._shrunk.astype(np.float32)
        self.moved = float(self._grown.max())

    def forget(self, rows: Array) -> None:
        """Other code has changed the labels of these rows."""
        self.upper[rows] = np.inf


class Sieve:
    """Centres made ready to label rows in float32, with a bound on the error that this makes.

    The score of a row x and a centre c is ‖c‖²/2 − x·c. In float32 it is off by at most ``slope`` ‖x‖ + ``base``: the
    rounding of x, of c, of ‖c‖²/2, of d products and their sum in any order, and of the subtraction.
    """

    def __init__(self, centres: Array, shift: Array, scale: float, largest: float, bounds: Bounds | None) -> None:
        d = centres.shape[1]
        self.centres = np.ascontiguousarray(centres, dtype=np.float64)
        self.shift, self.scale, self.bounds = shift, scale, bounds
        moved = (self.centres - shift) * scale
        squares = np.einsum("ij,ij->i", moved, moved)
        self.size = GROUP if bounds is None else bounds.size
        with np.errstate(over="ignore", invalid="ignore"):
            self.table = moved.astype(np.float32)
            self.half = (squares / 2).astype(np.float32)
            longest = float(np.sqrt(squares.max()))
            share = (d + 6) * UNIT
            growth = share / (1 - share) if share < 0.5 else np.inf
            self.slope = np.float32(1.01 * growth * longest + 4 * UNIT * largest)
            self.base = np.float32(4 * UNIT * longest**2 + 1e-37)
            reach = 2 * largest + longest + (bounds.moved if bounds else 0.0)
            self.slack = np.float32(8 * UNIT * reach)
            self.loss = np.float32(1 + growth)

    def label(self, X: Array, norms: Array, labels: Array, start: int, stop: int) -> Array:
        """Label the rows ``start`` to ``stop`` of the float32 rows X; returns those that float32 cannot decide."""
        k, d = self.table.shape
        bounds, known = self.bounds, 0
        doubtful = np.empty(stop - start + 1, dtype=np.int32)
        tile = max(64, TILE // k)
        products = np.empty(k * tile, dtype=np.float32)
        minima = np.empty((2, -(-k // self.size) + 1, tile), dtype=np.float32)
        rows = self._candidates(X, labels, start, stop)
        whole = len(rows) == stop - start
        buffer = np.empty((0 if whole else tile, d), dtype=np.float32)
        if bounds is None:
            kept = (np.empty(0, np.float32), NO_BOUNDS, np.empty(0, np.float32), np.empty(0, np.float32))
        else:
            kept = (bounds.upper, bounds.lower, bounds.grown, bounds.shrunk)
        for first in range(0, len(rows), tile):
            part = rows[first : first + tile]
            m = len(part)
            if whole:
                block = X[start + first : start + first + m]
            else:
                block = buffer[:m]
                kernels.gather(X, part, block)
            scores = products[: k * m].reshape(k, m)
            np.matmul(self.table, block.T, out=scores)
            known = kernels.nearest_in_tile(
                scores, self.half, self.size, part, norms, self.slope, self.base, labels, *kept,
                self.slack, doubtful, known, minima[0], minima[1],
            )  # fmt: skip
        return doubtful[:known]

    def _candidates(self, X: Array, labels: Array, start: int, stop: int) -> Array:
        """Rows of the range that may have to change: all of them without bounds."""
        bounds = self.bounds
        if bounds is None or bounds.fresh:
            return np.arange(start, stop, dtype=np.int32)
        rows = np.empty(stop - start, dtype=np.int32)
        state = (labels, bounds.upper, bounds.lower, bounds.grown, bounds.shrunk, self.slack)
        count = kernels.unsettled_rows(start, stop, *state, rows)
        if count > CROWD * (stop - start):  # skipping the few others would cost more than it saves
            return np.arange(start, stop, dtype=np.int32)
        count = kernels.tighten(rows[:count], X, self.table, *state, self.loss)
        return rows[:count]
