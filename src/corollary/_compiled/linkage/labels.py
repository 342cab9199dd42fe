"""From a list of merges to a tree: heights that rise, numbers of nodes, the order of leaves, clusters of a cut.

Working arrays come from the caller, since making them here takes long to compile.
"""

from __future__ import annotations

from corollary._compiled._jit import inner_kernel, lean_kernel


@inner_kernel
def _root(parent, i):
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@lean_kernel
def raise_heights(left, right, heights, parent, top):
    """Lift merges, given in an order in which parts precede their union, to the heights of their parts.

    ``parent`` comes as 0 … n − 1 and ``top`` as zeros. Returns the largest lift relative to the height: rounding
    alone, for a linkage without inversions.
    """
    worst = 0.0
    for t in range(left.shape[0]):
        a, b = _root(parent, left[t]), _root(parent, right[t])
        floor = top[a] if top[a] > top[b] else top[b]
        if heights[t] < floor:
            lift = (floor - heights[t]) / floor
            worst = lift if lift > worst else worst
            heights[t] = floor
        parent[b] = a
        top[a] = heights[t]
    return worst


@lean_kernel
def number_nodes(left, right, order, children, counts, parent, node, size):
    """Children of each merge taken in ``order`` (the smaller number first) and how many leaves are below it.

    Leaves are 0 … n − 1 and merge t makes node n + t; ``left`` and ``right`` name any leaf of the two sides. ``parent``
    and ``node`` come as 0 … n − 1 and ``size`` as ones.
    """
    n = parent.shape[0]
    for t in range(order.shape[0]):
        a, b = _root(parent, left[order[t]]), _root(parent, right[order[t]])
        children[t, 0] = node[a] if node[a] < node[b] else node[b]
        children[t, 1] = node[b] if node[a] < node[b] else node[a]
        big, small = (a, b) if size[a] >= size[b] else (b, a)
        parent[small] = big
        size[big] += size[small]
        node[big] = n + t
        counts[t] = size[big]


@lean_kernel
def leaf_order(children, sizes, order, first):
    """Leaves in the order of the drawn tree; those of a node are order[first[node] : first[node] + sizes[node]].

    ``first`` comes as −1. Nodes that are nobody's child (a forest has several) stand side by side.
    """
    n, place = order.shape[0], 0
    for node in range(sizes.shape[0] - 1, -1, -1):
        if first[node] < 0:  # children have smaller numbers, so that a parent would have been here
            first[node] = place
            place += sizes[node]
        if node >= n:
            a, b = children[node - n, 0], children[node - n, 1]
            first[a] = first[node]
            first[b] = first[node] + sizes[a]
        else:
            order[first[node]] = node


@lean_kernel
def cut(children, merged, labels, parent, number):
    """Clusters when only the merges with ``merged`` are carried out, numbered in the order of their first rows.

    ``parent`` comes as 0, 1, … and ``number`` as −1 for all nodes.
    """
    n, found = labels.shape[0], 0
    for t in range(children.shape[0]):
        if merged[t]:
            parent[children[t, 0]] = parent[children[t, 1]] = n + t
    for i in range(n):
        top = _root(parent, i)
        if number[top] < 0:
            number[top] = found
            found += 1
        labels[i] = number[top]
    return found


@lean_kernel
def node_means(columns, weights, order, first, counts, nodes, means, masses):
    """Weighted means of the rows below some nodes, and their weights.

    Rows are taken relative to the first of them, so that what they share costs no digits of the mean.
    """
    for t in range(nodes.shape[0]):
        rows = order[first[nodes[t]] : first[nodes[t]] + counts[nodes[t]]]
        mass = 0.0
        for i in rows:
            mass += weights[i]
        for c in range(columns.shape[0]):
            column, total = columns[c], 0.0
            origin = column[rows[0]]
            for i in rows:
                total += weights[i] * (column[i] - origin)
            means[t, c] = origin + total / mass
        masses[t] = mass
