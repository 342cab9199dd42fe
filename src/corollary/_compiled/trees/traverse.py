"""Walk rows down trees. Blocks are C-ordered float64, so there is one compiled version for every kind of input.

A node sends a row left when ``x <= threshold``; its right child follows its left child. A missing value goes where the
node says. At a categorical node the row's code picks a bit of the node's bitset; a code without a bit is missing.
"""

from __future__ import annotations

import numpy as np

from corollary._compiled._jit import inner_kernel, lean_kernel


@inner_kernel
def categorical_left(x, row, bitsets, missing_left):
    """Whether a category goes left; one without a bit is missing."""
    if not (x >= 0.0 and x < 32.0 * bitsets.shape[1]):
        return missing_left
    code = np.int64(x)
    return (bitsets[row, code >> 5] >> np.uint32(code & 31)) & np.uint32(1) != 0


@inner_kernel
def goes_left(value, node, threshold, missing_left, category, bitsets):
    """Whether a value goes left at a node."""
    if category[node] >= 0:
        return categorical_left(value, category[node], bitsets, missing_left[node])
    return missing_left[node] if value != value else value <= threshold[node]


@inner_kernel
def _leaf_of(x, node, feature, threshold, left, missing_left, category, bitsets):
    """The leaf that the row x reaches from ``node``."""
    f = feature[node]
    while f >= 0:
        value = x[np.uintp(f)]
        right = np.int64(not (value <= threshold[np.uintp(node)]))  # a sum, not a branch that would be hard to predict
        if value != value or category[np.uintp(node)] >= 0:
            right = np.int64(not goes_left(value, node, threshold, missing_left, category, bitsets))
        node = left[np.uintp(node)] + right
        f = feature[np.uintp(node)]
    return node


@lean_kernel
def apply_block(X, roots, feature, threshold, left, missing_left, category, bitsets, out):
    """out[i, t] = leaf of row i in tree t."""
    for t in range(roots.shape[0]):
        for i in range(X.shape[0]):
            out[i, t] = _leaf_of(X[i], np.int64(roots[t]), feature, threshold, left, missing_left, category, bitsets)


@lean_kernel
def sum_block(X, roots, feature, threshold, left, missing_left, category, bitsets, value, out):
    """out[i] += Σ over trees of the values at row i's leaf, trees in order; tree t belongs to output t mod outputs."""
    groups = out.shape[1] // value.shape[1]
    for t in range(roots.shape[0]):
        for i in range(X.shape[0]):
            leaf = _leaf_of(X[i], np.int64(roots[t]), feature, threshold, left, missing_left, category, bitsets)
            for k in range(value.shape[1]):
                out[i, t % groups + k] += value[leaf, k]


@lean_kernel
def one_row(x, roots, feature, threshold, left, missing_left, category, bitsets, value, out):
    """out[t mod outputs] += value of the leaf that the only row of x reaches in tree t."""
    n_outputs = out.shape[0]
    for t in range(roots.shape[0]):
        leaf = _leaf_of(x[0], np.int64(roots[t]), feature, threshold, left, missing_left, category, bitsets)
        out[t % n_outputs] += value[leaf, 0]
