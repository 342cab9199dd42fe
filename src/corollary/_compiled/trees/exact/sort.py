"""Sort a column of numbers and write the records of its rows, by counting one byte of the numbers after the other."""

from __future__ import annotations

import numpy as np

from corollary._compiled._jit import inner_kernel, lean_kernel

_SIGN, _INFINITE, _ALL = np.uint64(1 << 63), np.uint64(0x7FF << 52), np.uint64((1 << 64) - 1)
_BYTE, _EIGHT = np.uint64(255), np.uint64(8)


@inner_kernel
def _move(keys, rows, shift, places, to_keys, to_rows):
    for i in range(keys.shape[0]):
        digit = np.uintp((keys[i] >> shift) & _BYTE)
        at = np.uintp(places[digit])
        places[digit] += 1
        to_keys[at], to_rows[at] = keys[i], rows[i]


@lean_kernel
def sort_column(keys, spare, rows, counts, shift, out):
    """out[i] = rank << shift | row, ascending, of numbers whose 64 bits are ``keys``; NaN has the highest rank of all.

    Bits of numbers ascend with them once those of negative ones are turned around. A byte that all of them share is
    passed over. ``keys``, which ``out`` may lie in, ``spare``, ``rows`` (2, n) and ``counts`` (8, 256) are written to.
    """
    n, key = keys.shape[0], np.uint64(0)
    for b in range(8):
        for v in range(256):
            counts[b, v] = 0
    for i in range(n):
        key = keys[i]
        if (key & ~_SIGN) > _INFINITE:
            key = _ALL
        elif key == _SIGN:  # zero has no sign
            pass
        elif key >= _SIGN:
            key = ~key
        else:
            key |= _SIGN
        keys[i], rows[0, i] = key, i
        for b in range(8):
            counts[b, np.uintp((key >> (np.uint64(b) * _EIGHT)) & _BYTE)] += 1
    moved = 0
    for b in range(8):
        digits = np.uint64(b) * _EIGHT
        if counts[b, np.uintp((key >> digits) & _BYTE)] == n:
            continue
        place = 0
        for v in range(256):
            count = counts[b, v]
            counts[b, v] = place
            place += count
        if moved == 0:
            _move(keys, rows[0], digits, counts[b], spare, rows[1])
        else:
            _move(spare, rows[1], digits, counts[b], keys, rows[0])
        moved = 1 - moved
    missing, rank, before = (np.uint64(1) << np.uint64(shift)) - np.uint64(1), -1, np.uint64(0)
    for i in range(n):
        key = keys[i] if moved == 0 else spare[i]
        if i == 0 or key != before:
            rank, before = rank + 1, key
        own = missing if key == _ALL else np.uint64(rank)
        out[i] = (own << np.uint64(shift)) | np.uint64(rows[moved, i])
