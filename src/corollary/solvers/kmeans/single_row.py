"""What the best move of a single row from its cluster to another would save: a fact, beside the claim on Lloyd's steps.

Lloyd's iteration can rest where moving one row, and the means of both clusters with it, lowers the cost (Hartigan and
Wong, 1979). By how much falls with the size of the clusters: of n rows in k clusters it is about (k / n)² of the cost.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from corollary.core.types import Array
from corollary.solvers.kmeans.rows import KMeansRows

ROWS, NUMBERS = 1024, 1 << 22  # at most so many rows are tried, evenly spread, and no more numbers than that


def best_row_move(rows: KMeansRows, centres: Array, labels: Array, cost: float) -> dict[str, float]:
    r"""The largest saving of one row's move, as a share of the cost, under a name that says how many rows were tried.

    A row of weight w that leaves a cluster of weight n at distance a for one of weight m at distance b saves
    :math:`\frac{w n}{n - w} a^2 - \frac{w m}{m + w} b^2`. Nothing is said of directions, nor of rows that would have to
    be read again.
    """
    if rows.angular or not rows.held or len(centres) < 2:
        return {}
    present = np.flatnonzero(rows.weights > 0)
    count = min(len(present), ROWS, max(1, NUMBERS // rows.d))
    tried = present[np.linspace(0, len(present) - 1, count).astype(np.int64)]
    weight, own, each = rows.weights[tried], labels[tried], np.arange(len(tried))
    squares = cdist(rows.take(tried) * rows.scale, centres * rows.scale, "sqeuclidean")
    mass: Array = np.bincount(labels, rows.weights, len(centres))
    rest = mass[own] - weight
    leaving = weight * np.where(rest > 0, mass[own] / np.where(rest > 0, rest, 1.0), 0.0) * squares[each, own]
    joining = weight[:, None] * (mass / (mass + weight[:, None])) * squares
    joining[each, own] = np.inf
    best = float(np.max(leaving - joining.min(axis=1), initial=0.0))
    among = "" if count == len(present) else f" of {count} tried"
    return {f"share of the cost that moving the best single row{among} saves": best / cost if best > 0 else 0.0}
