"""Edges that people write down, read as parents of numbered variables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from corollary.core.graphical.dag import DAG
from corollary.graphical.states import called, find


def pairs(edges: Any, names: Sequence[str]) -> list[tuple[str, str]]:
    """Edges as pairs of names; a whole number is a name, or else the place of a column."""
    found = []
    for edge in [] if edges is None else list(edges):
        pair = [edge] if isinstance(edge, str) else list(edge)
        if len(pair) != 2:
            raise ValueError(f"edges must be pairs (parent, child), but one is {edge!r}.")
        found.append((str(called(pair[0], names)), str(called(pair[1], names))))
    return found


def parents_of(edges: list[tuple[str, str]], names: list[str]) -> list[list[int]]:
    """The parents of each variable, in the order of the edges; unknown names, repetitions and cycles are refused."""
    parents: list[list[int]] = [[] for _ in names]
    for parent, child in edges:
        ends = []
        for name in (parent, child):
            try:
                ends.append(find(name, names, "column"))
            except ValueError as error:
                raise ValueError(
                    f"edges: {error} A variable that is hidden must have its states given, as states={{{name!r}: 2}}."
                ) from None
        if ends[0] in parents[ends[1]]:
            raise ValueError(f"edges name {parent!r} → {child!r} twice.")
        parents[ends[1]].append(ends[0])
    DAG.of(parents, names)
    return parents
