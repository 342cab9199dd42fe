"""A k-d tree of weighted centres: nearest neighbours in Ward's or the plain measure, and merging along chains.

A leaf is a block of ``WIDE`` places, stored column after column, so that the distances to all of them are worked out at
once. Node v of level l, the k-th there, covers leaves (L k >> l) … (L (k + 1) >> l) − 1 of L; its children are nodes
2 v + 1 and 2 v + 2. On the last level a node has one leaf or none. A place that is empty has a first coordinate of
infinity, and so is near to nothing. Loops are written out: assignments to slices take long to compile.
"""

from __future__ import annotations

import numpy as np

from corollary._compiled._jit import inner_fast_kernel, inner_kernel, kernel, lean_kernel
from corollary._compiled.linkage.triangle import NOTHING
from corollary._compiled.team import count_blocks, rows_of, take

WIDE = 32
SOME = 64  # places that a thread takes at a time


@inner_kernel
def _bound_leaf(blocks, weights, leaf, node, low, high, light):
    """The box and the least weight of a leaf; without a place it is infinitely far from everything."""
    light[node] = np.inf
    for c in range(blocks.shape[1]):
        low[node, c], high[node, c] = np.inf, -np.inf
    for j in range(WIDE):
        if leaf >= 0 and blocks[leaf, 0, j] < np.inf:
            weight = weights[leaf * WIDE + j]
            light[node] = weight if weight < light[node] else light[node]
            for c in range(blocks.shape[1]):
                value = blocks[leaf, c, j]
                low[node, c] = value if value < low[node, c] else low[node, c]
                high[node, c] = value if value > high[node, c] else high[node, c]


@inner_kernel
def _bound_inner(node, low, high, light):
    one, other = 2 * node + 1, 2 * node + 2
    light[node] = light[one] if light[one] < light[other] else light[other]
    for c in range(low.shape[1]):
        low[node, c] = low[one, c] if low[one, c] < low[other, c] else low[other, c]
        high[node, c] = high[one, c] if high[one, c] > high[other, c] else high[other, c]


@lean_kernel
def bound_all(blocks, weights, levels, low, high, light, node_of):
    """Boxes and least weights of all nodes, and the node of each leaf."""
    leaves, first = blocks.shape[0], (1 << levels) - 1
    for k in range(1 << levels):
        leaf = leaves * k >> levels
        if leaves * (k + 1) >> levels > leaf:
            node_of[leaf] = first + k
        else:
            leaf = -1
        _bound_leaf(blocks, weights, leaf, first + k, low, high, light)
    for node in range(first - 1, -1, -1):
        _bound_inner(node, low, high, light)


@inner_fast_kernel
def _gap(low, high, node, point):
    """The squared distance from a point to a box."""
    total = 0.0
    for c in range(point.shape[0]):
        below, above = low[node, c] - point[c], point[c] - high[node, c]
        gap = below if below > above else above
        gap = gap if gap > 0.0 else 0.0
        total += gap * gap
    return total


@inner_fast_kernel
def _squares(block, point, values, bits):
    """values[j] = the squared distance of place j of a block, and values[WIDE] the least of them.

    The number of places is read from the array: loops of a constant length are unrolled into scalar instructions.
    """
    wide, least = block.shape[1], NOTHING
    for j in range(wide):
        values[j] = 0.0
    for c in range(point.shape[0]):
        here, column = point[c], block[c]
        for j in range(wide):
            gap = column[j] - here
            values[j] += gap * gap
    for j in range(wide):  # the bits of floats that are not negative are ordered as the floats
        least = bits[j] if bits[j] < least else least
    bits[wide] = least


@inner_kernel
def _search(
    blocks, weights, low, high, light, levels, ward, point, weight, own, least, found, two, stack, gaps, values, bits
):
    """(least measure, its place, second least) of all places but ``own`` that are nearer than ``least``.

    What was given is returned where nothing is nearer. Without ``two`` the second least is not looked for.
    """
    leaves, first = blocks.shape[0], (1 << levels) - 1
    stack[0], gaps[0], top, second = 0, 0.0, 1, np.inf
    while top > 0:
        top -= 1
        node = stack[top]
        bound = second if two else least
        if gaps[top] >= bound:
            continue
        if node >= first:
            leaf = leaves * (node - first) >> levels
            _squares(blocks[leaf], point, values, bits)
            factor = weight * light[node] / (weight + light[node]) if ward else 1.0
            if values[WIDE] * factor >= bound:
                continue
            for j in range(WIDE):
                place, value = leaf * WIDE + j, values[j]
                if ward:
                    value *= weight * weights[place] / (weight + weights[place])
                if value < bound and place != own:
                    if value < least:
                        second, least, found = least, value, place
                    else:
                        second = value
                    bound = second if two else least
            continue
        for child in range(2 * node + 1, 2 * node + 3):
            if light[child] < np.inf:
                gap = _gap(low, high, child, point)
                gaps[top] = gap * (weight * light[child] / (weight + light[child])) if ward else gap
                stack[top] = child
                top += 1
        if top > 1 and gaps[top - 1] > gaps[top - 2] and stack[top - 1] == stack[top - 2] + 1:
            stack[top - 1], stack[top - 2] = stack[top - 2], stack[top - 1]  # the nearer one is looked at first
            gaps[top - 1], gaps[top - 2] = gaps[top - 2], gaps[top - 1]
    return least, found, second


@kernel
def neighbours(team, rank, blocks, weights, low, high, light, levels, ward, places, best, near, second):
    """The nearest other place of each of ``places``, how near it is, and, unless ``ward``, how near the next one is.

    Threads take some places at a time.
    """
    depth, nobody = 2 * levels + 4, np.int64(-1)
    point, stack, gaps, values = (
        np.empty(blocks.shape[1]),
        np.empty(depth, np.int64),
        np.empty(depth),
        np.empty(WIDE + 1),
    )
    bits, n = values.view(np.int64), places.shape[0]
    block = take(team)
    while block < count_blocks(n, SOME):
        first, last = rows_of(block, n, SOME)
        for q in range(first, last):
            p = places[q]
            for c in range(point.shape[0]):
                point[c] = blocks[p // WIDE, c, p % WIDE]
            best[q], near[q], second[q] = _search(
                blocks, weights, low, high, light, levels, ward, point, weights[p], p, np.inf, nobody, not ward,
                stack, gaps, values, bits,
            )  # fmt: skip
        block = take(team)


@inner_kernel
def _move(blocks, weights, low, high, light, node_of, x, y):
    """Place ``x`` becomes the union of x and y, and y becomes empty."""
    total = weights[x] + weights[y]
    for c in range(blocks.shape[1]):
        here = blocks[x // WIDE, c, x % WIDE]
        blocks[x // WIDE, c, x % WIDE] = here + weights[y] / total * (blocks[y // WIDE, c, y % WIDE] - here)
    weights[x] = total
    blocks[y // WIDE, 0, y % WIDE] = np.inf
    place = x
    for _ in range(2):
        node = node_of[place // WIDE]
        _bound_leaf(blocks, weights, place // WIDE, node, low, high, light)
        while node > 0:
            node = (node - 1) // 2
            _bound_inner(node, low, high, light)
        place = y


@lean_kernel
def ward_chain(
    blocks, weights, low, high, light, levels, ward, node_of, links, steps, left, right, heights, point, stack, gaps,
    values, bits,
):  # fmt: skip
    """Merge all places along chains of nearest neighbours in Ward's measure (see ``triangle.chain``).

    ``links`` and ``steps`` hold the chain; ``ward`` is True, and there since constants would compile the search anew.
    Returns how many merges were made: fewer than all if some place is at no finite distance from any other.
    """
    length, done, start, nobody = 0, 0, 0, links[0] * 0 - 1
    while done < left.shape[0]:
        if length == 0:
            while start < weights.shape[0] and blocks[start // WIDE, 0, start % WIDE] == np.inf:
                start += 1
            if start == weights.shape[0]:
                return done
            links[0], steps[0], length = start, np.inf, 1
        x = links[length - 1]
        before = links[length - 2] if length > 1 else nobody
        for c in range(point.shape[0]):
            point[c] = blocks[x // WIDE, c, x % WIDE]
        least, found, _ = _search(
            blocks, weights, low, high, light, levels, ward, point, weights[x], x, steps[length - 1], before, not ward,
            stack, gaps, values, bits,
        )  # fmt: skip
        if found < 0:  # every comparison failed: nothing is near
            return done
        if found != before:
            links[length], steps[length] = found, least
            length += 1
            continue
        keep, gone = (x, found) if weights[x] >= weights[found] else (found, x)
        left[done], right[done], heights[done] = keep, gone, least
        _move(blocks, weights, low, high, light, node_of, keep, gone)
        done, length = done + 1, length - 2
    return done
