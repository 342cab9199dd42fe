"""Shapley values of trees against a background: a column that is not known takes the value of a background row.

For a row x and a background row z, a leaf of value v counts for a set S of columns when x passes the path's tests on
the columns in S and z those on the others. Let a columns of the path be passed by x only and b by z only; then

    φ_j = + v (a − 1)! b! / (a + b)!   for a column that only x passes,
    φ_j = − v a! (b − 1)! / (a + b)!   for a column that only z passes,

and 0 for the rest. Leaves that some column makes unreachable for both are never visited. As in ``shap.py`` the leaves'
terms are summed on the way up, and an edge counts by what it changes.
"""

from __future__ import annotations

import numpy as np

from corollary._compiled._jit import inner_kernel, kernel
from corollary._compiled.trees.shap import paths
from corollary._compiled.trees.traverse import goes_left


@inner_kernel
def _spread(x, z, root, splits, left, before, by_x, by_z, only, order):
    """Visit the nodes that mixtures of x and z reach; their number. only[i] = columns passed by x only, by z only."""
    feature, threshold, missing_left, category, bitsets = splits
    by_x[0], by_z[0], only[0, 0], only[0, 1], order[0] = True, True, 0, 0, 0
    count, place = 1, 0
    while place < count:
        i = order[place]
        place += 1
        if feature[root + i] < 0:
            continue
        first = left[root + i] - root
        above = before[first]
        x_left = goes_left(x[feature[root + i]], root + i, threshold, missing_left, category, bitsets)
        z_left = goes_left(z[feature[root + i]], root + i, threshold, missing_left, category, bitsets)
        for child in range(first, first + 2):
            by_x[child] = by_x[above] and x_left == (child == first)
            by_z[child] = by_z[above] and z_left == (child == first)
            if by_x[child] or by_z[child]:
                only[child, 0] = only[i, 0] - (not by_z[above]) + (not by_z[child])
                only[child, 1] = only[i, 1] - (not by_x[above]) + (not by_x[child])
                order[count] = child
                count += 1
    return count


@inner_kernel
def _gather(count, root, feature, left, value, before, by_x, by_z, only, order, chances, sums, phi, column):
    """Sum the leaves' terms, sums[i, 0] for columns that only x passes and sums[i, 1] for z, and share them out."""
    for place in range(count - 1, -1, -1):
        i = order[place]
        a, b = only[i, 0], only[i, 1]
        f = feature[root + i]
        if f < 0:
            for k in range(value.shape[1]):
                sums[i, 0, k] = value[root + i, k] * chances[a - 1, b] if a > 0 else 0.0
                sums[i, 1, k] = value[root + i, k] * chances[a, b - 1] if b > 0 else 0.0
            continue
        first = left[root + i] - root
        above = before[first]
        for k in range(value.shape[1]):
            sums[i, 0, k] = sums[i, 1, k] = 0.0
            for child in range(first, first + 2):
                if by_x[child] or by_z[child]:
                    for side in range(2):
                        sums[i, side, k] += sums[child, side, k]
                    gain_x = (not by_z[child]) - (not by_z[above])
                    gain_z = (not by_x[child]) - (not by_x[above])
                    phi[f, column + k] += gain_x * sums[child, 0, k] - gain_z * sums[child, 1, k]


@kernel
def background_block(
    X, Z, roots, stops, feature, threshold, left, missing_left, category, bitsets, value, cover, chances, phi
):
    """phi[i, f, k] += Σ over rows of Z of the Shapley value of column f; chances[a, b] = a! b! / (a + b + 1)!."""
    groups = phi.shape[2] // value.shape[1]
    size = (stops - roots).max()
    parent, before, slot = np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.int32)
    share, part = np.empty(size), np.empty(size)
    by_x, by_z = np.empty(size, dtype=np.bool_), np.empty(size, dtype=np.bool_)
    only, order = np.empty((size, 2), dtype=np.int32), np.empty(size, dtype=np.int32)
    sums = np.empty((size, 2, value.shape[1]))
    splits = (feature, threshold, missing_left, category, bitsets)
    for tree in range(roots.shape[0]):
        root, stop = roots[tree], stops[tree]
        if feature[root] < 0:
            continue
        paths(root, stop, feature, left, cover, parent, before, share, part, slot)
        for i in range(X.shape[0]):
            for j in range(Z.shape[0]):
                count = _spread(X[i], Z[j], root, splits, left, before, by_x, by_z, only, order)
                _gather(
                    count, root, feature, left, value, before, by_x, by_z, only, order, chances, sums, phi[i],
                    tree % groups,
                )  # fmt: skip
