"""Directions that a huge row hides in its rounding, and that other rows see all the same.

Beside a row a billion times as long as the others, norms of columns are its own. A combination of columns may then be
below 1e-16 of them, which looks like a dependency, and yet be far above the rounding of every other row's own numbers.
"""

from __future__ import annotations

import numpy as np

from corollary.core.design import Design
from corollary.core.parallel import block_rows
from corollary.core.problem import EPS
from corollary.core.scaling import powers_above
from corollary.core.types import Array

SAMPLE = 256  # rows of which the middle is taken
TINY = float(np.finfo(np.float64).tiny)


def seen_by_rows(design: Design, weights: Array, directions: Array, *, centred: bool) -> Array:
    """Of each of the directions (d × m) the share of the weight of all rows that see it beyond their own rounding.

    With ``centred`` rows are taken about one in their midst: the mean is where the huge ones are. Cost: n d m products.
    """
    n, d = design.shape
    scale = powers_above(design.column_largest())
    vectors = directions * scale[:, None]
    vectors = vectors / np.linalg.norm(vectors, axis=0)
    middle = np.zeros(d)
    if centred:
        live = np.flatnonzero(weights)
        index = live[:: max(1, len(live) // SAMPLE)]
        some = design.rows(index).block(0, len(index)) / scale
        middle = some[np.abs(some - np.median(some, axis=0)).sum(axis=1).argmin()]

    def part(start: int, stop: int, rows: Array) -> Array:
        rows = rows / scale
        noise = 16 * np.sqrt(d) * EPS * (np.linalg.norm(rows, axis=1) + np.linalg.norm(middle)) + TINY
        beyond = np.abs((rows - middle) @ vectors) > noise[:, None]
        return np.asarray(weights[start:stop] @ beyond)

    return np.asarray(design.sum_rows(part, block_rows(n, 8 * d)) / weights.sum())
