"""Columns of text as numbers: strings that lie one after the other in memory, as Arrow keeps them.

Few different strings are expected, most of them short: one of eight bytes or fewer is a single number, which is looked
up in a small table. Longer ones are compared as a whole.
"""

from __future__ import annotations

import numpy as np

from corollary._compiled._jit import eight_bytes, inner_kernel, lean_kernel

SLOTS = 2048  # of the table; a power of two
MOST = 512  # different strings that it is good for
_ODD = np.uint64(0x9E3779B97F4A7C15)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


@inner_kernel
def _word(text, begin, length):
    """The first eight bytes as a number, with zeros for those that are not there."""
    if begin + 8 <= text.shape[0]:
        spare = max(np.int64(0), 64 - 8 * length)  # of two shifts, since one by 64 bits is none
        half = np.uint64(spare >> 1)
        return eight_bytes(text, begin) & ((_ALL >> half) >> (np.uint64(spare) - half))
    word = np.uint64(0)
    for k in range(min(length, np.int64(8))):
        word |= np.uint64(text[begin + k]) << np.uint64(8 * k)
    return word


@inner_kernel
def _alike(text, one, two, length):
    k = 8
    while k < length and text[one + k] == text[two + k]:
        k += 1
    return k == length


@lean_kernel
def encode_text(offsets, text, count, slots, keys, lengths, firsts, codes):
    """A number for each string, by the order in which they first occur; how many there are, or −1 if too many.

    String i is the bytes from ``offsets[i]`` to ``offsets[i + 1]``. ``count`` strings are known already; before any is,
    ``slots`` must be −1. Of string c, ``firsts[c]`` is a row that has it, ``keys[c]`` its first bytes.
    """
    for i in range(codes.shape[0]):
        begin, length = np.int64(offsets[i]), np.int64(offsets[i + 1]) - np.int64(offsets[i])
        key = _word(text, begin, length)
        mixed = key ^ np.uint64(length)
        if length > 8:
            mixed ^= eight_bytes(text, begin + length - 8)
        slot = np.int64((mixed * _ODD) >> np.uint64(53))
        while True:
            code = np.int64(slots[slot])
            if code < 0:
                if count == MOST:
                    return np.int64(-1)
                code = count
                slots[slot], keys[code], lengths[code], firsts[code] = code, key, length, i
                count += 1
                break
            same = keys[code] == key and lengths[code] == length
            if same and (length <= 8 or _alike(text, np.int64(offsets[firsts[code]]), begin, length)):
                break
            slot = (slot + 1) & (SLOTS - 1)
        codes[i] = code
    return count
