"""Exact inference against the table of all joint states, and what it costs, known before."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.solvers.graphical import enumeration

from corollary.core import memory
from corollary.core.graphical.factor import Factor
from corollary.core.graphical.tables import TableNetwork
from corollary.solvers.graphical.exact.cliques import clique_tree, entries
from corollary.solvers.graphical.exact.elimination import eliminate, elimination_cost, most_probable
from corollary.solvers.graphical.exact.junction_tree import JunctionTree, plan_tree
from corollary.solvers.graphical.exact.ordering import bits, joined, members, min_fill

EXAMPLES = settings(max_examples=40, deadline=None)


def case(seed: int, zeros: float) -> tuple[TableNetwork, dict[int, int], np.random.Generator]:
    """A network and findings that are possible."""
    network, rng = enumeration.random_network(seed, d=1 + seed % 7, zeros=zeros), np.random.default_rng(seed)
    joint = enumeration.joint(network)
    row = np.unravel_index(rng.choice(joint.size, p=joint.ravel() / joint.sum()), joint.shape)
    return network, {v: int(row[v]) for v in range(network.size) if rng.random() < 0.35}, rng


def as_row(network: TableNetwork, findings: dict[int, int]) -> np.ndarray:
    return np.array([[findings.get(v, -1) for v in range(network.size)]])


@EXAMPLES
@given(st.integers(0, 100_000), st.sampled_from([0.0, 0.3]))
def test_all_marginals_of_one_calibration(seed: int, zeros: float) -> None:
    network, findings, _ = case(seed, zeros)
    tree = JunctionTree.of(network, list(findings))
    shares, logs = tree.run(as_row(network, findings))
    assert logs[0] == pytest.approx(np.log(enumeration.probability(network, findings)), abs=1e-10)
    for v in set(range(network.size)) - set(findings):
        truth = enumeration.posterior(network, v, findings)
        np.testing.assert_allclose(shares[0, tree.answers[v]], truth, atol=1e-12)


@EXAMPLES
@given(st.integers(0, 100_000), st.sampled_from([0.0, 0.3]))
def test_joint_tables_by_both_methods(seed: int, zeros: float) -> None:
    network, findings, rng = case(seed, zeros)
    free = [v for v in range(network.size) if v not in findings]
    asked = sorted(v for v in free if rng.random() < 0.6)
    truth = enumeration.conditioned(network, findings)
    truth = truth.sum(axis=tuple(v for v in range(network.size) if v not in asked)) / truth.sum()
    log_evidence = np.log(enumeration.probability(network, findings))
    table, found = eliminate(network, asked[::-1], findings)
    np.testing.assert_allclose(table, np.asarray(truth).T, atol=1e-12)
    assert found == pytest.approx(log_evidence, abs=1e-10)
    if asked:
        shares, logs = JunctionTree.of(network, list(findings), asked, together=True).run(as_row(network, findings))
        np.testing.assert_allclose(shares[0], np.ravel(truth), atol=1e-12)
        assert logs[0] == pytest.approx(log_evidence, abs=1e-10)


@EXAMPLES
@given(st.integers(0, 100_000))
def test_most_probable_states(seed: int) -> None:
    """Of some variables, with the others summed out; and of all of them."""
    network, findings, rng = case(seed, 0.2)
    free = [v for v in range(network.size) if v not in findings]
    for asked in (free, [v for v in free if rng.random() < 0.5]):
        table = enumeration.conditioned(network, findings)
        table = table.sum(axis=tuple(v for v in range(network.size) if v not in (*asked, *findings)), keepdims=True)
        chosen, value = most_probable(network, asked, findings)
        assert set(chosen) == set(asked)
        assert value == pytest.approx(np.log(table.max()), abs=1e-10)
        assert table[tuple(chosen.get(v, 0) for v in range(network.size))] == pytest.approx(table.max(), rel=1e-10)


def test_many_rows_are_each_by_itself() -> None:
    network = enumeration.random_network(3, d=6)
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.integers(0, card, 50) for card in network.cards])
    tree = JunctionTree.of(network, [0, 2, 3], [5], together=True)
    shares, logs = tree.run(rows)
    for row, share, log in zip(rows, shares, logs, strict=True):
        findings = {v: int(row[v]) for v in (0, 2, 3)}
        np.testing.assert_allclose(share, enumeration.posterior(network, 5, findings), atol=1e-12)
        assert log == pytest.approx(np.log(enumeration.probability(network, findings)), abs=1e-10)


def test_impossible_findings_are_minus_infinity() -> None:
    network = TableNetwork.of([(), (0,)], [np.array([1.0, 0.0]), np.array([[0.5, 0.5], [1.0, 0.0]])])
    for observed in ([0], [0, 1]):
        shares, logs = JunctionTree.of(network, observed).run(np.array([[1, 1]]))
        assert logs[0] == -np.inf
        assert not shares.any()
    assert eliminate(network, [], {0: 1})[1] == -np.inf


def test_findings_of_tiny_probability_do_not_vanish() -> None:
    """400 findings of probability 1e-3 each: 1e-1200 is no float64."""
    n = 401
    parents = [(), *[(0,)] * (n - 1)]
    tables = [np.array([0.5, 0.5]), *[np.array([[0.999, 0.001], [0.998, 0.002]])] * (n - 1)]
    network = TableNetwork.of(parents, tables)
    findings = dict.fromkeys(range(1, n), 1)
    truth = -(n - 1) * np.log(2.0)
    table, log_evidence = eliminate(network, [0], findings)
    assert np.log(table[0]) == pytest.approx(truth, rel=1e-9)
    assert log_evidence == pytest.approx((n - 1) * np.log(0.002) - np.log(2.0), rel=1e-9)
    shares, logs = JunctionTree.of(network, list(findings)).run(as_row(network, findings))
    np.testing.assert_allclose(shares[0], table, atol=1e-12)
    assert logs[0] == pytest.approx(log_evidence, rel=1e-9)


def test_messages_that_contradict_each_other_do_not_vanish() -> None:
    """Half of 600 hidden causes say one thing and half the other, through tables that are nearly certain."""
    n = 1 + 2 * 600
    parents = [(), *[(0,)] * 600, *[(v,) for v in range(1, 601)]]
    sure = np.array([[0.999, 0.001], [0.001, 0.999]])
    network = TableNetwork.of(parents, [np.array([0.5, 0.5]), *[sure] * (n - 1)])
    findings = {v: v % 2 for v in range(601, n)}
    shares, logs = JunctionTree.of(network, list(findings), [0]).run(as_row(network, findings))
    np.testing.assert_allclose(shares[0], [0.5, 0.5], atol=1e-9)
    assert logs[0] == pytest.approx(eliminate(network, [], findings)[1], rel=1e-10)


def test_the_order_is_of_the_right_width() -> None:
    """A tree has width one, a chain of triangles two, a complete graph all but one."""
    assert _width([bits([v, (v - 1) // 2]) for v in range(1, 40)], 40) == 1
    assert _width([bits([v, v + 1, v + 2]) for v in range(38)], 40) == 2
    assert _width([bits(range(9))], 9) == 8
    assert _width([bits([v, (v + 1) % 20]) for v in range(20)], 20) == 2


def _width(families: list[int], size: int) -> int:
    return clique_tree(min_fill(joined(families, size), [2] * size)).width


@pytest.mark.parametrize("seed", range(20))
def test_a_clique_tree_is_one(seed: int) -> None:
    """Every family is in a clique, no clique in its neighbour, and a variable's cliques hang together."""
    network = enumeration.random_network(seed, d=9)
    tree, cost, _ = plan_tree(network)
    cliques = [set(clique) for clique in tree.cliques]
    assert all(any(set(network.family(v)) <= clique for clique in cliques) for v in range(9))
    for c, parent in enumerate(tree.parent):
        if parent >= 0:
            assert parent > c
            assert set(tree.cliques[c][: tree.shared[c]]) == cliques[c] & cliques[parent]
            assert not cliques[c] <= cliques[parent]
            assert not cliques[parent] <= cliques[c]
    for v in range(9):
        holding = [c for c in range(len(cliques)) if v in cliques[c]]
        tops = [c for c in holding if tree.parent[c] < 0 or v not in cliques[tree.parent[c]]]
        assert len(tops) == 1
    assert cost.entries == entries(tree, network.cards)
    assert cost.bytes == 8 * cost.entries


def test_a_query_that_cannot_be_is_refused_before_it_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    n = 40
    parents = [()] * n + [(v, (v + k) % n) for v in range(n) for k in (1, 7, 12)]
    tables = [np.array([0.5, 0.5])] * n + [np.full((2, 2, 2), 0.5)] * (len(parents) - n)
    network = TableNetwork.of(parents, tables)
    monkeypatch.setattr(memory, "_read_free", lambda: 10_000_000)
    monkeypatch.setattr(memory, "LASTS", 0.0)
    observed = list(range(n, len(parents)))
    with pytest.raises(MemoryError, match=r"treewidth \d+\) and.* would take .* GB .*likelihood_weighting"):
        JunctionTree.of(network, observed)
    with pytest.raises(MemoryError, match="treewidth"):
        eliminate(network, [0], dict.fromkeys(observed, 0))
    assert elimination_cost(network, [0], observed).bytes > 10_000_000


def test_what_nothing_depends_on_costs_nothing() -> None:
    """A question about a root leaves all its descendants out."""
    network = enumeration.random_network(5, d=9)
    root = network.order[0]
    assert plan_tree(network, [], [root])[1].entries == network.cards[root] + 1


def test_factors_multiply_and_sum() -> None:
    rng = np.random.default_rng(0)
    one, two = Factor.of((3, 1), rng.random((2, 4))), Factor.of((1, 2), rng.random((4, 3)))
    product = np.einsum("ca,ab->abc", one.arranged((3, 1)), two.values)
    logs = Factor(one.variables, np.log(one.values)) + Factor(two.variables, np.log(two.values))
    np.testing.assert_allclose(np.exp(logs.values), product)
    np.testing.assert_allclose(np.exp(logs.log_total((1, 3)).values), product.sum(axis=(0, 2)))
    np.testing.assert_allclose(np.exp(logs.log_total((2,)).values), product.sum(axis=1))
    np.testing.assert_allclose(np.exp(logs.given({2: 1}).values), product[:, 1])
    assert members(bits([5, 2, 9])) == [2, 5, 9]
