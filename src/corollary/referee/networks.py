"""Tables of Bayesian networks, judged from rows: counted again in long doubles, one family after another.

Where values are missing, every way to fill a row in is gone through, with its probability: one exact step of EM.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

from corollary.referee.rows import LONG
from corollary.referee.verdict import Verification

SLACK = 8.0  # roundings that are nobody's fault
MOST = 2_000_000  # rows, each in all ways to fill it in
MOST_WAYS = 65_536  # of one row


def tables_of_counts(
    codes: Any, weights: Any, parents: Sequence[Any], tables: Sequence[Any], added: Sequence[float], tolerance: float
) -> Verification:
    """Whether each table is (counts + what is added) over their sum: the largest error of a probability."""
    codes, weights = _counted(codes, weights)
    counts = _prior(tables, added)
    for v, family in _families(parents):
        np.add.at(counts[v], tuple(codes[:, member] for member in family), weights)
    worst = LONG(0)
    for table, count in zip(tables, counts, strict=True):
        wide, sums = np.asarray(table, dtype=LONG), count.sum(axis=-1, keepdims=True)
        wanted = np.where(sums > 0, count / np.where(sums > 0, sums, 1), LONG(1) / count.shape[-1])
        worst = max(worst, np.abs(wide - wanted).max())
        worst = max(worst, np.abs(wide.sum(axis=-1) - 1).max())
    return _verdict("counted anew, a probability in the tables is off by", float(worst), tolerance)


def step_of_em(
    codes: Any, weights: Any, parents: Sequence[Any], tables: Sequence[Any], added: Sequence[float], tolerance: float
) -> Verification:
    """By how much one more exact step of EM changes a probability of parents and child; −1 is a missing value."""
    codes, weights = _counted(codes, weights)
    wide = [np.asarray(table, dtype=LONG) for table in tables]
    cards = np.array([table.shape[-1] for table in tables])
    ways = np.where(codes < 0, cards.astype(np.float64), 1.0).prod(axis=1)
    if ways.max(initial=0) > MOST_WAYS or ways.sum() > MOST:
        return Verification(None, "there are too many ways to fill in what is missing")
    expected = [np.zeros(table.shape, dtype=LONG) for table in wide]
    for row, weight in zip(codes, weights, strict=True):
        filled = _filled(row, cards)
        chances = np.ones(len(filled), dtype=LONG)
        for v, family in _families(parents):
            chances = chances * wide[v][tuple(filled[:, member] for member in family)]
        if not chances.sum() > 0:
            return Verification(False, "a row of the fit is impossible")
        chances = chances / chances.sum() * weight
        for v, family in _families(parents):
            np.add.at(expected[v], tuple(filled[:, member] for member in family), chances)
    worst, total = LONG(0), weights.sum()
    for table, count, more in zip(wide, expected, _prior(tables, added), strict=True):
        sums = (count + more).sum(axis=-1, keepdims=True)
        new = np.where(sums > 0, (count + more) / np.where(sums > 0, sums, 1), table)
        worst = max(worst, (np.abs(new - table) * count.sum(axis=-1, keepdims=True)).max() / total)
    return _verdict("one more exact step of EM changes a probability by", float(worst), tolerance)


def _counted(codes: Any, weights: Any) -> tuple[Any, Any]:
    """Rows that have a weight."""
    codes, weights = np.asarray(codes), np.asarray(weights, dtype=LONG)
    return codes[weights > 0], weights[weights > 0]


def _families(parents: Sequence[Any]) -> Iterator[tuple[int, list[int]]]:
    for v, above in enumerate(parents):
        yield v, [*[int(parent) for parent in above], v]


def _prior(tables: Sequence[Any], added: Sequence[float]) -> list[Any]:
    return [np.full(table.shape, more, dtype=LONG) for table, more in zip(tables, added, strict=True)]


def _filled(row: Any, cards: Any) -> Any:
    """The row with each possible state of what is missing."""
    missing = np.flatnonzero(row < 0)
    settings = np.array(list(product(*(range(int(cards[v])) for v in missing))), dtype=np.int64)
    filled = np.repeat(row[None, :], len(settings), axis=0)
    filled[:, missing] = settings.reshape(len(settings), len(missing))
    return filled


def _verdict(words: str, found: float, tolerance: float) -> Verification:
    limit = tolerance + SLACK * float(np.finfo(np.float64).eps)
    if not found <= limit:
        return Verification(False, f"{words} {found:.2g}, more than {tolerance:.2g}", found)
    return Verification(True, f"{words} {found:.2g}", found)
