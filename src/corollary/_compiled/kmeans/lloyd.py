"""Iterations of Lloyd by a team of threads, as many as are wanted in one call.

**The sieve.** The score of a row x and a centre c is ‖c‖²/2 − x·c. In float32 it is off by slope ‖x‖ + base at most:
the rounding of x, of c, of ‖c‖²/2, of d products and their sum in any order, and of the subtraction. What it cannot
decide is decided in float64. ``slack`` covers the rounding of all float32 arithmetic with bounds.

Threads meet three times in an iteration: when the centres are ready for the sieve, when all rows have labels, and when
the centres have new places. Rows are cut into parts as in ``passes.py``; clusters are shared out.
"""

from __future__ import annotations

import numpy as np

from corollary._compiled._jit import inner_kernel, lean_kernel
from corollary._compiled.kmeans.dense import (
    label_exactly,
    label_tile,
    move,
    nearest_in_tile,
    tighten,
    unsettled_rows,
)
from corollary._compiled.kmeans.passes import add_touched
from corollary._compiled.kmeans.products import multiply
from corollary._compiled.team import meet, rows_of, share, take

UNIT = 2.0**-24  # half the spacing of float32 around 1
CROWD = 0.7  # share of unsettled rows at which all rows of a part are looked at
ROUNDING = 1e-12  # the cost is known to about 1e-16 of the total sum of squares, times a few operations
SAFE = 1.0 + 1e-9  # times a length: at least it, whatever the rounding

# what is written down of an iteration: the cost, how far centres moved (squared) and what that saved, how many rows
# moved, how many clusters have no rows, and whether nothing is left to do
COST, MOVED, SAVED, ROWS, EMPTY, DONE = range(6)
RECORD = 6


@inner_kernel
def _ready(first, end, place, centres, table, half, squares):
    """The centres of some clusters, moved and scaled like the rows, in float32."""
    shift, scale = place
    for j in range(first, end):
        total = 0.0
        for c in range(centres.shape[1]):
            z = (centres[j, c] - shift[c]) * scale
            table[j, c] = z
            total += z * z
        half[j], squares[j] = total / 2.0, total


@inner_kernel
def _errors(squares, d, largest, drifted):
    """Slope and base of the error of scores, slack of bounds, and by what factor a distance may be too short."""
    most = 0.0
    for j in range(squares.shape[0]):
        most = squares[j] if squares[j] > most else most
    longest, share_lost = np.sqrt(most), (d + 6) * UNIT
    growth = share_lost / (1.0 - share_lost) if share_lost < 0.5 else np.inf
    slope, base = 1.01 * growth * longest + 4.0 * UNIT * largest, 4.0 * UNIT * most + 1e-37
    slack = 8.0 * UNIT * (2.0 * largest + longest + drifted)
    return np.float32(slope), np.float32(base), np.float32(slack), np.float32(1.0 + growth)


@inner_kernel
def _choose(start, stop, single, table, errors, bounds, labels, chosen):
    """Write the rows of a part that may have to change to ``chosen`` and return their number, or all if most may.

    To skip few rows would cost more than it saves.
    """
    upper, lower, grown, shrunk, _ = bounds
    count = unsettled_rows(start, stop, labels, upper, lower, grown, shrunk, errors[2], chosen)
    if count > CROWD * (stop - start):
        return stop - start
    return tighten(chosen[:count], single, table, labels, upper, lower, grown, shrunk, errors[2], errors[3])


@inner_kernel
def _label(a, b, rows, table, half, errors, labels, asked, own):
    """Label all rows of a part; returns how many are in doubt."""
    single, norms = rows
    _, _, products, least, second, places = own
    known, tile = a - a, places.shape[1]  # a constant would have what is called compiled twice
    for start in range(a, b, tile):
        m = b - start if b - start < tile else tile
        multiply(table, single, start, m, products)
        known = label_tile(
            products, half, start, m, norms, errors[0], errors[1], labels, asked, known, least[0], second[0], places[0]
        )
    return known


@inner_kernel
def _label_within(a, b, fresh, rows, table, half, errors, group, bounds, labels, asked, own):
    """The same for rows with bounds, of which only those are looked at that bounds do not settle, unless ``fresh``."""
    single, norms = rows
    chosen, buffer, products, least, second, places = own
    known, count, tile = a - a, b - a, places.shape[1]
    if not fresh:
        count = _choose(a, b, single, table, errors, bounds, labels, chosen)
    for start in range(0, count, tile):
        some = chosen[start : min(count, start + tile)]
        m = some.shape[0]
        if count == b - a:
            for r in range(m):
                some[r] = a + start + r
            multiply(table, single, a + start, m, products)
        else:
            for r in range(m):
                for c in range(single.shape[1]):
                    buffer[r, c] = single[some[r], c]
            multiply(table, buffer, 0, m, products)
        known = nearest_in_tile(
            products, half, group, some, norms, errors, labels, bounds, asked, known, least, second, places
        )
    return known


@inner_kernel
def _new_places(first, end, place, narrow, sums, centres, after, falls, lengths):
    """The means of some clusters, by how much these are better than the common shift, and how far away they are."""
    shift, scale = place
    d = centres.shape[1]
    for j in range(first, end):
        weight, square, moved = sums[j, d], 0.0, 0.0
        if sums[j, d + 1] == 0.0:
            weight = 0.0
            for c in range(d + 2):
                sums[j, c] = 0.0  # what is left there is rounding
        for c in range(d):
            after[j, c] = centres[j, c]
            if weight > 0.0:
                square += sums[j, c] * sums[j, c]
                mean = sums[j, c] / weight / scale + shift[c]
                after[j, c] = np.float64(np.float32(mean)) if narrow else mean
                gap = (after[j, c] - centres[j, c]) * scale
                moved += gap * gap
        falls[j] = square / weight if weight > 0.0 else 0.0
        lengths[j] = np.sqrt(moved)


@inner_kernel
def _judge(facts, tol, counts, sums, falls, lengths, record):
    """What is known of the iteration: every thread works it out for itself, from the same numbers."""
    total, spread, _ = facts
    d = sums.shape[1] - 2
    fall, squared, saved, empty, moved = 0.0, 0.0, 0.0, 0, 0
    for j in range(sums.shape[0]):
        fall += falls[j]
        squared += lengths[j] * lengths[j]
        saved += sums[j, d] * (lengths[j] * lengths[j])
        empty += sums[j, d + 1] == 0.0
    for part in range(counts.shape[0]):
        moved += counts[part, 1]
    cost = max(0.0, total - fall)
    movement = squared / spread if spread > 0.0 else squared
    known = max(cost - ROUNDING * total, 0.0)  # a cost below its rounding is not known
    done = moved == 0 or (movement <= tol and saved <= tol * known)
    record[COST], record[MOVED], record[SAVED] = cost, movement, saved
    record[ROWS], record[EMPTY], record[DONE] = moved, empty, done


@inner_kernel
def drift(lengths, group, bounds):
    """Bounds when centres have moved by these lengths; ``exact`` has the sums in float64 and, last, the largest."""
    _, _, grown, shrunk, exact = bounds
    k, most = lengths.shape[0], 0.0
    for j in range(k):
        exact[j] += lengths[j] * SAFE
        grown[j] = exact[j]
        most = max(most, exact[j])
    for g in range(shrunk.shape[0]):
        farthest = 0.0
        for j in range(g * group, min(k, (g + 1) * group)):
            farthest = max(farthest, lengths[j] * SAFE)
        exact[k + g] += farthest
        shrunk[g] = exact[k + g]
    exact[k + shrunk.shape[0]] = most


@lean_kernel
def drift_bounds(lengths, group, bounds):
    """``drift``, for Python."""
    drift(lengths, group, bounds)


@lean_kernel
def lloyd(
    team, rank, count, moving, size, fresh, tol, narrow, rows, data, place, facts, group, bounds, centres, sums,
    labels, books, scratch, desk, records,
):  # fmt: skip
    """At most ``count`` iterations; or, without ``moving``, labels and the change of the sums for these centres.

    Iterations end when nothing moves any more or a cluster has lost all rows, with the centres then where they were.
    ``data`` may have an X without rows: then doubts and sums are left to the caller, who finds the doubts of a part at
    ``doubtful[start + part:]``. ``bounds`` are None where none are kept: then nothing of them is compiled.
    """
    table, half, squares, after, falls, lengths, notes = desk
    old, doubtful, parts, touched, counts = books
    X, weights = data
    own = (scratch[0][rank], scratch[1][rank], scratch[2][rank], scratch[3][rank], scratch[4][rank], scratch[5][rank])
    first, end = share(team, rank, centres.shape[0])
    record = notes[rank]
    for step in range(count):
        _ready(first, end, place, centres, table, half, squares)
        if not meet(team):
            return
        drifted = 0.0
        if bounds is not None:
            drifted = bounds[4][bounds[4].shape[0] - 1]
        errors = _errors(squares, centres.shape[1], facts[2], drifted)
        part = take(team)
        while part < parts.shape[0]:
            a, b = rows_of(part, labels.shape[0], size)
            for i in range(a, b):
                old[i] = labels[i]
            asked = doubtful[a + part :]
            if bounds is None:
                counts[part, 0] = _label(a, b, rows, table, half, errors, labels, asked, own)
            else:
                counts[part, 0] = _label_within(
                    a, b, fresh and step == 0, rows, table, half, errors, group, bounds, labels, asked, own
                )
            if X.shape[0] > 0:
                label_exactly(asked[: counts[part, 0]], X, centres, place[1], labels)
                for j in range(touched.shape[1]):
                    touched[part, j] = False
                counts[part, 1] = move(a, b, X, place[0], place[1], weights, old, labels, parts[part], touched[part])
            part = take(team)
        if not meet(team) or X.shape[0] == 0:
            return
        add_touched(first, end, parts, touched, sums)
        if not moving:
            return
        _new_places(first, end, place, narrow, sums, centres, after, falls, lengths)
        if not meet(team):
            return
        _judge(facts, tol, counts, sums, falls, lengths, record)
        if rank == 0:
            for r in range(RECORD):
                records[step, r] = record[r]
        if record[EMPTY] > 0.0:
            return
        for j in range(first, end):
            for c in range(centres.shape[1]):
                centres[j, c] = after[j, c]
        if bounds is not None and rank == 0:
            drift(lengths, group, bounds)
        if record[DONE] > 0.0:
            return
