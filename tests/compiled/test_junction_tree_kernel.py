"""The kernel of junction trees against the same messages with NumPy's arrays."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest
from tests.solvers.graphical.enumeration import random_network

from corollary.core.graphical.factor import Factor
from corollary.core.graphical.tables import TableNetwork
from corollary.core.types import Array
from corollary.solvers.graphical.exact.junction_tree import JunctionTree


def times(one: Factor, other: Factor) -> Factor:
    over = tuple(sorted({*one.variables, *other.variables}))
    return Factor(over, np.asarray(np.einsum(one.values, one.variables, other.values, other.variables, over)))


def total(factor: Factor, gone: Iterable[int]) -> Factor:
    left = tuple(v for v in factor.variables if v not in set(gone))
    return Factor(left, np.asarray(np.einsum(factor.values, factor.variables, left)))


def plain_messages(
    network: TableNetwork, tree: JunctionTree, findings: dict[int, int]
) -> tuple[dict[int, Array], float]:
    """Marginals and log P(findings) by messages between factors."""
    cliques, parent = tree.tree.cliques, tree.tree.parent
    ones = [Factor.of(c, np.ones([network.cards[v] for v in c])) for c in cliques]
    beliefs, log_evidence = list(ones), 0.0
    for v in range(network.size):
        factor = Factor.of(network.family(v), network.tables[v]).given(findings)
        if not factor.variables:
            log_evidence += float(np.log(factor.values))
            continue
        home = min(tree.tree.home[member] for member in factor.variables)
        beliefs[home] = times(beliefs[home], factor)
    messages: dict[int, Factor] = {}
    for c in range(len(cliques)):
        weight = beliefs[c].values.sum()
        beliefs[c], log_evidence = (
            Factor(beliefs[c].variables, beliefs[c].values / weight),
            log_evidence + np.log(weight),
        )
        if parent[c] >= 0:
            messages[c] = total(beliefs[c], cliques[c][tree.tree.shared[c] :])
            beliefs[parent[c]] = times(beliefs[parent[c]], messages[c])
    for c in reversed(range(len(cliques))):
        if parent[c] >= 0:
            up = beliefs[parent[c]]
            back = total(up, set(up.variables) - set(messages[c].variables))
            ratio = np.divide(
                back.values, messages[c].values, where=messages[c].values > 0, out=np.zeros_like(back.values)
            )
            beliefs[c] = times(beliefs[c], Factor(back.variables, ratio))
    return {
        v: total(belief, set(belief.variables) - {v}).values for belief in beliefs for v in belief.variables
    }, log_evidence


@pytest.mark.parametrize("zeros", [0.0, 0.2])
@pytest.mark.parametrize("seed", range(15))
def test_messages(seed: int, zeros: float) -> None:
    network = random_network(seed, d=9, zeros=zeros)
    findings = {2: 0, 6: 0} if seed % 2 else {}
    tree = JunctionTree.of(network, list(findings))
    shares, logs = tree.run(np.array([[findings.get(v, -1) for v in range(9)]]))
    expected, log_evidence = plain_messages(network, tree, findings)
    assert logs[0] == pytest.approx(log_evidence, abs=1e-12)
    for v, place in tree.answers.items():
        np.testing.assert_allclose(shares[0, place], expected[v], atol=1e-13)
