"""Small kernels for teams, for the tests beside them and for the processes that these start."""

from __future__ import annotations

from corollary._compiled._jit import kernel, lean_kernel
from corollary._compiled.team import SIZE, add_up, count_blocks, meet, rows_of, share, take


@lean_kernel
def column_sums(team, rank, X, size, parts, total):
    """The sums of the columns of X over blocks of ``size`` rows, which threads take as they come."""
    n = X.shape[0]
    block = take(team)
    while block < count_blocks(n, size):
        first, end = rows_of(block, n, size)
        for j in range(X.shape[1]):
            parts[block, j] = 0.0
        for i in range(first, end):
            for j in range(X.shape[1]):
                parts[block, j] += X[i, j]
        block = take(team)
    return add_up(team, rank, parts, total)


@lean_kernel
def rounds(team, rank, count, table):
    """Cells of a ring, each the sum of itself and its neighbours one round before; returns the size of the team."""
    n = table.shape[1]
    first, end = share(team, rank, n)
    for i in range(count):
        before, after = table[i % 2], table[(i + 1) % 2]
        for j in range(first, end):
            after[j] = (before[j - 1] + before[j] + before[(j + 1) % n]) % 1_000_003
        if not meet(team):
            return -1
    return team[SIZE]


@lean_kernel
def all_taken(team, rank, count, seen):
    """Every number below ``count`` is taken once, after every meeting."""
    for i in range(seen.shape[0]):
        number = take(team)
        while number < count:
            seen[i, number] += 1
            number = take(team)
        if not meet(team):
            return


@lean_kernel
def endless(team, rank, started, left):
    """Meets for ever."""
    started[rank] = 1
    while meet(team):
        pass
    left[rank] = 1


@lean_kernel
def endless_taking(team, rank, started, left):
    """Takes blocks for ever, and never meets."""
    started[rank] = 1
    while take(team) < 1 << 62:
        pass
    left[rank] = 1


@kernel
def failing(team, rank, who, left):
    """One thread fails while the others wait for it."""
    if rank == who:
        raise ValueError("one of us is gone")
    while meet(team):
        pass
    left[rank] = 1
