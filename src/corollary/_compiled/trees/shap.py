"""Shapley values of trees: how much of a prediction is due to each column.

A leaf of value v answers v · Π over the columns j of its path of o_j if j is known and r_j if not: o_j is 1 when the
row passes all tests of the path on column j and 0 when it fails one, r_j is the share of training rows that pass them.
Owen's integral gives the Shapley value of such a product without a sum over sets of columns:

    φ_j = v (o_j − r_j) ∫₀¹ Π_{k ≠ j} (t o_k + (1 − t) r_k) dt.

The integrand is a polynomial, so that a few points of a Gauss rule make it exact: half as many as columns on the path.
Every factor is positive, so nothing cancels. The product of all factors, P, is carried down from node to node, and P·v
is summed on the way up; column j then takes P·v times (o_j − r_j) / (t o_j + (1 − t) r_j), its *pull*. A column that is
tested twice on a path changes its factor and its pull at the second test, so an edge counts by the change in its pull.
Cost for a row and a tree: O(leaves × points). Eight rows go together, so that every inner loop is a vector operation.
"""

from __future__ import annotations

import numpy as np

from corollary._compiled._jit import fast_kernel, inner_kernel, kernel
from corollary._compiled.team import count_blocks, rows_of, take
from corollary._compiled.trees.coding import LANES as ROWS
from corollary._compiled.trees.coding import load
from corollary._compiled.trees.traverse import categorical_left

LANES = 8  # rows at a time


@kernel
def paths(root, stop, feature, left, cover, parent, before, share, part, slot):
    """Describe the edges into the nodes of a tree; the most columns that meet on a path.

    Nodes are numbered from the root, and an edge has the number of its lower node. ``before`` is the last edge above
    that tests the same column (0 if there is none), ``share`` the share of the parent's training rows that take the
    edge, ``part`` the product of the shares of this edge and those of the same column above. ``slot`` is 2 × the
    distance from the root, plus 1 for a right child: no two edges of a path share it.
    """
    n = stop - root
    columns = np.zeros(n, dtype=np.int32)
    parent[0], before[0], share[0], part[0], slot[0] = -1, 0, 1.0, 1.0, 0
    for i in range(n):
        f = feature[root + i]
        if f < 0:
            continue
        above = i
        while above > 0 and feature[root + parent[above]] != f:
            above = parent[above]
        first = left[root + i] - root
        share[first] = cover[root + first] / cover[root + i] if cover[root + i] > 0.0 else 0.5
        share[first + 1] = 1.0 - share[first]
        for child in range(first, first + 2):
            parent[child], before[child] = i, above
            slot[child] = 2 * (slot[i] // 2 + 1) + child - first
            part[child] = part[above] * share[child]
            columns[child] = columns[i] + (1 if above == 0 else 0)
    return columns.max()


@kernel
def all_paths(roots, stops, feature, left, cover, edges, most):
    """``paths`` of all trees side by side in ``edges``, and ``most`` columns that meet on a path of each."""
    parent, before, slot, share, part = edges
    for t in range(roots.shape[0]):
        a, b = roots[t], stops[t]
        most[t] = paths(a, b, feature, left, cover, parent[a:b], before[a:b], share[a:b], part[a:b], slot[a:b])


@kernel
def expectation(roots, stops, feature, left, cover, value, out):
    """out[t mod groups] += mean value of tree t over its training rows."""
    groups = out.shape[0] // value.shape[1]
    reach = np.zeros(feature.shape[0])
    for tree in range(roots.shape[0]):
        reach[roots[tree]] = 1.0
        for node in range(roots[tree], stops[tree]):
            if feature[node] < 0:
                for k in range(value.shape[1]):
                    out[tree % groups + k] += reach[node] * value[node, k]
            else:
                share = cover[left[node]] / cover[node] if cover[node] > 0.0 else 0.5
                reach[left[node]] = reach[node] * share
                reach[left[node] + 1] = reach[node] * (1.0 - share)


@inner_kernel
def _decide(columns, start, node, feature, threshold, missing_left, category, bitsets, goes):
    """goes[v] = 1 if row start + v goes left at the node, else 0."""
    row, cut, missing = category[node], threshold[node], missing_left[node]
    for v in range(LANES):
        x = columns[feature[node], start + v]
        if row >= 0:
            goes[v] = 1.0 if categorical_left(x, row, bitsets, missing) else 0.0
        else:
            goes[v] = 1.0 if x <= cut or (missing and x != x) else 0.0


@fast_kernel
def _descend(here, above, first, shares, goes, points, path):
    """Go down both edges of a node: the factor of the column changes, and with it the product of all factors."""
    passes, part, inverse, product = path
    second = first + 1
    for v in range(LANES):
        passes[first, v] = passes[above, v] * goes[v]
        passes[second, v] = passes[above, v] - passes[first, v]
    for q in range(points.shape[0]):
        inverse[first, q] = 1.0 / (points[q] + (1.0 - points[q]) * part[first])
        inverse[second, q] = 1.0 / (points[q] + (1.0 - points[q]) * part[second])
    for q in range(points.shape[0]):
        t, rest, common = points[q], 1.0 - points[q], inverse[above, q]
        for v in range(LANES):  # once the row has failed on the column, the factor (1 − t) r only shrinks
            fits = passes[above, v] > 0.0
            one = (t * passes[first, v] + rest * part[first]) * common if fits else shares[0]
            two = (t * passes[second, v] + rest * part[second]) * common if fits else shares[1]
            product[first, q, v] = product[here, q, v] * one
            product[second, q, v] = product[here, q, v] * two


@fast_kernel
def _ascend(here, above, first, lost, path, sums, total, phi, column):
    """Come back up both edges: add their leaves, and the changes in their pulls to the column."""
    passes, part, inverse, _ = path
    second = first + 1
    for k in range(sums.shape[1]):
        total[:] = 0.0
        for q in range(lost.shape[0]):
            before = (1.0 - part[above]) * inverse[above, q]
            one, two = (1.0 - part[first]) * inverse[first, q], (1.0 - part[second]) * inverse[second, q]
            for v in range(LANES):
                a, b = sums[first, k, q, v], sums[second, k, q, v]
                pull_a = one if passes[first, v] > 0.0 else lost[q]
                pull_b = two if passes[second, v] > 0.0 else lost[q]
                sums[here, k, q, v] = a + b
                total[v] += (pull_a - before) * a + (pull_b - before) * b
        for v in range(phi.shape[0]):  # the pull of a column that failed before is the same at every later edge
            phi[v, column + k] += passes[above, v] * total[v]


@fast_kernel
def _answer(product, value, n_points, sums):
    """At a leaf: P·v."""
    for k in range(value.shape[0]):
        for q in range(n_points):
            for v in range(LANES):
                sums[k, q, v] = product[q, v] * value[k]


@inner_kernel
def _pairs(leaf, root, feature, parent, slot, lost, path, value, n_columns, phi, column):
    """At a leaf: add the products of the pulls of all pairs of columns on its path."""
    passes, part, inverse, product = path
    a = leaf
    while a > 0:
        f = feature[root + parent[a]]
        b = 0 if _again(a, leaf, root, feature, parent) else parent[a]
        while b > 0:
            g = feature[root + parent[b]]
            if not _again(b, leaf, root, feature, parent):
                for v in range(phi.shape[0]):
                    total = 0.0
                    for q in range(lost.shape[0]):
                        i, j = slot[a], slot[b]
                        pull = (1.0 - part[i]) * inverse[i, q] if passes[i, v] > 0.0 else lost[q]
                        pull *= (1.0 - part[j]) * inverse[j, q] if passes[j, v] > 0.0 else lost[q]
                        total += product[slot[leaf], q, v] * pull
                    for k in range(value.shape[0]):
                        phi[v, f * n_columns + g, column + k] += 0.5 * total * value[k]
                        phi[v, g * n_columns + f, column + k] += 0.5 * total * value[k]
            b = parent[b]
        a = parent[a]


@inner_kernel
def _again(edge, leaf, root, feature, parent):
    """Whether the column of an edge is tested again on the way to a leaf: only the lowest edge of a column counts."""
    lower = leaf
    while lower != edge and feature[root + parent[lower]] != feature[root + parent[edge]]:
        lower = parent[lower]
    return lower != edge


@inner_kernel
def _walk(columns, start, root, splits, left, value, edges, points, lost, path, sums, scratch, line, phi, group, pairs):
    """Visit the nodes of a tree for eight rows, depth first; ``path`` holds what belongs to edges, by their slots."""
    feature, threshold, missing_left, category, bitsets = splits
    parent, before, slot, share, parts = edges
    goes, total = scratch
    line[0, 0], line[1, 0], depth = 0, 0, 0  # the nodes of the path, and how many of their children were visited
    while depth >= 0:
        node, seen = line[0, depth], line[1, depth]
        f, first = feature[root + node], left[root + node] - root
        here, above, below = slot[node], slot[before[first]], slot[first]
        if seen == 0:
            _decide(columns, start, root + node, feature, threshold, missing_left, category, bitsets, goes)
            path[1][below], path[1][below + 1] = parts[first], parts[first + 1]
            _descend(here, above, below, share[first : first + 2], goes, points, path)
        if seen < 2:
            child, line[1, depth] = first + seen, seen + 1
            if feature[root + child] >= 0:
                depth += 1
                line[0, depth], line[1, depth] = child, 0
            elif pairs:
                _pairs(
                    child, root, feature, parent, slot, lost, path, value[root + child], columns.shape[0], phi, group
                )
            else:
                _answer(path[3][below + seen], value[root + child], lost.shape[0], sums[below + seen])
        else:
            if not pairs:
                _ascend(here, above, below, lost, path, sums, total, phi[:, f], group)
            depth -= 1


@inner_kernel
def _hand_over(phi, begin, end, used, n_columns, pairs, out):
    """The values of a block of rows, to where the columns in use are among all."""
    for i in range(begin, end):
        for f in range(used.shape[0]):
            for g in range(used.shape[0] if pairs else 1):
                here = f * used.shape[0] + g if pairs else f
                there = used[f] * n_columns + used[g] if pairs else used[f]
                for k in range(out.shape[2]):
                    out[i, there, k] = phi[i - begin, here, k]


@kernel
def shap_rows(team, rank, source, used, size, roots, stops, splits, left, value, edges, most, rules, depth, pairs,
              n_columns, out):  # fmt: skip
    """out[i, f, k] = Shapley value of column f in output k of row i; tree t with one value belongs to t mod outputs.

    With ``pairs``, out[i, f · columns + g, k] = half the interaction of columns f ≠ g: both pulls, integrated. Features
    of ``splits`` are numbers among the columns ``used``. ``rules[0, p - 1]`` and ``rules[1, p - 1]`` are the points and
    weights of Gauss's rule with p points on [0, 1]. Threads take ``size`` rows at a time.
    """
    n, groups, slots = out.shape[0], out.shape[2] // value.shape[1], 2 * depth + 2
    columns = np.empty((used.shape[0], ROWS))
    phi = np.empty((size, used.shape[0] ** (2 if pairs else 1), out.shape[2]))
    high = rules.shape[1]
    path = (np.ones((slots, LANES)), np.ones(slots), np.ones((slots, high)), np.empty((slots, high, LANES)))
    sums = np.empty((slots, value.shape[1], high, LANES))
    scratch, line = (np.empty(LANES), np.empty(LANES)), np.empty((2, depth + 1), np.int32)
    parent, before, slot, share, part = edges
    block = take(team)
    while block < count_blocks(n, size):
        begin, end = rows_of(block, n, size)
        for f in range(used.shape[0]):
            load(source, used[f], begin, columns[f])
        phi[:] = 0.0
        for t in range(roots.shape[0]):
            root, p = roots[t], (most[t] + 1) // 2
            if splits[0][root] < 0:
                continue
            stop = stops[t]
            own = parent[root:stop], before[root:stop], slot[root:stop], share[root:stop], part[root:stop]
            points, lost = rules[0, p - 1, :p], -1.0 / (1.0 - rules[0, p - 1, :p])  # the pull of a column that failed
            for q in range(p):
                path[3][0, q] = rules[1, p - 1, q]
            for start in range(0, end - begin, LANES):
                _walk(columns, start, root, splits, left, value, own, points, lost, path, sums, scratch, line,
                      phi[start : start + LANES], t % groups, pairs)  # fmt: skip
        _hand_over(phi, begin, end, used, n_columns, pairs, out)
        block = take(team)
