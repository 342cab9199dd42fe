"""Histograms of gradients over bins.

A row's gradient, curvature and count are whole numbers packed into one 64-bit integer, so that a cell of X costs one
addition, and so that sums are exact: their order, hence the number of threads, cannot change a tree. From the low end
the fields are count, curvature, gradient (signed). They cannot overflow within ``chunk`` rows, after which they are
added to two wide sums: one of gradients, one of curvatures and counts, which have fewer bits.

The codes of up to eight columns (four of two bytes) lie side by side in one word of 64 bits; these columns are a group.
The sums of a group while it is counted, 8 × 256 × 8 bytes, fit into the first-level cache.
"""

from __future__ import annotations

import numpy as np

from corollary._compiled._jit import inner_kernel, prefetch
from corollary._compiled.mixing import GOLDEN, stir, unit

AHEAD = 24  # rows between asking for a row's bytes and using them
G_SHIFT, H_SHIFT, COUNT_BITS, CHUNK, DITHER, STEP, WIDTH = 0, 1, 2, 3, 4, 5, 6  # the coding: where fields are
BINS, MONOTONE, CATEGORICAL_COLUMN, GROUP, PLACE = 0, 1, 2, 3, 4  # of a column; its place within its group


@inner_kernel
def pack_rows(start, gradient, hessian, g_scale, h_scale, coding, seed, packed):
    """packed[i] = gradient · scale, hessian · scale and 1, as whole numbers in their fields.

    With a dither a number is rounded up as often as its fraction says, so that sums of many are right on average
    however coarse the scale; else it is rounded to the nearest.
    """
    g_shift, h_shift = coding[G_SHIFT], coding[H_SHIFT]
    if coding[DITHER]:
        for i in range(gradient.shape[0]):
            u = unit(stir(np.uint64(start + i) * GOLDEN + seed))
            g, h = np.floor(gradient[i] * g_scale + u), np.floor(hessian[i] * h_scale + u)
            packed[i] = (np.int64(g) << g_shift) + (np.int64(h) << h_shift) + 1
    else:
        for i in range(gradient.shape[0]):
            g, h = np.rint(gradient[i] * g_scale), np.rint(hessian[i] * h_scale)
            packed[i] = (np.int64(g) << g_shift) + (np.int64(h) << h_shift) + 1


@inner_kernel
def _add_rows(words, rows, packed, n_columns, step, width, narrow):
    """narrow[column · width + code] += packed, for every column of a group; written out, which is half as fast again.

    Columns that a group lacks among the first four have code 0; what is added there is taken away in the end.
    """
    n, s, h = rows.shape[0], np.uint64(width), np.uint64(step)
    mask, s2, s3, s4 = (np.uint64(1) << h) - np.uint64(1), s + s, s + s + s, s + s + s + s
    for k in range(n):
        ahead = np.int64(rows[min(k + AHEAD, n - 1)]) * 8
        prefetch(words, ahead)
        prefetch(packed, ahead)
        w, p = words[np.uintp(rows[k])], packed[np.uintp(rows[k])]
        w1 = w >> h
        w2 = w1 >> h
        w3 = w2 >> h
        narrow[w & mask] += p
        narrow[s + (w1 & mask)] += p
        narrow[s2 + (w2 & mask)] += p
        narrow[s3 + (w3 & mask)] += p
        if n_columns > 4:
            w4 = w3 >> h
            w5 = w4 >> h
            w6 = w5 >> h
            narrow[s4 + (w4 & mask)] += p
            if n_columns > 5:
                narrow[s4 + s + (w5 & mask)] += p
            if n_columns > 6:
                narrow[s4 + s2 + (w6 & mask)] += p
            if n_columns > 7:
                narrow[s4 + s3 + ((w6 >> h) & mask)] += p
    for j in range(n_columns, 4):
        narrow[j * width] = 0


@inner_kernel
def _unpack(narrow, coding, bins, again, gs, boths):
    """Write, or add ``again``, the fields of a column's sums to wide ones, and clear it."""
    g_shift, h_shift, bits = coding[G_SHIFT], coding[H_SHIFT], coding[COUNT_BITS]
    count_mask = (np.int64(1) << h_shift) - 1
    h_mask = (np.int64(1) << (g_shift - h_shift)) - 1
    if again:
        for b in range(bins):
            s = narrow[b]
            gs[b] += s >> g_shift
            boths[b] += (((s >> h_shift) & h_mask) << bits) + (s & count_mask)
            narrow[b] = 0
    else:
        for b in range(bins):
            s = narrow[b]
            gs[b] = s >> g_shift
            boths[b] = (((s >> h_shift) & h_mask) << bits) + (s & count_mask)
            narrow[b] = 0


@inner_kernel
def count_rows(table, coding, used, rows, packed, first_group, end_group, narrow, wide):
    """The histograms of some groups of columns over ``rows`` into ``wide``; ``narrow`` is zero before and after."""
    words, layout, groups = table
    chunk, step, width = coding[CHUNK], coding[STEP], coding[WIDTH]
    for c in range(first_group, end_group):
        start, end = groups[c], groups[c + 1]
        wanted = 0
        for f in range(start, end):
            wanted += used[f]
        for first in range(0, max(1, rows.shape[0]) if wanted else 0, chunk):
            part = rows[first : min(first + chunk, rows.shape[0])]
            _add_rows(words[c], part, packed, end - start, step, width, narrow)
            for f in range(start, end):
                place, base, bins = (f - start) * width, f * width, layout[f, BINS] + 1
                gs, boths = wide[0, base : base + bins], wide[1, base : base + bins]
                _unpack(narrow[place : place + bins], coding, bins, first > 0, gs, boths)


@inner_kernel
def settle(layers, count, f, width, bins, counted, rest, apart):
    """Column f of a histogram: add up ``count`` layers if there are several; take it away from the ``rest``."""
    for k in range(2):
        to = counted[k, f * width : f * width + bins]
        if count > 1:
            for b in range(bins):
                to[b] = layers[0, k, f * width + b]
            for u in range(1, count):
                part = layers[u, k, f * width : f * width + bins]
                for b in range(bins):
                    to[b] += part[b]
        if apart:
            other = rest[k, f * width : f * width + bins]
            for b in range(bins):
                other[b] -= to[b]
