"""Learning structures on coded data: scores by hand, trees against all spanning trees, climbs against all moves."""

from __future__ import annotations

from itertools import combinations
from math import lgamma, log

import numpy as np
import pytest

from corollary.solvers.graphical.chow_liu import (
    cycle_excess,
    informations,
    maximum_spanning_tree,
    mutual_information,
)
from corollary.solvers.graphical.counts import Coded
from corollary.solvers.graphical.families import FamilyScores
from corollary.solvers.graphical.hill_climb import Allowed, Search, hill_climb, reachability
from corollary.solvers.graphical.parameters import Prior
from corollary.solvers.graphical.scores import SCORES, Score
from corollary.solvers.graphical.tan import ClassTree, class_tables, joint_log_likelihood, learn_tree


def chain(n: int, seed: int = 0, d: int = 5, card: int = 3) -> np.ndarray:
    """Each column copies the one before, or not."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, card, size=(n, d))
    for j in range(1, d):
        keep = rng.random(n) < 0.6
        rows[keep, j] = rows[keep, j - 1]
    return rows.astype(np.int16)


def hand_score(name: str, rows: np.ndarray, child: int, parents: list[int], card: int, ess: float) -> float:
    """By the textbook, with dictionaries."""
    cells: dict[tuple[int, ...], list[int]] = {}
    for row in rows.tolist():
        cells.setdefault(tuple(row[p] for p in parents), [0] * card)[row[child]] += 1
    q, total = card ** len(parents), 0.0
    for counts in cells.values():
        n = sum(counts)
        if name == "bdeu":
            a = ess / (q * card)
            total += lgamma(a * card) - lgamma(n + a * card) + sum(lgamma(c + a) - lgamma(a) for c in counts)
        elif name == "k2":
            total += lgamma(card) - lgamma(n + card) + sum(lgamma(c + 1) for c in counts)
        else:
            total += sum(c * log(c / n) for c in counts if c)
    free = q * (card - 1)
    return total - {"bic": 0.5 * log(len(rows)) * free, "aic": free}.get(name, 0.0)


@pytest.mark.parametrize("name", SCORES)
def test_scores_are_those_of_the_textbook(name: str) -> None:
    rows = chain(200)
    scores = FamilyScores(Coded.of(rows, [3] * 5), Score(name, 200.0, ess=5.0), 5)
    row = scores.row(2, (0, 4))
    own = hand_score(name, rows, 2, [0, 4], 3, 5.0)
    assert row.score == pytest.approx(own, rel=1e-12)
    assert row.added[1] + row.score == pytest.approx(hand_score(name, rows, 2, [0, 1, 4], 3, 5.0), rel=1e-12)
    assert row.removed[4] + row.score == pytest.approx(hand_score(name, rows, 2, [0], 3, 5.0), rel=1e-12)
    scores.survey()
    assert scores.row(3, ()).added[2] + scores.row(3, ()).score == pytest.approx(scores._row(3, (2,)).score, rel=1e-12)


def test_parents_of_which_few_states_occur_score_the_same() -> None:
    rows = np.random.default_rng(0).integers(0, 6, size=(300, 7)).astype(np.int16)
    for name in SCORES:
        row = FamilyScores(Coded.of(rows, [6] * 7), Score(name, 300.0), 9).row(0, (1, 2, 3, 4, 5))
        assert row.score == pytest.approx(hand_score(name, rows, 0, [1, 2, 3, 4, 5], 6, 10.0), rel=1e-12)
        assert row.added[6] + row.score == pytest.approx(
            hand_score(name, rows, 0, [1, 2, 3, 4, 5, 6], 6, 10.0), rel=1e-12
        )
        assert row.removed[3] + row.score == pytest.approx(hand_score(name, rows, 0, [1, 2, 4, 5], 6, 10.0), rel=1e-12)


def spanning_trees(d: int) -> list[tuple[tuple[int, int], ...]]:
    found = []
    for edges in combinations(combinations(range(d), 2), d - 1):
        leader = list(range(d))
        for a, b in edges:
            leader = [leader[a] if x == leader[b] else x for x in leader]
        if len(set(leader)) == 1:
            found.append(edges)
    return found


@pytest.mark.parametrize("seed", range(5))
def test_no_spanning_tree_has_more_information(seed: int) -> None:
    data = Coded.of(chain(80, seed), [3] * 5)
    information = informations(data)
    trees = spanning_trees(5)
    assert len(trees) == 125
    best = max(sum(information[edge] for edge in edges) for edges in trees)
    for root in range(5):
        tree = maximum_spanning_tree(information, root)
        assert tree.excess <= 1e-12
        assert tree.parent[root] == -1
        assert tree.order[0] == root
        own = sum(information[j, p] for j, p in enumerate(tree.parent) if p >= 0)
        assert own == pytest.approx(best, rel=1e-12)
        assert all(list(tree.order).index(p) < list(tree.order).index(j) for j, p in enumerate(tree.parent) if p >= 0)


def test_the_cycle_property_finds_a_better_edge() -> None:
    """Of trees that are not the best, the excess is the most that one edge could bring; d − 1 of it bound the rest."""
    information = np.array([[0.0, 3.0, 2.0], [3.0, 0.0, 1.0], [2.0, 1.0, 0.0]])
    assert maximum_spanning_tree(information, 0).excess == 0.0
    order = np.array([0, 1, 2])
    assert cycle_excess(information, np.array([-1, 0, 0]), order) == 0.0
    assert cycle_excess(information, np.array([-1, 0, 1]), order) == 1.0  # 0 – 2 in the place of 1 – 2
    assert cycle_excess(information, np.array([-1, 2, 0]), np.array([0, 2, 1])) == 2.0  # 0 – 1 in the place of 1 – 2
    information = informations(Coded.of(chain(80, 0), [3] * 5))
    best = maximum_spanning_tree(information, 0)
    most = sum(information[j, p] for j, p in enumerate(best.parent) if p >= 0)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        parent = np.array([-1, *(rng.integers(0, j) for j in range(1, 5))])
        own = sum(information[j, parent[j]] for j in range(1, 5))
        excess = cycle_excess(information, parent, np.arange(5))
        assert (excess > 1e-12) == (own < most - 1e-12)
        assert own + 4 * excess >= most - 1e-12
    assert mutual_information(np.array([[10, 0], [0, 10]])) == pytest.approx(log(2), rel=1e-14)
    assert mutual_information(np.outer([3, 1], [2, 5])) == pytest.approx(0.0, abs=1e-15)


def single_moves(parents: list[set[int]], most: int) -> list[list[set[int]]]:
    """All graphs that differ by one edge, without looking at the library."""
    d, found = len(parents), []
    for p in range(d):
        for c in range(d):
            if p == c:
                continue
            new = [set(each) for each in parents]
            if p in parents[c]:
                new[c].discard(p)
                found.append([set(each) for each in new])
                new[p].add(c)
            elif c not in parents[p]:
                new[c].add(p)
            found.append(new)

    def acyclic(graph: list[set[int]]) -> bool:
        left = set(range(d))
        while ready := {i for i in left if not (graph[i] & left)}:
            left -= ready
        return not left

    return [graph for graph in found if acyclic(graph) and max(map(len, graph)) <= most]


@pytest.mark.parametrize("tabu", [0, 5])
@pytest.mark.parametrize(("name", "seed"), [("bic", 0), ("bdeu", 1), ("aic", 2), ("k2", 3)])
def test_no_single_change_improves_where_a_climb_ends(name: str, seed: int, tabu: int) -> None:
    rows = chain(150, seed)
    data, score = Coded.of(rows, [3] * 5), Score(name, 150.0)
    search = Search(max_parents=2, tabu=tabu, restarts=1, max_iter=200, rng=np.random.RandomState(0))
    found = hill_climb(data, score, Allowed.of(5), search)

    def worth(graph: list[set[int]]) -> float:
        return sum(hand_score(name, rows, i, sorted(each), 3, 10.0) for i, each in enumerate(graph))

    end = [set(each) for each in found.state.parents]
    value = worth(end)
    assert found.certificate.holds
    assert value == pytest.approx(-found.measure.objective, rel=1e-12)
    assert max(worth(graph) for graph in single_moves(end, 2)) <= value + 1e-6


def test_edges_are_kept_and_left_out_as_asked() -> None:
    data = Coded.of(chain(300), [3] * 5)
    allowed = Allowed.of(5, forbidden=[(0, 1), (1, 0)], required=[(4, 0)])
    search = Search(max_parents=5, tabu=3, restarts=2, max_iter=200, rng=np.random.RandomState(0))
    parents = hill_climb(data, Score("bic", 300.0), allowed, search).state.parents
    assert 4 in parents[0]
    assert 1 not in parents[0]
    assert 0 not in parents[1]


def test_reachability_is_that_of_matrix_powers() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        edges = np.triu(rng.random((7, 7)) < 0.3, 1)
        order = rng.permutation(7)
        edges = edges[np.ix_(order, order)]
        reach = reachability([tuple(np.flatnonzero(edges[:, c])) for c in range(7)])
        power = np.linalg.matrix_power(np.eye(7) + edges, 7) > 0
        np.testing.assert_array_equal(reach, power & ~np.eye(7, dtype=bool))
    with pytest.raises(ValueError, match="cycle"):
        reachability([(1,), (0,)])


def test_class_trees_sum_over_what_is_missing() -> None:
    rng = np.random.default_rng(0)
    rows, labels = chain(400, card=2), rng.integers(0, 3, size=400)
    rows[:, 1] = np.where(labels == 1, rows[:, 3], rows[:, 1])
    data = Coded.of(rows, [2] * 5)
    tree, _ = learn_tree(data, labels, 3, 2)
    shares, tables, evidence = class_tables(data, labels, 3, tree.parent, Prior(1.0))
    assert evidence.holds
    np.testing.assert_array_equal(shares, np.bincount(labels) / 400)
    model = ClassTree(tree.parent, tree.order, shares, tables)
    whole = np.array(np.meshgrid(*[[0, 1]] * 5, indexing="ij")).reshape(5, -1)
    joint = np.exp(joint_log_likelihood(model, whole))
    assert joint.sum() == pytest.approx(1.0, rel=1e-12)
    some = whole.copy()
    some[[1, 4]] = -1
    summed = np.array([joint[(whole[[0, 2, 3]] == row[[0, 2, 3], None]).all(axis=0)].sum(axis=0) for row in whole.T])
    np.testing.assert_allclose(np.exp(joint_log_likelihood(model, some)), summed, rtol=1e-12)
