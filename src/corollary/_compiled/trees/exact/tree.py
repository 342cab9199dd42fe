"""Split the nodes of an exact tree on lists of rows that were sorted once.

Every feature has a list of records (see ``scan.py``) sorted by value. A node owns the same segment [start, stop) of
every list; a split partitions the segments in place and keeps their order, so nothing is ever sorted again.
"""

from __future__ import annotations

import math

import numpy as np

from corollary._compiled._jit import inner_kernel, kernel
from corollary._compiled.mixing import FIRST, GOLDEN, mix, unit
from corollary._compiled.trees.exact.rows import argsort
from corollary._compiled.trees.exact.scan import (
    SQUARED,
    Node,
    scan_absolute,
    scan_binary,
    scan_classes,
    scan_squared,
    scan_sums,
    weight_of,
)
from corollary._compiled.trees.exact.uneven import scan_uneven

# columns of the array ``found``: the best cut of each feature
GAIN, POSITION, MISSING_LEFT, ORDER, THRESHOLD = 0, 1, 2, 3, 4


@inner_kernel
def child_seed(seed, side):
    """Seeds follow the path from the root, so they do not depend on the order in which nodes are grown."""
    return mix((seed ^ mix(np.uint64(side + 1) + GOLDEN)) + GOLDEN)


@inner_kernel
def _valid_end(records, start, stop, mask, shift):
    """Where the missing values of a segment begin: their rank has all bits set, as many as the mask."""
    if (records[stop - 1] >> shift) != mask:
        return stop
    low, high = start, stop - 1
    while low < high:
        middle = (low + high) // 2
        if (records[middle] >> shift) == mask:
            high = middle
        else:
            low = middle + 1
    return low


@inner_kernel
def choose_features(records, start, stop, mask, max_features, seed, order, use):
    """Mark ``max_features`` features at random to be tried, and then more until one is not constant.

    Without room for an ``order`` all features are tried, and ``use`` says so already.
    """
    if order is None:
        pass
    else:
        d, useful = records.shape[0], 0
        for f in range(d):
            use[f], order[f] = 0, f
        for j in range(d):
            if j >= max_features and useful > 0:
                return
            seed = mix(seed + GOLDEN)
            k = j + np.int64(seed % np.uint64(d - j))
            order[j], order[k] = order[k], order[j]
            use[order[j]] = 1
            useful += (records[order[j], start] ^ records[order[j], stop - 1]) > mask


@kernel
def _order_categories(records, start, valid, stop, mask, shift, codes, y, w, column, out):
    """Categories by mean response: copy the segment to ``out`` in that order; return their codes in that order."""
    runs = 0
    for i in range(start, valid):
        runs += i == start or (records[i] ^ records[i - 1]) > mask
    begin, mean, names = np.empty(runs + 1, np.int64), np.empty(runs), np.empty(runs, np.int64)
    run, weight, total = -1, 0.0, 0.0
    for i in range(start, valid):
        if i == start or (records[i] ^ records[i - 1]) > mask:
            run += 1
            begin[run], names[run] = i, np.int64(records[i] >> shift)
            weight, total = 0.0, 0.0
        row = np.int64(records[i] & mask)
        own = weight_of(w, row)
        weight += own
        if y is None:
            pass
        else:
            total += own * y[row, column]
        if codes is None:
            pass
        else:
            for o in range(codes.shape[1]):
                total += own if codes[row, o] == column else 0.0
        mean[run] = total / weight
    begin[runs] = valid
    order, ordered = np.empty(runs, np.int32), np.empty(runs, np.int32)
    argsort(mean, order, ordered)
    place = 0
    for k in range(runs):
        ordered[k] = names[order[k]]
        for i in range(begin[order[k]], begin[order[k] + 1]):
            out[place] = (np.uint64(k) << np.uint64(shift)) | np.uint64(records[i] & mask)
            place += 1
    for i in range(valid, stop):
        out[place] = records[i]
        place += 1
    return ordered


@inner_kernel
def _is_category(categorical, f):
    if categorical is None:
        return False
    else:
        return categorical[f]


@inner_kernel
def _column(codes, totals, turn):
    """The class or output by which categories are ordered at that turn; for two classes there is one turn only."""
    return 1 if codes is not None and totals.shape[0] == 2 else turn


@kernel
def _by_response(records, start, valid, stop, mask, shift, codes, y, w, column, out):
    """The number of categories, which are now in order in ``out``. Here memory that is returned is given back."""
    return _order_categories(records, start, valid, stop, mask, shift, codes, y, w, column, out).shape[0]


@inner_kernel
def _random_cut(records, start, valid, shift, values, f, is_category, n_names, seed):
    """(position, threshold): a threshold between the smallest and the largest value, or a number of categories."""
    share = unit(mix(seed + GOLDEN))
    threshold, last = math.nan, np.int64(share * max(1, n_names - 1))
    if not is_category:
        low, high = values[f, np.int64(records[start] >> shift)], values[f, np.int64(records[valid - 1] >> shift)]
        if low == high:
            return valid - 1, math.inf
        threshold = low + share * (high - low)
        if not low <= threshold < high:
            threshold = low
    a, b = start, valid - 1
    while a < b:  # the last record at or below the cut
        middle = (a + b + 1) // 2
        rank = np.int64(records[middle] >> shift)
        if (rank <= last) if is_category else (values[f, rank] <= threshold):
            a = middle
        else:
            b = middle - 1
    return a, threshold


@inner_kernel
def search(
    first, last, all_records, mask, shift, node, criterion, codes, y, w, uneven, table, totals, v, rank, sorted_y,
    categorical, direction, values, use, seed, found, moved,
):  # fmt: skip
    """Find the best cut of features first … last − 1 among those in ``use``; ``moved`` is room for the node's records.

    Categories are put in the order of their mean response — for several classes or outputs, of each in turn — and cut
    like numbers.
    """
    n = node.stop - node.start
    moved_node = Node(
        0, n, node.weight, node.slack, node.mean, node.impurity, node.lower, node.upper, node.min_leaf, node.min_weight
    )
    for f in range(first, last):
        found[f, GAIN], found[f, THRESHOLD] = -1.0, math.nan
        listed = all_records[f]
        if use[f] == 0 or (listed[node.start] ^ listed[node.stop - 1]) <= mask:
            continue
        end = _valid_end(listed, node.start, node.stop, mask, shift)
        is_category = _is_category(categorical, f)
        here, records, n_orders = node, listed, 1
        if is_category and moved is not None:
            here, records = moved_node, moved[:n]
            n_orders = totals.shape[0] - _column(codes, totals, 0)
        valid, low, high, n_names = end - node.start + here.start, here.start, here.stop, 0
        for turn in range(n_orders):
            column = _column(codes, totals, turn)
            if categorical is not None and is_category:
                n_names = _by_response(listed, node.start, end, node.stop, mask, shift, codes, y, w, column, records)
            threshold = math.nan
            if values is not None:
                own_seed = mix((seed ^ (np.uint64(f + 1) * FIRST)) + GOLDEN) + np.uint64(turn)
                low, threshold = _random_cut(
                    records, here.start, valid, shift, values, f, is_category, n_names, own_seed
                )
                high = low
            gain, position, side = -1.0, -1, 0
            if uneven is None:  # each branch tests a None, so that Numba compiles only those in use
                pass
            else:
                gain, position, side = scan_uneven(
                    records, mask, here, valid, low, high, direction[f], criterion, codes, w, v, totals
                )
            if codes is None or uneven is not None:
                pass
            elif table is None:
                gain, position, side = scan_binary(records, mask, here, valid, low, high, direction[f], codes, totals)
            else:
                gain, position, side = scan_classes(
                    records, mask, here, valid, low, high, direction[f], criterion, codes, w, table, totals
                )
            if rank is None:
                pass
            else:
                gain, position, side = scan_absolute(
                    records, mask, here, valid, low, high, direction[f], w, rank, sorted_y
                )
            if v is None or uneven is not None:
                pass
            elif criterion == SQUARED and v.shape[1] == 1:
                gain, position, side = scan_squared(records, mask, here, valid, low, high, direction[f], v, w)
            else:
                gain, position, side = scan_sums(
                    records, mask, here, valid, low, high, direction[f], criterion, v, w, totals
                )
            if gain > found[f, GAIN] + (node.slack if found[f, GAIN] >= 0.0 else 0.0):
                found[f, GAIN], found[f, POSITION], found[f, MISSING_LEFT] = gain, position, side
                found[f, ORDER], found[f, THRESHOLD] = column, threshold


@inner_kernel
def best_feature(found, slack):
    """The feature with the largest gain; of equal ones the first; −1 if there is none."""
    best, gain = -1, -1.0
    for f in range(found.shape[0]):
        if found[f, GAIN] > gain + (slack if best >= 0 else 0.0):
            best, gain = f, found[f, GAIN]
    return best


@kernel
def _mark_categories(records, node, valid, mask, shift, codes, y, w, cut, goes_left, bits):
    """Mark the rows of a categorical cut; a category that is not in the node goes where missing values go."""
    n = node.stop - node.start
    moved = np.empty(n, records.dtype)
    names = _order_categories(
        records, node.start, valid, node.stop, mask, shift, codes, y, w, np.int64(cut[ORDER]), moved
    )
    position = np.int64(cut[POSITION])
    w_left = 0.0
    for i in range(n):
        row = np.int64(moved[i] & mask)
        goes_left[row] = i <= position or (i >= valid - node.start and cut[MISSING_LEFT] == 1.0)
        w_left += goes_left[row] * weight_of(w, row)
    missing_left = cut[MISSING_LEFT] == 1.0 if valid < node.stop else 2.0 * w_left > node.weight
    for k in range(bits.shape[0]):
        bits[k] = np.uint32(0xFFFFFFFF) if missing_left else np.uint32(0)
    n_left = np.int64(moved[position] >> shift) + 1
    for k in range(names.shape[0]):
        bit = np.uint32(1) << np.uint32(names[k] & 31)
        bits[names[k] >> 5] = (bits[names[k] >> 5] & ~bit) | (bit if k < n_left else np.uint32(0))


@inner_kernel
def mark(f, all_records, mask, shift, node, codes, y, w, categorical, cut, goes_left, bits):
    """Note for each row of the node on which side of feature f's ``cut`` it is.

    Missing values go where they were best in training; if the node had none, to the heavier side. Returns (first record
    of the right child, row below the threshold, row above it or −1, whether missing values go left).
    """
    records = all_records[f]
    valid = _valid_end(records, node.start, node.stop, mask, shift)
    low_row, high_row = -1, -1
    if categorical is not None and categorical[f]:
        _mark_categories(records, node, valid, mask, shift, codes, y, w, cut, goes_left, bits)
    else:
        position = np.int64(cut[POSITION])
        low_row = np.int64(records[position] & mask)
        if position + 1 < valid:
            high_row = np.int64(records[position + 1] & mask)
        for i in range(node.start, node.stop):
            goes_left[np.int64(records[i] & mask)] = i <= position or (i >= valid and cut[MISSING_LEFT] == 1.0)
    n_left, w_left = 0, 0.0
    for i in range(node.start, node.stop):
        row = np.int64(records[i] & mask)
        n_left += goes_left[row]
        w_left += goes_left[row] * weight_of(w, row)
    missing_left = cut[MISSING_LEFT] == 1.0 if valid < node.stop else 2.0 * w_left > node.weight
    return node.start + n_left, low_row, high_row, missing_left


@inner_kernel
def partition(first, last, records, start, middle, stop, mask, goes_left, keep_right, done, buffer):
    """Bring the left rows of lists first … last − 1 before the right ones; list ``done`` is left as it is.

    Right rows are lost unless ``keep_right``. ``buffer`` has room for one more record than there are right ones.
    """
    for f in range(first, last):
        if f == done:
            continue
        a, b = start, 0
        for i in range(start, stop):  # no branches: both sides are written, and one is written over
            record = records[f, i]
            left = np.int64(goes_left[np.int64(record & mask)])
            records[f, a] = record
            buffer[b] = record
            a += left
            b += 1 - left
        if keep_right:
            for i in range(middle, stop):
                records[f, i] = buffer[i - middle]
