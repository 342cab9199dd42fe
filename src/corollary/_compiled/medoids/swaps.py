"""k-medoids: what every swap of a medoid would change, in one pass over a row of distances for each candidate.

A state is, for every point, the slot and the distance of its nearest medoid (``near``, ``first``) and those of the next
nearest (``next_near``, ``second``). Rows of distances may be float32 or float64; every sum is in float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from corollary._compiled._jit import fast_kernel, kernel


@kernel
def assign(table: Any, near: Any, next_near: Any, first: Any, second: Any, start: int, stop: int) -> None:
    """The two nearest of the k ≥ 2 medoids for points ``start`` to ``stop``; ``table`` is points × medoids."""
    for i in range(start, stop):
        _two_nearest(table, near, next_near, first, second, i)


@kernel
def _two_nearest(table: Any, near: Any, next_near: Any, first: Any, second: Any, i: int) -> None:
    best, runner_up = np.inf, np.inf
    slot, other = 0, 1
    for m in range(table.shape[1]):
        d = table[i, m]
        if d < best:
            best, runner_up, slot, other = d, best, m, slot
        elif d < runner_up:
            runner_up, other = d, m
    near[i], next_near[i], first[i], second[i] = slot, other, best, runner_up


@kernel
def exchange(
    row: Any, slot: int, table: Any, near: Any, next_near: Any, first: Any, second: Any, weights: Any, removal: Any
) -> float:
    """Put the medoid with distances ``row`` into ``slot``; returns the new cost, summed afresh (nothing drifts).

    ``removal[m]`` becomes what leaving out medoid m would cost.
    """
    for m in range(len(removal)):
        removal[m] = 0.0
    cost = 0.0
    for i in range(len(row)):
        d = row[i]
        table[i, slot] = d
        if near[i] == slot or next_near[i] == slot or d < second[i]:
            _two_nearest(table, near, next_near, first, second, i)
        cost += weights[i] * first[i]
        removal[near[i]] += weights[i] * (second[i] - first[i])
    return cost


@kernel
def _best_swap(
    row: Any, near: Any, first: Any, second: Any, weights: Any, removal: Any, change: Any, hits: Any
) -> tuple[float, int]:
    """The lowest change of the cost that a new medoid with distances ``row`` can bring, and the slot it takes.

    Points nearer to it than to their second medoid are few; they are collected without a branch, then worked through.
    """
    found = 0
    for i in range(len(row)):
        hits[found] = i
        found += row[i] < second[i]
    for m in range(len(change)):
        change[m] = removal[m]
    gained = 0.0
    for h in range(found):
        i = hits[h]
        d, nearest, w = np.float64(row[i]), first[i], weights[i]
        gained += w * (min(d, nearest) - nearest)
        change[near[i]] += w * (max(d, nearest) - second[i])
    slot = 0
    for m in range(1, len(change)):
        if change[m] < change[slot]:
            slot = m
    return change[slot] + gained, slot


@kernel
def first_improvement(
    rows: Any, offset: int, start: int, stop: int, allowed: Any, enough: float, near: Any, first: Any, second: Any,
    weights: Any, removal: Any,
) -> tuple[int, int, float]:  # fmt: skip
    """The first candidate of ``start`` to ``stop`` with a swap that lowers the cost by more than ``enough``.

    Its index (``stop`` if there is none), the slot, and the largest gain that was seen. ``rows[j - offset]`` are the
    distances of candidate j.
    """
    change, hits = np.empty(len(removal)), np.empty(len(near), dtype=np.int32)
    largest = 0.0
    for j in range(start, stop):
        if not allowed[j]:
            continue
        delta, slot = _best_swap(rows[j - offset], near, first, second, weights, removal, change, hits)
        largest = max(largest, -delta)
        if -delta > enough:
            return j, slot, largest
    return stop, 0, largest


@fast_kernel
def cost_saved(rows: Any, first: Any, weights: Any, saved: Any) -> None:
    """By how much each row of distances, as one more medoid, lowers the cost of points at distances ``first``."""
    for j in range(len(rows)):
        row, total = rows[j], 0.0
        for i in range(len(row)):
            total += weights[i] * max(first[i] - np.float64(row[i]), 0.0)
        saved[j] = total


@fast_kernel
def square_faults(matrix: Any, start: int, stop: int, closeness: float) -> tuple[int, int]:
    """Of rows ``start`` to ``stop``: entries that are negative or not finite, and entries unlike their mirror image.

    Entries are unlike when they differ by more than the share ``closeness`` of the larger. A square of entries is
    turned over in the cache before it is compared.
    """
    n, side = matrix.shape[0], 64
    turned = np.empty((side, side), dtype=matrix.dtype)
    bad, unlike = 0, 0
    for i in range(start, stop):
        row = matrix[i]
        for j in range(n):
            bad += not (row[j] >= 0 and row[j] < np.inf)
    for top in range(start, stop, side):
        height = min(side, stop - top)
        for left in range(top, n, side):
            width = min(side, n - left)
            for j in range(width):
                mirror = matrix[left + j, top : top + height]
                for i in range(height):
                    turned[i, j] = mirror[i]
            for i in range(height):
                row = matrix[top + i, left : left + width]
                for j in range(width):
                    unlike += abs(row[j] - turned[i, j]) > closeness * max(abs(row[j]), abs(turned[i, j]))
    return bad, unlike
