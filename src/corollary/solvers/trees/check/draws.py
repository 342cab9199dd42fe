"""Which columns the nodes of a forest's tree drew: its random numbers drawn again, node after node."""

from __future__ import annotations

import numpy as np

from corollary.core.trees import Trees
from corollary.core.types import Array
from corollary.solvers.trees.check.values import Passage

WORD = (1 << 64) - 1
GOLDEN, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def mix(z: int) -> int:
    """Stafford's mixing of 64 bits."""
    z &= WORD
    z = ((z ^ (z >> 30)) * _FIRST) & WORD
    z = ((z ^ (z >> 27)) * _SECOND) & WORD
    return z ^ (z >> 31)


def columns_drawn(
    tree: Trees, passage: Passage, live: Array, codes: Array, inside: Array, *, wanted: int, seed: int, at_once: int,
    most: int,
) -> dict[int, Array]:  # fmt: skip
    """Columns that each of the first ``most`` nodes tried; ``live`` nodes may be split, ``codes`` are (columns, rows).

    Trees grow level by level down to nodes of ``at_once`` rows, then subtree by subtree. At least ``wanted`` columns
    are tried, and more until one is not constant. A node that may not be split draws none.
    """
    from corollary._compiled.trees.node_search import draw_again

    d, most = len(codes), min(most, int(live.sum()))
    nodes, first, columns = np.empty(most, np.int64), np.empty(most + 1, np.int64), np.empty(most * d, np.int32)
    state, queue = np.array([seed & WORD], dtype=np.uint64), np.empty((2, tree.node_count + 2), np.int64)
    found = draw_again(
        tree.feature, tree.left, passage.start, passage.count, live, codes, inside, passage.order, wanted, state,
        at_once, queue, np.empty(d, np.int64), nodes, first, columns,
    )  # fmt: skip
    return {int(nodes[k]): columns[first[k] : first[k + 1]] for k in range(found)}
