"""Columns of text as numbers: strings that lie one after the other in memory, as Arrow keeps them.

Few different strings are expected, most of them short. One of at most eight bytes, none of them zero, is a number that
no other has: its bytes end at the highest, and the lowest that is not zero is its first. That number says at once where
in a small table the code is. Longer ones, and those whose place another string has, are found by probing, and compared
as a whole.
"""

from __future__ import annotations

import numpy as np

from corollary._compiled._jit import eight_bytes, inner_kernel, lean_kernel

SLOTS = 2048  # of the tables; a power of two
MOST = 512  # different strings that they are good for, and a power of two
BLOCK = 512  # rows that are tried quickly
TRIES = 64  # multipliers, of which the first that keeps short strings apart is taken
_ODD = np.uint64(0x9E3779B97F4A7C15)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_SHIFT = np.uint64(53)  # 64 − log₂ SLOTS


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
def _put(code, keys, lengths, multiplier, words, entries):
    """Give a short string its slot: its number in ``words``, its code in ``entries``; False if it is taken."""
    if not 0 < lengths[code] <= 8:
        return True
    word = keys[code] << np.uint64(64 - 8 * lengths[code])
    slot = np.int64((word * multiplier) >> _SHIFT)
    if words[slot] != 0:
        return False
    words[slot], entries[slot] = word, code
    return True


@inner_kernel
def _put_all(count, keys, lengths, words, entries):
    """Give short strings their slots by a multiplier, which is returned; if all that are tried fail, some have none."""
    multiplier = _ODD
    for _ in range(TRIES):
        words[:] = np.uint64(0)
        apart = True
        for code in range(count):
            apart &= _put(code, keys, lengths, multiplier, words, entries)
        if apart:
            break
        multiplier = multiplier * _ODD
    return multiplier


@inner_kernel
def _has_zero(text, begin, end):
    """Whether any of these bytes is zero."""
    found = False
    for k in range(np.uintp(begin), np.uintp(end)):
        found |= text[k] == 0
    return found


@inner_kernel
def _quickly(offsets, text, first, end, multiplier, words, entries, codes):
    """Encode rows whose strings are short and in their slots; False if one is not."""
    wrong, lengths = np.uint64(0), np.int64(0)
    begin = np.int64(offsets[first])
    for i in range(np.uintp(first), np.uintp(end)):  # without a sign no index is counted from the end
        after = np.int64(offsets[i + np.uintp(1)])
        lengths |= after - begin - 1  # below 8 if all lengths are from 1 to 8
        word = eight_bytes(text, begin) << np.uint64((8 * (begin - after)) & 63)
        slot = np.uintp((word * multiplier) >> _SHIFT)
        wrong |= words[slot] ^ word
        codes[i] = entries[slot]
        begin = after
    return wrong == 0 and lengths >> 3 == 0


@inner_kernel
def _probe(offsets, text, row, key, slots, keys, lengths, firsts):
    """The slot of a row's string, or the empty one where it belongs."""
    begin, length = np.int64(offsets[row]), np.int64(offsets[row + 1]) - np.int64(offsets[row])
    mixed = key ^ np.uint64(length)
    if length > 8:
        mixed ^= eight_bytes(text, begin + length - 8)
    slot = np.int64((mixed * _ODD) >> _SHIFT)
    while True:
        code = np.int64(slots[slot])
        if code < 0:
            return slot
        same = keys[code] == key and lengths[code] == length
        if same and (length <= 8 or _alike(text, np.int64(offsets[firsts[code]]), begin, length)):
            return slot
        slot = (slot + 1) & (SLOTS - 1)


@inner_kernel
def _learn(offsets, text, row, slot, key, code, slots, keys, lengths, firsts):
    """Put a row's string into an empty slot."""
    slots[slot], keys[code], firsts[code] = code, key, row
    lengths[code] = np.int64(offsets[row + 1]) - np.int64(offsets[row])


@inner_kernel
def _carefully(offsets, text, first, end, count, slots, keys, lengths, firsts, codes):
    """Encode rows whatever their strings; how many different ones there are then, or −1."""
    for i in range(first, end):
        key = _word(text, np.int64(offsets[i]), np.int64(offsets[i + 1]) - np.int64(offsets[i]))
        slot = _probe(offsets, text, i, key, slots, keys, lengths, firsts)
        if slots[slot] < 0:
            if count == MOST:
                return np.int64(-1)
            _learn(offsets, text, i, slot, key, count, slots, keys, lengths, firsts)
            count += 1
        codes[i] = slots[slot]
    return count


@lean_kernel
def encode_text(offsets, text, count, firsts, slots, keys, lengths, words, entries, codes):
    """A number for each string, by the order in which they first occur; how many there are, or −1 if too many.

    String i is the bytes from ``offsets[i]`` to ``offsets[i + 1]``. ``count`` strings are known already: row
    ``firsts[c]`` has string c, then and afterwards. From ``slots`` to ``entries`` it is room to work in.
    """
    slots[:] = np.int16(-1)
    for code in range(count):
        row = firsts[code]
        key = _word(text, np.int64(offsets[row]), np.int64(offsets[row + 1]) - np.int64(offsets[row]))
        slot = _probe(offsets, text, row, key, slots, keys, lengths, firsts)
        _learn(offsets, text, row, slot, key, code, slots, keys, lengths, firsts)
    multiplier = _put_all(count, keys, lengths, words, entries)
    n = codes.shape[0]
    for first in range(0, n, BLOCK):
        end = min(n, first + BLOCK)
        quick = np.int64(offsets[end]) + 8 <= text.shape[0] and not _has_zero(text, offsets[first], offsets[end])
        if quick and _quickly(offsets, text, first, end, multiplier, words, entries, codes):
            continue
        before, count = count, _carefully(offsets, text, first, end, count, slots, keys, lengths, firsts, codes)
        if count < 0:
            break
        for code in range(before, count):
            _put(code, keys, lengths, multiplier, words, entries)
    return count
