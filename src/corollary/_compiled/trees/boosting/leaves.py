"""What the leaves of a tree answer, and the tree added to the raw predictions of all rows.

A leaf takes the Newton step of its rows, from sums of whole numbers that no order of threads can change. Rows are told
their leaf once; after that all passes go through the rows as they lie in memory.
"""

from __future__ import annotations

import math

import numpy as np

from corollary._compiled._jit import inner_kernel
from corollary._compiled.team import SIZE, meet, share
from corollary._compiled.trees.boosting.books import (
    CAP,
    G_SCALE,
    H_SCALE,
    HIGH,
    L1,
    L2,
    LEFT,
    LOW,
    RATE,
    START,
    STOP,
    G,
    H,
    goes_left,
)
from corollary._compiled.trees.boosting.histogram import BINS, GROUP, PLACE, STEP
from corollary._compiled.trees.boosting.split import FEATURE, leaf_value

_FIXED_BITS = 61  # sums of leaves are whole numbers of this many bits
_MOST_EXPONENT = 1000


@inner_kernel
def find_leaves(team, rank, whole, n_nodes, rows, n, leaf_of):
    """leaf_of[r] = the leaf of every row that the tree was grown on."""
    first, end = share(team, rank, n)
    for i in range(n_nodes):
        if whole[i, LEFT] < 0:
            for k in range(max(first, whole[i, START]), min(end, whole[i, STOP])):
                leaf_of[np.uintp(rows[k])] = i


@inner_kernel
def walk_to_leaves(team, rank, table, coding, tree, leaf_of):
    """leaf_of[r] = the leaf of every row, by its codes."""
    words, layout, _ = table
    whole, _, splits, sets = tree
    mask = (np.uint64(1) << np.uint64(coding[STEP])) - np.uint64(1)
    first, end = share(team, rank, leaf_of.shape[0])
    for r in range(first, end):
        node = 0
        while whole[node, LEFT] >= 0:
            f = np.int64(splits[node, FEATURE])
            code = np.int64((words[layout[f, GROUP], r] >> np.uint64(layout[f, PLACE] * coding[STEP])) & mask)
            node = whole[node, LEFT] + 1 - goes_left(splits[node], sets[node], layout[f, BINS], code)
        leaf_of[r] = node


@inner_kernel
def scale_of(largest, n):
    """The power of two that makes whole numbers, of as many bits as sums of n have room for, of numbers so large."""
    bits = _FIXED_BITS - max(1, math.ceil(math.log2(n + 1.0)))
    exponent = min(max(math.frexp(largest)[1], -_MOST_EXPONENT), _MOST_EXPONENT) if largest > 0.0 else 0
    return math.ldexp(math.ldexp(1.0, -exponent), bits)


@inner_kernel
def _sum_leaves(team, rank, gradient, hessian, units, given, leaf_of, n_nodes, part):
    """part[0, i], part[1, i] = gradients and curvatures of leaf i in this thread's rows, as scaled whole numbers."""
    g_scale, h_scale = units[G_SCALE], units[H_SCALE]
    for i in range(n_nodes):
        part[0, i] = part[1, i] = 0
    first, end = share(team, rank, given.shape[0])
    for k in range(first, end):
        r = np.uintp(given[k])
        i = np.uintp(leaf_of[r])
        part[0, i] += np.int64(gradient[r] * g_scale)
        part[1, i] += np.int64(hessian[r] * h_scale)


@inner_kernel
def _step(g, h, rules, low, high):
    """Newton's step times the learning rate, no longer than what surely lowers the loss.

    Where |ℓ‴| ≤ ℓ″, a step s lowers the loss of a leaf by at least |g| s − h (eˢ − s − 1), which is greatest at
    s = log(1 + |g| / h). Usual steps are far shorter; in a leaf of rows that are nearly certain, one of them wrong,
    h is so small that Newton's step would be far too long.
    """
    newton = leaf_value(g, h, rules[L1], rules[L2], low, high)
    step = rules[RATE] * newton
    if rules[CAP] > 0.0:
        step = math.copysign(min(abs(step), rules[CAP] * math.log1p(abs(newton))), newton)
    return step


@inner_kernel
def _rounded(value):
    """To 44 bits, so that leaves that should be equal (of classes that mirror each other, say) are equal."""
    mantissa, exponent = math.frexp(value)
    return math.ldexp(np.rint(math.ldexp(mantissa, 44)), exponent - 44)


@inner_kernel
def leaf_values(
    team, rank, gradient, hessian, units, rules, given, leaf_of, n_nodes, whole, sums, parts, values
):  # fmt: skip
    """values[i] = what leaf i adds to raw predictions (inner nodes: what they would); False if stopped."""
    _sum_leaves(team, rank, gradient, hessian, units, given, leaf_of, n_nodes, parts[rank])
    if not meet(team):
        return False
    if rank == 0:
        g_scale, h_scale = units[G_SCALE], units[H_SCALE]
        for i in range(n_nodes):
            g, h = np.int64(0), np.int64(0)
            for u in range(team[SIZE]):
                g += parts[u, 0, i]
                h += parts[u, 1, i]
            if whole[i, LEFT] >= 0:
                values[i] = _step(sums[i, G], sums[i, H], rules, sums[i, LOW], sums[i, HIGH])
            else:
                values[i] = _rounded(_step(g / g_scale, h / h_scale, rules, sums[i, LOW], sums[i, HIGH]))
    return meet(team)


@inner_kernel
def add_values(team, rank, leaf_of, values, raw):
    """raw[r] += the value of the row's leaf."""
    first, end = share(team, rank, raw.shape[0])
    for r in range(first, end):
        raw[r] += values[np.uintp(leaf_of[r])]
