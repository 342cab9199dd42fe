"""Directed acyclic graphs of numbered variables: order, moral graph, Markov blanket and d-separation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class DAG:
    """Variables 0 … d − 1, each with its parents; made by ``DAG.of``, which refuses cycles.

    >>> dag = DAG.of([(), (0,), (0,), (1, 2)])
    >>> dag.children[0], dag.order, dag.blanket(1)
    ((1, 2), (0, 1, 2, 3), (0, 2, 3))
    >>> dag.separated({1}, {2}, {0}), dag.separated({1}, {2}, {0, 3})
    (True, False)
    """

    parents: tuple[tuple[int, ...], ...]
    order: tuple[int, ...]  # parents before children

    @classmethod
    def of(cls, parents: Sequence[Iterable[int]], names: Sequence[str] | None = None) -> DAG:
        """The graph with these parents; ValueError, with the variables of a cycle by name, if there is one."""
        listed = tuple(tuple(map(int, each)) for each in parents)
        order = _topological(listed)
        if len(order) < len(listed):
            cycle = find_cycle(listed)
            shown = " → ".join(str(i if names is None else names[i]) for i in [*cycle, cycle[0]])
            raise ValueError(
                f"The edges form a cycle: {shown}. A Bayesian network has none: remove one of these edges."
            )
        return cls(listed, order)

    @property
    def size(self) -> int:
        return len(self.parents)

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        found: list[list[int]] = [[] for _ in self.parents]
        for child, parents in enumerate(self.parents):
            for parent in parents:
                found[parent].append(child)
        return tuple(map(tuple, found))

    @property
    def edges(self) -> list[tuple[int, int]]:
        """(parent, child), by child."""
        return [(parent, child) for child, parents in enumerate(self.parents) for parent in parents]

    def ancestors(self, of: Iterable[int]) -> set[int]:
        """These variables and all from which a directed path leads to one of them."""
        return _reach(of, self.parents)

    def descendants(self, of: Iterable[int]) -> set[int]:
        """These variables and all to which a directed path leads from one of them."""
        return _reach(of, self.children)

    def blanket(self, variable: int) -> tuple[int, ...]:
        """Parents, children and other parents of the children: given these, nothing else matters."""
        near = set(self.parents[variable]) | set(self.children[variable])
        near.update(parent for child in self.children[variable] for parent in self.parents[child])
        return tuple(sorted(near - {variable}))

    def reachable(self, start: Iterable[int], given: Iterable[int] = ()) -> set[int]:
        """Variables that an active path joins to one of ``start``, given others (Koller and Friedman, algorithm 3.1).

        A path is active where each of its common effects is given or has a descendant that is, and nothing else on it
        is given.
        """
        observed = set(given)
        opened = self.ancestors(observed)  # a common effect among these lets evidence through
        seen: set[tuple[int, bool]] = set()
        found: set[int] = set()
        waiting = [(variable, True) for variable in start]  # (variable, whether it was reached from below)
        while waiting:
            state = waiting.pop()
            if state in seen:
                continue
            seen.add(state)
            variable, upwards = state
            free = variable not in observed
            if free:
                found.add(variable)
            if upwards and free:
                waiting.extend((parent, True) for parent in self.parents[variable])
            if free:
                waiting.extend((child, False) for child in self.children[variable])
            if not upwards and variable in opened:
                waiting.extend((parent, True) for parent in self.parents[variable])
        return found

    def separated(self, first: Iterable[int], second: Iterable[int], given: Iterable[int] = ()) -> bool:
        """Whether no active path joins one of the first to one of the second: d-separation."""
        return not (self.reachable(first, given) & set(second))


def _reach(start: Iterable[int], onwards: Sequence[tuple[int, ...]]) -> set[int]:
    found: set[int] = set()
    waiting = list(start)
    while waiting:
        variable = waiting.pop()
        if variable not in found:
            found.add(variable)
            waiting.extend(onwards[variable])
    return found


def _topological(parents: tuple[tuple[int, ...], ...]) -> tuple[int, ...]:
    """Variables with parents first; those on cycles, and after them, are left out."""
    children: list[list[int]] = [[] for _ in parents]
    left = [len(each) for each in parents]
    for child, each in enumerate(parents):
        for parent in each:
            children[parent].append(child)
    ready = [variable for variable, count in enumerate(left) if not count]
    order: list[int] = []
    for variable in ready:  # grows while it is read
        order.append(variable)
        for child in children[variable]:
            left[child] -= 1
            if not left[child]:
                ready.append(child)
    return tuple(order)


def find_cycle(parents: Sequence[Sequence[int]]) -> list[int]:
    """Variables of a directed cycle, each the parent of the next and the last of the first; empty if there is none."""
    done: set[int] = set()
    for start in range(len(parents)):
        place: dict[int, int] = {}
        path: list[int] = []
        waiting: list[tuple[int, int]] = [(start, 0)]
        while waiting:
            variable, depth = waiting.pop()
            while len(path) > depth:
                left = path.pop()
                del place[left]
                done.add(left)
            if variable in place:
                return path[place[variable] :][::-1]
            if variable in done:
                continue
            place[variable] = len(path)
            path.append(variable)
            waiting.extend((parent, len(path)) for parent in parents[variable])
        done.update(path)
    return []
