"""Agglomeration on a triangle of distances: row i holds d(i, j) for j < i, one row after the other.

Distances are never negative, and the bits of such floats are ordered as the floats are. Minima are therefore taken of
int64 views, which the compiler turns into vector instructions without being told that NaN cannot occur.
"""

from __future__ import annotations

import numpy as np

from corollary._compiled._jit import fast_kernel, inner_kernel, kernel, lean_kernel
from corollary._compiled.codes import EUCLIDEAN, MANHATTAN
from corollary._compiled.team import SIZE, count_blocks, meet, rows_of, share, take

PLAIN, ROOT, HALF = 0, 1, 2  # what becomes of the sum
COMPLETE, AVERAGE, SINGLE, WARD, CENTROID = range(5)  # the linkages of centres come last
CHUNK = 256
ROWS = 32  # that a thread takes at a time, and that share what is fetched from memory
TILE = 16
NOTHING = np.int64(0x7FF0000000000000)  # the bits of infinity


@fast_kernel
def accumulate(columns, start, stop, point, metric, out):
    """out[j − start] = Σ_k of the squares, or the like, of columns[k, j] − point[k].

    Slices tell the compiler that no index is negative, without which it makes no vector instructions.
    """
    d, m, k = columns.shape[0], stop - start, 0
    total = out[:m]
    for j in range(m):
        total[j] = 0.0
    if metric == EUCLIDEAN:
        while k + 4 <= d:  # four at a time: fewer passes over the sums
            a, b, c, e = point[k], point[k + 1], point[k + 2], point[k + 3]
            one, two = columns[k, start:stop], columns[k + 1, start:stop]
            three, four = columns[k + 2, start:stop], columns[k + 3, start:stop]
            for j in range(m):
                p, q, r, s = one[j] - a, two[j] - b, three[j] - c, four[j] - e
                total[j] += p * p + q * q + r * r + s * s
            k += 4
    while k < d:
        here, column = point[k], columns[k, start:stop]
        if metric == EUCLIDEAN:
            for j in range(m):
                gap = column[j] - here
                total[j] += gap * gap
        elif metric == MANHATTAN:
            for j in range(m):
                total[j] += abs(column[j] - here)
        else:
            for j in range(m):
                gap = abs(column[j] - here)
                total[j] = gap if gap > total[j] else total[j]
        k += 1


@inner_kernel
def note_nearest(row, start, i, best, near):
    """Compare part of row i, from entry ``start`` on, with what is known to be nearest to i and to each entry."""
    m, least = row.shape[0], NOTHING
    known, who = best[start : start + m], near[start : start + m]
    for j in range(m):
        value = row[j]
        least = value if value < least else least
        closer = value < known[j]
        known[j] = value if closer else known[j]
        who[j] = i if closer else who[j]
    if least < best[i]:
        best[i] = least
        for j in range(m):
            if row[j] == least:
                near[i] = start + j
                break


@inner_kernel
def _fill_rows(columns, metric, shape, first, last, points, triangle, bits, best, near):
    """Distances of rows first … last − 1 to all before them, and what is nearest among those pairs."""
    for i in range(first, last):
        for k in range(columns.shape[0]):
            points[i - first, k] = columns[k, i]
    for start in range(0, last, CHUNK):
        for i in range(max(first, start + 1), last):
            base, stop = i * (i - 1) // 2, min(i, start + CHUNK)
            out = triangle[base + start : base + stop]
            accumulate(columns, start, stop, points[i - first], metric, out)
            if shape == ROOT:
                for j in range(out.shape[0]):
                    out[j] = np.sqrt(out[j])
            elif shape == HALF:
                for j in range(out.shape[0]):
                    out[j] *= 0.5
            note_nearest(bits[base + start : base + stop], start, i, best, near)


@inner_kernel
def _agree(team, rank, bests, nears, m):
    """bests[0], nears[0] = the nearest that any thread knows, of equally near ones that of the least number."""
    first, end = share(team, rank, m)
    best, near = bests[0], nears[0]
    for u in range(1, team[SIZE]):
        for j in range(first, end):
            value, who = bests[u, j], nears[u, j]
            closer = value < best[j] or (value == best[j] and value < NOTHING and who < near[j])
            best[j] = value if closer else best[j]
            near[j] = who if closer else near[j]


@kernel
def fill(team, rank, columns, metric, shape, triangle, bits, bests, nears):
    """All distances of points, and what is nearest to each; threads take rows.

    ``bests`` and ``nears`` have a row for each thread, which come as ``NOTHING`` and −1; the answer is in the first.
    """
    n = columns.shape[1]
    points = np.empty((ROWS, columns.shape[0]))
    block = take(team)
    while block < count_blocks(n, ROWS):
        first, last = rows_of(block, n, ROWS)
        _fill_rows(columns, metric, shape, first, last, points, triangle, bits, bests[rank], nears[rank])
        block = take(team)
    if meet(team):
        _agree(team, rank, bests, nears, n)


@lean_kernel
def scan(team, rank, bits, bests, nears):
    """What is nearest to each row of a triangle that is there, as ``fill`` tells it."""
    n = bests.shape[1]
    block = take(team)
    while block < count_blocks(n, ROWS):
        first, last = rows_of(block, n, ROWS)
        for i in range(first, last):
            note_nearest(bits[i * (i - 1) // 2 : i * (i + 1) // 2], 0, i, bests[rank], nears[rank])
        block = take(team)
    if meet(team):
        _agree(team, rank, bests, nears, n)


@inner_kernel
def _join(x, y, share, linkage):
    """The distance to a union from those to its parts; ``share`` is the first part's share of the weight."""
    if linkage == COMPLETE:
        return x if x > y else y
    if linkage == SINGLE:
        return x if x < y else y
    return y + share * (x - y)


@inner_kernel
def _gather(triangle, a, K, one, merged, other, share, linkage, crossing, out):
    """out[J] = the distance of old cluster a to new cluster J < K, where one[J] < a.

    The second part of the q-th merged cluster can come after a: its distance is then crossing[q], where that is given.
    """
    base = a * (a - 1) // 2
    row = triangle[base : base + a]
    for J in range(K):
        out[J] = row[one[J]]
    for q in range(merged.shape[0]):
        J = merged[q]
        if J >= K:
            break
        e = other[J]
        if e < a:
            cross = row[e]
        elif crossing.shape[0] > 0:
            cross = crossing[q]
        else:
            cross = triangle[e * (e - 1) // 2 + a]
        out[J] = _join(out[J], cross, share[J], linkage)


@inner_kernel
def _cross(triangle, first, last, one, merged, other, crossing):
    """crossing[K − first, q] = the distance of one[K] to the second part of the q-th merged cluster, if that is later.

    Such distances lie in the rows of the second parts: several neighbours are fetched at a time, since each row is
    elsewhere in memory.
    """
    for q in range(merged.shape[0]):
        if merged[q] >= last:
            break
        e = other[merged[q]]
        base = e * (e - 1) // 2
        for K in range(first, last):
            if one[K] < e:
                crossing[K - first, q] = triangle[base + one[K]]


@inner_kernel
def _merge_rows(triangle, first, last, one, merged, other, share, linkage, out, base, bits, best, near, second, cross):
    """Rows first … last − 1 of the triangle after merges, no more than ``TILE`` of them.

    Row K is written to ``out`` from its place in the new triangle less ``base``.
    """
    _cross(triangle, first, last, one, merged, other, cross)
    for K in range(first, last):
        offset = K * (K - 1) // 2 - base
        row = out[offset : offset + K]
        _gather(triangle, one[K], K, one, merged, other, share, linkage, cross[K - first], row)
        if other[K] >= 0:
            _gather(triangle, other[K], K, one, merged, other, share, linkage, cross[0, :0], second)
            for J in range(K):
                row[J] = _join(row[J], second[J], share[K], linkage)
        note_nearest(bits[offset : offset + K], 0, K, best, near)


@kernel
def merge_round(team, rank, triangle, one, merged, other, part, linkage, buffer, bits, bests, nears):
    """Rewrite the triangle in place after merges: new cluster K is one[K] and, unless −1, other[K] > one[K].

    ``one`` rises, so that d(one[K], one[J]) lies in row one[K] for J < K; ``merged`` lists the clusters of two parts,
    and ``part`` is the share of the first. Row K of the new triangle needs rows one[K] ≥ K and other[K] > one[K] of the
    old one, and its place there ends before row K + 1 begins. So a band of rows is worked out aside, by threads that
    take some, before it is written, and nothing is lost. What is nearest is told as by ``fill``.
    """
    m, first = one.shape[0], np.int64(0)
    second, cross = np.empty(m), np.empty((TILE, merged.shape[0]))
    while first < m:
        base = first * (first - 1) // 2
        last = first + 1
        while last < m and (last + 1) * last // 2 - base <= buffer.shape[0]:
            last += 1
        block = take(team)
        while block < count_blocks(last - first, TILE):
            start, stop = rows_of(block, last - first, TILE)
            _merge_rows(
                triangle, first + start, first + stop, one, merged, other, part, linkage, buffer, base, bits,
                bests[rank], nears[rank], second, cross,
            )  # fmt: skip
            block = take(team)
        if not meet(team):
            return
        start, stop = share(team, rank, last * (last - 1) // 2 - base)
        triangle[base + start : base + stop] = buffer[start:stop]
        if not meet(team):
            return
        first = last
    _agree(team, rank, bests, nears, m)


@lean_kernel
def weigh(triangle, weights):
    """Squared distances become Ward's measure, w v / (w + v) times as large."""
    for i in range(weights.shape[0]):
        base = i * (i - 1) // 2
        row = triangle[base : base + i]
        for j in range(i):
            row[j] *= weights[i] * weights[j] / (weights[i] + weights[j])


@inner_kernel
def _entry(i, j):
    return i * (i - 1) // 2 + j if i > j else j * (j - 1) // 2 + i


@lean_kernel
def chain(triangle, weights, linkage, alive, links, steps, left, right, heights):
    """Merge all that is left, along chains of nearest neighbours; a merge of x < y keeps the place of x.

    ``alive`` comes as all places, ``links`` and ``steps`` are room for a chain. Along it distances fall strictly, and
    equal ones count for the cluster before, so that no chain can go round. Returns how many merges were made: fewer
    than all if some cluster is at no finite distance from any other.
    """
    m, length, done = weights.shape[0], 0, 0
    while done < m - 1:
        if length == 0:
            links[0], steps[0], length = alive[0], np.inf, 1
        x = links[length - 1]
        nearest, least = (links[length - 2] if length > 1 else np.int64(-1)), steps[length - 1]
        row = triangle[x * (x - 1) // 2 : x * (x + 1) // 2]
        p = 0
        while p < m - done and alive[p] < x:
            if row[alive[p]] < least:
                nearest, least = alive[p], row[alive[p]]
            p += 1
        for q in range(p + 1, m - done):
            value = triangle[alive[q] * (alive[q] - 1) // 2 + x]
            if value < least:
                nearest, least = alive[q], value
        if nearest < 0:  # every comparison failed
            return done
        if length < 2 or nearest != links[length - 2]:
            links[length], steps[length] = nearest, least
            length += 1
            continue
        a, b = (x, nearest) if x < nearest else (nearest, x)
        share = weights[a] / (weights[a] + weights[b])
        left[done], right[done], heights[done] = a, b, least
        kept = 0
        for p in range(m - done):
            y = alive[p]
            if y != b:
                alive[kept] = y
                kept += 1
                if y != a:
                    here, there = triangle[_entry(a, y)], triangle[_entry(b, y)]
                    joined = _join(here, there, share, linkage)
                    if linkage == WARD:  # neither part is nearer to y than they are to each other: nothing cancels
                        total = weights[a] + weights[b]
                        joined += weights[y] / (total + weights[y]) * ((here - joined) + (there - least))
                    triangle[_entry(a, y)] = joined
        weights[a] += weights[b]
        done, length = done + 1, length - 2
    return done
