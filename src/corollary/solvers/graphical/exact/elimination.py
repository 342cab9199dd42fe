"""Variable elimination on logarithms: joint tables, and most probable states, one query at a time.

Logarithms make it slower than the tree of cliques, and safe where products of probabilities leave float64.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import prod

import numpy as np

from corollary.core.graphical.factor import Factor
from corollary.core.graphical.tables import TableNetwork
from corollary.core.types import Array
from corollary.solvers.graphical.exact.cliques import best_order, clique_tree
from corollary.solvers.graphical.exact.cost import LIKELIEST, Cost
from corollary.solvers.graphical.exact.ordering import bits, joined


def eliminate(network: TableNetwork, wanted: Sequence[int], findings: Mapping[int, int]) -> tuple[Array, float]:
    """(P(wanted | findings) with axes in the order of ``wanted``, log P(findings)); zeros and −∞ if impossible."""
    factors = _log_factors(network, wanted, findings)
    order, cost = _plan(network, factors, last=wanted)
    _with_answer(cost, network, wanted).check()
    for variable in order:
        if variable not in wanted:
            product, factors = _joined(factors, variable)
            factors.append(product.log_total((variable,)))
    values = _all(factors).arranged(wanted)
    high = values.max()
    if high == -np.inf:
        return np.zeros(values.shape), -np.inf
    shares = np.exp(values - high)
    total = shares.sum()
    return shares / total, float(high + np.log(total))


def most_probable(
    network: TableNetwork, wanted: Sequence[int], findings: Mapping[int, int]
) -> tuple[dict[int, int], float]:
    """(states of ``wanted`` that maximise P(wanted, findings), the log of that); all else is summed out first.

    Tables are as large as this order of elimination makes them, never as large as the joint table of ``wanted``. Among
    equals the one with the smallest numbers of states is taken, for the variables that go last in the order.
    """
    factors = _log_factors(network, wanted, findings)
    order, cost = _plan(network, factors, last=wanted)
    cost.check(LIKELIEST)
    steps: list[tuple[int, tuple[int, ...], Array]] = []
    for variable in order:
        product, factors = _joined(factors, variable)
        if variable in wanted:
            best, states = product.best(variable)
            steps.append((variable, best.variables, states))
            factors.append(best)
        else:
            factors.append(product.log_total((variable,)))
    value = float(_all(factors).values)
    chosen: dict[int, int] = {}
    for variable, others, states in reversed(steps):
        chosen[variable] = int(states[tuple(chosen[other] for other in others)])
    return chosen, value


def elimination_cost(network: TableNetwork, wanted: Sequence[int], findings: Collection[int]) -> Cost:
    """What the tables would take that arise on the way."""
    shapes = [
        Factor(tuple(sorted(set(family) - set(findings))), np.zeros(0))
        for family in _families(network, wanted, findings)
    ]
    return _with_answer(_plan(network, shapes, wanted)[1], network, wanted)


def _families(network: TableNetwork, wanted: Sequence[int], findings: Collection[int]) -> list[tuple[int, ...]]:
    return [network.family(v) for v in sorted(network.dag.ancestors([*wanted, *findings]))]


def _log_factors(network: TableNetwork, wanted: Sequence[int], findings: Mapping[int, int]) -> list[Factor]:
    with np.errstate(divide="ignore"):
        return [
            Factor.of(family, np.log(network.tables[family[-1]])).given(findings)
            for family in _families(network, wanted, findings)
        ]


def _plan(network: TableNetwork, factors: list[Factor], last: Sequence[int]) -> tuple[list[int], Cost]:
    scopes = [bits(factor.variables) for factor in factors]
    near = joined(scopes, network.size)
    there = 0
    for scope in scopes:
        there |= scope
    near = [mask if there >> v & 1 else -1 for v, mask in enumerate(near)]
    eliminated = best_order(near, network.cards, last, network.order)
    return [variable for variable, _ in eliminated], Cost.of(clique_tree(eliminated), network.cards)


def _with_answer(cost: Cost, network: TableNetwork, wanted: Sequence[int]) -> Cost:
    """With the joint table of what is wanted, which may be of variables that are independent of each other."""
    answer = prod([network.cards[v] for v in wanted])
    if answer <= cost.largest_clique:
        return cost
    return Cost(cost.treewidth, answer, cost.entries + answer, cost.bytes + 8 * answer)


def _joined(factors: list[Factor], variable: int) -> tuple[Factor, list[Factor]]:
    """(the product of all factors of this variable, the other factors)."""
    with_it = [factor for factor in factors if variable in factor.variables]
    return _all(with_it), [factor for factor in factors if variable not in factor.variables]


def _all(factors: list[Factor]) -> Factor:
    product = Factor((), np.zeros(()))
    for factor in factors:
        product = product + factor
    return product
