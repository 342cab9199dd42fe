"""Categories by class: columns of whole numbers, whose tables lie one below the other in one array.

The table of column j has ``sizes[j]`` lines, of which the first is ``firsts[j]``; a line is a category, and has a
number for each class. What is missing (NaN) or not below the size of its column is left out.
"""

from __future__ import annotations

from corollary._compiled._jit import lean_kernel


@lean_kernel
def count_categories(X, codes, weights, firsts, sizes, counts):
    """Add the weights of all rows to the categories of their columns, in the place of their class."""
    n, d = X.shape
    for i in range(n):
        c, w = codes[i], weights[i]
        if c < 0 or w == 0.0:
            continue
        for j in range(d):
            x = X[i, j]
            if 0.0 <= x < sizes[j]:  # not so for NaN
                counts[firsts[j] + int(x), c] += w


@lean_kernel
def add_category_scores(X, firsts, sizes, table, out):
    """Add what the table says of the categories of each row, for each class."""
    (n, d), k_all = X.shape, table.shape[1]
    for i in range(n):
        for j in range(d):
            x = X[i, j]
            if 0.0 <= x < sizes[j]:
                line = firsts[j] + int(x)
                for k in range(k_all):
                    out[i, k] += table[line, k]
