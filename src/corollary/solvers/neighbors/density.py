r"""Sums over all rows at once: densities by kernels, and numbers of pairs.

A kernel K of the distance over h integrates to :math:`h^d \, d V_d \int_0^\infty K(r) \, r^{d-1} \, dr`, with the
volume V of the ball of radius one.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.special import gammaln, logsumexp

from corollary.core.types import Array
from corollary.solvers.neighbors.blocks import PairwiseSearch, Search
from corollary.solvers.neighbors.index import PAIRS

# logarithms of the kernels, of distances over h
_LOGS: dict[str, Callable[[Array], Array]] = {
    "gaussian": lambda r: -0.5 * r * r,
    "exponential": lambda r: -r,
    "tophat": lambda r: np.where(r < 1, 0.0, -np.inf),
    "epanechnikov": lambda r: np.log(np.maximum(1.0 - r * r, 0.0)),
    "linear": lambda r: np.log(np.maximum(1.0 - r, 0.0)),
    "cosine": lambda r: np.log(np.where(r < 1, np.cos(0.5 * np.pi * r), 0.0)),
}
KERNELS = tuple(_LOGS)
WIDE = ("gaussian", "exponential")  # of which no row is out of reach


def log_densities(search: Search, table: PairwiseSearch, Q: Array, h: float, kernel: str) -> Array:
    """The logarithm of Σ K(d/h), normalised, of each query; the table is of the same rows and metric."""
    out, size = np.empty(len(Q)), max(1, PAIRS // len(table.X))
    with np.errstate(divide="ignore", over="ignore"):
        for start in range(0, len(Q), size):
            block = slice(start, start + size)
            if kernel in WIDE:
                out[block] = logsumexp(_LOGS[kernel](table.table(Q[block]) / h), axis=1)
                continue
            places, found, _ = search.within(Q[block], np.full(len(Q[block]), h))
            values = np.exp(_LOGS[kernel](found / h))
            query = np.repeat(np.arange(len(places) - 1), np.diff(places))
            out[block] = np.log(np.bincount(query, values, len(places) - 1))
    return out - _log_integral(kernel, Q.shape[1]) - Q.shape[1] * math.log(h)


def pairs_within(search: Search, Q: Array, r: Array) -> Array:
    """How many pairs of a query and a row are at a distance ≤ r, for each r."""
    counts = np.zeros(len(r), dtype=np.int64)
    for start in range(0, len(Q), 1024):
        block = Q[start : start + 1024]
        found = np.sort(search.within(block, np.full(len(block), r.max(initial=0.0)))[1])
        counts += np.searchsorted(found, r, side="right")
    return counts


def _log_integral(kernel: str, d: int) -> float:
    volume = 0.5 * d * math.log(math.pi) - float(gammaln(0.5 * d + 1.0))
    if kernel == "cosine":
        nodes, weights = np.polynomial.legendre.leggauss(32 + d // 2)
        r = 0.5 * (nodes + 1.0)
        return volume + math.log(d * 0.5 * float(weights @ (np.cos(0.5 * np.pi * r) * r ** (d - 1))))
    return {
        "gaussian": 0.5 * d * math.log(2.0 * math.pi),
        "exponential": volume + float(gammaln(d + 1.0)),
        "tophat": volume,
        "epanechnikov": volume + math.log(2.0 / (d + 2.0)),
        "linear": volume - math.log(d + 1.0),
    }[kernel]
