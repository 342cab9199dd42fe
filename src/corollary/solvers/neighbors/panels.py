r"""Rows in panels, ready to be multiplied by queries: lower bounds on squared distances, by tiles of a matrix product.

Rounding, for a precision of unit u, with γ = (d + 4) u / (1 − (d + 4) u). The sum that a tile computes for a pair has
d + 2 terms, in absolute value ½‖x‖², s‖q‖‖x‖ and |q_j x_j|. It is off by at most γ of their sum, in whatever order and
with fused multiplications or not, and the rounding of q and x themselves changes q·x by little more than 2u ‖q‖‖x‖. So
½‖x‖² lowered by the share γ + 20 u, and s = γ (1 + 4γ) + 20 u, leave it below ½‖x‖² − q·x.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from corollary._compiled.neighbors import products as kernels
from corollary._compiled.neighbors.tile import PANEL_BYTES, QUERIES
from corollary.core.parallel import map_blocks, n_threads, run_team
from corollary.core.scaling import scale_about
from corollary.core.types import Array
from corollary.solvers.neighbors.index import Triples, empty_answers

_AT_ONCE = 128  # queries that go through all panels together: they and a panel stay close to the core
_GRAIN = 4_000_000  # products that are worth a thread: some tenths of a millisecond
_FAR = 1e6  # queries farther out than this many times the rows' extent are left to float64


@dataclass(frozen=True, eq=False)
class Panels:
    """The rows X, shifted to their mean, where products cancel least, and scaled to coordinates below one."""

    X: Array
    centre: Array
    traits: Array  # scale, unit and margins: see _compiled/neighbors/products.py
    panels: Array  # (panels, d + 2, rows of a panel)

    @staticmethod
    def of(X: Array, dtype: Any) -> Panels:
        """Prepare the rows X for products in the precision ``dtype``."""
        (n, d), most = X.shape, _team(X.size)
        blocks = -(-n // kernels.SPAN)
        sums, lows, highs = np.empty((blocks, d)), np.empty((blocks, d)), np.empty((blocks, d))
        run_team(kernels.spans, X, sums, lows, highs, most=most)
        centre = sums.sum(axis=0) / n
        unit = float(np.finfo(dtype).eps) / 2
        gamma = (d + 4) * unit / (1 - min(0.5, (d + 4) * unit))
        traits = np.empty(kernels.TRAITS)
        traits[kernels.SCALE] = scale_about(centre, lows.min(axis=0), highs.max(axis=0))
        traits[kernels.UNIT] = unit
        traits[kernels.SMALLEST] = 1e-26 if dtype == np.float32 else 1e-280  # more than underflow takes from a sum
        traits[kernels.MARGIN] = 20 * unit + gamma + (d + 8) * 2.0**-52
        traits[kernels.SLACK] = 20 * unit + gamma * (1 + 4 * gamma)
        width = PANEL_BYTES // np.dtype(dtype).itemsize
        panels = np.empty((-(-n // width), d + 2, width), dtype=dtype)
        run_team(kernels.pack_rows, X, centre, traits, panels, most=most)
        return Panels(X, centre, traits, panels)

    def takes(self, Q: Array) -> bool:
        """Whether the queries are near enough for float32."""
        if len(Q) == 0:
            return True
        reach = np.maximum(Q.max(axis=0) - self.centre, self.centre - Q.min(axis=0)).max()
        return bool(reach * self.traits[kernels.SCALE] * math.sqrt(Q.shape[1]) < _FAR)

    def nearest(self, Q: Array, k: int, most: float = math.inf) -> tuple[Array, Array, Array]:
        """Squared distances and rows (m, k), the nearest first, and the queries that were given up.

        These are of blocks in which more than ``most`` pairs a query had to be measured. Where there are fewer blocks
        of queries than threads, each thread looks through a part of the rows.
        """
        m, worth = len(Q), _team(len(Q) * self.panels.size)
        size, allowed = _queries(m, worth), min(worth, n_threads())
        blocks = -(-m // size)
        parts = max(1, min(allowed // blocks, len(self.panels) * self.panels.shape[2] // max(1, 4 * k))) if m else 1
        distances, rows = empty_answers(parts * m, k)
        given_up = np.zeros((blocks, parts), dtype=np.bool_)
        T = max(1, min(allowed, blocks * parts))
        run_team(
            kernels.nearest_rows, self.panels, self.X, Q, self.centre, self.traits, size, parts, float(most),
            distances, rows, given_up.ravel(), self._desks(T, size), most=T,
        )  # fmt: skip
        if parts > 1:
            distances, rows = (np.hstack(np.split(answers, parts)) for answers in (distances, rows))
            order = np.lexsort((rows, distances), axis=1)[:, :k]
            distances, rows = np.take_along_axis(distances, order, 1), np.take_along_axis(rows, order, 1)
        return distances, rows, np.flatnonzero(np.repeat(given_up.any(axis=1), size)[:m])

    def _desks(self, T: int, size: int) -> tuple[Array, ...]:
        """What T threads write to that take ``size`` queries at a time, farther apart than a line of their caches."""
        (_, depth, width), dtype, tiles = self.panels.shape, self.panels.dtype, size // QUERIES
        return (
            np.empty((T, tiles, depth, QUERIES), dtype=dtype),
            np.empty((T, tiles + 8, QUERIES), dtype=dtype),
            np.empty((T, size + 16)),
            np.zeros((T, 2, 2 * kernels.AT_ONCE + QUERIES * width), dtype=np.int64),
            np.empty((T, QUERIES + 16), dtype=np.int64),
            np.empty((T, kernels.AT_ONCE + 16)),
        )

    def within(self, Q: Array, limits: Array, most: float = math.inf) -> tuple[list[Triples], Array]:
        """(query, squared distance, row) of all pairs within the limits of their queries, in pieces; and the queries
        that were given up, since more than ``most`` pairs had to be measured for nothing."""
        rows, own = (self.panels, self.X), (limits, self.centre, self.traits, float(most))
        size = _queries(len(Q), _team(len(Q) * self.panels.size))
        found = list(map_blocks(lambda a, b: kernels.rows_within(*rows, Q, *own, a, b), len(Q), size))
        given_up = np.repeat([not whole for *_, whole in found], size)[: len(Q)]
        return [(query, distances, row) for row, query, distances, _ in found], np.flatnonzero(given_up)


def _team(products: int) -> int:
    """How many threads so many products are worth."""
    return max(1, products // _GRAIN)


def _queries(m: int, most: int) -> int:
    """Queries of a block: whole tiles, and some blocks for each of the threads that there may be."""
    share = -(-m // (4 * min(most, n_threads())))
    return max(QUERIES, min(_AT_ONCE, -(-share // QUERIES) * QUERIES))
