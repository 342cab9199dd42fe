"""Rows with missing values: what each contributes to expected counts, exactly.

Rows that are alike are taken once, with their weights added up, and rows that miss the same variables are worked on
together. Given what was observed, the missing variables of a row fall into groups that do not speak to each other; each
group is summed out by elimination, for all rows of the pattern at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from corollary.core.types import Array
from corollary.solvers.graphical.learning.counts import Coded
from corollary.solvers.graphical.learning.parameters import family_of

CELLS = 1 << 20  # of what is worked on at once: 8 MiB
LARGEST = 1 << 24  # cells that one row may need
LETTERS = 50  # variables of a group that einsum can name, with the rows besides


@dataclass(frozen=True)
class Pattern:
    """Rows that miss the same variables: their states (a variable in each row) and weights, and the groups."""

    codes: Array
    weights: Array
    groups: tuple[tuple[int, ...], ...]  # of missing variables
    touched: tuple[tuple[int, ...], ...]  # for each group the families that have one of its members


def distinct(data: Coded) -> tuple[Array, Array]:
    """The different rows (a variable in each row) and Σ weight of each."""
    weights = data.weights if data.weights.size else np.ones(data.n_rows)
    order = np.lexsort(data.codes)
    codes = data.codes[:, order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (codes[:, 1:] != codes[:, :-1]).any(axis=0)
    return np.ascontiguousarray(codes[:, new]), np.add.reduceat(weights[order], np.flatnonzero(new))


def by_gaps(absent: Array) -> Iterator[tuple[Array, Array]]:
    """(rows, what they lack) of rows that lack the same, for each set of variables that rows lack."""
    if not absent.any():
        yield np.arange(len(absent)), np.zeros(absent.shape[1], dtype=bool)
        return
    _, first, number = np.unique(np.packbits(absent, axis=1), axis=0, return_index=True, return_inverse=True)
    order, ends = np.argsort(number.ravel(), kind="stable"), np.cumsum(np.bincount(number.ravel()))
    for rows, sample in zip(np.split(order, ends[:-1]), first, strict=True):
        yield rows, absent[sample]


def patterns(data: Coded, parents: Sequence[Sequence[int]]) -> tuple[Coded, list[Pattern]]:
    """The complete rows, and the others by what they miss."""
    absent = data.codes < 0
    incomplete = np.asarray(absent.any(axis=0))
    complete = data.select(~incomplete)
    rest = data.select(incomplete)
    if not rest.n_rows:
        return complete, []
    codes, weights = distinct(rest)
    found = list[Pattern]()
    for chosen, missing in by_gaps(codes.T < 0):
        groups = _groups(np.flatnonzero(missing).tolist(), parents)
        touched = tuple(_touching(group, parents) for group in groups)
        found += [Pattern(codes[:, part], weights[part], groups, touched) for part in _cut(chosen, data, groups)]
    return complete, found


def _cut(rows: Array, data: Coded, groups: Sequence[Sequence[int]]) -> Iterator[Array]:
    """The rows in parts that can be worked on at once."""
    cells = max(prod(data.cards[j] for j in group[:12]) for group in groups)
    size = max(16, CELLS // max(cells, 1))
    return (rows[start : start + size] for start in range(0, len(rows), size))


def _touching(group: Sequence[int], parents: Sequence[Sequence[int]]) -> tuple[int, ...]:
    members = set(group)
    return tuple(i for i in range(len(parents)) if members & set(family_of(parents, i)))


def _groups(missing: list[int], parents: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    """Missing variables that share a family are of one group."""
    leader = {j: j for j in missing}

    def find(j: int) -> int:
        while leader[j] != j:
            j = leader[j]
        return j

    for i in range(len(parents)):
        inside = [j for j in family_of(parents, i) if j in leader]
        for j in inside[1:]:
            leader[find(j)] = find(inside[0])
    heads = sorted({find(j) for j in missing})
    return tuple(tuple(j for j in missing if find(j) == head) for head in heads)


def expect(pattern: Pattern, parents: Sequence[Sequence[int]], tables: Sequence[Array], counts: list[Array]) -> float:
    """Add the expected counts of a pattern's rows to ``counts``; the log-likelihood of the rows is returned."""
    rows, missing = np.arange(len(pattern.weights)), {j for group in pattern.groups for j in group}
    logs = np.zeros(len(rows))
    seen = {i for families in pattern.touched for i in families}
    for i in range(len(parents)):
        if i not in seen:
            place = tuple(pattern.codes[j] for j in family_of(parents, i))
            with np.errstate(divide="ignore"):
                logs += np.log(tables[i][place])
            np.add.at(counts[i], place, pattern.weights)
    for group, families in zip(pattern.groups, pattern.touched, strict=True):
        letters = {j: k + 1 for k, j in enumerate(group)}
        factors = [_factor(pattern, family_of(parents, i), tables[i], missing, letters, rows) for i in families]
        logs += _add_group(pattern, parents, families, letters, factors, counts)
    return float(pattern.weights @ logs)


Factor = tuple[Array, list[int]]  # numbers, and the names of their axes: 0 for the rows


def _factor(
    pattern: Pattern, family: Sequence[int], table: Array, missing: set[int], letters: dict[int, int], rows: Array
) -> Factor:
    """A table where the observed members of the family are as in the rows; the missing ones keep their axes."""
    hidden = [j for j in family if j in missing]
    moved = np.moveaxis(table, [family.index(j) for j in hidden], range(-len(hidden), 0))
    place = tuple(pattern.codes[j] for j in family if j not in missing)
    if not place:
        return moved, [letters[j] for j in hidden]
    return moved[place], [0, *(letters[j] for j in hidden)]


def _add_group(
    pattern: Pattern, parents: Sequence[Sequence[int]], families: Sequence[int], letters: dict[int, int],
    factors: list[Factor], counts: list[Array],
) -> Array:  # fmt: skip
    """Add what a group of missing variables contributes; log Σ over its states for each row."""
    m = len(pattern.weights)
    operands: list[Any] = [part for factor in factors for part in factor]
    if all(0 not in axes for _, axes in factors):
        operands += [np.ones(m), [0]]
    total = _contract(operands, [0], m)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(total > 0, pattern.weights / total, 0.0)
    for i in families:
        family = family_of(parents, i)
        hidden = [letters[j] for j in family if j in letters]
        joint = _contract(operands, [0, *hidden], m) * shares.reshape(-1, *[1] * len(hidden))
        seen = [k for k, j in enumerate(family) if j not in letters]
        target = np.moveaxis(counts[i], [k for k, j in enumerate(family) if j in letters], range(-len(hidden), 0))
        place = tuple(pattern.codes[family[k]] for k in seen)
        if place:
            np.add.at(target, place, joint)
        else:
            target += joint.sum(axis=0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(total))


def _contract(operands: list[Any], output: list[int], m: int) -> Array:
    """The sum of products over all axes but those of ``output``, in an order that keeps what is in between small."""
    return np.asarray(np.einsum(*operands, output, optimize="greedy"))


def refuse_large(data: Coded, parents: Sequence[Sequence[int]], found: Sequence[Pattern]) -> None:
    """Before anything is worked on: groups that are too large to be summed over exactly."""
    for group in {group for pattern in found for group in pattern.groups}:
        if len(group) > LETTERS:
            raise ValueError(
                f"{len(group)} missing variables of a row hang together, and EM sums over at most {LETTERS} of them "
                "exactly: leave out rows or columns that are mostly missing."
            )
        operands: list[Any] = []
        for i in _touching(group, parents):
            hidden = [j for j in family_of(parents, i) if j in group]
            operands += [np.broadcast_to(0.0, [data.cards[j] for j in hidden]), [group.index(j) for j in hidden]]
        if (largest := _largest(operands)) > LARGEST:
            raise ValueError(
                f"Summing over {len(group)} missing variables of a row takes {largest:.2g} numbers, and EM allows "
                f"{LARGEST:.2g}: leave out rows or columns that are mostly missing, or give variables fewer states."
            )


def _largest(operands: list[Any]) -> float:
    """The cells of the largest array of a sum of products: those that go in, which each row has, and those on the way.

    Of einsum's steps each takes some arrays out of its list and puts their product at the end.
    """
    arrays, names = operands[::2], [frozenset(axes) for axes in operands[1::2]]
    cards: dict[int, int] = {}
    for each, axes in zip(arrays, operands[1::2], strict=True):
        cards.update(zip(axes, each.shape, strict=True))
    largest = max(each.size for each in arrays)
    for step in np.einsum_path(*operands, [], optimize="greedy")[0][1:]:
        taken = [names.pop(place) for place in sorted(step, reverse=True)]
        names.append(frozenset().union(*taken) & frozenset().union(*names))
        largest = max(largest, prod(cards[axis] for axis in names[-1]))
    return float(largest)
