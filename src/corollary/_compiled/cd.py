"""Coordinate descent on a quadratic model ½ (w − w₀)ᵀH(w − w₀) + gᵀ(w − w₀) + Ω(w), in three layouts.

``gram_epochs`` holds H itself, so a coordinate that does not move costs nothing and one that moves costs O(s).
``dense_epochs`` and ``sparse_epochs`` hold columns of X and the current slope of every row instead, for working sets
too large to square. All leave w and the slope or gradient consistent, and return the largest violation of the
optimality conditions seen in the last epoch.
"""

from __future__ import annotations

import numpy as np

from corollary._compiled._jit import fast_kernel
from corollary._compiled.codes import COUNT, POSITIVE


@fast_kernel
def _minimiser(code, z, h, l1, l2):
    """argmin over w of ½ h w² − z w + Ω(w), for one coordinate."""
    if code == COUNT:
        w = z / (h + l2)
        return w if 0.5 * z * w > l1 else 0.0
    if z > l1:
        return (z - l1) / (h + l2)
    if z < -l1 and code != POSITIVE:
        return (z + l1) / (h + l2)
    return 0.0


@fast_kernel
def gram_epochs(H, gradient, w, code, l1, l2, max_epochs, tol):
    """Cyclic descent with the leading block of a symmetric H; ``gradient`` is g + H (w − w₀) and is kept up to date."""
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
def _sparse_epoch(chosen, data, weighted, indices, indptr, curve_sum, slope, w, centre, norms, code, l1, l2, offset):
    """One epoch over the given columns; returns the largest violation and the updated offset."""
    worst = 0.0
    for a in range(chosen.shape[0]):
        j = chosen[a]
        h = norms[j]
        if h + l2 <= 0.0:
            continue
        start, stop = indptr[j], indptr[j + 1]
        g = -offset * centre[j] * curve_sum
        for p in range(start, stop):
            g += data[p] * slope[indices[p]]
        old = w[j]
        new = _minimiser(code, h * old - g, h, l1, l2)
        change = new - old
        if change != 0.0:
            w[j] = new
            worst = max(worst, abs(change) * (h + l2))
            for p in range(start, stop):
                slope[indices[p]] += change * weighted[p]
            offset += change * centre[j]
    return worst, offset


@fast_kernel
def sparse_epochs(data, indices, indptr, columns, curve, slope, w, free, code, l1, l2, max_epochs, tol):
    """As ``dense_epochs`` for the given columns of a CSC matrix; most epochs visit non-zero coefficients only.

    The columns are gathered once together with their products by ``curve``. With an intercept (``free``) they are
    meant about their weighted means; that shift touches every row, so it is kept as one number: the true slope is
    ``slope − offset · curve``. A full epoch precedes any claim that the conditions hold.
    """
    s = columns.shape[0]
    places = np.empty(s + 1, dtype=np.int64)
    places[0] = 0
    for j in range(s):
        places[j + 1] = places[j] + indptr[columns[j] + 1] - indptr[columns[j]]
    values, weighted = np.empty(places[s]), np.empty(places[s])
    rows = np.empty(places[s], dtype=np.int32)
    centre, norms = np.zeros(s), np.empty(s)
    curve_sum = curve.sum()
    for j in range(s):
        at, square, total = places[j], 0.0, 0.0
        for p in range(indptr[columns[j]], indptr[columns[j] + 1]):
            i, x = indices[p], data[p]
            v = x * curve[i]
            values[at], weighted[at], rows[at] = x, v, i
            square += v * x
            total += v
            at += 1
        if free:
            centre[j] = total / curve_sum
        norms[j] = max(square - centre[j] * total, 0.0)
    everything = np.arange(s)
    offset, worst = 0.0, np.inf
    for _ in range(max_epochs):
        worst, offset = _sparse_epoch(
            everything, values, weighted, rows, places, curve_sum, slope, w, centre, norms, code, l1, l2, offset
        )
        if worst <= tol:
            break
        support = np.flatnonzero(w)
        for _ in range(10):
            inner, offset = _sparse_epoch(
                support, values, weighted, rows, places, curve_sum, slope, w, centre, norms, code, l1, l2, offset
            )
            if inner <= 0.5 * tol:
                break
    return worst


@fast_kernel
def sparse_product(data, indices, indptr, columns, step, out):
    """Add X[:, columns] · step to ``out``, for a CSC matrix; columns that do not move cost nothing."""
    for j in range(columns.shape[0]):
        change = step[j]
        if change != 0.0:
            for p in range(indptr[columns[j]], indptr[columns[j] + 1]):
                out[indices[p]] += change * data[p]
