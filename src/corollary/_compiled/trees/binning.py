"""Replace numbers by the number of the bin they fall into."""

from __future__ import annotations

import numpy as np

from corollary._compiled._jit import inner_kernel, lean_kernel


@inner_kernel
def _middle(low, high):
    """A number m with low <= m < high, half-way where that is representable."""
    middle = 0.5 * low + 0.5 * high
    return middle if low <= middle < high else low


@lean_kernel
def bin_edges(values, weights, max_bins, edges):
    """Fill ``edges`` with upper limits of at most ``max_bins`` bins of about equal weight; returns how many.

    ``values`` ascend and have no NaN. A value that alone has the weight of a bin gets a bin of its own, and the rest
    is shared out again, so ties cost no resolution elsewhere. With few distinct values each gets its own bin.
    """
    n, distinct, total = values.shape[0], 0, 0.0
    for i in range(n):
        total += weights[i]
        if i == 0 or values[i] != values[i - 1]:
            distinct += 1
    found, i, left_bins, in_bin = 0, 0, max_bins, 0.0
    target = total / max_bins
    while i < n:
        run, j = 0.0, i
        while j < n and values[j] == values[i]:
            run += weights[j]
            j += 1
        if j == n:
            break
        if distinct <= max_bins:
            close = True
        else:
            in_bin += run
            next_run, k = 0.0, j
            while k < n and values[k] == values[j] and next_run < target:
                next_run += weights[k]
                k += 1
            close = in_bin >= target or (next_run >= target and in_bin >= 0.5 * target)
        if close and found < max_bins - 1:
            edges[found] = _middle(values[i], values[j])
            found += 1
            total -= in_bin
            left_bins -= 1
            in_bin = 0.0
            target = total / max(left_bins, 1)
        i = j
    return found


@inner_kernel
def _below(x, row, bits):
    """How many of the edges lie below x, by halving without branches."""
    position = np.uintp(0)
    for s in range(bits - 1, -1, -1):
        u = np.uintp(s)
        position += np.uintp(row[position + (np.uintp(1) << u) - np.uintp(1)] < x) << u
    return position


@inner_kernel
def _bits_for(length):
    """The logarithm of a power of two."""
    bits = 0
    while (1 << bits) < length:
        bits += 1
    return bits


@inner_kernel
def _below_four(x0, x1, x2, x3, row, bits):
    """``_below`` of four numbers at once: each waits for memory most of the time, so they cost little more than one."""
    p0, p1, p2, p3 = np.uintp(0), np.uintp(0), np.uintp(0), np.uintp(0)
    for s in range(bits - 1, -1, -1):
        u = np.uintp(s)
        half = (np.uintp(1) << u) - np.uintp(1)
        p0 += np.uintp(row[p0 + half] < x0) << u
        p1 += np.uintp(row[p1 + half] < x1) << u
        p2 += np.uintp(row[p2 + half] < x2) << u
        p3 += np.uintp(row[p3 + half] < x3) << u
    return p0, p1, p2, p3


@inner_kernel
def _bin_numbers(column, row, bits, missing, out):
    """out[i] = the bin of column[i], ``missing`` of NaN."""
    whole = column.shape[0] - column.shape[0] % 4
    for i in range(0, whole, 4):
        x0, x1, x2, x3 = column[i], column[i + 1], column[i + 2], column[i + 3]
        p0, p1, p2, p3 = _below_four(x0, x1, x2, x3, row, bits)
        out[i] = p0 if x0 == x0 else missing
        out[i + 1] = p1 if x1 == x1 else missing
        out[i + 2] = p2 if x2 == x2 else missing
        out[i + 3] = p3 if x3 == x3 else missing
    for i in range(whole, column.shape[0]):
        x = column[i]
        out[i] = _below(x, row, bits) if x == x else missing


@lean_kernel
def bin_block(block, edges, n_bins, categorical, out):
    """out[f, i] = bin of block[f, i]; rows of ``edges`` are padded with +inf to a power of two.

    The bin is the number of edges below the value. Missing values, and category codes that were not seen, get the bin
    after the last.
    """
    bits = _bits_for(edges.shape[1])
    for f in range(block.shape[0]):
        missing = n_bins[f]
        if categorical[f]:
            for i in range(block.shape[1]):
                x = block[f, i]
                out[f, i] = np.int64(x) if 0.0 <= x < missing else missing
        else:
            _bin_numbers(block[f], edges[f], bits, missing, out[f])


@inner_kernel
def _bin_into(column, row, bits, missing, shift, out):
    """As ``_bin_numbers``, for bits of words that are zero so far."""
    whole = column.shape[0] - column.shape[0] % 4
    for i in range(0, whole, 4):
        x0, x1, x2, x3 = column[i], column[i + 1], column[i + 2], column[i + 3]
        p0, p1, p2, p3 = _below_four(x0, x1, x2, x3, row, bits)
        out[i] |= (np.uint64(p0) if x0 == x0 else missing) << shift
        out[i + 1] |= (np.uint64(p1) if x1 == x1 else missing) << shift
        out[i + 2] |= (np.uint64(p2) if x2 == x2 else missing) << shift
        out[i + 3] |= (np.uint64(p3) if x3 == x3 else missing) << shift
    for i in range(whole, column.shape[0]):
        x = column[i]
        out[i] |= (np.uint64(_below(x, row, bits)) if x == x else missing) << shift


@lean_kernel
def bin_words(block, edges, n_bins, categorical, groups, step, words):
    """As ``bin_block``, with the bins of the columns of a group in words of 64 bits, the first in the lowest bits."""
    bits = _bits_for(edges.shape[1])
    for c in range(words.shape[0]):
        for f in range(groups[c], groups[c + 1]):
            missing, shift, out = np.uint64(n_bins[f]), np.uint64(f - groups[c]) * step, words[c]
            if categorical[f]:
                for i in range(block.shape[1]):
                    x = block[f, i]
                    out[i] |= (np.uint64(x) if 0.0 <= x < n_bins[f] else missing) << shift
            else:
                _bin_into(block[f], edges[f], bits, missing, shift, out)
