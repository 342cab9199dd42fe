"""Coordinate descent on the quadratic model of a loss along columns of X, which are read where they lie.

Around raw predictions with slopes s and curvatures c the loss changes by sᵀz + ½ Σ c z² with z = X (w − w₀); ``slope``
holds the slopes of now, s + c z. Column j is ``data[starts[j]:starts[j + 1]]``, of the ``rows`` at the same places;
where ``rows`` is empty it has an entry in every row, in order. With an intercept that follows every step, columns are
meant about their means in the metric of c; the part of that in the slopes touches every row, so it is kept as one
number: the true slope is slope − offset · c.
"""

from __future__ import annotations

import numpy as np

from corollary._compiled._jit import fast_kernel
from corollary._compiled.linear.cd import _check_penalty, _minimiser

NEARLY = 0.95  # of the strength at which a column enters: those beyond are visited again


@fast_kernel
def _measure(data, rows, start, stop, slope, curve):
    """Σ x s, Σ x² c and Σ x c of a column."""
    pull, square, total = 0.0, 0.0, 0.0
    if rows.shape[0] == 0:
        for p in range(stop - start):
            x = data[start + p]
            v = x * curve[p]
            pull += x * slope[p]
            square += v * x
            total += v
    else:
        for p in range(start, stop):
            u = np.uintp(p)
            i, x = np.uintp(rows[u]), data[u]
            v = x * curve[i]
            pull += x * slope[i]
            square += v * x
            total += v
    return pull, square, total


@fast_kernel
def _pull(data, rows, start, stop, slope):
    """Σ x s of a column; four sums do not wait for each other, and unsigned indices need no test of a sign."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    if rows.shape[0] == 0:
        for p in range(stop - start):
            a += data[start + p] * slope[p]
        return a
    whole = start + (stop - start) // 4 * 4
    for p in range(start, whole, 4):
        u = np.uintp(p)
        v, w, x = u + np.uintp(1), u + np.uintp(2), u + np.uintp(3)
        a += data[u] * slope[np.uintp(rows[u])]
        b += data[v] * slope[np.uintp(rows[v])]
        c += data[w] * slope[np.uintp(rows[w])]
        d += data[x] * slope[np.uintp(rows[x])]
    for p in range(whole, stop):
        a += data[p] * slope[np.uintp(rows[p])]
    return a + b + c + d


@fast_kernel
def _move(data, rows, start, stop, change, curve, slope):
    """slope += change · c · column."""
    if rows.shape[0] == 0:
        for p in range(stop - start):
            slope[p] += change * data[start + p] * curve[p]
    else:
        for p in range(start, stop):
            u = np.uintp(p)
            i = np.uintp(rows[u])
            slope[i] += change * data[u] * curve[i]


@fast_kernel
def model_epochs(matrix, columns, chosen, first, curve, slope, total, w, norms, sums, penalty, offset, enough, most):
    """Epochs over columns[chosen]; the first of a model works out the curvatures (``norms``) and Σ x c (``sums``).

    ``total`` is Σ c, or zero without an intercept. Ends when an epoch meets violations of at most ``enough`` in all, or
    after ``most``. Returns what the last one met, and the offset.
    """
    (data, rows, starts), (code, l1, l2) = matrix, penalty
    _check_penalty(code)
    mass = 0.0
    for _ in range(most):
        mass = 0.0
        for a in range(chosen.shape[0]):
            k = chosen[a]
            start, stop = starts[columns[k]], starts[columns[k] + 1]
            if first:
                g, h, m = _measure(data, rows, start, stop, slope, curve)
                if total > 0.0:
                    h = max(h - m * (m / total), 0.0)
                norms[k], sums[k] = h, m
            else:
                g, h = _pull(data, rows, start, stop, slope), norms[k]
            if h + l2 <= 0.0:
                continue
            old = w[k]
            new = _minimiser(code, h * old - (g - offset * sums[k]), h, l1, l2)
            change = new - old
            if change != 0.0:
                w[k] = new
                mass += abs(change) * (h + l2)
                _move(data, rows, start, stop, change, curve, slope)
                if total > 0.0:
                    offset += change * (sums[k] / total)
        if mass <= enough:
            break
    return mass, offset


@fast_kernel
def add_columns(matrix, columns, step, out):
    """out += X[:, columns] · step; columns that do not move cost nothing."""
    data, rows, starts = matrix
    for k in range(columns.shape[0]):
        change, start, stop = step[k], starts[columns[k]], starts[columns[k] + 1]
        if change == 0.0:
            continue
        if rows.shape[0] == 0:
            for p in range(stop - start):
                out[p] += change * data[start + p]
        else:
            for p in range(start, stop):
                u = np.uintp(p)
                out[np.uintp(rows[u])] += change * data[u]
