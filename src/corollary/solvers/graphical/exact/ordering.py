"""In which order to sum variables out: greedily, the one whose neighbours lack the fewest edges (min-fill).

Ties go to the smallest product of states, then to the smallest number, so the order is the same on every machine. Where
the tables are not small, other orders are tried too (``best_order``). Sets of variables are bits of whole numbers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from heapq import heapify, heappop, heappush
from math import prod


def bits(numbers: Iterable[int]) -> int:
    """The set as the bits of one number."""
    found = 0
    for number in numbers:
        found |= 1 << number
    return found


def members(mask: int) -> list[int]:
    """The numbers of the bits that are set, smallest first."""
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found


def joined(families: Iterable[int], size: int) -> list[int]:
    """Neighbours of each variable, as bits, when the members of each family are joined to each other."""
    near = [0] * size
    for family in families:
        for variable in members(family):
            near[variable] |= family
    return [mask & ~(1 << variable) for variable, mask in enumerate(near)]


Eliminated = list[tuple[int, int]]  # variables in order, each with its neighbours as bits when it goes


def min_fill(near: list[int], cards: Sequence[int], last: Collection[int] = (), *, by_size: bool = False) -> Eliminated:
    """The order of elimination; ``last`` go after all others. ``by_size`` looks at the table that arises first.

    ``near`` holds the neighbours of each variable as bits, −1 for a variable that is not there.
    """
    near, late = list(near), bits(last)
    there = [variable for variable, mask in enumerate(near) if mask >= 0]
    found: Eliminated = []
    for group in ([v for v in there if not late >> v & 1], [v for v in there if late >> v & 1]):
        waiting = {variable: _cost(variable, near, cards, by_size) for variable in group}
        queue = [(cost, variable) for variable, cost in waiting.items()]
        heapify(queue)
        while waiting:
            cost, chosen = heappop(queue)
            if waiting.get(chosen) != cost:
                continue  # gone, or its cost has changed since
            del waiting[chosen]
            clique = near[chosen]
            found.append((chosen, clique))
            for variable in members(_leave(near, chosen)):
                if variable in waiting:
                    cost = waiting[variable] = _cost(variable, near, cards, by_size)
                    heappush(queue, (cost, variable))
    return found


def in_order(near: list[int], order: Iterable[int]) -> Eliminated:
    """Elimination in a given order."""
    near, found = list(near), []
    for variable in order:
        found.append((variable, near[variable]))
        _leave(near, variable)
    return found


def _leave(near: list[int], chosen: int) -> int:
    """Take a variable out and join its neighbours; those whose surroundings have changed, as bits."""
    clique = touched = near[chosen]
    for variable in members(clique):
        missing = clique & ~near[variable] & ~(1 << variable)
        near[variable] = (near[variable] | clique) & ~(1 << variable) & ~(1 << chosen)
        if missing:  # pairs of neighbours may have been joined of whoever is a neighbour of both
            touched |= near[variable]
    near[chosen] = 0
    return touched


def _cost(variable: int, near: list[int], cards: Sequence[int], by_size: bool) -> tuple[int, int]:
    """Edges that its elimination would add, and the entries of the table that it would make."""
    mine = near[variable]
    around = members(mine)
    lacking = sum((mine & ~near[other]).bit_count() - 1 for other in around) // 2
    size = prod([cards[other] for other in around]) * cards[variable]
    return (size, lacking) if by_size else (lacking, size)
