"""Counts of coded data: tables of families, of all pairs, and of one family beside every other variable.

A value of −1 is missing, and a row counts in a table if it has all of the values that the table is about. Sums are of
whole numbers where weights are, so the order of the rows is nothing to them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from corollary.core.memory import check_memory
from corollary.core.parallel import run_team, share_out
from corollary.core.types import Array

CELLS = 1 << 22  # of tables that are there at once: 32 MiB
DENSE = 64  # cells of a pair's table up to which bits are compared; beyond, rows are counted one by one
JOINT = 1 << 12  # cells of a table in which several families are counted at once
AXES = 24  # of such a table; columns of one state add axes and no cells
SHARE = 1 << 16  # rows times tables that are worth a thread


@dataclass(frozen=True)
class Coded:
    """Rows of state numbers, a variable in each row of ``codes``; ``weights`` is empty where every row counts one."""

    codes: Array
    cards: tuple[int, ...]
    weights: Array

    @classmethod
    def of(cls, rows: Array, cards: Sequence[int], weights: Array | None = None) -> Coded:
        """From an (n, d) array of small whole numbers; column-contiguous int16 is taken as it is."""
        cards = tuple(int(card) for card in cards)
        kind = np.int16 if max(cards, default=1) <= np.iinfo(np.int16).max else np.int32
        codes = np.ascontiguousarray(rows.T, dtype=kind)
        if weights is None or (weights == 1.0).all():
            weights = np.empty(0)
        return cls(codes, cards, np.ascontiguousarray(weights, dtype=np.float64))

    @classmethod
    def gather(cls, columns: Sequence[Array], cards: Sequence[int], weights: Array, keep: Array) -> Coded:
        """From the state numbers of each variable, of the rows in ``keep``; variables beyond these are all missing."""
        cards = tuple(int(card) for card in cards)
        kind = np.int16 if max(cards, default=1) <= np.iinfo(np.int16).max else np.int32
        whole = bool(keep.all())
        if whole and (block := _block_of(columns)) is not None and block.shape[0] == len(cards) and block.dtype == kind:
            return cls(block, cards, np.empty(0) if (weights == 1.0).all() else np.ascontiguousarray(weights))
        codes = np.empty((len(cards), len(weights) if whole else int(keep.sum())), dtype=kind)
        codes[len(columns) :] = -1
        for row, column in zip(codes, columns, strict=False):
            row[:] = column if whole else column[keep]
        weights = weights if whole else weights[keep]
        return cls(codes, cards, np.empty(0) if (weights == 1.0).all() else np.ascontiguousarray(weights))

    @property
    def n_rows(self) -> int:
        return int(self.codes.shape[1])

    @property
    def n_variables(self) -> int:
        return len(self.cards)

    @property
    def total(self) -> float:
        """Σ weight of all rows."""
        return float(self.weights.sum()) if self.weights.size else float(self.n_rows)

    @property
    def complete(self) -> bool:
        """Whether no value is missing."""
        return bool(self.codes.min(initial=0) >= 0)

    @property
    def missing(self) -> Array:
        """How many values of each variable are missing."""
        return np.array([np.count_nonzero(column < 0) for column in self.codes], dtype=np.int64)

    def select(self, keep: Array) -> Coded:
        """The rows that are True in ``keep``."""
        weights = self.weights[keep] if self.weights.size else self.weights
        return Coded(np.ascontiguousarray(self.codes[:, keep]), self.cards, weights)

    def states(self, variable: int) -> Array:
        """Σ weight of each state of one variable."""
        return family_tables(self, [(variable,)])[0]


def _block_of(columns: Sequence[Array]) -> Array | None:
    """The array whose rows these are, one after the other from the first to the last; None if there is none."""
    block = columns[0].base if len(columns) else None
    if not isinstance(block, np.ndarray) or block.ndim != 2 or len(block) != len(columns):
        return None
    same = all(
        column.base is block and column.shape == row.shape and column.ctypes.data == row.ctypes.data
        for column, row in zip(columns, block, strict=True)
    )
    return block if same and block.flags.c_contiguous else None


def family_tables(data: Coded, families: Sequence[Sequence[int]]) -> list[Array]:
    """For each family of variables the table of its counts: an axis for each member, in the order given.

    Where rows count one and lack nothing, some families are counted at once, in one joint table that is summed up.
    """
    sizes = [prod(data.cards[j] for j in family) for family in families]
    check_memory(8 * sum(sizes), "Tables of counts", "give variables fewer parents or fewer states")
    if max(sizes, default=0) > np.iinfo(np.int32).max:
        raise ValueError(f"A table of {max(sizes):.2g} counts is too large: give variables fewer parents or states.")
    if data.weights.size or len(families) < 2 or not data.complete:
        return _counted(data, families)
    groups = list(_grouped(families, data.cards, min(JOINT, data.n_rows)))
    tables = _counted(data, [scope for _, scope in groups])
    return [
        _summed(table, scope, family)
        for table, (group, scope) in zip(tables, groups, strict=True)
        for family in group
    ]  # fmt: skip


def _counted(data: Coded, families: Sequence[Sequence[int]]) -> list[Array]:
    """A table for each family, each counted by itself."""
    from corollary._compiled.graphical.counting import CHUNK, LANES, count_families

    shapes = [tuple(data.cards[j] for j in family) for family in families]
    members = [j for family in families for j in family]
    strides = [prod(shape[k + 1 :]) for shape in shapes for k in range(len(shape))]
    starts, offsets = _cumulated([len(family) for family in families]), _cumulated([prod(shape) for shape in shapes])
    out, desks = np.zeros(offsets[-1]), np.empty((len(families), CHUNK), dtype=np.int32)
    quick = not data.weights.size and LANES * offsets[-1] <= data.n_rows * len(families)
    lanes = np.zeros((LANES, offsets[-1] if quick else 0), dtype=np.int32)
    numbers = (np.asarray(part, dtype=np.int64) for part in (members, starts, strides, offsets))
    run_team(count_families, data.codes, data.weights, *numbers, desks, lanes, out, most=_workers(data, len(families)))
    pieces = zip(offsets[:-1], offsets[1:], shapes, strict=True)
    return [out[begin:end].reshape(shape) for begin, end, shape in pieces]


def _summed(table: Array, scope: Sequence[int], family: Sequence[int]) -> Array:
    """The counts of a family, from those of a scope that has all of its members."""
    left = [j for j in scope if j in family]
    if len(left) < len(scope):
        table = table.sum(axis=tuple(k for k, j in enumerate(scope) if j not in family))
    return np.ascontiguousarray(table.transpose([left.index(j) for j in family]))


def recounted(data: Coded, families: Sequence[Sequence[int]]) -> Iterator[Array]:
    """What ``family_tables`` says, by another route: other families at once in a joint table, binned by NumPy.

    Nothing is shared with the kernels. Of rows with gaps each family is counted by itself.
    """
    if not data.complete:
        for family in families:
            known = np.asarray((data.codes[list(family)] >= 0).all(axis=0))
            yield _joint(data.select(known), family)
        return
    groups = list(_grouped(families[::-1], data.cards, JOINT))
    tables = share_out(lambda group: _joint(data, group[1]), groups, data.n_rows * len(groups) // SHARE)
    found = [
        np.einsum(table, range(len(scope)), [scope.index(j) for j in family])
        for table, (group, scope) in zip(tables, groups, strict=True)
        for family in group
    ]
    yield from reversed(found)


def _grouped(
    families: Sequence[Sequence[int]], cards: Sequence[int], most: int
) -> Iterator[tuple[list[Sequence[int]], list[int]]]:
    """Families one after another, as many together as a joint table of so many cells is about; and its axes."""
    group, scope = list[Sequence[int]](), list[int]()
    for family in families:
        wider = [*scope, *(j for j in family if j not in scope)]
        if group and (len(wider) > AXES or prod(cards[j] for j in wider) > most):
            yield group, scope
            group, wider = [], list(family)
        group, scope = [*group, family], wider
    if group:
        yield group, scope


def _joint(data: Coded, scope: Sequence[int]) -> Array:
    """The counts of all states of some variables, of rows without gaps: numbered by Horner's rule, then binned."""
    shape = tuple(data.cards[j] for j in scope)
    size = prod(shape)
    kind = np.int16 if size <= np.iinfo(np.int16).max else np.int32 if size <= np.iinfo(np.int32).max else np.int64
    place: Array = np.zeros(data.n_rows, dtype=kind)
    for j in scope:
        place *= kind(data.cards[j])
        place += data.codes[j].astype(kind, copy=False)
    counts = np.bincount(place, weights=data.weights if data.weights.size else None, minlength=size)
    return counts.reshape(shape).astype(np.float64)


def tables_beside(data: Coded, base: Array, size: int, columns: Sequence[int]) -> list[Array]:
    """For each of ``columns`` the (size, card) table of its states beside ``base``, a number below ``size`` a row."""
    from corollary._compiled.graphical.counting import count_beside

    cards = np.array([data.cards[j] for j in columns], dtype=np.int64)
    offsets = _cumulated(size * cards)
    out = np.zeros(offsets[-1])
    given = np.asarray(columns, dtype=np.int64), cards, offsets[:-1]
    run_team(count_beside, base, data.codes, data.weights, *given, out, most=_workers(data, len(columns)))
    return [out[begin:end].reshape(size, -1) for begin, end in itertools.pairwise(offsets)]


def pair_tables(data: Coded, left: Array, right: Array) -> Iterator[tuple[slice, list[Array]]]:
    """The tables of the pairs (left, right), some at a time: their numbers as a slice, and their tables."""
    cards = np.asarray(data.cards, dtype=np.int64)
    cells = cards[left] * cards[right]
    bits = None
    if not data.weights.size and cells.max(initial=0) <= DENSE:
        bits = _packed(data)
    begin = 0
    while begin < len(left):
        filled = np.cumsum(cells[begin:])
        end = begin + max(1, int(np.searchsorted(filled, CELLS, side="right")))
        part = slice(begin, end)
        if bits is None:
            yield part, family_tables(data, list(zip(left[part], right[part], strict=True)))
        else:
            yield part, _by_bits(data, bits, left[part], right[part], cells[part])
        begin = end


def _packed(data: Coded) -> tuple[Array, Array, Array]:
    """The bits of all states, where each variable's begin, and how many are set."""
    from corollary._compiled.graphical.bits import pack_states

    first, words = _cumulated(data.cards), -(-data.n_rows // 64)
    check_memory(8 * words * int(first[-1]), "A bit for each row and state", "give columns fewer states")
    bits, counts = np.zeros((first[-1], words), dtype=np.uint64), np.zeros(first[-1], dtype=np.int64)
    run_team(pack_states, data.codes, first, bits, counts, most=_workers(data, data.n_variables))
    return bits, first, counts


def _by_bits(data: Coded, packed: tuple[Array, Array, Array], left: Array, right: Array, cells: Array) -> list[Array]:
    from corollary._compiled.graphical.bits import count_pairs

    bits, first, counts = packed
    singles = np.add.reduceat(counts, first[:-1])
    offsets, out = _cumulated(cells), np.zeros(int(cells.sum()), dtype=np.int64)
    given = np.asarray(left, dtype=np.int64), np.asarray(right, dtype=np.int64), offsets[:-1]
    complete = int((singles == data.n_rows).all())
    run_team(count_pairs, bits, first, counts, *given, complete, out, most=_workers(data, len(left) // 32))
    columns = [data.cards[j] for j in right]
    pieces = zip(offsets[:-1], offsets[1:], columns, strict=True)
    return [out[begin:end].reshape(-1, card) for begin, end, card in pieces]


def joint_index(data: Coded, variables: Sequence[int]) -> tuple[Array, int]:
    """A number for each row's states of some variables, from 0 on (−1 where one is missing), and how many there are.

    Where there are more possible states than rows, only those that occur have a number.
    """
    index, size = np.zeros(data.n_rows, dtype=np.int64), 1
    for j in variables:
        column = data.codes[j]
        index = np.where((index < 0) | (column < 0), -1, index * data.cards[j] + column)
        size *= data.cards[j]
        if size > max(data.n_rows // 4, 1024):
            seen, index = np.unique(index, return_inverse=True)
            absent = int(seen[0] < 0)
            index, size = index.astype(np.int64) - absent, len(seen) - absent
    return index, size


def _cumulated(sizes: Sequence[int] | Array) -> Array:
    return np.concatenate([[0], np.cumsum(np.asarray(sizes, dtype=np.int64))]).astype(np.int64)


def _workers(data: Coded, tables: int) -> int:
    return max(1, min(tables, data.n_rows * tables // SHARE))
