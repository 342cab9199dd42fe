"""Histograms of gradients over bins, and the partition of rows by a split.

A row's gradient, curvature and count are whole numbers packed into one 64-bit integer, so that a cell of X costs one
addition, and so that sums are exact: their order, hence the number of threads, cannot change a tree. From the low end
the fields are count, curvature, gradient (signed). They cannot overflow within ``chunk`` rows, after which they are
unpacked into three wide sums.
"""

from __future__ import annotations

import numpy as np

from corollary._compiled._jit import inner_kernel, lean_kernel, prefetch
from corollary._compiled.mixing import GOLDEN, stir, unit

_AHEAD = 24  # rows between asking for a row's bytes and using them


@lean_kernel
def pack_rows(start, gradient, hessian, scales, shifts, dither, seed, packed):
    """packed[i] = gradient · scale, hessian · scale and 1, as whole numbers in their fields.

    With ``dither`` a number is rounded up as often as its fraction says, so that sums of many are right on average
    however coarse the scale; else it is rounded to the nearest.
    """
    for i in range(gradient.shape[0]):
        g, h = gradient[i] * scales[0], hessian[i] * scales[1]
        if dither:
            u = unit(stir(np.uint64(start + i) * GOLDEN + np.uint64(seed)))
            g, h = np.floor(g + u), np.floor(h + u)
        else:
            g, h = np.rint(g), np.rint(h)
        packed[i] = (np.int64(g) << shifts[1]) + (np.int64(h) << shifts[0]) + 1


@inner_kernel
def _unpack(narrow, shifts, wide):
    """Add the fields of ``narrow`` to the three rows of ``wide`` and clear it."""
    hessian_shift, gradient_shift = shifts
    count_mask = (np.int64(1) << hessian_shift) - 1
    hessian_mask = (np.int64(1) << (gradient_shift - hessian_shift)) - 1
    for j in range(narrow.shape[0]):
        s = narrow[j]
        wide[0, j] += s >> gradient_shift
        wide[1, j] += (s >> hessian_shift) & hessian_mask
        wide[2, j] += s & count_mask
        narrow[j] = 0


@inner_kernel
def _ask_for(row, codes, packed):
    """Have a row's codes, which may straddle two cache lines, and its packed gradient on their way."""
    row_bytes = codes.shape[1] * codes.itemsize
    prefetch(codes, row * row_bytes)
    prefetch(codes, row * row_bytes + row_bytes - 1)
    prefetch(packed, row * 8)


@inner_kernel
def _add_rows(codes, rows, start, stop, packed, width, narrow):
    """narrow[column · width + code] += packed, for every column of each row; two rows at a time keep the core busy."""
    n_columns, stride = np.uintp(codes.shape[1]), np.uintp(width)
    for k in range(start, stop - 1, 2):
        _ask_for(np.int64(rows[min(k + _AHEAD, stop - 1)]), codes, packed)
        _ask_for(np.int64(rows[min(k + _AHEAD + 1, stop - 1)]), codes, packed)
        one, two = np.uintp(rows[k]), np.uintp(rows[k + 1])
        first, second, p, q = codes[one], codes[two], packed[one], packed[two]
        base = np.uintp(0)
        for f in range(n_columns):
            narrow[base + np.uintp(first[f])] += p
            narrow[base + np.uintp(second[f])] += q
            base += stride
    if (stop - start) % 2 == 1:
        last = np.uintp(rows[stop - 1])
        base = np.uintp(0)
        for f in range(n_columns):
            narrow[base + np.uintp(codes[last, f])] += packed[last]
            base += stride


@lean_kernel
def add_histogram(codes, rows, start, stop, packed, width, chunk, shifts, narrow, wide):
    """Add rows[start:stop] to ``wide`` (3, columns · width); ``narrow`` is scratch, zero before and after."""
    for first in range(start, stop, chunk):
        _add_rows(codes, rows, first, min(first + chunk, stop), packed, width, narrow)
        _unpack(narrow, shifts, wide)


@lean_kernel
def add_histogram_of(columns, codes, rows, start, stop, packed, width, chunk, shifts, narrow, wide):
    """As ``add_histogram``, for some of the columns only."""
    row_bytes = codes.shape[1] * codes.itemsize
    for first in range(start, stop, chunk):
        for k in range(first, min(first + chunk, stop)):
            prefetch(codes, np.int64(rows[min(k + _AHEAD, stop - 1)]) * row_bytes)
            r = np.uintp(rows[k])
            p = packed[r]
            row = codes[r]
            for j in range(columns.shape[0]):
                narrow[np.uintp(columns[j] * width) + np.uintp(row[np.uintp(columns[j])])] += p
        _unpack(narrow, shifts, wide)


@lean_kernel
def partition(codes, rows, buffer, start, stop, feature, goes_left):
    """Reorder rows[start:stop], those whose bin ``goes_left`` first, keeping order; returns how many these are.

    Both sides are written at every row and only one position advances, so there is no branch to predict.
    """
    column = np.uintp(feature)
    row_bytes, offset = codes.shape[1] * codes.itemsize, feature * codes.itemsize
    w, b = start, 0
    for k in range(start, stop):
        prefetch(codes, np.int64(rows[min(k + _AHEAD, stop - 1)]) * row_bytes + offset)
        r = rows[k]
        left = np.int64(goes_left[np.uintp(codes[np.uintp(r), column])])  # flags of any width: NumPy would wrap sums
        rows[w] = r
        buffer[b] = r
        w += left
        b += 1 - left
    for k in range(b):
        rows[w + k] = buffer[k]
    return w - start


@lean_kernel
def leaf_sums(rows, starts, stops, gradient, hessian, gradient_scale, hessian_scale, out):
    """out[0, j], out[1, j] += gradients and curvatures of leaf j's rows, as scaled whole numbers."""
    for j in range(starts.shape[0]):
        g, h = np.int64(0), np.int64(0)
        for k in range(starts[j], stops[j]):
            ahead = np.int64(rows[min(k + _AHEAD, stops[j] - 1)]) * 8
            prefetch(gradient, ahead)
            prefetch(hessian, ahead)
            r = np.uintp(rows[k])
            g += np.int64(gradient[r] * gradient_scale)
            h += np.int64(hessian[r] * hessian_scale)
        out[0, j] += g
        out[1, j] += h


@lean_kernel
def add_to_leaves(rows, starts, stops, values, raw):
    """raw[r] += values[j] for the rows r of every leaf j."""
    for j in range(starts.shape[0]):
        v = values[j]
        for k in range(starts[j], stops[j]):
            raw[np.uintp(rows[k])] += v


@lean_kernel
def walk_codes(codes, feature, left, goes_left, value, raw):
    """raw[i] += value of the leaf that row i of ``codes`` reaches; goes_left[node, code] is 1 or 0."""
    for i in range(codes.shape[0]):
        node = 0
        while feature[node] >= 0:
            node = left[node] + 1 - goes_left[node, codes[i, feature[node]]]
        raw[i] += value[node]
