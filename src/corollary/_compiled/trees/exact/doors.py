"""What Python calls of an exact tree's kernels, node by node: ``grow_subtree`` has them inside itself.

So a tree of few rows, which is grown in one call, compiles none of these.
"""

from __future__ import annotations

from corollary._compiled._jit import lean_kernel
from corollary._compiled.trees.exact import grow, rows, tree


@lean_kernel
def describe(records, start, stop, mask, criterion, codes, y, w, value, depth, limits):
    """(weight, impurity, whether it may be split) of a new node."""
    weight, impurity, pure = rows.describe(records, start, stop, mask, criterion, codes, y, w, value)
    return weight, impurity, grow.is_live(stop - start, weight, pure, depth, limits)


@lean_kernel
def prepare(
    all_records, start, stop, mask, criterion, codes, y, w, value, totals, v, rank, sorted_y, max_features, seed, order,
    use,
):  # fmt: skip
    """Fill what the scans of a node read, and choose the features to try."""
    rows.prepare(all_records[0], start, stop, mask, criterion, codes, y, w, value, totals, v, rank, sorted_y)
    tree.choose_features(all_records, start, stop, mask, max_features, seed, order, use)


@lean_kernel
def search(
    first, last, all_records, mask, shift, node, criterion, codes, y, w, uneven, table, totals, v, rank, sorted_y,
    categorical, direction, values, use, seed, found, moved,
):  # fmt: skip
    """Find the best cut of features first … last − 1."""
    tree.search(
        first, last, all_records, mask, shift, node, criterion, codes, y, w, uneven, table, totals, v, rank, sorted_y,
        categorical, direction, values, use, seed, found, moved,
    )  # fmt: skip


@lean_kernel
def best_feature(found, slack):
    """The feature with the largest gain; −1 if there is none."""
    return tree.best_feature(found, slack)


@lean_kernel
def mark(f, all_records, mask, shift, node, codes, y, w, categorical, cut, goes_left, bits):
    """Note for each row of the node on which side of feature f's ``cut`` it is."""
    return tree.mark(f, all_records, mask, shift, node, codes, y, w, categorical, cut, goes_left, bits)


@lean_kernel
def partition(first, last, records, start, middle, stop, mask, goes_left, keep_right, done, buffer):
    """Bring the left rows of lists first … last − 1 before the right ones."""
    tree.partition(first, last, records, start, middle, stop, mask, goes_left, keep_right, done, buffer)


@lean_kernel
def child_seed(seed, side):
    """The seed of a child."""
    return tree.child_seed(seed, side)


@lean_kernel
def child_bounds(lower, upper, left, right, direction, side):
    """Bounds of a child's predictions."""
    return grow.child_bounds(lower, upper, left, right, direction, side)
