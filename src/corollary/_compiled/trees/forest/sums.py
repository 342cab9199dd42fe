"""Sums over the rows and the bins of a node, and how pure they make it."""

from __future__ import annotations

import math

import numpy as np

from corollary._compiled._jit import inner_kernel, lowest_bit
from corollary._compiled.trees.deviance import deviance
from corollary._compiled.trees.forest.layout import (
    BEST,
    CUT,
    FEATURE,
    FOUND,
    HIGH,
    LOW,
    MASS_SHIFT,
    MISSING_LEFT,
    NEXT,
    POISSON,
    SQUARES,
    SUM_SHIFT,
    TOTALS,
)

_ONE = np.uint64(1)


@inner_kernel
def unpacked(packed, rules):
    """Sum, mass and number of rows of a packed total."""
    mass_shift, sum_shift = np.int64(rules[MASS_SHIFT]), np.int64(rules[SUM_SHIFT])
    mass = (packed >> mass_shift) & ((np.int64(1) << (sum_shift - mass_shift)) - 1)
    return float(packed >> sum_shift), float(mass), float(packed & ((np.int64(1) << mass_shift) - 1))


@inner_kernel
def unpack(packed, rules, out, at):
    """Write sum, mass and number of rows of a packed total to row ``at``."""
    out[at, 0], out[at, 1], out[at, 2] = unpacked(packed, rules)


@inner_kernel
def mark(codes, rows, start, stop, seen):
    """Set the bits of the bins that occur; returns whether there are two."""
    first, differ = np.uint64(codes[np.uintp(rows[start])]), np.uint64(0)
    for k in range(start, stop):
        c = np.uint64(codes[np.uintp(rows[k])])
        seen[c >> np.uint64(6)] |= _ONE << (c & np.uint64(63))
        differ |= c ^ first
    return differ != np.uint64(0)


@inner_kernel
def gather(codes, rows, packed, votes, sums, start, stop, rules, scratch):
    """Sums of each bin that occurs among the rows start … stop, ascending; returns how many there are.

    They are written after the sums of all bins, which are cleared again.
    """
    seen, narrow, real = scratch.seen, scratch.narrow, scratch.real
    width, last = narrow.shape[0] - 2, real.shape[1] - 2
    if not mark(codes, rows, start, stop, seen):
        seen[np.uint64(codes[np.uintp(rows[start])]) >> np.uint64(6)] = np.uint64(0)
        return 1
    if packed is not None:
        for k in range(start, stop):
            r = np.uintp(rows[k])
            narrow[np.uintp(codes[r])] += packed[r]
    if votes is not None:
        label, mass = votes
        for k in range(start, stop):
            r = np.uintp(rows[k])
            b = np.uintp(codes[r])
            for o in range(label.shape[1]):
                real[b, np.uintp(label[r, o])] += mass[r]
            real[b, last - 1] += mass[r]
            real[b, last] += 1.0
    if sums is not None:
        for k in range(start, stop):
            r = np.uintp(rows[k])
            b = np.uintp(codes[r])
            for j in range(last):
                real[b, j] += sums[r, j]
            real[b, last] += 1.0
    q = 0
    for word in range(seen.shape[0] - 1):
        bits = seen[word]
        seen[word] = np.uint64(0)
        while bits != np.uint64(0):
            at = np.uintp((word << 6) + lowest_bit(bits))
            bits &= bits - _ONE
            scratch.whole[FOUND, q] = at
            if packed is not None:
                unpack(narrow[at], rules, real, width + q)
                narrow[at] = 0
            else:
                for j in range(last + 1):
                    real[width + q, j] = real[at, j]
                    real[at, j] = 0.0
            q += 1
    return q


@inner_kernel
def add_up(rows, packed, votes, sums, start, stop, rules, real, at):
    """Sums, mass and number of the rows start … stop into node ``at``."""
    mass = real.shape[1] - 2
    for j in range(TOTALS, mass + 2):
        real[at, j] = 0.0
    if packed is not None:
        total = np.int64(0)
        for k in range(start, stop):
            total += packed[np.uintp(rows[k])]
        unpack(total, rules, real[:, TOTALS:], at)
    if votes is not None:
        for k in range(start, stop):
            r = np.uintp(rows[k])
            for o in range(votes[0].shape[1]):
                real[at, TOTALS + votes[0][r, o]] += votes[1][r]
            real[at, mass] += votes[1][r]
    if sums is not None:
        for k in range(start, stop):
            r = np.uintp(rows[k])
            for j in range(TOTALS, mass + 1):
                real[at, j] += sums[r, j - TOTALS]
    real[at, mass + 1] = float(stop - start)


@inner_kernel
def side_score(side, node, rest, criterion):
    """Purity of the side with sums ``side``, or of the ``rest`` of the node."""
    c = node.shape[0] - TOTALS - 2
    w = node[TOTALS + c] - side[c] if rest else side[c]
    out = 0.0
    for j in range(c):
        s = node[TOTALS + j] - side[j] if rest else side[j]
        if criterion == SQUARES:
            out += s * s
        elif criterion == POISSON:
            # a mean of zero has no likelihood
            out += deviance(s, w, 1.0) if s + w > 0.0 else -np.inf
        else:
            if s > 0.0:
                out += s * math.log(s / w)
            if c == 1 and s < w:
                out += (w - s) * math.log((w - s) / w)
    return out / w if criterion == SQUARES else out


@inner_kernel
def own_score(node, votes, criterion, general):
    """Purity of a node that is not split."""
    if general is None and votes is None:
        return node[TOTALS] * node[TOTALS] / node[TOTALS + 1]
    else:
        return side_score(node[TOTALS:], node, False, criterion)


@inner_kernel
def allowed(left, node, direction):
    """Whether the means of both sides lie within the node's limits and in the required order."""
    a = left[0] / left[1]
    b = (node[TOTALS] - left[0]) / (node[TOTALS + 1] - left[1])
    return (b - a) * direction >= 0.0 and node[LOW] <= min(a, b) and max(a, b) <= node[HIGH]


@inner_kernel
def write_cut(f, k, known, n_bins, side, node, out, scratch):
    """Note the cut after the k-th of ``known`` bins that occur; ``side`` of missing values is −1 if there are none."""
    whole, mass = scratch.whole, node.shape[0] - 2
    out[FEATURE], out[CUT], out[NEXT] = f, n_bins - 1, 0
    if k + 1 < known:
        out[CUT], out[NEXT] = whole[FOUND, k], whole[FOUND, k + 1]
    out[MISSING_LEFT] = side if side >= 0 else 2.0 * scratch.real[BEST, mass - TOTALS] > node[mass]
