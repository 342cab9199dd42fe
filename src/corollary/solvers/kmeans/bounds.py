"""What lets k-means skip work without changing its answer: a float32 sieve of known error, and bounds on distances."""

from __future__ import annotations

from typing import Any

import numpy as np

from corollary.core.types import Array

UNIT = 2.0**-24  # half the spacing of float32 around 1
GROUP = 8  # centres that share a lower bound
_NONE = np.empty(0, dtype=np.float32)
NO_BOUNDS = _NONE, np.empty((0, 0), dtype=np.float32), _NONE, _NONE


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

    @property
    def numbers(self) -> tuple[Array, ...]:
        """What kernels take of them."""
        return self.upper, self.lower, self.grown, self.shrunk

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

    @property
    def numbers(self) -> tuple[Any, ...]:
        """What kernels take of it."""
        return self.table, self.half, self.size, self.slope, self.base, self.slack, self.loss
