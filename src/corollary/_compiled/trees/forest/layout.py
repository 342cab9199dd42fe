"""How the growth of a forest's tree lays out its arrays: the columns of each, by name.

Kernels are given None for what a kind of tree does not have, and Numba leaves out the code that would read it, which
keeps the time to compile short:

- ``packed``, ``votes``, ``sums``: the targets in one of three forms. int64 (n,), sum << sum_shift | mass << mass_shift
  | 1; or labels, int64 (n, outputs), and mass (n,); or float64 (n, ·), what is summed, mass, and y for regression.
- ``general``: None where cuts are judged by squares, of one sum or of class masses that are whole numbers
  (``ballots.py``), and nothing is constrained; ``plain`` is None where ``general`` is not, and also where no cut of
  numbers is sought.
- ``edges``: float64 (2, d, bins), where bins end and their means, of trees whose cuts are drawn; else None.
- ``bits``: uint32 (categorical nodes, words), the categories that go left, where a column is categorical; else None.
"""

from __future__ import annotations

from typing import Any, NamedTuple

SQUARES, ENTROPY, POISSON = 0, 1, 2  # criteria

# columns of Tree.whole
START, STOP, DEPTH, FEATURE, CUT, MISSING_LEFT, LEFT, NEXT = 0, 1, 2, 3, 4, 5, 6, 7
# columns of Tree.real; the sums, the mass and the number of rows follow
GAIN, LOW, HIGH, TOTALS = 0, 1, 2, 3
# positions in Setup.rules
CRITERION, MAX_DEPTH, MIN_SPLIT, MIN_LEAF, MIN_MASS, MIN_GAIN, MAX_FEATURES, CONSTRAINED = range(8)
MASS_SHIFT, SUM_SHIFT = 8, 9
BINS, CATEGORICAL, MONOTONE = 0, 1, 2  # rows of Setup.columns
FOUND, NATURAL, ORDER, CHOSEN, FEATURES, ENDS = 0, 1, 2, 3, 4, 5  # rows of Scratch.whole
NODES, ROWS_OF_BITS = -2, -1  # positions in Scratch.narrow of what is in use
NOW, BEST = -2, -1  # rows of Scratch.real: sums of the left side, in the cut being tried and in the best so far


class Tree(NamedTuple):
    """Nodes; children are neighbours."""

    whole: Any  # int32 (nodes, 8): CUT is the last bin on the left or a row of bits, NEXT the first bin after it
    real: Any  # float64 (nodes, 3 + c + 2): gain, limits of the mean, sums, mass, rows


class Data(NamedTuple):
    """The rows."""

    codes: Any  # uint8 or uint16 (d, n)
    rows: Any  # int32 (2, n'): rows of the tree, segment by segment, and room to move them


class Setup(NamedTuple):
    """What does not change while a tree grows."""

    columns: Any  # int32 (3, d): bins (the missing bin comes after them), whether categorical, direction if constrained
    rules: Any  # float64 (10,)


class Scratch(NamedTuple):
    """Room to work in; sums of bins and ``seen`` are zero between uses."""

    narrow: Any  # int64 (width + 2,): packed sums or places of each bin; then what is in use
    real: Any  # float64 (2 · width + 2, c + 3): sums of each bin; of bins that occur, with a key; of the left side
    # int32 (6, ·): bins that occur; 0, 1, 2, …; an order of those; 1 for categories that go left; features; their ends
    whole: Any
    seen: Any  # uint64 (words of width bits + 1,): which bins occur; then the state of the random numbers
    ranked: Any  # int64 (n',): classes and masses of a node's rows by bin, where ``votes`` are whole numbers; else none
