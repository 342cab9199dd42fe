"""Threads that meet inside compiled code.

The threads of a team call the same kernel at once, each with its ``rank``, as ``kernel(team, rank, ...)``; see
``corollary.core.team.run_team``. ``team`` is the memory they share. In the kernel they

- share work out: :func:`share` gives each a run of blocks; :func:`take` gives the next block to whoever asks first;
- wait for each other where one needs what another has made: :func:`meet`;
- add up what blocks have contributed: :func:`add_up`, in the order of the blocks.

Blocks are a grid fixed by the shape of the data (:func:`rows_of`). Then every number is computed from the same rows in
the same order whoever computes it, and the answer does not depend on the number of threads.

**No thread waits for one that is gone.** When a thread fails, or Ctrl-C comes, ``STOPPED`` is set: nobody waits any
more, :func:`meet` and :func:`add_up` answer False and the kernel returns, :func:`take` has no more blocks. What the
kernel has written so far is then of no use. So the form is ``if not meet(team): return``.

A thread that waits looks some times, then lets others have its core, then sleeps: where there are more threads than
cores, those that wait take little from those that work.
"""

from __future__ import annotations

import numpy as np

from corollary._compiled._jit import inner_kernel
from corollary._compiled.atomic import atomic_add, atomic_load, breathe, give_way, nap

# Words of a team; those that threads write are far apart, so that none of them slows down the others
TURN, ARRIVED, NEXT = 0, 16, 32
SIZE, STOPPED, LOOKS, YIELDS = 48, 49, 50, 51
WORDS = 64

NO_MORE = np.iinfo(np.int64).max


def new_team(size, crowded):
    """The shared memory of a team of so many threads; ``crowded`` if there are not enough cores for them."""
    team = np.zeros(WORDS, dtype=np.int64)
    team[SIZE] = size
    team[LOOKS], team[YIELDS] = (0, 20) if crowded else (500, 1000)  # about a millisecond, then it sleeps
    return team


def stop(team):
    """Have all threads leave at their next meeting; for Python, from any thread."""
    team[STOPPED] = 1


@inner_kernel
def meet(team):
    """Wait until all threads of the team are here; False if the team was stopped. All blocks are there to take again.

    Everything that any of them wrote before is then seen by all of them.
    """
    turn = atomic_load(team, TURN)
    if atomic_add(team, ARRIVED, 1) == team[SIZE] - 1:  # the last: the others wait, so these are its own
        atomic_add(team, ARRIVED, -team[SIZE])
        atomic_add(team, NEXT, -atomic_load(team, NEXT))
        atomic_add(team, TURN, 1)
    else:
        _wait(team, turn)
    return atomic_load(team, STOPPED) == 0


@inner_kernel
def _wait(team, turn):
    looked = 0
    while atomic_load(team, TURN) == turn and atomic_load(team, STOPPED) == 0:
        looked += 1
        if looked <= team[LOOKS]:
            breathe()
        elif looked <= team[LOOKS] + team[YIELDS]:
            give_way()
        else:
            nap()


@inner_kernel
def share(team, rank, count):
    """The first and the end of this thread's run of ``count`` blocks (or columns, or rows)."""
    return count * rank // team[SIZE], count * (rank + 1) // team[SIZE]


@inner_kernel
def take(team):
    """The number of a block that no thread has taken since the last meeting: 0, 1, …; past any number when stopped."""
    block = atomic_add(team, NEXT, 1)
    return block if atomic_load(team, STOPPED) == 0 else NO_MORE


@inner_kernel
def count_blocks(n, size):
    """How many blocks of ``size`` rows there are in n rows."""
    return (n + size - 1) // size


@inner_kernel
def rows_of(block, n, size):
    """The first row and the end of a block, as in ``corollary.core.parallel.map_blocks``."""
    end = (block + 1) * size
    return block * size, end if end < n else n  # min() would be compiled besides


@inner_kernel
def add_up(team, rank, parts, total):
    """total = parts[0] + parts[1] + …, added in this order; meets before and after. False if the team was stopped.

    ``parts`` has a row for each block, of the length of ``total``. Threads share the columns out.
    """
    if not meet(team):
        return False
    first, end = share(team, rank, total.shape[0])
    for j in range(first, end):
        total[j] = parts[0, j]
    for block in range(1, parts.shape[0]):
        for j in range(first, end):
            total[j] += parts[block, j]
    return meet(team)
