"""A whole round of boosting in one call: the trees of all outputs, their leaves, the raw predictions, the derivatives.

The threads of a team form ``sides``. Every side grows one output's tree at a time: sides of one thread where rows are
few and outputs many, one side of all threads where rows are many.
"""

from __future__ import annotations

from corollary._compiled._jit import inner_kernel, lean_kernel
from corollary._compiled.team import LOOKS, SIZE, YIELDS, meet, take
from corollary._compiled.trees.boosting.books import (
    DESK,
    LEAF_OF,
    LINES,
    LISTS,
    N_NODES,
    OUTPUT,
    PARTS,
    REALS,
    ROWS,
    UNITS,
)
from corollary._compiled.trees.boosting.gradients import derivatives
from corollary._compiled.trees.boosting.grow import grow_tree
from corollary._compiled.trees.boosting.leaves import add_values, find_leaves, leaf_values, walk_to_leaves

GROW, ADD, DERIVE = 1, 2, 4  # what a call does, one or several of these


@inner_kernel
def _form_sides(team, sides, count):
    """Teams within the team: thread t is on side t mod ``count``."""
    for s in range(count):
        side = sides[s]
        for j in range(side.shape[0]):
            side[j] = 0
        side[SIZE] = (team[SIZE] - s + count - 1) // count
        side[LOOKS], side[YIELDS] = team[LOOKS], team[YIELDS]


@inner_kernel
def _one_output(
    side, rank, k, what, general, table, members, coding, rules, used, given, seeds, target, memory, own, trees
):  # fmt: skip
    """Grow the tree of output k, and let its leaves take their steps; False if stopped."""
    raw, gradient, hessian = target[3], target[4][k], target[5][k]
    whole, sums, splits, sets, values, counts = trees
    tree = whole[k], sums[k], splits[k], sets[k]
    if not grow_tree(
        side, rank, general, table, members, coding, rules, used, given, seeds[k], gradient, hessian, memory, own, tree
    ):
        return False
    leaf_of, rows, n_nodes = memory[LINES][LEAF_OF], memory[LINES][ROWS], memory[LISTS][DESK, N_NODES]
    counts[k] = n_nodes
    find_leaves(side, rank, tree[0], n_nodes, rows, given.shape[0], leaf_of)
    if not meet(side):
        return False
    units, parts = memory[REALS][UNITS], memory[PARTS]
    if not leaf_values(
        side, rank, gradient, hessian, units, rules, given, leaf_of, n_nodes, tree[0], tree[1], parts, values[k]
    ):
        return False
    if general is not None and given.shape[0] < leaf_of.shape[0]:
        walk_to_leaves(side, rank, table, coding, tree, leaf_of)
    if what & ADD:
        add_values(side, rank, leaf_of, values[k], raw[k])
    return meet(side)


@inner_kernel
def _grow_all(
    team, rank, what, general, sides, table, members, coding, rules, used, given, seeds, target, memory, own, trees
):  # fmt: skip
    """Every side takes the next output until there is none left; False if stopped."""
    count = min(sides.shape[0], team[SIZE])
    if rank == 0:
        _form_sides(team, sides, count)
    if not meet(team):
        return False
    s, t = rank % count, rank // count
    side, desk, m = sides[s], memory[LISTS][s, DESK], memory
    mine = m[0][s], m[1][s], m[2][s], m[3][s], m[4][s], m[5][s], m[6][s], m[7][s], m[8][s], m[9][s]
    of_thread = own[0][rank], own[1][rank], own[2][rank]
    while True:
        if t == 0:
            desk[OUTPUT] = take(team)
        if not meet(side):
            return False
        k = desk[OUTPUT]
        if k >= seeds.shape[0]:
            return meet(team)
        if not _one_output(
            side, t, k, what, general, table, members, coding, rules, used, given, seeds, target, mine, of_thread, trees
        ):
            return False


@lean_kernel
def boost_round(
    team, rank, what, general, several, sides, table, members, coding, rules, used, given, seeds, target, memory, own,
    trees,
):  # fmt: skip
    """One round, or what of it ``what`` asks for.

    ``general`` as in ``books.py``; ``several`` is None unless the loss is of several classes. ``table`` = (words of
    codes, a row for each column, first column of each group); ``members`` of groups that may meet on a path; ``coding``
    and ``rules`` as in ``histogram.py`` and ``books.py``; ``used`` flags columns, ``given`` are the rows to grow on,
    ascending; a seed for each output. ``target`` = (code of the loss, y, weights, raw predictions, gradient, curvature,
    loss of every block of rows). ``memory`` of every side, ``own`` of every thread and ``trees`` of every output are
    written to.
    """
    code, y, weights, raw, gradient, hessian, parts = target
    if what & GROW:
        if not _grow_all(
            team, rank, what, general, sides, table, members, coding, rules, used, given, seeds, target, memory, own,
            trees,
        ):  # fmt: skip
            return
    elif what & ADD:
        add_values(team, rank, memory[LINES][0, LEAF_OF], trees[4][0], raw[0])
        if not meet(team):
            return
    if what & DERIVE:
        derivatives(team, rank, code, several, y, raw, weights, gradient, hessian, parts)
