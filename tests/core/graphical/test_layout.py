"""Pictures of graphs: parents above children, nothing on top of anything else; trails agree with d-separation."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from corollary.core.graphical.dag import DAG
from corollary.core.graphical.layout import layered, layers_of
from corollary.core.graphical.trails import active_trails


def random_parents(n: int, share: float, seed: int) -> list[list[int]]:
    """Parents of random variables, numbered in a random order."""
    rng = np.random.default_rng(seed)
    name = rng.permutation(n)
    parents: list[list[int]] = [[] for _ in range(n)]
    for child in range(n):
        for parent in range(child):
            if rng.random() < share:
                parents[name[child]].append(int(name[parent]))
    return parents


@pytest.mark.parametrize(("n", "share"), [(1, 0.0), (5, 0.5), (12, 0.3), (37, 0.06), (60, 0.04), (30, 0.0)])
def test_layers_and_room(n: int, share: float) -> None:
    parents = random_parents(n, share, n)
    widths = np.random.default_rng(0).uniform(0.4, 2.0, n)
    found = layered(parents, widths.tolist(), gap=0.2)
    x, y = found.places.T
    for child, above in enumerate(parents):
        for parent in above:
            assert y[parent] > y[child]
            route = np.array(found.routes[parent, child])
            np.testing.assert_allclose(route[[0, -1]], found.places[[parent, child]])
            assert (np.diff(route[:, 1]) == -1).all()  # one layer after the other
            for bend in route[1:-1]:  # which passes all nodes of its layer at a distance
                same = np.flatnonzero(y == bend[1])
                assert (np.abs(x[same] - bend[0]) > widths[same] / 2).all()
    for first, second in itertools.combinations(range(n), 2):
        if y[first] == y[second]:
            assert abs(x[first] - x[second]) > (widths[first] + widths[second]) / 2
    assert len(found.routes) == sum(map(len, parents))


def test_few_crossings() -> None:
    tree: list[list[int]] = [[], [0], [0], [1], [2], [1], [2], [4], [3]]
    assert layered(tree, [1.0] * 9).crossings == 0
    twisted = [[], [], [], [2], [1], [0]]  # three edges, each of which crosses the others as numbered
    assert layered(twisted, [1.0] * 6).crossings == 0
    star: list[list[int]] = [[], *[[0]] * 40]
    assert max(np.bincount(layers_of(star))) <= 11  # no wider than a page


@pytest.mark.parametrize("seed", range(8))
def test_trails_are_there_unless_separated(seed: int) -> None:
    rng = np.random.default_rng(seed)
    parents = random_parents(7, 0.35, seed)
    dag = DAG.of(parents, [str(v) for v in range(7)])
    for start, end in itertools.permutations(range(7), 2):
        given = [v for v in range(7) if v not in (start, end) and rng.random() < 0.4]
        found = active_trails(dag, start, end, given)
        assert bool(found) is not dag.separated([start], [end], given)
        assert found == sorted(found, key=len)
        assert set(found) == set(by_brute_force(dag, start, end, given))


def by_brute_force(dag: DAG, start: int, end: int, given: list[int]) -> list[Any]:
    """Every sequence of different neighbours, each of whose middles is open."""
    others = [v for v in range(7) if v not in (start, end)]
    found = []
    for length in range(len(others) + 1):
        for middle in itertools.permutations(others, length):
            trail = (start, *middle, end)
            steps = itertools.pairwise(trail)
            if not all(a in dag.parents[b] or b in dag.parents[a] for a, b in steps):
                continue
            open_everywhere = True
            for a, v, b in zip(trail, trail[1:], trail[2:], strict=False):
                effect = a in dag.parents[v] and b in dag.parents[v]
                below = {v} | {w for w in range(7) if v in dag.ancestors([w])}
                open_everywhere &= bool(below & set(given)) if effect else v not in given
            if open_everywhere:
                found.append(trail)
    return found
