"""Columns of text as numbers: strings that lie one after the other in memory, as Arrow keeps them.

Few different strings are expected, most of them short: one of eight bytes or fewer is a single number, which is looked
up in a small table. Longer ones are compared as a whole.
"""

from __future__ import annotations

import numpy as np

from corollary._compiled._jit import eight_bytes, inner_kernel, lean_kernel

SLOTS = 2048  # of the table; a power of two
MOST = 512  # different strings that it is good for, and a power of two
BLOCK = 512  # rows that are tried quickly
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


@inner_kernel
def _quickly(offsets, text, first, end, slots, keys, lengths, codes):
    """Encode rows whose strings are short, known and where the table looks first; False if one is not."""
    wrong = np.uint64(0)
    begin = np.int64(offsets[first])
    for i in range(np.uintp(first), np.uintp(end)):  # without a sign no index is counted from the end
        after = np.int64(offsets[i + np.uintp(1)])
        length = after - begin
        key = eight_bytes(text, begin) & (_ALL >> np.uint64((64 - 8 * length) & 63))
        slot = np.uintp(((key ^ np.uint64(length)) * _ODD) >> np.uint64(53))
        code = np.uintp(slots[slot] & (MOST - 1))  # of an empty slot the last one, which is none
        wrong |= (keys[code] ^ key) | np.uint64(lengths[code] ^ length) | np.uint64((length - 1) >> 3)
        codes[i] = code
        begin = after
    return wrong == 0


@lean_kernel
def encode_text(offsets, text, count, slots, keys, lengths, firsts, codes):
    """A number for each string, by the order in which they first occur; how many there are, or −1 if too many.

    String i is the bytes from ``offsets[i]`` to ``offsets[i + 1]``. ``count`` strings are known already; before any is,
    ``slots`` must be −1 and ``lengths`` too. Of string c, ``firsts[c]`` is a row that has it, ``keys[c]`` its first
    bytes.
    """
    n = codes.shape[0]
    for first in range(0, n, BLOCK):
        end = min(n, first + BLOCK)
        inside = np.int64(offsets[end]) + 8 <= text.shape[0]
        if count and inside and _quickly(offsets, text, first, end, slots, keys, lengths, codes):
            continue
        count = _carefully(offsets, text, first, end, count, slots, keys, lengths, firsts, codes)
        if count < 0:
            break
    return count


@inner_kernel
def _carefully(offsets, text, first, end, count, slots, keys, lengths, firsts, codes):
    """Encode rows whatever their strings; how many different ones there are then, or −1."""
    for i in range(first, end):
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
