"""What neighbours say: shares of votes for classes, and means of numbers. Every query's sums are in the order of votes.

Models come from files, and memory beyond a table must not be touched: ``fault[0]`` is set if a number leads there.
"""

from __future__ import annotations

from corollary._compiled._jit import lean_kernel
from corollary._compiled.team import share


@lean_kernel
def tally(team, rank, rows, votes, codes, target, shares, fault):
    """shares[i, c]: the part of the votes of rows[i] that is for class c of one target; ``shares`` come as zeros."""
    first, end = share(team, rank, rows.shape[0])
    for i in range(first, end):
        total = 0.0
        for j in range(rows.shape[1]):
            code = codes[rows[i, j], target] if 0 <= rows[i, j] < codes.shape[0] else -1
            if not 0 <= code < shares.shape[1]:
                fault[0] = True
                return
            shares[i, code] += votes[i, j]
        for c in range(shares.shape[1]):
            total += shares[i, c]
        for c in range(shares.shape[1]):
            shares[i, c] /= total


@lean_kernel
def average(team, rank, rows, votes, y, means, fault):
    """means[i]: the mean of y (rows × targets) over rows[i], weighted by their votes."""
    first, end = share(team, rank, rows.shape[0])
    for i in range(first, end):
        total = 0.0
        for j in range(rows.shape[1]):
            if not 0 <= rows[i, j] < y.shape[0]:
                fault[0] = True
                return
            total += votes[i, j]
        for o in range(y.shape[1]):
            means[i, o] = 0.0
            for j in range(rows.shape[1]):
                means[i, o] += (votes[i, j] / total) * y[rows[i, j], o]
