"""Haar features over integral images: sums of rectangles, boosted stump search, and cascades with early rejection.

A feature is a handful of *corners*: positions in a flattened integral image and the coefficients of a linear
combination there. Kernels know nothing of shapes, so any feature made of rectangles on a grid runs through the same
loops. Sums run over the corners of a feature in a fixed order with strict arithmetic, in training and in detection:
the same window gets the same response to the last bit.
"""

from __future__ import annotations

import math

import numpy as np

from corollary._compiled._jit import kernel, lean_kernel

TILE = 256  # windows whose integral images stay in the cache while all features of a block are evaluated


@lean_kernel
def integral_block(images, squared, start, stop, out):
    """out[i, y + 1, x + 1] = Σ images[i, :y+1, :x+1], of the squares if ``squared``; the first row and column are 0."""
    height, width = images.shape[1], images.shape[2]
    for i in range(start, stop):
        for x in range(width + 1):
            out[i, 0, x] = 0.0
        for y in range(height):
            row = 0.0
            out[i, y + 1, 0] = 0.0
            for x in range(width):
                value = float(images[i, y, x])
                row += value * value if squared else value
                out[i, y + 1, x + 1] = out[i, y, x + 1] + row


@lean_kernel
def responses_block(columns, corners, coefficients, counts, start, stop, out):
    """out[f − start, i] = response of feature f to window i; ``columns[p, i]`` is corner p of window i's integral."""
    n = columns.shape[1]
    for first in range(0, n, TILE):
        last = min(first + TILE, n)
        for f in range(start, stop):
            total = out[f - start, first:last]
            total[:] = 0.0
            for c in range(counts[f]):
                coefficient = coefficients[f, c]
                corner = columns[corners[f, c], first:last]
                for i in range(total.shape[0]):
                    total[i] += coefficient * corner[i]


@lean_kernel
def even_codes_block(responses, lows, steps, out):
    """out[f, i] = which of 256 intervals of length 1 / steps[f], from lows[f] on, the response is in; ends are open."""
    for f in range(responses.shape[0]):
        low, step = lows[f], steps[f]
        for i in range(responses.shape[1]):
            place = (responses[f, i] - low) * step
            out[f, i] = int(min(max(place, 0.0), 255.0))


@lean_kernel
def codes_block(responses, edges, out):
    """out[f, i] = the number of edges of feature f that are below its response to window i (edges ascend)."""
    n_edges = edges.shape[1]
    for f in range(responses.shape[0]):
        for i in range(responses.shape[1]):
            value = responses[f, i]
            low, high = 0, n_edges
            while low < high:
                middle = (low + high) >> 1
                if edges[f, middle] < value:
                    low = middle + 1
                else:
                    high = middle
            out[f, i] = low


@kernel
def gains_block(codes, n_positive, weights, start, stop, gains):
    """gains[f] = the best S_L² / W_L + S_R² / W_R over all cuts between codes of feature f.

    S is the signed weight and W the weight on one side of the cut; the first ``n_positive`` windows are positive. The
    least-squares stump of the largest gain is the weak learner of gentle AdaBoost.
    """
    n = codes.shape[1]
    positive, negative = np.empty(256), np.empty(256)
    for f in range(start, stop):
        positive[:] = 0.0
        negative[:] = 0.0
        for i in range(n_positive):
            positive[codes[f, i]] += weights[i]
        for i in range(n_positive, n):
            negative[codes[f, i]] += weights[i]
        weight, signed = 0.0, 0.0
        for b in range(256):
            weight += positive[b] + negative[b]
            signed += positive[b] - negative[b]
        left, signed_left, best = 0.0, 0.0, 0.0
        least = 1e-12 * weight  # what rounding can leave on an empty side
        for b in range(255):
            left += positive[b] + negative[b]
            signed_left += positive[b] - negative[b]
            right, signed_right = weight - left, signed - signed_left
            if left > least and right > least:
                gain = signed_left * signed_left / left + signed_right * signed_right / right
                best = max(best, gain)
        gains[f] = best


@lean_kernel
def cascade_block(
    integral, bases, scales, corners, coefficients, counts, cuts, lefts, rights, ends, thresholds, start, stop, out
):
    """out[i] = verdict of the cascade on the window whose integral image starts at ``bases[i]``.

    A window that passes all K stages gets 1 + the sum of its margins; one that stage k refuses by a margin m < 0 gets
    k − K + exp(m), which is at most 0 and lower the earlier it was refused. Responses are multiplied by ``scales[i]``.
    """
    n_stages = ends.shape[0]
    for i in range(start, stop):
        base, scale = bases[i], scales[i]
        verdict, stump = 1.0, 0
        for k in range(n_stages):
            score = 0.0
            while stump < ends[k]:
                response = 0.0
                for c in range(counts[stump]):
                    response += coefficients[stump, c] * integral[base + corners[stump, c]]
                score += lefts[stump] if response * scale <= cuts[stump] else rights[stump]
                stump += 1
            margin = score - thresholds[k]
            if margin < 0.0:
                verdict = k - n_stages + math.exp(margin)
                break
            verdict += margin
        out[i] = verdict
