"""Greedy k-means++ on compressed sparse rows by a team of threads; see ``seeding.py``."""

from __future__ import annotations

from corollary._compiled._jit import inner_kernel, lean_kernel
from corollary._compiled.kmeans.seeding import _best, _draw, _sum_blocks
from corollary._compiled.team import meet, rows_of, share, take

COINCIDE = 1e-14  # squared distances below this share of the squared norms are rounding


@inner_kernel
def _spread(entries, picked, tried, table, sign):
    """Write the candidates to the columns of a table of zeros, or clear them (sign 0)."""
    data, indices, indptr, scale = entries
    for t in range(tried):
        for p in range(indptr[picked[t]], indptr[picked[t] + 1]):
            table[indices[p], t] = sign * scale * data[p]


@inner_kernel
def _try(start, stop, entries, squares, weights, nearest, picked, tried, table, distances, gains):
    """Squared distances of the rows of a block to the candidates, and what each would take off the cost."""
    data, indices, indptr, scale = entries
    for t in range(tried):
        gains[t] = 0.0
    for i in range(start, stop):
        products = distances[i - start]
        for t in range(tried):
            products[t] = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            value, column = scale * data[p], table[indices[p]]
            for t in range(tried):
                products[t] += value * column[t]
        for t in range(tried):
            both = squares[i] + squares[picked[t]]
            square = both - 2.0 * products[t]
            products[t] = square if square > COINCIDE * both else 0.0
            gains[t] += weights[i] * max(0.0, nearest[i] - products[t])


@lean_kernel
def seed_sparse(
    team, rank, first, last, size, entries, squares, weights, order, position, levels, chosen, state, scratch
):  # fmt: skip
    """Choose the centres ``first`` to ``last``, rows of ``chosen``; what is known of the rows is in ``state``."""
    nearest, mass = state
    sums, picked, count, table, distances, gains = scratch
    n, blocks = weights.shape[0], sums.shape[0]
    for c in range(first, last):
        if not _sum_blocks(team, rank, mass, size, sums):
            return
        if rank == 0:
            trials = levels.shape[1] if c > 0 else 1  # the first is drawn by weight
            _spread(entries, picked, count[0], table, 0.0)
            count[0] = _draw(mass, sums, size, order, weights, levels[c], trials, picked)
            _spread(entries, picked, count[0], table, 1.0)
        if not meet(team):
            return
        tried = count[0]
        block = take(team)
        while block < blocks:
            a, b = rows_of(block, n, size)
            _try(a, b, entries, squares, weights, nearest, picked, tried, table, distances[a:b], gains[block])
            block = take(team)
        if not meet(team):
            return
        best = _best(gains, tried)
        a, b = share(team, rank, n)
        for i in range(a, b):
            square = distances[i, best]
            if square < nearest[i]:
                nearest[i] = square
                mass[position[i]] = weights[i] * square
        if rank == 0:
            chosen[c] = picked[best]
        if not meet(team):
            return
