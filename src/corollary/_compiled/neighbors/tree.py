"""A k-d tree of full binary shape: medians of the widest column, tight boxes, and leaves stored column by column.

The leaves are the last level. Queries walk four levels at once: a *group* holds the boxes of up to 16 descendants of a
node, one column after another, and so does a leaf with its points. A scan of either fills vector registers. Leaves of
the Euclidean metric are float32; what they cannot rule out is measured in float64.

A box's reduced distance is summed in the same order as a point's. Subtraction, squares and sums round monotonically, so
the bound is never above the computed distance of a point inside; powers do not, and get a margin.

A ``tree`` is (leaves, points, index, starts, groups, offsets, fans), as ``solvers/neighbors/tree.py`` has them. A
``frame`` is what its leaves were shifted and scaled by, and the share of a length that this can cost: (centre, scale,
share). A ``metric`` is None for the Euclidean, so that nothing of others is compiled with it, or else (code, p).
``room`` is what the walks of each thread write to: distances to a leaf, to the boxes of a group, and a stack of
distances, and of nodes and levels.
"""

from __future__ import annotations

import math

import numpy as np

from corollary._compiled._jit import inner_kernel, lean_kernel
from corollary._compiled.codes import CHEBYSHEV, MANHATTAN
from corollary._compiled.neighbors.nearest import ascend, sift, sort_list
from corollary._compiled.team import count_blocks, meet, rows_of, share, take

MARGIN = 1.0 - 1e-12  # of powers: libraries compute them to one or two units in the last place


@lean_kernel
def fill_leaves(team, rank, X, index, starts, centre, scale, points, leaves):
    """Copy the rows X[index] to ``points`` and, leaf by leaf, shifted and scaled, column by column, to ``leaves``.

    What is over in a leaf stays zero.
    """
    first, end = share(team, rank, leaves.shape[0])
    for leaf in range(first, end):
        for i in range(starts[leaf], starts[leaf + 1]):
            row = index[i]
            for j in range(X.shape[1]):
                points[i, j] = X[row, j]
                leaves[leaf, j, i - starts[leaf]] = (X[row, j] - centre[j]) * scale


@inner_kernel
def _group_bounds(groups, g, Q, i, metric, out):
    """Reduced distances from query i to the boxes of one group."""
    d, fan = groups.shape[2], groups.shape[3]
    for c in range(fan):
        out[c] = 0.0
    for j in range(d):
        q = Q[i, j]
        for c in range(fan):
            below, above = groups[g, 0, j, c] - q, q - groups[g, 1, j, c]
            outside = below if below > above else above
            outside = outside if outside > 0.0 else 0.0
            if metric is None:
                out[c] += outside * outside
            else:
                out[c] = _with(out[c], outside, metric, MARGIN)


@inner_kernel
def _with(total, gap, metric, share):
    """A reduced distance with that of one more column, of whose power only a share counts."""
    code, p = metric
    if code == MANHATTAN:
        return total + gap
    if code == CHEBYSHEV:
        return gap if gap > total else total
    return total + share * gap**p


@inner_kernel
def _leaf_distances(leaves, leaf, near, i, metric, total):
    """Reduced distances from query i to all points of a leaf, in the leaf's precision."""
    d, width = leaves.shape[1], leaves.shape[2]
    for c in range(width):
        total[c] = 0.0
    j = 0
    if metric is None:
        while j + 4 <= d:  # four columns a pass: fewer loads and stores of the sums
            q0, q1, q2, q3 = near[i, j], near[i, j + 1], near[i, j + 2], near[i, j + 3]
            for c in range(width):
                t0, t1 = leaves[leaf, j, c] - q0, leaves[leaf, j + 1, c] - q1
                t2, t3 = leaves[leaf, j + 2, c] - q2, leaves[leaf, j + 3, c] - q3
                total[c] = (((total[c] + t0 * t0) + t1 * t1) + t2 * t2) + t3 * t3
            j += 4
    while j < d:
        q0 = near[i, j]
        for c in range(width):
            t0 = leaves[leaf, j, c] - q0
            if metric is None:
                total[c] += t0 * t0
            else:
                total[c] = _with(total[c], abs(t0), metric, 1.0)
        j += 1


@inner_kernel
def _exact(points, at, Q, i, metric):
    """The reduced distance from query i to one point, in float64."""
    total = 0.0
    for j in range(points.shape[1]):
        gap = abs(points[at, j] - Q[i, j])
        if metric is None:
            total += gap * gap
        else:
            total = _with(total, gap, metric, 1.0)
    return total


@inner_kernel
def _cut(worst, metric, scale, slack, grow):
    """What a point within ``worst`` cannot exceed in the leaf's precision, where it is off by at most ``slack``."""
    if metric is not None:
        return worst * grow
    reach = math.sqrt(worst) * scale + slack
    return reach * reach * grow


@inner_kernel
def _hits(total, width, cut):
    """How many distances of a leaf are within the cut; counting has no branch, so whole registers are compared."""
    hits = np.int32(0)
    for c in range(width):
        hits += np.int32(total[c] <= cut)
    return hits


@inner_kernel
def _first_leaf(groups, offsets, fans, Q, i, metric, bounds):
    """The leaf that a query would look into first."""
    node = 0
    for level in range(len(fans)):
        _group_bounds(groups, offsets[level] + node, Q, i, metric, bounds)
        nearest = 0
        for c in range(1, fans[level]):
            if bounds[c] < bounds[nearest]:
                nearest = c
        node = node * fans[level] + nearest
    return node


@inner_kernel
def _shift(Q, i, frame, near, slack):
    """Shift and scale query i like the leaves, into their precision; ``slack`` is what that can cost."""
    centre, scale, share = frame
    square = 0.0
    for j in range(Q.shape[1]):
        value = (Q[i, j] - centre[j]) * scale
        near[i, j] = value
        square += value * value
    # shifted rows have coordinates up to 1 and keep all but a unit of each; so do the queries
    slack[i] = share * (math.sqrt(Q.shape[1]) + math.sqrt(square)) + 1e-18 if share > 0.0 else 0.0


@inner_kernel
def _by_leaf(leaf, places, sequence):
    """Queries in the order of the leaves that they look into first, those of one leaf as they come."""
    for v in range(len(places)):
        places[v] = 0
    for i in range(len(leaf)):
        places[leaf[i] + 1] += 1
    for v in range(1, len(places)):
        places[v] += places[v - 1]
    for i in range(len(leaf)):
        sequence[places[leaf[i]]] = i
        places[leaf[i]] += 1


@inner_kernel
def _prepare(team, rank, tree, Q, frame, metric, size, near, slack, leaf, places, sequence, bounds):
    """Shift the queries and order them by leaf: those of one leaf, taken together, find it in the cache.

    With room for no leaves (``leaf``) they stay as they come. False if the team was stopped.
    """
    groups, offsets, fans = tree[4], tree[5], tree[6]
    block, m = take(team), Q.shape[0]
    while block < count_blocks(m, size):
        start, stop = rows_of(block, m, size)
        for i in range(start, stop):
            _shift(Q, i, frame, near, slack)
            sequence[i] = i
            if len(leaf) > 0:
                leaf[i] = _first_leaf(groups, offsets, fans, Q, i, metric, bounds)
        block = take(team)
    if len(leaf) == 0:
        return meet(team)
    if not meet(team):
        return False
    if rank == 0:
        _by_leaf(leaf, places, sequence)
    return meet(team)


@inner_kernel
def _open_group(groups, offsets, fans, Q, i, metric, worst, depth, nodes, levels, waiting, bounds):
    """Replace the group on top of the stack (at ``depth``) by its children within ``worst``, the nearest on top."""
    node, level, base = nodes[depth], levels[depth], depth
    _group_bounds(groups, offsets[level] + node, Q, i, metric, bounds)
    for c in range(fans[level]):
        if bounds[c] <= worst:
            at = depth
            while at > base and waiting[at - 1] < bounds[c]:
                waiting[at], nodes[at] = waiting[at - 1], nodes[at - 1]
                at -= 1
            waiting[at], nodes[at] = bounds[c], node * fans[level] + c
            levels[depth] = level + 1
            depth += 1
    return depth


@lean_kernel
def nearest_in_tree(
    team, rank, tree, Q, frame, grow, metric, size, near, slack, room, leaf, places, sequence, distances, rows, looked
):
    """The k nearest of all queries; threads take blocks of ``size``. ``looked`` counts leaves that were looked into."""
    own = (room[0][rank], room[1][rank], room[2][rank], room[3][rank])
    if not _prepare(team, rank, tree, Q, frame, metric, size, near, slack, leaf, places, sequence, own[1]):
        return
    block = take(team)
    while block < len(looked):
        start, stop = rows_of(block, Q.shape[0], size)
        looked[block] = 0
        for s in range(start, stop):
            i = sequence[s]
            looked[block] += _walk(tree, Q, i, near, slack[i], frame[1], grow, metric, own, distances[i], rows[i])
        block = take(team)


@inner_kernel
def _walk(tree, Q, i, near, slack, scale, grow, metric, room, best, best_row):
    """The k nearest of query i; returns how many leaves were looked into."""
    leaves, points, index, starts, groups, offsets, fans = tree
    total, bounds, waiting, stack = room
    nodes, levels = stack[0], stack[1]
    k, looked, cut = len(best), 0, leaves.dtype.type(np.inf)
    for c in range(k):
        best[c], best_row[c] = np.inf, -1
    worst = np.inf
    nodes[0], levels[0], waiting[0], depth = 0, 0, 0.0, 1
    while depth > 0:
        depth -= 1
        if waiting[depth] > worst:
            continue
        if levels[depth] < len(fans):
            depth = _open_group(groups, offsets, fans, Q, i, metric, worst, depth, nodes, levels, waiting, bounds)
            continue
        looked += 1
        leaf = nodes[depth]
        _leaf_distances(leaves, leaf, near, i, metric, total)
        if _hits(total, leaves.shape[2], cut) == 0:
            continue
        for at in range(starts[leaf], starts[leaf + 1]):
            if total[at - starts[leaf]] <= cut:
                distance = _exact(points, at, Q, i, metric)
                if distance < worst or (distance == worst and index[at] < best_row[0]):
                    sift(best, best_row, 0, k, distance, index[at])
                    worst = best[0]
                    cut = leaves.dtype.type(_cut(worst, metric, scale, slack, grow))
    ascend(best, best_row)
    return looked


@lean_kernel
def rows_in_tree(
    team, rank, tree, Q, frame, grow, metric, size, near, slack, room, limits, places, counts, distances, rows
):
    """Count the rows within ``limits[i]`` of each query and, if there is room (``distances``), list them from
    ``places[i]`` on, the nearest first."""
    own_room = (room[0][rank], room[1][rank], room[2][rank], room[3][rank])
    listing, block = len(distances) > 0, take(team)
    while block < count_blocks(Q.shape[0], size):
        start, stop = rows_of(block, Q.shape[0], size)
        for i in range(start, stop):
            if not listing:
                _shift(Q, i, frame, near, slack)
            first = places[i] if listing else 0
            end = first + counts[i] if listing else 0
            own, own_rows = distances[first:end], rows[first:end]
            counts[i] = _collect(
                tree, Q, i, near, slack[i], frame[1], grow, limits[i], metric, own_room, listing, own, own_rows
            )
            if listing:
                sort_list(own, own_rows)
        block = take(team)


@inner_kernel
def _collect(tree, Q, i, near, slack, scale, grow, limit, metric, room, listing, distances, rows):
    """Count, and list if asked, the rows within ``limit`` of query i."""
    leaves, points, index, starts, groups, offsets, fans = tree
    total, bounds, waiting, stack = room
    nodes, levels = stack[0], stack[1]
    found, cut = 0, leaves.dtype.type(_cut(limit, metric, scale, slack, grow))
    nodes[0], levels[0], depth = 0, 0, 1
    while depth > 0:
        depth -= 1
        if levels[depth] < len(fans):
            depth = _open_group(groups, offsets, fans, Q, i, metric, limit, depth, nodes, levels, waiting, bounds)
            continue
        leaf = nodes[depth]
        _leaf_distances(leaves, leaf, near, i, metric, total)
        if _hits(total, leaves.shape[2], cut) == 0:
            continue
        for at in range(starts[leaf], starts[leaf + 1]):
            if total[at - starts[leaf]] <= cut:
                distance = _exact(points, at, Q, i, metric)
                if distance <= limit:
                    if listing:
                        distances[found], rows[found] = distance, index[at]
                    found += 1
    return found
