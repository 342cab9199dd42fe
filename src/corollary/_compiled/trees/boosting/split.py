"""The best split of one column of a node, from the column's part of the node's histogram.

With gradient sum G and curvature sum H, a leaf that predicts v changes the objective by G v + ½ (H + λ) v² + α |v|, and
costs γ for being a leaf. Its best v is −S(G, α) / (H + λ) with S the soft threshold, which gains ½ S(G, α)² / (H + λ).

``known`` of a node are (unit of gradients, unit of curvatures, G, H, rows, bits of a count); ``limits`` are (α, λ, rows
per leaf, curvature per leaf, smoothing of categories). A histogram's second row has curvature and count in one number.
"""

from __future__ import annotations

import numpy as np

from corollary._compiled._jit import inner_kernel

# positions in a split record; of categories in the order of ``sort_categories``, BIN is the last that goes left
GAIN, FEATURE, BIN, MISSING_LEFT, LEFT_G, LEFT_H, LEFT_COUNT, CATEGORICAL = 0, 1, 2, 3, 4, 5, 6, 7
RECORD = 8

TIE = 1.0 + 1e-6  # gains closer than the rounding of gradients are equal, and of equal splits the first wins


@inner_kernel
def leaf_value(g, h, l1, l2, low, high):
    """The best value of a leaf within [low, high]; 0 where the curvature vanishes."""
    s = max(abs(g) - l1, 0.0)
    if s == 0.0 or h + l2 <= 0.0:
        return min(max(0.0, low), high)
    v = s / (h + l2)
    return min(max(v if g < 0.0 else -v, low), high)


@inner_kernel
def gain_at(g, h, l1, l2, v):
    """What a leaf that predicts v gains."""
    return -(g * v + 0.5 * (h + l2) * v * v + l1 * abs(v))


@inner_kernel
def _pair(gl, hl, gr, hr, l1, l2, monotone, low, high):
    """Gain of both children together; −inf when the split would break the required direction."""
    vl, vr = leaf_value(gl, hl, l1, l2, low, high), leaf_value(gr, hr, l1, l2, low, high)
    if (vr - vl) * monotone < 0.0:
        return -np.inf
    return gain_at(gl, hl, l1, l2, vl) + gain_at(gr, hr, l1, l2, vr)


@inner_kernel
def _note(best, gain, b, lg, lboth, known):
    """Write down a split with these sums on its left."""
    g_unit, h_unit, _, _, _, bits = known
    best[GAIN], best[BIN] = gain, b
    best[LEFT_G], best[LEFT_H] = lg * g_unit, (lboth >> bits) * h_unit
    best[LEFT_COUNT] = lboth & ((np.int64(1) << bits) - 1)


@inner_kernel
def _free_gain(g, h):
    return g * g / h if h > 0.0 else 0.0


@inner_kernel
def _scan_free(gs, boths, last, lg, lboth, known, limits, best):
    """Try the thresholds of one column where nothing binds and α = 0; improves ``best``, says whether it did.

    Gains are compared as fractions of sums as they are counted: the loop does not divide, and no unit is too large.
    """
    g_unit, h_unit, g, h, count, bits = known
    _, l2, min_rows, min_hessian, _ = limits
    mask, g, h = (np.int64(1) << bits) - 1, np.rint(g / g_unit), np.rint(h / h_unit)
    l2, least = l2 / h_unit, min_hessian / h_unit
    top, bottom = 2.0 * best[GAIN] * TIE / g_unit / g_unit * h_unit, 1.0
    found, found_g, found_both = np.int64(-1), np.int64(0), np.int64(0)
    for b in range(last):
        both = boths[b]
        if both & mask == 0:
            continue  # the same rows on each side as before
        lg += gs[b]
        lboth += both
        rows = lboth & mask
        if rows < min_rows:
            continue
        if count - rows < min_rows:
            break
        gl, hl = np.float64(lg), np.float64(lboth >> bits)
        gr, hr = g - gl, h - hl
        if hl < least or hr < least:
            continue
        down, up = hl + l2, hr + l2
        over, under = gl * gl * up + gr * gr * down, down * up
        if under == 0.0:  # without curvature a leaf stays where it is
            over, under = (gl * gl, down) if down > 0.0 else (gr * gr, max(up, 1.0))
        if over * bottom > top * under:
            top, bottom, found, found_g, found_both = over * TIE, under, b, lg, lboth
    if found >= 0:
        gl, hl = np.float64(found_g), np.float64(found_both >> bits)
        gain = _free_gain(gl, hl + l2) + _free_gain(g - gl, h - hl + l2)
        _note(best, 0.5 * gain * g_unit * (g_unit / h_unit), found, found_g, found_both, known)
    return found >= 0


@inner_kernel
def _scan_bound(gs, boths, last, lg, lboth, known, limits, monotone, low, high, best):
    """As ``_scan_free``, with α, limits of values and a direction."""
    g_unit, h_unit, g, h, count, bits = known
    l1, l2, min_rows, min_hessian, _ = limits
    mask = (np.int64(1) << bits) - 1
    improved = False
    for b in range(last):
        lg += gs[b]
        lboth += boths[b]
        rows = lboth & mask
        gl, hl = lg * g_unit, (lboth >> bits) * h_unit
        gr, hr = g - gl, h - hl
        if boths[b] & mask == 0 or min(rows, count - rows) < min_rows or min(hl, hr) < min_hessian:
            continue
        gain = _pair(gl, hl, gr, hr, l1, l2, monotone, low, high)
        if gain > best[GAIN] * TIE:
            _note(best, gain, b, lg, lboth, known)
            improved = True
    return improved


@inner_kernel
def scan_numbers(general, gs, boths, feature, known, limits, monotone, low, high, best):
    """Try every threshold of a column of numbers, with its missing values on either side; improves ``best``.

    Without ``general`` (see ``books.py``) nothing binds.
    """
    missing, bits = gs.shape[0] - 1, known[5]
    with_missing = boths[missing] & ((np.int64(1) << bits) - 1) > 0
    free = general is None or (monotone == 0 and low == -np.inf and high == np.inf and limits[0] == 0.0)
    for side in range(2 if with_missing else 1):
        lg, lboth = np.int64(0), np.int64(0)
        if side == 1:
            lg, lboth = gs[missing], boths[missing]
        last = missing if with_missing and side == 0 else missing - 1
        improved = False
        if free:
            improved = _scan_free(gs, boths, last, lg, lboth, known, limits, best)
        elif general is not None:
            improved = _scan_bound(gs, boths, last, lg, lboth, known, limits, monotone, low, high, best)
        if improved:
            best[FEATURE], best[MISSING_LEFT], best[CATEGORICAL] = feature, side, 0.0


@inner_kernel
def _sift(keys, order, start, end):
    """Let the entry at ``start`` of a heap sink; the largest by key, then code, comes to the top."""
    root = start
    while 2 * root + 1 < end:
        child = 2 * root + 1
        a, b = order[child], order[min(child + 1, end - 1)]
        if keys[b] > keys[a] or (keys[b] == keys[a] and b > a):
            child += 1
        a, b = order[root], order[child]
        if keys[a] > keys[b] or (keys[a] == keys[b] and a > b):
            return
        order[root], order[child] = b, a
        root = child


@inner_kernel
def sort_categories(gs, boths, known, smoothing, keys, order):
    """The codes that rows have, missing among them, in the order of their mean gradient; returns how many.

    Of all subsets of categories the best, for a smooth objective, is the beginning of this order.
    """
    g_unit, h_unit, _, _, _, bits = known
    mask, count = (np.int64(1) << bits) - 1, np.int64(0)
    for b in range(gs.shape[0]):
        if boths[b] & mask > 0:
            keys[b] = gs[b] * g_unit / ((boths[b] >> bits) * h_unit + smoothing)
            order[count] = b
            count += 1
    for start in range(count // 2 - 1, -1, -1):
        _sift(keys, order, np.int64(start), count)
    for end in range(count - 1, 0, -1):
        order[0], order[end] = order[end], order[0]
        _sift(keys, order, np.int64(0), np.int64(end))
    return count


@inner_kernel
def scan_categories(gs, boths, feature, known, limits, low, high, keys, order, best):
    """Split the order of a column's categories in two; improves ``best``."""
    g_unit, h_unit, g, h, n, bits = known
    l1, l2, min_rows, min_hessian, smoothing = limits
    mask = (np.int64(1) << bits) - 1
    count = sort_categories(gs, boths, known, smoothing, keys, order)
    lg, lboth = np.int64(0), np.int64(0)
    for k in range(count - 1):
        lg += gs[order[k]]
        lboth += boths[order[k]]
        rows = lboth & mask
        gl, hl = lg * g_unit, (lboth >> bits) * h_unit
        gr, hr = g - gl, h - hl
        if min(rows, n - rows) < min_rows or min(hl, hr) < min_hessian:
            continue
        gain = _pair(gl, hl, gr, hr, l1, l2 + smoothing, np.int64(0), low, high)
        if gain > best[GAIN] * TIE:
            _note(best, gain, k, lg, lboth, known)
            best[FEATURE], best[CATEGORICAL] = feature, 1.0
