"""Directed graphs: d-separation against paths and against numbers, cycles by name, blankets, moral graphs."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corollary.core.graphical.dag import DAG, find_cycle
from corollary.core.graphical.tables import TableNetwork


def random_dag(seed: int, d: int, most: int = 3) -> DAG:
    rng = np.random.default_rng(seed)
    order, parents = rng.permutation(d), [()] * d
    for i, v in enumerate(order):
        parents[v] = tuple(rng.choice(order[:i], min(i, int(rng.integers(0, most + 1))), replace=False).tolist())
    return DAG.of(parents)


def active_path(dag: DAG, a: int, b: int, known: set[int]) -> bool:
    """Whether some path is active, by the definition: every path is looked at."""

    def walk(path: list[int]) -> bool:
        here = path[-1]
        if here == b:
            return all(open_at(*path[i - 1 : i + 2]) for i in range(1, len(path) - 1))
        return any(walk([*path, n]) for n in {*dag.parents[here], *dag.children[here]} if n not in path)

    def open_at(left: int, middle: int, right: int) -> bool:
        if left in dag.parents[middle] and right in dag.parents[middle]:
            return bool(dag.descendants([middle]) & known)
        return middle not in known

    return walk([a])


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 6))
def test_separation_is_that_of_paths(seed: int, d: int) -> None:
    dag, rng = random_dag(seed, d), np.random.default_rng(seed)
    for a, b in combinations(range(d), 2):
        known = {v for v in range(d) if v not in (a, b) and rng.random() < 0.4}
        assert dag.separated([a], [b], known) == (not active_path(dag, a, b, known))
        assert dag.separated([a], [b], known) == dag.separated([b], [a], known)


@pytest.mark.parametrize("seed", range(12))
def test_separation_is_independence_of_random_tables(seed: int) -> None:
    """Tables drawn at random have no independence but those of the graph."""
    dag, rng = random_dag(seed, 5), np.random.default_rng(seed)
    tables = [rng.dirichlet(np.ones(2), size=(2,) * len(p)) if p else rng.dirichlet(np.ones(2)) for p in dag.parents]
    joint = TableNetwork.of(dag.parents, tables).joint()
    for a, b in combinations(range(5), 2):
        known = [v for v in range(5) if v not in (a, b) and rng.random() < 0.5]
        rest = tuple(v for v in range(5) if v not in (a, b, *known))
        p = np.moveaxis(joint.sum(axis=rest, keepdims=True), [a, b], [0, 1])
        pa, pb, pk = p.sum(axis=1, keepdims=True), p.sum(axis=0, keepdims=True), p.sum(axis=(0, 1), keepdims=True)
        dependence = np.abs(p * pk - pa * pb).max()
        assert (dependence < 1e-12) == dag.separated([a], [b], known)


def test_a_cycle_is_named() -> None:
    with pytest.raises(ValueError, match=r"cycle: (b → c → d → b|c → d → b → c|d → b → c → d)\."):
        DAG.of([(), (0, 3), (1,), (2,), (3,)], ["a", "b", "c", "d", "e"])
    with pytest.raises(ValueError, match="cycle: a → a"):
        DAG.of([(0,)], ["a"])
    assert find_cycle([(), (0,), (0, 1)]) == []


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000))
def test_a_cycle_that_is_found_is_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    parents = [tuple(rng.choice(7, int(rng.integers(0, 3)), replace=False).tolist()) for _ in range(7)]
    cycle = find_cycle(parents)
    for parent, child in zip(cycle, [*cycle[1:], *cycle[:1]], strict=True):
        assert parent in parents[child]
    try:
        order = DAG.of(parents).order
        assert not cycle
        assert all(order.index(p) < order.index(v) for v in range(7) for p in parents[v])
    except ValueError:
        assert cycle


@pytest.mark.parametrize("seed", range(5))
def test_a_blanket_separates_from_all_else(seed: int) -> None:
    dag = random_dag(seed, 7)
    for v in range(7):
        blanket = set(dag.blanket(v))
        assert dag.separated([v], [o for o in range(7) if o != v and o not in blanket], blanket)


def test_long_chains_do_not_recurse() -> None:
    n = 5000
    dag = DAG.of([() if v == 0 else (v - 1,) for v in range(n)])
    assert len(dag.ancestors([n - 1])) == n
    assert dag.separated([0], [n - 1], [n // 2])
    assert not dag.separated([0], [n - 1])
    with pytest.raises(ValueError, match="cycle"):
        DAG.of([(n - 1,) if v == 0 else (v - 1,) for v in range(n)])
