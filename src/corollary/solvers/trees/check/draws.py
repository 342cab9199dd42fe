"""Which columns the nodes of a forest's tree drew: its random numbers drawn again, node after node."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

import numpy as np

from corollary.core.trees import Trees
from corollary.core.types import Array

WORD = (1 << 64) - 1
GOLDEN, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def mix(z: int) -> int:
    """Stafford's mixing of 64 bits."""
    z &= WORD
    z = ((z ^ (z >> 30)) * _FIRST) & WORD
    z = ((z ^ (z >> 27)) * _SECOND) & WORD
    return z ^ (z >> 31)


def in_order_of_growth(tree: Trees, count: Array, at_once: int) -> Iterator[int]:
    """Nodes as a forest grows them: those of more than ``at_once`` rows level by level, then subtree by subtree."""
    queue, waiting = deque([0]), deque[int]()
    while queue or waiting:
        whole = bool(queue)
        if not whole:
            queue.append(waiting.popleft())
        postponed: deque[int] = deque()
        while queue:
            t = queue.popleft()
            if whole and count[t] <= at_once:
                postponed.append(t)
                continue
            yield t
            if tree.feature[t] >= 0:
                queue.extend((int(tree.left[t]), int(tree.left[t]) + 1))
        waiting.extend(postponed)


def columns_drawn(
    tree: Trees, count: Array, live: Array, codes: Callable[[int, int], Array], *, d: int, wanted: int, seed: int,
    at_once: int, most: int,
) -> dict[int, Array]:  # fmt: skip
    """Columns that each of the first ``most`` nodes tried; ``live`` nodes may be split, ``codes(node, column)``.

    At least ``wanted`` columns are tried, and more until one is not constant. A node that may not be split draws none.
    """
    found: dict[int, Array] = {}
    state, features = seed & WORD, list(range(d))
    for t in in_order_of_growth(tree, count, at_once):
        if len(found) >= most:
            break
        if not live[t]:
            continue
        visited, varied = 0, False
        while visited < d and (visited < wanted or not varied):
            state = (state + GOLDEN) & WORD
            j = visited + (((mix(state) >> 32) * (d - visited)) >> 32)
            features[j], features[visited] = features[visited], features[j]
            if not varied:
                own = codes(t, features[visited])
                varied = bool((own != own[0]).any())
            visited += 1
        found[t] = np.array(features[:visited])
    return found
