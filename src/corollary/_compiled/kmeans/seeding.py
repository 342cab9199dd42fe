"""Greedy k-means++ by a team of threads, on rows in float32.

For every row the squared distance to its nearest centre so far is kept, and which centre that is. Where a candidate is
more than twice as far from that centre as the row is, it is farther from the row than the centre: then the row is not
looked at (triangle inequality), and once most groups of rows have a centre few rows are.

Rows are drawn at a level of the cumulative mass, weight × squared distance, in the order of their keys.
"""

from __future__ import annotations

import numpy as np

from corollary._compiled._jit import inner_fast_kernel, inner_kernel, lean_kernel, prefetch
from corollary._compiled.team import meet, rows_of, share, take

AHEAD = 16  # rows that are asked for before they are used


@inner_fast_kernel
def _gap(x, c):
    """Squared distance."""
    total = np.float32(0.0)
    for j in range(x.shape[0]):
        gap = x[j] - c[j]
        total += gap * gap
    return total


@inner_kernel
def _place(mass, sums, size, level):
    """The position at this level (in [0, 1)) of the cumulative mass, whose blocks have these sums; −1 without mass.

    A row without mass is never found; where rounding leaves nothing at the level, the last one with mass is.
    """
    total = 0.0
    for b in range(sums.shape[0]):
        total += sums[b]
    target, block, before, reached = level * total, -1, 0.0, 0.0
    for b in range(sums.shape[0]):
        if sums[b] > 0.0 and reached <= target:
            block, before = b, reached
            reached += sums[b]
    if block < 0:
        return -1
    found, reached = -1, before
    start, stop = rows_of(block, mass.shape[0], size)
    for p in range(start, stop):
        if mass[p] > 0.0 and reached <= target:
            found = p
            reached += mass[p]
    return found


@inner_kernel
def _draw(mass, sums, size, order, weights, levels, trials, picked):
    """Candidates at these levels; returns their number: one, by weight alone, if all rows coincide with centres."""
    tried = 0
    for t in range(trials):
        place = _place(mass, sums, size, levels[t])
        if place >= 0:
            picked[tried] = order[place]
            tried += 1
    if tried > 0:
        return tried
    total, reached = 0.0, 0.0
    for p in range(order.shape[0]):
        total += weights[order[p]]
    for p in range(order.shape[0]):
        w = weights[order[p]]
        if w > 0.0 and reached <= levels[0] * total:
            picked[0] = order[p]
            reached += w
    return 1


@inner_kernel
def _active(start, stop, nearest, owner, reach, active):
    """The rows of a block that a candidate may be nearer to than their centre; returns their number."""
    found = 0
    for i in range(start, stop):
        active[found] = i  # written always, kept if it counts: no branch to mispredict
        found += np.float32(4.0) * nearest[i] > reach[owner[i]]
    return found


@inner_kernel
def _try(single, weights, nearest, picked, tried, active, found, distances, gains):
    """Distances of the active rows to the candidates, and what each would take off the cost."""
    width = 4 * single.shape[1]
    for t in range(tried):
        gains[t] = 0.0
    for r in range(found):
        ahead = np.int64(active[r + AHEAD if r + AHEAD < found else found - 1]) * width
        for line in range(0, width, 64):
            prefetch(single, ahead + line)
        i = active[r]
        for t in range(tried):
            square = _gap(single[i], single[picked[t]])
            distances[r, t] = square
            gains[t] += weights[i] * (nearest[i] - square if square < nearest[i] else np.float32(0.0))


@inner_fast_kernel
def _sum(numbers, start, stop):
    total = 0.0
    for p in range(start, stop):
        total += numbers[p]
    return total


@inner_kernel
def _sum_blocks(team, rank, mass, size, sums):
    """The mass of each block, when all threads are here; False if the team was stopped."""
    first, end = share(team, rank, sums.shape[0])
    for block in range(first, end):
        start, stop = rows_of(block, mass.shape[0], size)
        sums[block] = _sum(mass, start, stop)
    return meet(team)


@inner_kernel
def _best(gains, tried):
    """The candidate that takes most off the cost, the first of equals."""
    best, most = 0, -1.0
    for t in range(tried):
        gain = 0.0
        for b in range(gains.shape[0]):
            gain += gains[b, t]
        if gain > most:
            best, most = t, gain
    return best


@lean_kernel
def seed(team, rank, first, last, size, single, weights, order, position, levels, chosen, state, scratch):
    """Choose the centres ``first`` to ``last``, rows of ``chosen``; what is known of the rows is in ``state``.

    ``order`` has the rows by their keys and ``position`` where each of them is there, as is ``mass``.
    """
    nearest, owner, mass = state
    sums, reach, picked, active, counts, distances, gains = scratch
    n, blocks = single.shape[0], sums.shape[0]
    own = picked[rank]
    for c in range(first, last):
        if not _sum_blocks(team, rank, mass, size, sums):
            return
        trials = levels.shape[1] if c > 0 else 1  # the first is drawn by weight
        tried = _draw(mass, sums, size, order, weights, levels[c], trials, own)
        a, b = share(team, rank, c if c > 0 else 1)
        for j in range(a, b):
            least = np.float32(0.0 if c == 0 else np.inf)
            for t in range(tried if c > 0 else 0):
                gap = _gap(single[own[t]], single[chosen[j]])
                least = gap if gap < least else least
            reach[j] = least
        if not meet(team):
            return
        block = take(team)
        while block < blocks:
            a, b = rows_of(block, n, size)
            looked = active[a + block :]
            counts[block] = _active(a, b, nearest, owner, reach, looked)
            _try(single, weights, nearest, own, tried, looked, counts[block], distances[a:b], gains[block])
            block = take(team)
        if not meet(team):
            return
        best = _best(gains, tried)
        block = take(team)
        while block < blocks:
            a = block * size
            for r in range(counts[block]):
                i, square = active[a + block + r], distances[a + r, best]
                if square < nearest[i]:
                    nearest[i], owner[i] = square, c
                    mass[position[i]] = weights[i] * square
            block = take(team)
        if rank == 0:
            chosen[c] = own[best]
        if not meet(team):
            return
