"""Random draws of rows that depend on what the rows are, not on where they stand.

A row's key mixes the bits of its numbers and of its target. Rows are laid end to end in the order of their keys, each
as long as its weight, and points of that line are drawn. So the same rows in another order give the same ensemble, and
a row of weight 3 is drawn exactly as three equal rows of weight 1 are.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from corollary._compiled.codes import MULTIPLIERS
from corollary.core.parallel import block_rows, each_block
from corollary.core.types import Array

_ODD, _FIRST, _ = (np.uint64(number) for number in MULTIPLIERS)


def _multipliers(first: int, count: int) -> Array:
    """One odd 64-bit number for each column."""
    z = (np.arange(first, first + count, dtype=np.uint64) + np.uint64(1)) * _ODD
    z = (z ^ (z >> np.uint64(30))) * _FIRST
    return (z ^ (z >> np.uint64(27))) | np.uint64(1)


def _mixed(values: Any, multipliers: Array) -> Array:
    """Bits of float64 numbers, mixed; 0 stays 0, so that a sparse row has the key of a dense one."""
    bits = (np.asarray(values, dtype=np.float64) + 0.0).view(np.uint64)
    bits = (bits ^ (bits >> np.uint64(29))) * multipliers
    bits = (bits ^ (bits >> np.uint64(32))) * _ODD
    return bits ^ (bits >> np.uint64(31))


def fingerprint(keys: Array, weights: Array) -> int:
    """A hash of the rows and weights that does not depend on the order of the rows."""
    mixed = keys * (weights.view(np.uint64) | np.uint64(1))
    return int((mixed ^ (mixed >> np.uint64(17))).sum(dtype=np.uint64) >> np.uint64(1))


def row_keys(X: Any, y: Array) -> Array:
    """A 64-bit number for each row, from its numbers and its target. Cost: one threaded pass over X."""
    n, d = X.shape
    target = np.asarray(y, dtype=np.float64).reshape(n, -1)
    keys: Array = _mixed(target, _multipliers(0, target.shape[1])).sum(axis=1, dtype=np.uint64)
    if scipy.sparse.issparse(X):
        X = X.tocsr()
        entries = _mixed(X.data, _multipliers(1000, d)[X.indices])
        np.add.at(keys, np.repeat(np.arange(n), np.diff(X.indptr)), entries)
        return keys
    if X.dtype == object:
        X = _as_numbers(X)
    if X.dtype.kind not in "fiub":
        return keys + np.array([zlib.crc32(str(row.tolist()).encode()) for row in X], dtype=np.uint64) * _ODD
    multipliers = _multipliers(1000, d)

    def add(start: int, stop: int) -> None:
        keys[start:stop] += _mixed(X[start:stop], multipliers).sum(axis=1, dtype=np.uint64)

    each_block(add, n, block_rows(n, 24 * d))
    return keys


def _as_numbers(X: Array) -> Array:
    """Objects that are all numbers as float64, for the keys that they have there; text stays, also where it is of one.

    Rows of the same key count as equal, and "1" is not "1.0".
    """
    if any(isinstance(value, str | bytes) for value in X.flat):
        return X
    try:
        return X.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        return X


@dataclass(frozen=True)
class Urn:
    """Rows laid end to end in the order of their keys, each as long as its weight."""

    order: Array  # int (n,)
    starts: Array  # int, where in that order each set of equal rows begins
    ends: Array  # float64 (n,), where each row of that order ends on the line
    key: int = 0  # a hash of the rows and their weights

    @staticmethod
    def of(X: Any, y: Array, weights: Array) -> Urn:
        """Lay out the rows of X."""
        keys = row_keys(X, y)
        order = np.argsort(keys, kind="stable")
        starts = np.flatnonzero(np.diff(keys[order], prepend=~keys[order[:1]]))
        return Urn(order, starts, np.cumsum(weights[order]), fingerprint(keys, weights))

    @property
    def total(self) -> float:
        return float(self.ends[-1])

    def draw(self, size: int, random: np.random.RandomState) -> Array:
        """How often each row is drawn (n,), in ``size`` draws with replacement."""
        found = places(self.ends, np.sort(random.random_sample(size)))
        counts = np.empty(len(self.order), dtype=np.int64)
        counts[self.order] = np.bincount(found, minlength=len(self.order))
        return counts

    def subset(self, size: int, random: np.random.RandomState) -> Array:
        """How much of each row is in ``size`` different unit pieces of the line: whole rows if weights are whole."""
        pieces = int(np.ceil(self.total - 1e-9))
        chosen = np.zeros(pieces + 1)
        chosen[1 + random.choice(pieces, min(size, pieces), replace=False)] = 1.0
        covered = np.interp(self.ends, np.arange(pieces + 1), np.cumsum(chosen))
        parts = np.empty(len(self.order))
        parts[self.order] = np.diff(covered, prepend=0.0)
        return parts

    def merged(self, amounts: Array) -> tuple[Array, Array]:
        """(row numbers, amounts), with one row for each set of equal rows and none without an amount."""
        sums = np.add.reduceat(amounts[self.order], self.starts)
        return self.order[self.starts][sums > 0], sums[sums > 0]

    def listed(self, counts: Array) -> Array:
        """Row numbers, each as often as its count, in the order of keys."""
        return np.repeat(self.order, counts[self.order].astype(np.int64))


def places(ends: Array, levels: Array) -> Array:
    """Which pieces of a line, one ending at each of ``ends``, are at these levels (in [0, 1)) of its length.

    A piece of no length is never hit.
    """
    last = int(np.searchsorted(ends, ends[-1]))  # rounding must not find the end of the line
    found: Array = np.minimum(np.searchsorted(ends, levels * ends[-1], side="right"), last)
    return found


def joined(parts: list[tuple[Any, Array]]) -> tuple[Any, Array]:
    """Tables of rows, dense or sparse, below one another, with their weights: a copy."""
    tables, weights = zip(*parts, strict=True)
    thin = any(map(scipy.sparse.issparse, tables))
    return scipy.sparse.vstack(tables, format="csr") if thin else np.concatenate(tables), np.concatenate(weights)


class Reservoir:
    """At most ``size`` rows of blocks that come one after the other: all of them, or a sample drawn evenly.

    Nothing is drawn as long as all rows fit. The sample depends on the rows and the seed alone, not on the blocks.
    """

    def __init__(self, size: int, random: np.random.RandomState) -> None:
        self.size, self.random, self.seen = size, random, 0
        self._parts: list[tuple[Any, Array]] = []
        self._keys = np.empty(0)  # a random number for each row that is held; the smallest are the sample

    def add(self, X: Any, weights: Array) -> None:
        """Take in the next rows."""
        before, m = self.seen, X.shape[0]
        self.seen += m
        kept = np.ones(m, dtype=bool)
        if self.seen > self.size:
            if before <= self.size:
                self._keys = self.random.uniform(size=before)
            fresh = self.random.uniform(size=m)
            both = np.concatenate([self._keys, fresh])
            kept = fresh <= np.partition(both, self.size - 1)[self.size - 1]
            self._keys = np.concatenate([self._keys, fresh[kept]])
        rows = X.tocsr()[kept] if scipy.sparse.issparse(X) else X[kept]  # a copy: the block may be used again
        self._parts.append((rows, weights[kept]))
        if len(self._keys) > 2 * self.size:
            self.rows()

    def rows(self) -> tuple[Any, Array]:
        """The sample and its weights, in the order in which the rows came."""
        X, weights = joined(self._parts)
        if len(self._keys) > self.size:
            chosen = np.sort(np.argpartition(self._keys, self.size - 1)[: self.size])
            X, weights, self._keys = X[chosen], weights[chosen], self._keys[chosen]
        self._parts = [(X, weights)]
        return X, weights
