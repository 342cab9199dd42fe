"""Which states are possible at all: zeros of tables, carried from factor to factor.

Carrying them on (arc consistency) shows some impossible evidence to be so, never wrongly; trying states one after the
other, with what follows of each carried on, finds a possible state of all variables or shows that there is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from corollary.core.graphical.flat import Flat, flatten
from corollary.core.graphical.tables import TableNetwork
from corollary.core.types import Array

TRIALS = 20_000  # states to try before giving up
SMALL = 1 << 15  # joint states that are cheap to list


class ImpossibleEvidence(ValueError):
    """What is said to be known has probability zero."""


def impossible() -> ImpossibleEvidence:
    return ImpossibleEvidence(
        "The evidence has probability zero: no state of the other variables agrees with it. Check the states in given, "
        "or smooth the tables (learn them with a prior) so that nothing is impossible."
    )


def check_query(network: TableNetwork, variables: Iterable[int], given: Mapping[int, int], n_samples: int) -> None:
    """Raise ValueError for a state that there is not, no samples, or evidence that zeros of tables rule out.

    All evidence is looked at, also what does not matter to ``variables``.
    """
    for variable, state in given.items():
        if not 0 <= state < network.cards[variable]:
            raise ValueError(
                f"given: variable {variable} has states 0 to {network.cards[variable] - 1}, but state {state} came."
            )
    if n_samples < 1:
        raise ValueError(f"n_samples must be a whole number ≥ 1, but it is {n_samples}.")
    possible_domains(flatten(network, given, variables, whole=True))


Domains = list[Array]  # for each free variable, which of its states are left


def possible_domains(flat: Flat) -> Domains:
    """The states that survive; raises ImpossibleEvidence where none does."""
    if flat.constant == -np.inf:
        raise impossible()
    domains = [np.ones(card, dtype=bool) for card in flat.cards]
    if not flat.has_zeros:
        return domains
    narrowed = _carried(flat, domains, range(len(flat.tables)))
    if narrowed is None:
        raise impossible()
    return narrowed


def possible_state(flat: Flat, random: np.random.RandomState) -> Array | None:
    """A state of all free variables of positive probability, in random order of trial; None if TRIALS were too few.

    Raises ImpossibleEvidence where there is none.
    """
    stack = [possible_domains(flat)]
    factors = _factors_of(flat)
    for _ in range(TRIALS):
        if not stack:
            raise impossible()
        domains = stack.pop()
        open_ = [(int(domain.sum()), j) for j, domain in enumerate(domains) if domain.sum() > 1]
        if not open_:
            return np.array([int(np.argmax(domain)) for domain in domains], dtype=np.int64)
        _, j = min(open_)
        for state in random.permutation(np.flatnonzero(domains[j])):
            tried = list(domains)
            tried[j] = np.arange(len(domains[j])) == state
            narrowed = _carried(flat, tried, factors[j])
            if narrowed is not None:
                stack.append(narrowed)
    return None


def _factors_of(flat: Flat) -> list[list[int]]:
    found: list[list[int]] = [[] for _ in range(flat.size)]
    for f, scope in enumerate(flat.scopes):
        for variable in scope:
            found[variable].append(f)
    return found


def _carried(flat: Flat, domains: Domains, start: range | list[int]) -> Domains | None:
    """Domains from which every state without support in some factor is gone; None if a variable has none left."""
    domains, factors = list(domains), _factors_of(flat)
    waiting = [f for f in start if not flat.tables[f].all()]
    while waiting:
        f = waiting.pop()
        scope, left = flat.scopes[f], np.asarray(flat.tables[f] > 0)
        for k, variable in enumerate(scope):
            left = left & domains[variable].reshape([-1 if axis == k else 1 for axis in range(len(scope))])
        for k, variable in enumerate(scope):
            kept = np.asarray(left.any(axis=tuple(axis for axis in range(len(scope)) if axis != k)))
            if not kept.any():
                return None
            if kept.sum() < domains[variable].sum():
                domains[variable] = kept
                waiting.extend(g for g in factors[variable] if g not in waiting and not flat.tables[g].all())
    return domains


def separate_parts(flat: Flat) -> int | None:
    """The number of sets of joint states between which no change of a single variable leads.

    None where there are too many joint states to tell. Without zeros it is 1.
    """
    if not flat.has_zeros:
        return 1
    n_joint = float(np.prod(flat.cards.astype(float)))
    if n_joint > SMALL:
        return None
    shape = tuple(int(card) for card in flat.cards)
    rows = np.stack(np.unravel_index(np.arange(int(n_joint)), shape), axis=1)
    alive = (flat.log_joint(rows) > -np.inf).reshape(shape)
    if not alive.any():
        raise impossible()
    numbers = np.arange(alive.size).reshape(shape)
    starts, ends = [], []
    for axis in range(len(shape)):
        first = np.take_along_axis(numbers, np.argmax(alive, axis=axis, keepdims=True), axis=axis)
        starts.append(np.broadcast_to(first, shape)[alive])
        ends.append(numbers[alive])
    pairs = np.concatenate(starts), np.concatenate(ends)
    graph = coo_array((np.ones(len(pairs[0]), dtype=np.int8), pairs), shape=(alive.size, alive.size))
    labels = connected_components(graph, directed=False)[1]
    return len(np.unique(labels[alive.ravel()]))
