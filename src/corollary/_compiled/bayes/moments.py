"""Moments of dense rows by class, about points of each class, and the log densities that come of them.

A row belongs to one class, so each number of X is used once. Rows of a negative class (not known) or without weight are
left out. Sums are of float64 whatever X is of.
"""

from __future__ import annotations

from corollary._compiled._jit import fast_kernel, lean_kernel


@lean_kernel
def class_moments(X, codes, weights, about, first, second):
    """Add Σ w (x − a) and Σ w (x − a)² of all rows to those of their classes; ``about`` has a for each class.

    Far from zero nothing is lost as long as a is about as near to the rows as they are to each other.
    """
    n, d = X.shape
    for i in range(n):
        c, w = codes[i], weights[i]
        if c < 0 or w == 0.0:
            continue
        for j in range(d):
            gap = X[i, j] - about[c, j]
            part = w * gap
            first[c, j] += part
            second[c, j] += part * gap


@lean_kernel
def class_moments_of_some(X, codes, weights, about, first, second, seen):
    """As ``class_moments`` where numbers are missing (NaN); ``seen`` gets the weight of those that are there."""
    n, d = X.shape
    for i in range(n):
        c, w = codes[i], weights[i]
        if c < 0 or w == 0.0:
            continue
        for j in range(d):
            x = X[i, j]
            if x == x:
                gap = x - about[c, j]
                part = w * gap
                first[c, j] += part
                second[c, j] += part * gap
                seen[c, j] += w


@fast_kernel
def gaussian_scores(X, means, roots, offsets, out):
    """offset − ½ Σ ((x − mean) · root)² of each row and class."""
    n, (k_all, d) = X.shape[0], means.shape
    for i in range(n):
        for k in range(k_all):
            total = 0.0
            for j in range(d):
                gap = (X[i, j] - means[k, j]) * roots[k, j]
                total += gap * gap
            out[i, k] = offsets[k] - 0.5 * total


@lean_kernel
def gaussian_scores_of_some(X, means, roots, logs, offsets, out):
    """As ``gaussian_scores`` without what is missing; ``logs`` is what each column adds if it is there."""
    n, (k_all, d) = X.shape[0], means.shape
    for i in range(n):
        for k in range(k_all):
            total = offsets[k]
            for j in range(d):
                x = X[i, j]
                if x == x:
                    gap = (x - means[k, j]) * roots[k, j]
                    total += logs[k, j] - 0.5 * gap * gap
            out[i, k] = total
