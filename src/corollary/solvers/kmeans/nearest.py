"""Given centres: the nearest of each row, distances to all, and what a block of rows contributes to moving them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from scipy import sparse

from corollary.core.memory import check_memory
from corollary.core.parallel import each_block, map_blocks, one_blas_thread
from corollary.core.scaling import (
    magnitude,
    of_length_one,
    power_of_two,
    powers_above,
    row_lengths,
    sparse_row_lengths,
)
from corollary.core.types import Array
from corollary.solvers.kmeans.dense import extent_of, place_of
from corollary.solvers.kmeans.rows import KMeansRows, Place
from corollary.solvers.kmeans.sources import as_rows
from corollary.solvers.loop import overflow

BLOCK = 1 << 14
VANISHED = 2.0**-900  # squares below this have lost digits
NEAR = 1e-8  # squared distances below this share of a row's square have lost half of their digits
ORDINARY = 2.0**200  # sizes up to this, and down to its inverse, have squares that need no other unit


@dataclass(frozen=True)
class ClusterSums:
    """What a block of rows says about given centres: a Summary, so blocks merge with ``+``.

    ``weight`` is the weight of each cluster, ``offsets`` Σ w (x − c) over its rows (about its centre, so that nothing
    is lost when the data lie far from zero), ``cost`` Σ w ‖x − c‖² over all rows.
    """

    weight: Array
    offsets: Array
    cost: float

    def __add__(self, other: ClusterSums) -> ClusterSums:
        return ClusterSums(self.weight + other.weight, self.offsets + other.offsets, self.cost + other.cost)

    def finish(self, centres: Array) -> Array:
        """The centres moved to the means of their rows; those without rows stay."""
        return centres + self.offsets / np.where(self.weight > 0, self.weight, 1.0)[:, None]

    @property
    def saving(self) -> float:
        """The share of the cost that moving each centre to the mean of its rows would save."""
        means, largest = self.offsets / np.where(self.weight > 0, self.weight, 1.0)[:, None], self.weight.max()
        saved = float((self.weight / (largest or 1.0)) @ (means**2).sum(axis=1))
        return saved / (self.cost / largest) if self.cost > 0 else 0.0


def _look(X: Any, weights: Array, centres: Array, angular: bool) -> tuple[Array, Array, ClusterSums]:
    rows = as_rows(X, weights, angular, None if angular else _place(X, weights, centres))
    labels = np.full(rows.n, -1, dtype=np.int32)
    rows.assign(centres, labels, None)
    distances, sums = rows.review(centres, labels)
    lost = distances < VANISHED
    if _unresolved(rows, centres) and lost.any() and not lost.all():
        return _look_apart(X, weights, centres, lost)
    with np.errstate(over="ignore"):
        cost = float(rows.weights @ distances) / rows.scale / rows.scale
        distances = distances / 2 if angular else distances / rows.scale / rows.scale
        weight, offsets = sums[:, rows.d], sums[:, : rows.d] / rows.scale
    return labels, distances, ClusterSums(weight, offsets, cost)


def _place(X: Any, weights: Array, centres: Array) -> Place:
    """Where rows are looked at: about their mean, in units in which neither they nor the centres have large squares."""
    if sparse.issparse(X):
        return np.zeros(X.shape[1]), power_of_two(max(magnitude(X), magnitude(centres)))
    shift, scale = place_of([extent_of(np.asarray(X), weights)], float(weights.sum()) or 1.0)
    return shift, min(scale, power_of_two(magnitude(centres - shift)))


def _unresolved(rows: KMeansRows, centres: Array) -> bool:
    """Whether a row lies so far away that, in its units, squared distances between centres vanish."""
    reach = magnitude(centres - centres.mean(axis=0))
    return not rows.angular and 0 < reach * rows.scale < 1 / ORDINARY


def _look_apart(X: Any, weights: Array, centres: Array, lost: Array) -> tuple[Array, Array, ClusterSums]:
    """Rows near the centres in units of their own, so that their answers do not depend on rows far away."""
    labels, distances = np.empty(len(lost), dtype=np.int32), np.empty(len(lost))
    sums = []
    for own in (~lost, lost):
        labels[own], distances[own], part = _look(X[own], weights[own], centres, False)
        sums.append(part)
    return labels, distances, sums[0] + sums[1]


def summarize(X: Any, weights: Array, centres: Array) -> ClusterSums:
    """The summary of one block of rows (dense or sparse) about given centres."""
    with one_blas_thread():
        found = _look(X, weights, centres, False)[2]
    if not np.isfinite(found.cost):
        raise overflow()
    return found


def judge(X: Any, weights: Array, centres: Array, angular: bool = False) -> tuple[Array, Array, ClusterSums]:
    """The label of each row, in float64 with ties to the first centre; its squared distance (1 − cosine); the sums."""
    centres = np.ascontiguousarray(centres, dtype=np.float64)

    def task(start: int, stop: int) -> tuple[Array, Array, ClusterSums]:
        return _look(X[start:stop], weights[start:stop], centres, angular)

    with one_blas_thread():
        labels, distances, sums = zip(*map_blocks(task, X.shape[0], BLOCK), strict=True)
    return np.concatenate(labels), np.concatenate(distances), reduce(add, sums)


def nearest(X: Any, centres: Array, angular: bool = False) -> tuple[Array, Array]:
    """The label of each row and its squared distance (1 − cosine); see :func:`judge`."""
    return judge(X, np.ones(X.shape[0]), centres, angular)[:2]


def distances_to(X: Any, centres: Array, angular: bool = False) -> Array:
    """Distances (1 − cosine if angular) of all rows to all centres, n × k in float64.

    Where squares of rows or centres would overflow or vanish, they are taken in units of a power of two.
    """
    n, k = X.shape[0], len(centres)
    check_memory(8 * n * k, f"the distances of {n} rows to {k} centres", "transform the rows in parts")
    out = np.empty((n, k))
    if angular:
        return _angles(X.tocsr() if sparse.issparse(X) else X, of_length_one(centres.astype(np.float64)), out)
    middle = np.zeros(X.shape[1]) if sparse.issparse(X) else centres.mean(axis=0, dtype=np.float64)
    moved = centres - middle
    far = magnitude(moved)

    def task(start: int, stop: int) -> None:
        block = X[start:stop] if sparse.issparse(X) else X[start:stop] - middle
        reach = max(magnitude(block), far)
        ordinary = 1 / ORDINARY < reach < ORDINARY
        if not (ordinary or sparse.issparse(X)):
            out[start:stop] = _by_differences(block, moved)
            return
        unit = 1.0 if ordinary else power_of_two(reach)
        block, ends = (block, moved) if ordinary else (block * unit, moved * unit)
        own = np.asarray(block.multiply(block).sum(axis=1)).ravel() if sparse.issparse(X) else (block * block).sum(1)
        squares = own[:, None] - 2 * np.asarray(block @ ends.T) + np.einsum("ij,ij->i", ends, ends)
        _by_differences_where(squares <= NEAR * own[:, None], block, ends, squares)
        out[start:stop] = np.sqrt(squares) / unit

    with one_blas_thread():
        each_block(task, n, BLOCK)
    return out


def _by_differences_where(near: Array, block: Any, centres: Array, squares: Array) -> None:
    """Squared distances anew where rows and centres are so near each other that too few digits are left of these."""
    for j in np.flatnonzero(near.any(axis=0)):
        rows = block[near[:, j]]
        away = (rows.toarray() if sparse.issparse(rows) else rows) - centres[j]
        squares[near[:, j], j] = np.einsum("ij,ij->i", away, away)


def _by_differences(rows: Array, centres: Array) -> Array:
    """Distances of rows to centres, each in units of its own largest difference."""
    found = np.empty((len(rows), len(centres)))
    for j, centre in enumerate(centres):
        away = np.abs(rows - centre)
        units = powers_above(away.max(axis=1, initial=0.0))
        found[:, j] = np.sqrt(((away / units[:, None]) ** 2).sum(axis=1)) * units
    return found


def _angles(X: Any, heads: Array, out: Array) -> Array:
    """1 − cosine of rows, dense or CSR, and centres of length one, written to ``out``."""

    def task(start: int, stop: int) -> None:
        block = X[start:stop]
        if sparse.issparse(block):
            lengths = sparse_row_lengths(block)
            block = block.multiply(1 / lengths[:, None]).tocsr()
        else:
            block = block / row_lengths(block)[:, None]
        out[start:stop] = np.clip(1 - np.asarray(block @ heads.T), 0.0, 2.0)

    with one_blas_thread():
        each_block(task, len(out), BLOCK)
    return out
