"""The best split of a node from its histogram.

With gradient sum G and curvature sum H, a leaf that predicts v changes the objective by G v + ½ (H + λ) v² + α |v|, and
costs γ for being a leaf. Its best v is −S(G, α) / (H + λ) with S the soft threshold, which gains ½ S(G, α)² / (H + λ).
"""

from __future__ import annotations

import numpy as np

from corollary._compiled._jit import inner_kernel, lean_kernel

# positions in a split record
GAIN, FEATURE, BIN, MISSING_LEFT, LEFT_G, LEFT_H, LEFT_COUNT, CATEGORICAL = 0, 1, 2, 3, 4, 5, 6, 7
RECORD = 8

TIE = 1.0 + 1e-6  # gains closer than the rounding of gradients are equal, and of equal splits the first wins


@lean_kernel
def leaf_value(g, h, l1, l2, low, high):
    """The best value of a leaf within [low, high]; 0 where the curvature vanishes."""
    s = max(abs(g) - l1, 0.0)
    if s == 0.0 or h + l2 <= 0.0:
        return min(max(0.0, low), high)
    v = s / (h + l2)
    return min(max(v if g < 0.0 else -v, low), high)


@inner_kernel
def _gain(g, h, l1, l2):
    """What the best value of a leaf gains."""
    s = max(abs(g) - l1, 0.0)
    return 0.5 * s * s / (h + l2) if h + l2 > 0.0 else 0.0


@inner_kernel
def _gain_at(g, h, l1, l2, v):
    return -(g * v + 0.5 * (h + l2) * v * v + l1 * abs(v))


@inner_kernel
def _pair(gl, hl, gr, hr, l1, l2, monotone, low, high):
    """Gain of both children together; −inf when the split would break the required direction."""
    if monotone == 0 and low == -np.inf and high == np.inf:
        return _gain(gl, hl, l1, l2) + _gain(gr, hr, l1, l2)
    vl, vr = leaf_value(gl, hl, l1, l2, low, high), leaf_value(gr, hr, l1, l2, low, high)
    if (vr - vl) * monotone < 0.0:
        return -np.inf
    return _gain_at(gl, hl, l1, l2, vl) + _gain_at(gr, hr, l1, l2, vr)


@inner_kernel
def _scan_numeric(wide, base, n_bins, with_missing, missing_left, sums, limits, monotone, low, high, best, feature):
    """Try every threshold of one column, with its missing values on one side; improves ``best`` in place."""
    g_unit, h_unit, g, h, count = sums
    l1, l2, min_rows, min_hessian, _smooth = limits
    lg, lh, lc = np.int64(0), np.int64(0), np.int64(0)
    if missing_left:
        lg, lh, lc = wide[0, base + n_bins], wide[1, base + n_bins], wide[2, base + n_bins]
    free = monotone == 0 and low == -np.inf and high == np.inf and l1 == 0.0
    last = n_bins if with_missing and not missing_left else n_bins - 1
    for b in range(last):
        c = wide[2, base + b]
        if c == 0:
            continue  # the same rows on each side as before
        lg += wide[0, base + b]
        lh += wide[1, base + b]
        lc += c
        if lc < min_rows:
            continue
        if count - lc < min_rows:
            break
        gl, hl = lg * g_unit, lh * h_unit
        gr, hr = g - gl, h - hl
        if hl < min_hessian or hr < min_hessian:
            continue
        if free:  # compare before dividing: few thresholds are better than the best so far
            down, up = hl + l2, hr + l2
            if not 0.5 * (gl * gl * up + gr * gr * down) > best[GAIN] * TIE * (down * up):
                continue
            gain = 0.5 * (gl * gl / down + gr * gr / up)
        else:
            gain = _pair(gl, hl, gr, hr, l1, l2, monotone, low, high)
        if gain > best[GAIN] * TIE:
            best[GAIN], best[FEATURE], best[BIN] = gain, feature, b
            best[MISSING_LEFT] = 1.0 if missing_left else 0.0
            best[LEFT_G], best[LEFT_H], best[LEFT_COUNT], best[CATEGORICAL] = gl, hl, lc, 0.0


@lean_kernel
def scan_categories(wide, base, codes, sums, limits, low, high, best, feature):
    """Split the order ``codes`` of one column's categories in two; returns the last position on the left, or −1.

    In the order of G/H the best of all subsets is among these, for a smooth objective. Improves ``best`` in place.
    """
    g_unit, h_unit, g, h, count = sums
    l1, l2, min_rows, min_hessian, smooth = limits
    lg, lh, lc = np.int64(0), np.int64(0), np.int64(0)
    cut = -1
    for k in range(codes.shape[0] - 1):
        b = base + codes[k]
        lg += wide[0, b]
        lh += wide[1, b]
        lc += wide[2, b]
        gl, hl = lg * g_unit, lh * h_unit
        gr, hr = g - gl, h - hl
        if lc < min_rows or count - lc < min_rows or hl < min_hessian or hr < min_hessian:
            continue
        gain = _pair(gl, hl, gr, hr, l1, l2 + smooth, 0, low, high)
        if gain > best[GAIN] * TIE:
            cut = k
            best[GAIN], best[FEATURE], best[BIN], best[CATEGORICAL] = gain, feature, 0.0, 1.0
            best[LEFT_G], best[LEFT_H], best[LEFT_COUNT] = gl, hl, lc
    return cut


@lean_kernel
def best_split(wide, width, n_bins, monotone, columns, sums, limits, low, high, best):
    """Fill ``best`` with the best split over columns of numbers; returns what the node gains as a leaf.

    ``sums`` are (unit of gradients, unit of curvatures, G, H, count) of the node; ``limits`` are (α, λ, rows per leaf,
    curvature per leaf, smoothing of categories). Gains are those of both children; the first of equal splits wins.
    """
    _, _, g, h, _ = sums
    l1, l2, _, _, _ = limits
    own = _gain_at(g, h, l1, l2, leaf_value(g, h, l1, l2, low, high))
    best[GAIN] = own
    best[FEATURE] = -1.0
    for j in range(columns.shape[0]):
        f = columns[j]
        base = f * width
        with_missing = wide[2, base + n_bins[f]] > 0
        for side in range(2 if with_missing else 1):
            _scan_numeric(wide, base, n_bins[f], with_missing, side == 1, sums, limits, monotone[f], low, high, best, f)
    return own
