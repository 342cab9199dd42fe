"""In which order to sum variables out: greedily, the one whose neighbours lack the fewest edges (min-fill).

Ties go to the smallest product of states, then to the smallest number, so the order is the same on every machine. Sets
of variables are bits of whole numbers, which Python handles many at a time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from math import prod

Members = list[int]


def bits(numbers: Iterable[int]) -> int:
    """The set as the bits of one number."""
    found = 0
    for number in numbers:
        found |= 1 << number
    return found


def members(mask: int) -> Members:
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


def min_fill(near: list[int], cards: Sequence[int], last: Collection[int] = ()) -> list[tuple[int, int]]:
    """(variable, its neighbours as bits when it goes), in the order of elimination; ``last`` go after all others.

    ``near`` is used up: the neighbours of each variable as bits, −1 for a variable that is not there.
    """
    late = bits(last)
    there = [variable for variable, mask in enumerate(near) if mask >= 0]
    found: list[tuple[int, int]] = []
    for group in ([v for v in there if not late >> v & 1], sorted(v for v in there if late >> v & 1)):
        waiting = {variable: _cost(variable, near, cards) for variable in group}
        while waiting:
            chosen = min(waiting, key=lambda variable: (waiting[variable], variable))
            del waiting[chosen]
            clique = near[chosen]
            found.append((chosen, clique))
            touched = clique
            for variable in members(clique):
                missing = clique & ~near[variable] & ~(1 << variable)
                near[variable] = (near[variable] | clique) & ~(1 << variable) & ~(1 << chosen)
                if missing:  # whose pairs of neighbours may have been joined: neighbours of both ends
                    touched |= near[variable]
            near[chosen] = 0
            for variable in members(touched):
                if variable in waiting:
                    waiting[variable] = _cost(variable, near, cards)
    return found


def _cost(variable: int, near: list[int], cards: Sequence[int]) -> tuple[int, int]:
    """Edges that its elimination would add, and the entries of the table that it would make."""
    mine = near[variable]
    around = members(mine)
    lacking = sum((mine & ~near[other]).bit_count() - 1 for other in around)
    return lacking // 2, prod([cards[other] for other in around]) * cards[variable]
