"""Numbers of X as small whole numbers, for trees whose thresholds are known: 64 rows at a time.

The code of a number is how many of its column's thresholds lie below it, so x ≤ threshold r exactly when code ≤ r. A
column's range is cut into equal parts, and for each part it is known how many thresholds lie below; a few halvings
among those inside the part do the rest. Rounding does no harm: x ↦ (x − low) · scale never falls as x grows.

A missing value is above all thresholds in one slot of the codes and below all in the other; nodes look into the slot
that sends it where they want it. A category's code is itself; one that no set has a bit for is the last code.
"""

from __future__ import annotations

import numpy as np

from corollary._compiled._jit import inner_kernel

LANES = 64  # rows at a time
PARTS = 256  # of a column's range
MISSING = 65535  # above the code of any number

RIGHT, LEFT = 0, 1  # where a slot sends missing values


@inner_kernel
def load(source, column, first, x):
    """x = a column of the rows from ``first`` on, the last row again past the end; whether a number is infinite."""
    doubles, singles, origin, row_step, column_step, n = source
    start, infinite = origin + column * column_step, False
    if doubles.shape[0] > 0:
        for v in range(LANES):
            x[v] = doubles[np.uintp(start + min(first + v, n - 1) * row_step)]
    else:
        for v in range(LANES):
            x[v] = singles[np.uintp(start + min(first + v, n - 1) * row_step)]
    for v in range(LANES):
        infinite |= abs(x[v]) == np.inf
    return infinite


@inner_kernel
def _below(x, low, scale, starts, steps, edges, code):
    """code[v] = how many edges lie below x[v]."""
    for v in range(LANES):
        part = (x[v] - low) * scale
        part = part if part > 0.0 else 0.0
        code[v] = np.int32(part if part < PARTS - 1.0 else PARTS - 1.0)
    for v in range(LANES):
        code[v] = starts[np.uintp(code[v])]
    for s in range(steps - 1, -1, -1):
        half = np.int32(1 << s)
        for v in range(LANES):
            code[v] += half if edges[np.uintp(code[v] + half - 1)] < x[v] else np.int32(0)


@inner_kernel
def code_rows(source, coder, first, x, code, out):
    """out[slot, v] = code of row first + v; True if a number is infinite. ``x`` and ``code`` are scratch, LANES long.

    ``steps`` is −1 for a categorical column, whose low is the number of its codes.
    """
    columns, slots, lows, scales, starts, steps, offsets, edges = coder
    infinite = False
    for c in range(columns.shape[0]):
        infinite |= load(source, columns[c], first, x)
        if steps[c] < 0:
            row, most = out[slots[c, RIGHT]], lows[c]
            for v in range(LANES):
                row[v] = np.uint16(x[v] if x[v] >= 0.0 and x[v] < most else most)
            continue
        _below(x, lows[c], scales[c], starts[c], steps[c], edges[offsets[c] :], code)
        for side in range(2):
            if slots[c, side] >= 0:
                row, missing = out[slots[c, side]], np.int32(MISSING if side == RIGHT else 0)
                for v in range(LANES):
                    row[v] = code[v] if x[v] == x[v] else missing
    return infinite


@inner_kernel
def any_infinite(source, columns, first, x):
    """Whether one of the numbers in these columns is infinite, for rows that nobody has looked at before."""
    infinite = False
    for j in range(columns.shape[0]):
        infinite |= load(source, columns[j], first, x)
    return infinite
