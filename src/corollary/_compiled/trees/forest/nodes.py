"""From the nodes of a grown tree to what a forest keeps, and back; and walks of binned rows down a tree."""

from __future__ import annotations

import math

import numpy as np

from corollary._compiled._jit import inner_kernel, kernel, lean_kernel
from corollary._compiled.trees.deviance import deviance


@inner_kernel
def _centred(a, b, row):
    """The end of a bin, of a … b − 1, that is nearest to the middle between bin a and bin b, where no row lies between.

    So none of the sample changes sides.
    """
    if b <= a + 1:
        return a
    middle = 0.5 * row[a] + 0.5 * row[b - 1]
    low, high = a, b - 1  # the first end of a bin at the middle or above
    while low < high:
        at = (low + high) >> 1
        if row[at] < middle:
            low = at + 1
        else:
            high = at
    return low - 1 if low > a and middle - row[low - 1] < row[low] - middle else low


@lean_kernel
def breadth_first(feature, left, cut, following, thresholds, order):
    """order[k] = the k-th node, level by level from the left; so a tree is known from which nodes are leaves.

    Cuts are moved to the middle between the bins on both sides, ``cut`` and ``following`` (0 if there is none).
    """
    order[0] = 0
    used = 1
    for k in range(order.shape[0]):
        node = order[k]
        if feature[node] >= 0:
            cut[node] = _centred(np.int64(cut[node]), np.int64(following[node]), thresholds[feature[node]])
            order[used] = left[node]
            order[used + 1] = left[node] + 1
            used += 2


@inner_kernel
def _goes_left(c, cut, missing_left, n_bins, categorical, bits):
    if c == n_bins:
        return missing_left == 1
    if categorical:
        return (bits[cut, c >> 5] >> np.uint32(c & 31)) & np.uint32(1) != np.uint32(0)
    return c <= cut


@lean_kernel
def walk(codes, rows, feature, cut, missing_left, left, bits, n_bins, categorical, out):
    """out[k] = the leaf that row rows[k] of the binned columns reaches."""
    for k in range(rows.shape[0]):
        r = np.uintp(rows[k])
        node = 0
        while feature[node] >= 0:
            f = feature[node]
            c = np.int64(codes[f, r])
            goes = _goes_left(c, cut[node], missing_left[node], n_bins[f], categorical[f], bits)
            node = left[node] + (0 if goes else 1)
        out[k] = node


@lean_kernel
def leaf_means(rows, start, stop, leaves, y, mass, mean, spread):
    """Weighted mean of each leaf's targets, exact if they are equal, and the weighted squares around it."""
    for k in range(leaves.shape[0]):
        first, last = start[leaves[k]], stop[leaves[k]]
        total = 0.0
        for i in range(first, last):
            total += mass[rows[i]]
        spread[k] = 0.0
        for j in range(y.shape[1]):
            origin, moved = y[rows[first], j], 0.0
            for i in range(first, last):
                moved += mass[rows[i]] * (y[rows[i], j] - origin)
            mean[k, j] = origin + moved / total
            for i in range(first, last):
                spread[k] += mass[rows[i]] * (y[rows[i], j] - mean[k, j]) ** 2


@lean_kernel
def leaf_deviances(rows, start, stop, leaves, y, mass, mean, spread):
    """As ``leaf_means``, but with the Poisson deviance for the squares."""
    for k in range(leaves.shape[0]):
        spread[k] = 0.0
        for i in range(start[leaves[k]], stop[leaves[k]]):
            for j in range(y.shape[1]):
                w = mass[rows[i]]
                if w > 0.0:
                    spread[k] += deviance(w * (y[rows[i], j] - mean[k, j]), w, mean[k, j])


@lean_kernel
def class_spread(sums, mass, entropy, n_outputs, spread):
    """Weighted impurity of nodes: mass · (1 − Σ p²), or Σ mass · p log₂(1 / p), the mean over outputs.

    With one sum a node, it is the mass of the second of two classes.
    """
    for k in range(mass.shape[0]):
        w, part = mass[k], 0.0
        for j in range(2 if sums.shape[1] == 1 else sums.shape[1]):
            p = (w - sums[k, 0] if j > 0 and sums.shape[1] == 1 else sums[k, j]) / w
            if not entropy:
                part += p * p
            elif p > 0.0:
                part -= p * math.log2(p)
        spread[k] = w * (part / n_outputs if entropy else 1.0 - part / n_outputs)


@lean_kernel
def unfold(is_leaf, sizes, left):
    """Left children (−1 at leaves) of trees that are stored level by level; returns False if they are no trees."""
    first = 0
    for t in range(sizes.shape[0]):
        last = first + sizes[t]
        following = first + 1
        if sizes[t] < 1 or last > is_leaf.shape[0]:
            return False
        for node in range(first, last):
            if is_leaf[node]:
                left[node] = -1
            elif following <= node or following + 1 >= last:
                return False
            else:
                left[node] = following
                following += 2
        if following != last:
            return False
        first = last
    return first == is_leaf.shape[0]


@lean_kernel
def fill_classes(
    left, first, leaf_sums, leaf_mass, leaf_rows, entropy, n_outputs, value, mass, rows, impurity, gain
):  # fmt: skip
    """Class shares, mass, rows, impurity and gain of the nodes of some trees, from the sums of their leaves.

    Children come after their parents, and are numbered from ``first``. Of two classes the second alone is summed.
    """
    k, two = leaf_mass.shape[0], leaf_sums.shape[1] == 1
    for node in range(left.shape[0] - 1, -1, -1):
        a, own = np.int64(left[node]) - first, value[node]
        if left[node] < 0:
            k -= 1
            w = leaf_mass[k]
            rows[node] = np.int32(leaf_rows[k])
            for j in range(leaf_sums.shape[1]):
                own[j + (1 if two else 0)] = leaf_sums[k, j]
        else:
            w = mass[a] + mass[a + 1]
            rows[node] = rows[a] + rows[a + 1]
            one, other = value[a], value[a + 1]
            for j in range(own.shape[0]):
                own[j] = one[j] + other[j]
        if two:
            own[0] = w - own[1]
        part = 0.0
        for j in range(own.shape[0]):
            if not entropy:
                part += own[j] * own[j]
            elif own[j] > 0.0:
                part -= own[j] / w * math.log2(own[j] / w)
        mass[node], gain[node] = w, 0.0
        impurity[node] = part / n_outputs if entropy else 1.0 - part / (w * w * n_outputs)
        if left[node] >= 0:
            lost = impurity[node] * w - impurity[a] * mass[a] - impurity[a + 1] * mass[a + 1]
            gain[node] = max(lost, 0.0)
    for node in range(left.shape[0]):
        w, own = mass[node], value[node]
        for j in range(own.shape[0]):
            own[j] /= w


@lean_kernel
def average_up(left, mean, mass, rows, spread, gain, poisson):
    """Means of inner nodes from those of the leaves, with what each split gained and the impurity above it."""
    for node in range(left.shape[0] - 1, -1, -1):
        a = left[node]
        if a < 0:
            continue
        b = a + 1
        mass[node] = mass[a] + mass[b]
        rows[node] = rows[a] + rows[b]
        share = mass[b] / mass[node]
        gain[node] = 0.0
        for j in range(mean.shape[1]):
            u, v = mean[a, j], mean[b, j]
            mean[node, j] = u + share * (v - u)
            if poisson:
                apart = mass[a] * share * (v - u)
                gain[node] += deviance(-apart, mass[a], mean[node, j]) + deviance(apart, mass[b], mean[node, j])
            else:
                gain[node] += mass[a] * share * (v - u) ** 2
        spread[node] = spread[a] + spread[b] + gain[node]


@lean_kernel
def same_leaves(first, second, out):
    """out[i, j] = number of trees in which row i of ``first`` and row j of ``second``, (trees, rows), share a leaf."""
    for t in range(first.shape[0]):
        for i in range(first.shape[1]):
            leaf = first[t, i]
            for j in range(second.shape[1]):
                out[i, j] += 1 if second[t, j] == leaf else 0


@kernel
def weighted_quantiles(leaves, starts, stops, ranks, masses, leaf_mass, levels, values, out):
    """Quantiles of the targets that share leaves with each row, weighted as the forest's mean weighs them.

    The quantile at level q is the smallest target whose cumulated weight reaches q of the whole.
    """
    n_trees = leaves.shape[1]
    for i in range(leaves.shape[0]):
        size = 0
        for t in range(n_trees):
            size += stops[leaves[i, t]] - starts[leaves[i, t]]
        keys = np.empty(size, dtype=np.int64)
        weights = np.empty(size)
        m = 0
        for t in range(n_trees):
            leaf = leaves[i, t]
            for k in range(starts[leaf], stops[leaf]):
                keys[m] = ranks[k]
                weights[m] = masses[k] / leaf_mass[leaf]
                m += 1
        order = np.argsort(keys, kind="mergesort")
        total, k = weights[order[0]], 0
        for q in range(levels.shape[0]):
            goal = levels[q] * n_trees * (1.0 - 1e-12)
            while total < goal and k + 1 < size:
                k += 1
                total += weights[order[k]]
            out[i, q] = values[keys[order[k]]]


@lean_kernel
def prune(feature, left, gain, risk, alpha):
    """Make leaves of nodes whose subtree lowers ``risk`` by no more than ``alpha`` a leaf; ``risk`` is overwritten.

    The cheapest subtree of a node is the node alone or the cheapest subtrees of its children, so one pass upwards finds
    the smallest tree that minimises risk + alpha · leaves: the one that weakest-link pruning arrives at.
    """
    for node in range(feature.shape[0] - 1, -1, -1):
        alone = risk[node] + alpha
        if feature[node] >= 0:
            below = risk[left[node]] + risk[left[node] + 1]
            if alone <= below:
                feature[node], left[node], gain[node] = -1, -1, 0.0
            else:
                alone = below
        risk[node] = alone
