"""Coordinate descent on a quadratic model ½ (w − w₀)ᵀH(w − w₀) + gᵀ(w − w₀) + Ω(w), in three layouts.

``gram_epochs`` holds H itself, so a coordinate that does not move costs nothing and one that moves costs O(s).
``dense_epochs`` and ``sparse_epoch`` hold columns of X and the current slope of every row instead, for working sets
too large to square. All leave w and the slope or gradient consistent, and return the largest violation of the
optimality conditions seen in the last epoch.
"""

from __future__ import annotations

import numpy as np

from corollary._compiled._jit import fast_kernel
from corollary._compiled.codes import COUNT, ELASTIC, N_PENALTIES, POSITIVE


@fast_kernel
def _check_penalty(code):
    """Called once by every kernel that takes a penalty from Python, before its loop."""
    if code < 0 or code >= N_PENALTIES:
        raise ValueError("Unknown penalty code: the kernels know those of corollary._compiled.codes.PENALTIES.")


@fast_kernel
def _minimiser(code, z, h, l1, l2):
    """argmin over w of ½ h w² − z w + Ω(w), for one coordinate."""
    if code == COUNT:
        w = z / (h + l2)
        return w if 0.5 * z * w > l1 else 0.0
    if code != ELASTIC and code != POSITIVE:
        return np.nan
    if z > l1:
        return (z - l1) / (h + l2)
    if z < -l1 and code == ELASTIC:
        return (z + l1) / (h + l2)
    return 0.0


@fast_kernel
def gram_epochs(H, gradient, w, code, l1, l2, max_epochs, tol):
    """Cyclic descent with the leading block of a symmetric H; ``gradient`` is g + H (w − w₀) and is kept up to date."""
    _check_penalty(code)
    n = w.shape[0]
    worst = 0.0
    for _ in range(max_epochs):
        worst = 0.0
        for j in range(n):
            h = H[j, j]
            if h + l2 <= 0.0:
                continue
            old = w[j]
            new = _minimiser(code, h * old - gradient[j], h, l1, l2)
            change = new - old
            if change != 0.0:
                w[j] = new
                worst = max(worst, abs(change) * (h + l2))
                row = H[j]
                for k in range(n):
                    gradient[k] += change * row[k]
        if worst <= tol:
            break
    return worst


@fast_kernel
def group_epochs(H, gradient, w, starts, curvature, strength, step, max_epochs, tol):
    """Block descent for ‖·‖₂ penalties: group b is w[starts[b]:starts[b+1]], curvature[b] bounds its Hessian block."""
    n = w.shape[0]
    worst = 0.0
    for _ in range(max_epochs):
        worst = 0.0
        for b in range(curvature.shape[0]):
            lo, hi, L = starts[b], starts[b + 1], curvature[b]
            if L <= 0.0:
                continue
            norm = 0.0
            for j in range(lo, hi):
                step[j] = w[j] - gradient[j] / L
                norm += step[j] * step[j]
            norm = norm**0.5
            shrink = max(0.0, 1.0 - strength[b] / (L * norm)) if norm > 0.0 else 0.0
            # the whole block's step is known before any gradient changes
            for j in range(lo, hi):
                step[j] = shrink * step[j] - w[j]
            for j in range(lo, hi):
                change = step[j]
                if change != 0.0:
                    w[j] += change
                    worst = max(worst, abs(change) * L)
                    row = H[j]
                    for k in range(n):
                        gradient[k] += change * row[k]
        if worst <= tol:
            break
    return worst


@fast_kernel
def dense_epochs(X, curve, slope, w, centre, norms, code, l1, l2, max_epochs, tol):
    """Columns X (n × s, Fortran order) about ``centre``; ``slope`` is the derivative of the model by raw prediction.

    Σ slope = 0 is kept when centre is the curve-weighted mean, so no explicit intercept moves here.
    """
    _check_penalty(code)
    n, s = X.shape
    worst = 0.0
    for _ in range(max_epochs):
        worst = 0.0
        for j in range(s):
            h = norms[j]
            if h + l2 <= 0.0:
                continue
            g = 0.0
            m = centre[j]
            for i in range(n):
                g += (X[i, j] - m) * slope[i]
            old = w[j]
            new = _minimiser(code, h * old - g, h, l1, l2)
            change = new - old
            if change != 0.0:
                w[j] = new
                worst = max(worst, abs(change) * (h + l2))
                for i in range(n):
                    slope[i] += change * curve[i] * (X[i, j] - m)
        if worst <= tol:
            break
    return worst


@fast_kernel
def gather_columns(data, indices, indptr, columns, curve, free, places, values, weighted, rows, centre, norms):
    """Copy some columns of a CSC matrix side by side, with their products by ``curve``.

    Column j lies at places[j]:places[j + 1] afterwards; ``norms`` are curvatures along it. With an intercept (``free``)
    columns are meant about their weighted means, ``centre``.
    """
    curve_sum = curve.sum()
    for j in range(columns.shape[0]):
        at, square, total = places[j], 0.0, 0.0
        for p in range(indptr[columns[j]], indptr[columns[j] + 1]):
            i, x = indices[p], data[p]
            v = x * curve[i]
            values[at], weighted[at], rows[at] = x, v, i
            square += v * x
            total += v
            at += 1
        centre[j] = total / curve_sum if free else 0.0
        norms[j] = max(square - centre[j] * total, 0.0)


@fast_kernel
def _gathered_dot(values, rows, start, stop, slope):
    """Σ values[p] · slope[rows[p]]. Four sums do not wait for each other; unsigned indices need no test of a sign."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    whole = start + (stop - start) // 4 * 4
    for p in range(start, whole, 4):
        u = np.uintp(p)
        v, w, x = u + np.uintp(1), u + np.uintp(2), u + np.uintp(3)
        a += values[u] * slope[np.uintp(rows[u])]
        b += values[v] * slope[np.uintp(rows[v])]
        c += values[w] * slope[np.uintp(rows[w])]
        d += values[x] * slope[np.uintp(rows[x])]
    for p in range(whole, stop):
        a += values[p] * slope[np.uintp(rows[p])]
    return a + b + c + d


@fast_kernel
def _scatter(values, rows, start, stop, change, out):
    """out[rows[p]] += change · values[p]."""
    for p in range(start, stop):
        u = np.uintp(p)
        out[np.uintp(rows[u])] += change * values[u]


@fast_kernel
def sparse_epoch(chosen, values, weighted, rows, places, curve_sum, slope, w, centre, norms, code, l1, l2, offset):
    """One epoch over the chosen gathered columns; returns the largest violation and the updated offset.

    The means of the columns touch every row, so they are kept as one number: the true slope is slope − offset · curve.
    """
    _check_penalty(code)
    worst = 0.0
    for a in range(chosen.shape[0]):
        j = chosen[a]
        h = norms[j]
        if h + l2 <= 0.0:
            continue
        start, stop = places[j], places[j + 1]
        g = _gathered_dot(values, rows, start, stop, slope) - offset * centre[j] * curve_sum
        old = w[j]
        new = _minimiser(code, h * old - g, h, l1, l2)
        change = new - old
        if change != 0.0:
            w[j] = new
            worst = max(worst, abs(change) * (h + l2))
            _scatter(weighted, rows, start, stop, change, slope)
            offset += change * centre[j]
    return worst, offset


@fast_kernel
def gathered_product(chosen, values, rows, places, step, out):
    """Add Σ step[j] · column j to ``out`` over the chosen gathered columns."""
    for a in range(chosen.shape[0]):
        j = chosen[a]
        change = step[j]
        if change != 0.0:
            _scatter(values, rows, places[j], places[j + 1], change, out)


@fast_kernel
def sparse_product(data, indices, indptr, columns, step, out):
    """Add X[:, columns] · step to ``out``, for a CSC matrix; columns that do not move cost nothing."""
    for j in range(columns.shape[0]):
        change = step[j]
        if change != 0.0:
            _scatter(data, indices, indptr[columns[j]], indptr[columns[j] + 1], change, out)
