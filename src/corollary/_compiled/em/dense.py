"""Gaussians with whole covariances: one pass of EM over all rows, by a team of threads.

Σ⁻¹ = U Uᵀ with upper triangular U, so that ‖Uᵀ(z − μ)‖² takes d²/2 products a row and component. The rows in which a
component has a share are collected, times the root of it, until ``ROWS`` are there, and go into one symmetric product.
Both products work on tiles of 4 × 4 and 2 × 4 numbers that stay in registers, along ``ROWS`` rows that stay in the
first cache: at these sizes, and with half of the matrix, they take half the time of a general product.

Columns are padded with zeros to a multiple of four, D.
"""

from __future__ import annotations

import math

import numpy as np

from corollary._compiled._jit import inner_fast_kernel, inner_kernel, lean_kernel
from corollary._compiled.em.shares import CHUNK, ROWS, ROWS_2, ROWS_3, hand_over, relative, settle, turn
from corollary._compiled.team import add_up, rows_of, take


@inner_fast_kernel
def whiten(z, root, y):
    """y = Uᵀ z for ``ROWS`` rows, one in each column of z and y."""
    for m in range(0, root.shape[0], 4):
        a = np.uintp(m) * ROWS
        b, c, e = a + ROWS, a + ROWS_2, a + ROWS_3
        p0, p1, p2, p3 = root[m, m], root[m, m + 1], root[m, m + 2], root[m, m + 3]
        q1, q2, q3 = root[m + 1, m + 1], root[m + 1, m + 2], root[m + 1, m + 3]
        r2, r3, s3 = root[m + 2, m + 2], root[m + 2, m + 3], root[m + 3, m + 3]
        for i in range(ROWS):  # the triangle on the diagonal
            p, q, r = z[a + i], z[b + i], z[c + i]
            y[a + i] = p0 * p
            y[b + i] = p1 * p + q1 * q
            y[c + i] = p2 * p + q2 * q + r2 * r
            y[e + i] = (p3 * p + q3 * q) + (r3 * r + s3 * z[e + i])
        for j in range(0, m, 4):
            f = np.uintp(j) * ROWS
            p0, p1, p2, p3 = root[j, m], root[j, m + 1], root[j, m + 2], root[j, m + 3]
            q0, q1, q2, q3 = root[j + 1, m], root[j + 1, m + 1], root[j + 1, m + 2], root[j + 1, m + 3]
            r0, r1, r2, r3 = root[j + 2, m], root[j + 2, m + 1], root[j + 2, m + 2], root[j + 2, m + 3]
            s0, s1, s2, s3 = root[j + 3, m], root[j + 3, m + 1], root[j + 3, m + 2], root[j + 3, m + 3]
            for i in range(ROWS):
                p, q, r, s = z[f + i], z[f + ROWS + i], z[f + ROWS_2 + i], z[f + ROWS_3 + i]
                y[a + i] += (p0 * p + q0 * q) + (r0 * r + s0 * s)
                y[b + i] += (p1 * p + q1 * q) + (r1 * r + s1 * s)
                y[c + i] += (p2 * p + q2 * q) + (r2 * r + s2 * s)
                y[e + i] += (p3 * p + q3 * q) + (r3 * r + s3 * s)


@inner_fast_kernel
def distances(y, centre, squares):
    """Squared distances of the columns of y to a centre."""
    for i in range(ROWS):
        squares[i] = 0.0
    for j in range(0, centre.shape[0], 4):  # four columns at a time: a quarter of the traffic to ``squares``
        a = np.uintp(j) * ROWS
        e, f, g, h = centre[j], centre[j + 1], centre[j + 2], centre[j + 3]
        for i in range(ROWS):
            p, q, r, s = y[a + i] - e, y[a + ROWS + i] - f, y[a + ROWS_2 + i] - g, y[a + ROWS_3 + i] - h
            squares[i] += (p * p + q * q) + (r * r + s * s)


@inner_fast_kernel
def add_products(packed, roots, kept, second, first):
    """second += packed packedᵀ, of which the upper triangle is right, and first += packed roots, over ``kept`` rows."""
    n = np.uintp(kept)
    for a in range(0, second.shape[0], 2):
        u, v = np.uintp(a) * ROWS, np.uintp(a + 1) * ROWS
        for b in range(a // 4 * 4, second.shape[0], 4):
            w = np.uintp(b) * ROWS
            c0, c1, c2, c3, e0, e1, e2, e3 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            for i in range(n):
                x, y = packed[u + i], packed[v + i]
                p, q, r, s = packed[w + i], packed[w + ROWS + i], packed[w + ROWS_2 + i], packed[w + ROWS_3 + i]
                c0, c1, c2, c3 = c0 + x * p, c1 + x * q, c2 + x * r, c3 + x * s
                e0, e1, e2, e3 = e0 + y * p, e1 + y * q, e2 + y * r, e3 + y * s
            second[a, b], second[a, b + 1] = second[a, b] + c0, second[a, b + 1] + c1
            second[a, b + 2], second[a, b + 3] = second[a, b + 2] + c2, second[a, b + 3] + c3
            second[a + 1, b], second[a + 1, b + 1] = second[a + 1, b] + e0, second[a + 1, b + 1] + e1
            second[a + 1, b + 2], second[a + 1, b + 3] = second[a + 1, b + 2] + e2, second[a + 1, b + 3] + e3
        f, g = 0.0, 0.0
        for i in range(n):
            f, g = f + roots[i] * packed[u + i], g + roots[i] * packed[v + i]
        first[a] += f
        first[a + 1] += g


@inner_kernel
def pack(z, share, mean, chosen, packed, roots, filled, last, second, first):
    """Collect rows that have a share, about ``mean`` and times its root; add them up whenever ``ROWS`` are there.

    The rest is added up after the ``last`` rows. Returns how many are waiting.
    """
    kept, done = 0, 0
    for i in range(CHUNK):
        chosen[kept] = i
        kept += 1 if share[i] > 0.0 else 0
    while done < kept or (last and filled > 0):
        now = min(kept - done, CHUNK - filled)
        for t in range(now):
            roots[filled + t] = math.sqrt(share[chosen[done + t]])
        for j in range(mean.shape[0]):
            here, to, centre = np.uintp(j) * ROWS, np.uintp(j) * ROWS + np.uintp(filled), mean[j]
            for t in range(np.uintp(now)):
                packed[to + t] = roots[filled + t] * (z[here + np.uintp(chosen[done + t])] - centre)
        filled += now
        done += now
        if filled == CHUNK or (last and done == kept):
            whole = (filled + 15) // 16 * 16  # a few rows of zeros make whole vectors
            for i in range(filled, whole):
                roots[i] = 0.0
                for j in range(mean.shape[0]):
                    packed[np.uintp(j) * ROWS + np.uintp(i)] = 0.0
            add_products(packed, roots, whole, second, first)
            filled = 0
    return filled


@lean_kernel
def dense_pass(team, rank, rows, units, params, size, parts, flat, total, out, scratch):
    """One E step: what each part of ``size`` rows contributes, and the ``total`` of it.

    ``rows`` are (X, weights, labels), ``units`` (centre, 1 / scale), ``params`` (means, means · U, U, offsets, cut, ½),
    with one U for each component or one for all. A part has lines of D numbers: the upper triangles of second moments
    about the means, first moments, counts of components at the beginning of a line each, and Σ weight · log density;
    ``flat`` has it as one line. If there is room in ``out`` = (posteriors, log densities), these are wanted instead.
    ``scratch`` has a place for each thread; what is in it beyond the columns must be zero.
    """
    X, weights, labels = rows
    means, centres, roots, offsets, cut, half = params
    to_shares, to_logs = out
    all_squares, columns, vectors, whole, packed = scratch
    z, y, squares = columns[rank, 0], columns[rank, 1], all_squares[rank]
    top, logs, factors = vectors[rank, 0], vectors[rank, 1], vectors[rank, 2]
    chosen, filled = whole[rank, 0], whole[rank, 1]
    (k_all, D), n, n_roots = centres.shape, X.shape[0], roots.shape[0]
    part = take(team)
    while part < parts.shape[0]:
        own, (first_row, end), log_likelihood = parts[part], rows_of(part, n, size), 0.0
        for i in range(flat.shape[1]):
            flat[part, i] = 0.0
        for k in range(k_all):
            filled[k] = 0
        for start in range(first_row, end, CHUNK):
            stop = min(start + CHUNK, end)
            turn(X, start, stop, units[0], units[1], z)
            for k in range(k_all):
                if k < n_roots:  # a single root serves all components
                    whiten(z, roots[k], y)
                distances(y, centres[k], squares[k])
            relative(squares, offsets, cut, half, labels[start:stop], top, logs)
            counts, sure = own[n_roots * D + k_all :], labels[start:stop]
            log_likelihood += settle(squares, top, weights[start:stop], sure, logs, factors, counts)
            if to_logs.shape[0] > 0:
                hand_over(squares, logs, start, stop, to_shares, to_logs)
                continue
            for k in range(k_all):
                at, last = min(k, n_roots - 1) * D, stop == end
                waiting, own_roots, here = packed[rank, k, : D * CHUNK], packed[rank, k, D * CHUNK :], filled[k]
                sums, first = own[at : at + D], own[n_roots * D + k]
                filled[k] = pack(z, squares[k], means[k], chosen, waiting, own_roots, here, last, sums, first)
        own[n_roots * D + 2 * k_all, 0] = log_likelihood
        part = take(team)
    add_up(team, rank, flat, total)
