"""From an order of elimination to a tree of cliques, rooted at the cliques that go last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from corollary.solvers.graphical.exact.ordering import Eliminated, in_order, members, min_fill

LARGE = 1 << 10  # entries of a table from which on it is worth to look for a better order


@dataclass(frozen=True)
class CliqueTree:
    """Cliques, children before parents. ``parent`` is −1 at a root; what one shares with its parent comes first."""

    cliques: tuple[tuple[int, ...], ...]
    parent: tuple[int, ...]
    shared: tuple[int, ...]  # how many of its variables a clique shares with its parent
    home: dict[int, int]  # variable -> the clique from which it is summed out

    @property
    def width(self) -> int:
        """One less than the variables of the largest clique: the treewidth that this order gives."""
        return max(map(len, self.cliques), default=1) - 1


def clique_tree(eliminated: Sequence[tuple[int, int]], first: int = 0) -> CliqueTree:
    """The tree that (variable, neighbours as bits) in the order of elimination stand for, without cliques in others.

    A root has the variables whose bits are ``first`` before its others.
    """
    step = {variable: i for i, (variable, _) in enumerate(eliminated)}
    full = [near | 1 << variable for variable, near in eliminated]
    upper = [min((step[other] for other in members(near)), default=-1) for _, near in eliminated]
    separators = [near for _, near in eliminated]
    into = list(range(len(full)))  # the clique that took over a clique which was part of it
    for i in range(len(full) - 1, -1, -1):  # the last ones first, so that variables that go last together stay together
        above = upper[i]
        if above >= 0 and separators[i] == full[above] and into[above] == above:
            into[above] = i
    return _arranged(full, upper, separators, into, first, [variable for variable, _ in eliminated])


def _top(i: int, into: list[int]) -> int:
    while into[i] != i:
        i = into[i]
    return i


def _arranged(
    full: list[int], upper: list[int], separators: list[int], into: list[int], first: int, variables: list[int]
) -> CliqueTree:
    """The kept cliques, children first; one that took over others has the parent of the last of them."""
    keep = [i for i in range(len(full)) if into[i] == i]
    last = {i: i for i in keep}
    for i in range(len(full)):
        top = _top(i, into)
        last[top] = max(last[top], i)
    place = {i: p for p, i in enumerate(sorted(keep, key=last.__getitem__))}
    cliques, parent, shared = [], [], []
    for i in sorted(keep, key=last.__getitem__):
        end = last[i]
        above = upper[end]
        begin = separators[end] if above >= 0 else full[i] & first
        cliques.append((*members(begin), *members(full[i] & ~begin)))
        parent.append(place[_top(above, into)] if above >= 0 else -1)
        shared.append(begin.bit_count() if above >= 0 else 0)
    home = {variable: place[_top(i, into)] for i, variable in enumerate(variables)}
    return CliqueTree(tuple(cliques), tuple(parent), tuple(shared), home)


def best_order(near: list[int], cards: Sequence[int], last: Sequence[int], order: Sequence[int]) -> Eliminated:
    """Min-fill; or, where that makes large tables, whichever of three orders makes the fewest entries.

    The other two look at sizes first, and go through the network from its leaves to its roots (``order`` reversed).
    """
    found = min_fill(near, cards, last)
    if _largest(found, cards) <= LARGE:
        return found
    late = set(last)
    there = [v for v in reversed(order) if near[v] >= 0]
    backwards = in_order(near, [*[v for v in there if v not in late], *[v for v in there if v in late]])
    others = [found, min_fill(near, cards, last, by_size=True), backwards]
    return min(others, key=lambda each: entries(clique_tree(each), cards))


def _largest(eliminated: Eliminated, cards: Sequence[int]) -> int:
    return max((prod([cards[other] for other in members(near)]) * cards[v] for v, near in eliminated), default=1)


def entries(tree: CliqueTree, cards: Sequence[int]) -> int:
    """Numbers that the tables of all cliques and messages hold."""
    total = 0
    for clique, shared in zip(tree.cliques, tree.shared, strict=True):
        total += prod([cards[variable] for variable in clique]) + prod([cards[v] for v in clique[:shared]])
    return total
