"""Tiles of products against plain NumPy: a bit for every pair that the cut does not rule out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from corollary._compiled._jit import kernel
from corollary._compiled.neighbors.tile import PANEL_BYTES, QUERIES, tile_hits

rng = np.random.default_rng(0)


@kernel
def hits_of(panels: Any, panel: Any, queries: Any, tile: Any, cuts: Any, hits: Any) -> Any:
    return tile_hits(panels, panel, queries, tile, cuts, hits)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [1, 2, 7, 64])
def test_bits_are_those_of_plain_products(dtype: Any, d: int) -> None:
    width = PANEL_BYTES // np.dtype(dtype).itemsize
    panels = rng.integers(-4, 5, (3, d, width)).astype(dtype)  # whole numbers: sums are exact, and some meet the cut
    queries = rng.integers(-4, 5, (2, d, QUERIES)).astype(dtype)
    cuts = rng.integers(-9, 10, (2, QUERIES)).astype(dtype)
    cuts[0, 0], cuts[1, 1], cuts[1, 2] = np.inf, -np.inf, np.nan
    for panel in range(3):
        for tile in range(2):
            hits = np.zeros(QUERIES, dtype=np.int64)
            every = hits_of(panels, panel, queries, tile, cuts, hits)
            expected = ~(queries[tile].T @ panels[panel] > cuts[tile][:, None])
            found = (hits[:, None] >> np.arange(width)) & 1
            np.testing.assert_array_equal(found, expected)
            assert every == np.bitwise_or.reduce(hits)
            assert (hits >> width == 0).all()
