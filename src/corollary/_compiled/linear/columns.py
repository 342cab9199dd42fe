"""Columns of X as they lie in memory, dense or sparse: products with them, and coordinate descent along them.

Column j is ``data[starts[j]:starts[j + 1]]``, of the rows ``rows[starts[j]:starts[j + 1]]``; where ``rows`` is empty it
has an entry in every row, in order: a dense matrix in Fortran order.

Descent minimises ½ Σ slope²/curve + Ω(w). ``slope`` is the derivative of a quadratic model by raw predictions, which
moves with w: by curve · column for a step of one. With an intercept columns are meant about their means (``centre``),
which touch every row; they are kept as one number instead: the true slope is slope − offset · curve.
"""

from __future__ import annotations

import numpy as np

from corollary._compiled._jit import fast_kernel
from corollary._compiled.codes import ELASTIC, POSITIVE
from corollary._compiled.linear.cd import _check_penalty, _minimiser
from corollary._compiled.team import count_blocks, rows_of, take

HISTORY = 5  # epochs whose ends are combined into one point (Anderson)
CYCLES = 4  # of so many epochs on the support, between two that visit all columns
EASIER = 0.5  # of the tolerance: what the support must reach before all columns are visited again
ROUNDED = 1e-28  # of Σ curve · mean²: what the rounding of a mean may leave of the squares about it
RIDGE = 1e-12  # relative to the trace, for differences of epochs that are nearly parallel


@fast_kernel
def _dot(data, rows, start, stop, vector):
    """Column · vector. Four sums do not wait for each other; slices and unsigned indices need no test of a sign."""
    if rows.shape[0] == 0:
        total, column = 0.0, data[start:stop]
        for p in range(column.shape[0]):
            total += column[p] * vector[p]
        return total
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    whole = start + (stop - start) // 4 * 4
    for p in range(start, whole, 4):
        u = np.uintp(p)
        v, w, x = u + np.uintp(1), u + np.uintp(2), u + np.uintp(3)
        a += data[u] * vector[np.uintp(rows[u])]
        b += data[v] * vector[np.uintp(rows[v])]
        c += data[w] * vector[np.uintp(rows[w])]
        d += data[x] * vector[np.uintp(rows[x])]
    for p in range(whole, stop):
        a += data[p] * vector[np.uintp(rows[p])]
    return a + b + c + d


@fast_kernel
def _add(data, rows, start, stop, change, curve, even, out):
    """out += change · curve · column; ``even`` is what all of ``curve`` is equal to, or zero."""
    step = change * even
    if rows.shape[0] == 0:
        column = data[start:stop]
        if even > 0.0:
            for p in range(column.shape[0]):
                out[p] += step * column[p]
        else:
            for p in range(column.shape[0]):
                out[p] += change * curve[p] * column[p]
    elif even > 0.0:
        for p in range(start, stop):
            u = np.uintp(p)
            out[np.uintp(rows[u])] += step * data[u]
    else:
        for p in range(start, stop):
            u = np.uintp(p)
            i = np.uintp(rows[u])
            out[i] += change * curve[i] * data[u]


@fast_kernel
def products(team, rank, data, rows, starts, columns, size, vector, out):
    """out[j] = column j · vector for the given columns, which threads take ``size`` at a time."""
    blocks = count_blocks(columns.shape[0], size)
    block = take(team)
    while block < blocks:
        first, end = rows_of(block, columns.shape[0], size)
        for a in range(first, end):
            j = columns[a]
            out[j] = _dot(data, rows, starts[j], starts[j + 1], vector)
        block = take(team)


@fast_kernel
def first_look(team, rank, data, rows, starts, size, vector, out, sums, squares):
    """``products`` with all columns; and since every entry is read, its sum and the sum of squares of each."""
    blocks = count_blocks(out.shape[0], size)
    block = take(team)
    while block < blocks:
        first, end = rows_of(block, out.shape[0], size)
        for j in range(first, end):
            start, stop = starts[j], starts[j + 1]
            out[j] = _dot(data, rows, start, stop, vector)
            total, square, column = 0.0, 0.0, data[start:stop]
            for p in range(column.shape[0]):
                x = np.float64(column[p])
                total += x
                square += x * x
            sums[j], squares[j] = total, square
        block = take(team)


@fast_kernel
def _spread(data, rows, start, stop, curve, mean, whole):
    """Σ curve (x − mean)² of a column, rows without an entry included; ``whole`` is Σ curve.

    What is left of a constant column is the rounding of its mean: zero, since a step would be divided by it.
    """
    square, seen = 0.0, 0.0
    for p in range(start, stop):
        c = curve[p - start] if rows.shape[0] == 0 else curve[np.uintp(rows[p])]
        square += c * (data[p] - mean) ** 2
        seen += c
    if stop - start < curve.shape[0]:
        square += max(whole - seen, 0.0) * mean**2
    return square if square > ROUNDED * (whole * mean**2) else 0.0


@fast_kernel
def curvatures(data, rows, starts, columns, curve, free, centre, norms):
    """Σ curve · x² of each of the columns; with an intercept (``free``) about their weighted means, ``centre``."""
    whole = curve.sum()
    for a in range(columns.shape[0]):
        square, total = 0.0, 0.0
        start, stop = starts[columns[a]], starts[columns[a] + 1]
        for p in range(start, stop):
            c = curve[p - start] if rows.shape[0] == 0 else curve[np.uintp(rows[p])]
            v = data[p] * c
            square += v * data[p]
            total += v
        centre[a], norms[a] = 0.0, square
        if free:  # about the mean once that is known: a difference of sums would lose what a large mean hides
            centre[a] = total / whole
            norms[a] = _spread(data, rows, start, stop, curve, centre[a], whole)


@fast_kernel
def add_columns(data, rows, starts, columns, step, out):
    """out += X[:, columns] · step; columns that do not move cost nothing."""
    for a in range(columns.shape[0]):
        if step[a] != 0.0:
            _add(data, rows, starts[columns[a]], starts[columns[a] + 1], step[a], out, 1.0, out)


@fast_kernel
def _epoch(data, rows, starts, columns, chosen, centre, norms, curve, even, whole, slope, w, code, l1, l2, offset):
    """One visit of each chosen column; returns the largest violation that was met, and the offset."""
    worst = 0.0
    for b in range(chosen.shape[0]):
        a = chosen[b]
        h = norms[a]
        if h + l2 <= 0.0:
            continue
        start, stop = starts[columns[a]], starts[columns[a] + 1]
        g = _dot(data, rows, start, stop, slope) - offset * centre[a] * whole
        old = w[a]
        new = _minimiser(code, h * old - g, h, l1, l2)
        change = new - old
        if change != 0.0:
            w[a] = new
            worst = max(worst, abs(change) * (h + l2))
            _add(data, rows, start, stop, change, curve, even, slope)
            offset += change * centre[a]
    return worst, offset


@fast_kernel
def _value(slope, curve, offset, w, code, l1, l2):
    """½ Σ (slope − offset · curve)²/curve + Ω(w): the model, but for a constant. NaN for penalties of another form."""
    if code != ELASTIC and code != POSITIVE:
        return np.nan
    loss = 0.0
    for i in range(slope.shape[0]):
        c = curve[i]
        if c > 0.0:
            true = slope[i] - offset * c
            loss += true * true / c
    size, square = 0.0, 0.0
    for a in range(w.shape[0]):
        if code == POSITIVE and w[a] < 0.0:
            return np.inf
        size += abs(w[a])
        square += w[a] * w[a]
    return 0.5 * loss + l1 * size + 0.5 * l2 * square


@fast_kernel
def mixture(trail, count, gram, mix):
    """Weights, of sum one, of the last ``HISTORY`` points such that their steps, so mixed, nearly cancel.

    They solve (steps · stepsᵀ) mix ∝ 1, by elimination: the matrix is positive definite. False if that failed.
    """
    trace = 0.0
    for i in range(HISTORY):
        for j in range(i + 1):
            total = 0.0
            for b in range(count):
                total += (trail[i + 1, b] - trail[i, b]) * (trail[j + 1, b] - trail[j, b])
            gram[i, j] = gram[j, i] = total
        trace += gram[i, i]
        mix[i] = 1.0
    for i in range(HISTORY):
        gram[i, i] += RIDGE * trace
    for i in range(HISTORY):
        if not gram[i, i] > 0.0:
            return False
        for k in range(i + 1, HISTORY):
            part = gram[k, i] / gram[i, i]
            for j in range(i, HISTORY):
                gram[k, j] -= part * gram[i, j]
            mix[k] -= part * mix[i]
    total = 0.0
    for i in range(HISTORY - 1, -1, -1):
        for j in range(i + 1, HISTORY):
            mix[i] -= gram[i, j] * mix[j]
        mix[i] /= gram[i, i]
        total += mix[i]
    if not abs(total) > 0.0:
        return False
    for i in range(HISTORY):
        mix[i] /= total
    return True


@fast_kernel
def _mixed(table, mix, out, count):
    """out = Σ mix[k] · table[k + 1]."""
    for b in range(count):
        out[b] = 0.0
    for k in range(HISTORY):
        for b in range(count):
            out[b] += mix[k] * table[k + 1, b]


@fast_kernel
def descend(
    data, rows, starts, columns, centre, norms, curve, even, slope, w, code, l1, l2, offset, tol, rounds, chosen, trail,
    slopes,
):  # fmt: skip
    """Rounds of an epoch over all columns and some over the support, extrapolated; whether ``tol`` holds, and offset.

    The point that epochs seem to lead to is taken if the model is lower there. ``chosen`` (s), ``trail`` (6 × s) and
    ``slopes`` (6 × n) are scratch. A round that changes no coefficient by more than ``tol`` (times its curvature) is
    the last.
    """
    _check_penalty(code)
    s, n, whole = columns.shape[0], slope.shape[0], curve.sum()
    gram, mix, offsets = np.empty((HISTORY, HISTORY)), np.empty(HISTORY), np.empty(HISTORY + 1)
    for _ in range(rounds):
        for a in range(s):
            chosen[a] = a
        worst, offset = _epoch(
            data, rows, starts, columns, chosen, centre, norms, curve, even, whole, slope, w, code, l1, l2, offset
        )
        if worst <= tol:
            return True, offset
        count = 0
        for a in range(s):
            if w[a] != 0.0:
                chosen[count] = a
                count += 1
        support = chosen[:count]
        for _ in range(CYCLES):
            k = 0
            while k <= HISTORY:
                for b in range(count):
                    trail[k, b] = w[support[b]]
                slopes[k] = slope
                offsets[k] = offset
                k += 1
                if k <= HISTORY:
                    worst, offset = _epoch(
                        data, rows, starts, columns, support, centre, norms, curve, even, whole, slope, w, code, l1, l2,
                        offset,
                    )  # fmt: skip
                    if worst <= EASIER * tol:
                        break
            if worst <= EASIER * tol:
                break
            if not mixture(trail, count, gram, mix):
                continue
            _mixed(trail, mix, trail[0], count)
            _mixed(slopes, mix, slopes[0], n)
            there = 0.0
            for k in range(HISTORY):
                there += mix[k] * offsets[k + 1]
            before = _value(slope, curve, offset, trail[HISTORY, :count], code, l1, l2)
            if _value(slopes[0], curve, there, trail[0, :count], code, l1, l2) < before:
                for b in range(count):
                    w[support[b]] = trail[0, b]
                slope[:] = slopes[0]
                offset = there
    return False, offset
