"""Sums over the bins that occur in a node, how pure they make it, and the random numbers of a tree."""

from __future__ import annotations

import math

import numpy as np

from corollary._compiled._jit import kernel
from corollary._compiled.forest_layout import (
    FOUND,
    HIGH,
    LABELS,
    LOW,
    PACKED,
    POISSON,
    SQUARES,
    TOTALS,
)

_GOLDEN, _MIX1, _MIX2 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_ONE = np.uint64(1)
_DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
_BIT = np.zeros(64, dtype=np.int64)  # which bit is set, by the six high bits of its product with the constant above
for _k in range(64):
    _BIT[((0x03F79D71B4CB0A89 << _k) & 0xFFFFFFFFFFFFFFFF) >> 58] = _k


@kernel
def next_bits(state):
    """64 random bits; the last entry of ``state`` counts."""
    last = state.shape[0] - 1
    state[last] += _GOLDEN
    z = state[last]
    z = (z ^ (z >> np.uint64(30))) * _MIX1
    z = (z ^ (z >> np.uint64(27))) * _MIX2
    return z ^ (z >> np.uint64(31))


@kernel
def gather(data, f, start, stop, kind, mass_shift, sum_shift, scratch):
    """Sums of each bin that occurs among the rows start … stop, ascending; returns how many there are.

    They are written after the sums of all bins, which are cleared again.
    """
    rows, codes, packed, values = data.rows[0], data.codes[f], data.packed, data.values
    seen, narrow, real = scratch.seen, scratch.narrow, scratch.real
    n_sums, width, last = real.shape[1] - 3, narrow.shape[0] - 2, real.shape[1] - 2
    for k in range(start, stop):
        c = np.uint64(codes[np.uintp(rows[k])])
        seen[c >> np.uint64(6)] |= _ONE << (c & np.uint64(63))
    c = np.uint64(codes[np.uintp(rows[start])])
    if seen[c >> np.uint64(6)] == _ONE << (c & np.uint64(63)):  # perhaps the only bin
        others = np.uint64(0)
        for word in range(seen.shape[0] - 1):
            others |= seen[word] if word != np.int64(c >> np.uint64(6)) else np.uint64(0)
        if others == np.uint64(0):
            seen[c >> np.uint64(6)] = np.uint64(0)
            return 1
    if kind == PACKED:
        for k in range(start, stop):
            r = np.uintp(rows[k])
            narrow[np.uintp(codes[r])] += packed[r]
    elif kind == LABELS:
        for k in range(start, stop):
            r = np.uintp(rows[k])
            c = np.uintp(codes[r])
            real[c, np.uintp(packed[r])] += values[r, 0]
            real[c, last] += 1.0
    else:
        for k in range(start, stop):
            r = np.uintp(rows[k])
            c = np.uintp(codes[r])
            for j in range(n_sums + 1):
                real[c, j] += values[r, j]
            real[c, last] += 1.0
    row_mask = (np.int64(1) << mass_shift) - 1
    mass_mask = (np.int64(1) << (sum_shift - mass_shift)) - 1
    q = 0
    for word in range(seen.shape[0] - 1):
        bits = seen[word]
        seen[word] = np.uint64(0)
        while bits != np.uint64(0):
            lowest = bits & (~bits + _ONE)
            b = (word << 6) + _BIT[np.uintp((lowest * _DE_BRUIJN) >> np.uint64(58))]
            bits ^= lowest
            scratch.whole[FOUND, q] = b
            if kind == PACKED:
                s = narrow[b]
                narrow[b] = 0
                real[width + q, 0] = float(s >> sum_shift)
                real[width + q, 1] = float((s >> mass_shift) & mass_mask)
                real[width + q, 2] = float(s & row_mask)
            else:
                mass = real[b, n_sums]
                for j in range(last + 1):
                    real[width + q, j] = real[b, j]
                    mass += real[b, j] if kind == LABELS and j < n_sums else 0.0
                    real[b, j] = 0.0
                real[width + q, n_sums] = mass
            q += 1
    return q


@kernel
def side_score(sums, total, rest, criterion):
    """Purity of the side with ``sums``, or of the ``rest`` of ``total``; what follows in a node is not looked at."""
    c = total.shape[0] - 2
    w = total[c] - sums[c] if rest else sums[c]
    out = 0.0
    for j in range(c):
        s = total[j] - sums[j] if rest else sums[j]
        if criterion == SQUARES:
            out += s * s
        elif criterion == POISSON:
            # a mean of zero has no likelihood
            out += (s + w) * math.log1p(s / w) if s + w > 0.0 else -np.inf
        else:
            if s > 0.0:
                out += s * math.log(s / w)
            if c == 1 and s < w:
                out += (w - s) * math.log((w - s) / w)
    return out / w if criterion == SQUARES else out


@kernel
def allowed(left, node, direction):
    """Whether the means of both sides lie within the node's limits and in the required order."""
    a = left[0] / left[1]
    b = (node[TOTALS] - left[0]) / (node[TOTALS + 1] - left[1])
    return (b - a) * direction >= 0.0 and node[LOW] <= min(a, b) and max(a, b) <= node[HIGH]
