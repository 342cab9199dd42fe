"""Random small networks, and the truth about them from the table of all joint states."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from corollary.core.graphical.tables import TableNetwork
from corollary.core.types import Array


def random_network(seed: int, d: int = 6, zeros: float = 0.0) -> TableNetwork:
    """Two or three states to a variable, up to two parents, in random order; a share of the entries is zero."""
    rng = np.random.default_rng(seed)
    cards = tuple(int(card) for card in rng.integers(2, 4, d))
    order = tuple(int(v) for v in rng.permutation(d))
    parents, tables = {}, {}
    for i, v in enumerate(order):
        count = min(i, int(rng.integers(0, 3)))
        parents[v] = tuple(int(p) for p in rng.choice(order[:i], count, replace=False)) if count else ()
        table = rng.dirichlet(np.ones(cards[v]), size=tuple(cards[p] for p in parents[v]))
        gone = rng.random(table.shape) < zeros
        gone[..., 0] = False
        table = np.where(gone, 0.0, table)
        tables[v] = table / table.sum(axis=-1, keepdims=True)
    return TableNetwork(cards, tuple(parents[v] for v in range(d)), tuple(tables[v] for v in range(d)), order)


def joint(network: TableNetwork) -> Array:
    """The probability of every joint state, an axis to a variable."""
    d = len(network.cards)
    letters = "abcdefghijklmnopqrstuvwxyz"[:d]
    inputs = ["".join(letters[axis] for axis in (*network.parents[v], v)) for v in range(d)]
    return np.asarray(np.einsum(f"{','.join(inputs)}->{letters}", *network.tables))


def posterior(network: TableNetwork, variable: int, given: Mapping[int, int]) -> Array:
    """P(variable | given)."""
    table = conditioned(network, given)
    found = table.sum(axis=tuple(axis for axis in range(table.ndim) if axis != variable)) / table.sum()
    return np.asarray(found if variable not in given else np.eye(network.cards[variable])[given[variable]])


def probability(network: TableNetwork, given: Mapping[int, int]) -> float:
    """P(given)."""
    return float(conditioned(network, given).sum())


def conditioned(network: TableNetwork, given: Mapping[int, int]) -> Array:
    index = tuple(slice(given[v], given[v] + 1) if v in given else slice(None) for v in range(len(network.cards)))
    return joint(network)[index]
