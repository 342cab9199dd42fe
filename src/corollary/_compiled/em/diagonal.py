"""Gaussians with diagonal covariances: one pass of EM over all rows, by a team of threads.

Moments are about the present means, so that those of parts simply add up.
"""

from __future__ import annotations

import numpy as np

from corollary._compiled._jit import inner_fast_kernel, lean_kernel
from corollary._compiled.em.shares import CHUNK, ROWS, ROWS_2, ROWS_3, hand_over, relative, settle, turn
from corollary._compiled.team import add_up, rows_of, take


@inner_fast_kernel
def diagonal_squares(z, centres, roots, squares):
    """Squares of z · root − centre summed over columns, for each component; a row in each column of z."""
    k_all, d = centres.shape
    fours = d - d % 4
    for k in range(k_all):
        for i in range(ROWS):
            squares[k, i] = 0.0
        for j in range(0, fours, 4):  # four columns at a time: a quarter of the traffic to ``squares``
            a = np.uintp(j) * ROWS
            e, f, g, h = centres[k, j], centres[k, j + 1], centres[k, j + 2], centres[k, j + 3]
            s, t, u, v = roots[k, j], roots[k, j + 1], roots[k, j + 2], roots[k, j + 3]
            for i in range(ROWS):
                one, two = z[a + i] * s - e, z[a + ROWS + i] * t - f
                three, four = z[a + ROWS_2 + i] * u - g, z[a + ROWS_3 + i] * v - h
                squares[k, i] += (one * one + two * two) + (three * three + four * four)
        for j in range(fours, d):
            a, here, root = np.uintp(j) * ROWS, centres[k, j], roots[k, j]
            for i in range(ROWS):
                one = z[a + i] * root - here
                squares[k, i] += one * one


@inner_fast_kernel
def diagonal_moments(z, shares, means, first, second):
    """Add Σ share · (z − mean) and Σ share · (z − mean)², by component and column."""
    k_all, d = means.shape
    for k in range(k_all):
        own = shares[k]
        for j in range(d):
            a, mean, f, s = np.uintp(j) * ROWS, means[k, j], 0.0, 0.0
            for i in range(ROWS):
                p = z[a + i] - mean
                q = own[i] * p
                f, s = f + q, s + q * p
            first[k, j] += f
            second[k, j] += s


@lean_kernel
def diagonal_pass(team, rank, rows, units, params, size, parts, flat, total, out, scratch):
    """One E step, as ``dense_pass``; ``params`` are (means, means · roots, roots, offsets, cut, ½).

    A part has lines of d numbers: second moments of each component, first moments, counts, Σ weight · log density.
    """
    X, weights, labels = rows
    means, centres, roots, offsets, cut, half = params
    to_shares, to_logs = out
    all_squares, columns, vectors = scratch
    z, squares = columns[rank, 0], all_squares[rank]
    top, logs, factors = vectors[rank, 0], vectors[rank, 1], vectors[rank, 2]
    k_all, n = means.shape[0], X.shape[0]
    part = take(team)
    while part < parts.shape[0]:
        own, (first_row, end), log_likelihood = parts[part], rows_of(part, n, size), 0.0
        for i in range(flat.shape[1]):
            flat[part, i] = 0.0
        for start in range(first_row, end, CHUNK):
            stop = min(start + CHUNK, end)
            turn(X, start, stop, units[0], units[1], z)
            diagonal_squares(z, centres, roots, squares)
            here, theirs = weights[start:stop], labels[start:stop]
            relative(squares, offsets, cut, half, theirs, top, logs)
            log_likelihood += settle(squares, top, here, theirs, logs, factors, own[2 * k_all :])
            if to_logs.shape[0] > 0:
                hand_over(squares, logs, start, stop, to_shares, to_logs)
            else:
                diagonal_moments(z, squares, means, own[k_all : 2 * k_all], own[:k_all])
        own[3 * k_all, 0] = log_likelihood
        part = take(team)
    add_up(team, rank, flat, total)
