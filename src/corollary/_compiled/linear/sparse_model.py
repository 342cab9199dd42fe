"""Coordinate descent on the quadratic model of a loss, for columns of a sparse matrix that are read where they lie.

Around raw predictions with slopes s and curvatures c the loss changes by sᵀz + ½ Σ c z² with z = X (w − w₀). Row i
of ``state`` holds its slope of now, sᵢ + cᵢ zᵢ, beside cᵢ: whoever changes the one needs the other. With an intercept
that follows every step, columns are meant about their means in the metric of c; the part of that in the slopes touches
every row, so it is kept as one number: the true slope is state[i, 0] − offset · cᵢ.
"""

from __future__ import annotations

import numpy as np

from corollary._compiled._jit import fast_kernel
from corollary._compiled.linear.cd import _check_penalty, _minimiser

NEARLY = 0.95  # of the strength at which a column enters: those beyond are visited again


@fast_kernel
def _measure(data, indices, start, stop, state):
    """Σ x s, Σ x² c and Σ x c of a column."""
    slope, square, total = 0.0, 0.0, 0.0
    for p in range(start, stop):
        u = np.uintp(p)
        i, x = np.uintp(indices[u]), data[u]
        v = x * state[i, 1]
        slope += x * state[i, 0]
        square += v * x
        total += v
    return slope, square, total


@fast_kernel
def _slope(data, indices, start, stop, state):
    """Σ x s of a column; four sums do not wait for each other, and unsigned indices need no test of a sign."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    whole = start + (stop - start) // 4 * 4
    for p in range(start, whole, 4):
        u = np.uintp(p)
        v, w, x = u + np.uintp(1), u + np.uintp(2), u + np.uintp(3)
        a += data[u] * state[np.uintp(indices[u]), 0]
        b += data[v] * state[np.uintp(indices[v]), 0]
        c += data[w] * state[np.uintp(indices[w]), 0]
        d += data[x] * state[np.uintp(indices[x]), 0]
    for p in range(whole, stop):
        a += data[p] * state[np.uintp(indices[p]), 0]
    return a + b + c + d


@fast_kernel
def model_epoch(matrix, columns, chosen, first, state, total, w, norms, sums, penalty, offset, kept):
    """One epoch over columns[chosen]; the first of a model works out the curvatures (``norms``) and Σ x c (``sums``).

    ``total`` is Σ c, or zero without an intercept. Returns Σ |violation| as it was met, the offset, and how many of the
    chosen, written to ``kept``, are not zero or close to leaving it.
    """
    (data, indices, indptr), (code, l1, l2) = matrix, penalty
    _check_penalty(code)
    mass, count = 0.0, 0
    for a in range(chosen.shape[0]):
        k = chosen[a]
        start, stop = indptr[columns[k]], indptr[columns[k] + 1]
        if first:
            g, h, m = _measure(data, indices, start, stop, state)
            if total > 0.0:
                h = max(h - m * (m / total), 0.0)
            norms[k], sums[k] = h, m
        else:
            g, h = _slope(data, indices, start, stop, state), norms[k]
        if h + l2 <= 0.0:
            continue
        g -= offset * sums[k]
        old = w[k]
        new = _minimiser(code, h * old - g, h, l1, l2)
        change = new - old
        if new != 0.0 or abs(g) > NEARLY * l1:
            kept[count] = k
            count += 1
        if change != 0.0:
            w[k] = new
            mass += abs(change) * (h + l2)
            for p in range(start, stop):
                u = np.uintp(p)
                i = np.uintp(indices[u])
                state[i, 0] += change * data[u] * state[i, 1]
            if total > 0.0:
                offset += change * (sums[k] / total)
    return mass, offset, count


@fast_kernel
def add_columns(matrix, columns, step, out):
    """Add X[:, columns] · step to ``out``; columns that do not move cost nothing."""
    data, indices, indptr = matrix
    for k in range(columns.shape[0]):
        change = step[k]
        if change != 0.0:
            for p in range(indptr[columns[k]], indptr[columns[k] + 1]):
                u = np.uintp(p)
                out[np.uintp(indices[u])] += change * data[u]
