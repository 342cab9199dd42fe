"""Coordinate ascent of mean field over the tables of a network."""

from __future__ import annotations

import math

from corollary._compiled._jit import inner_kernel, lean_kernel


@inner_kernel
def add_expected(f, axis, q, offsets, cards, scope_starts, scope, strides, table_starts, logs, room):
    """Add to room[s] the mean log entry of factor f with its axis at s, the other axes distributed as q.

    What has no weight counts as nothing, also where its logarithm is −∞.
    """
    first, end = scope_starts[f], scope_starts[f + 1]
    for entry in range(table_starts[f + 1] - table_starts[f]):
        weight, own = 1.0, 0
        for k in range(first, end):
            state = (entry // strides[k]) % cards[scope[k]]
            if k - first == axis:
                own = state
            else:
                weight *= q[offsets[scope[k]] + state]
        if weight > 0.0:
            room[own] += weight * logs[table_starts[f] + entry]


@lean_kernel
def ascend(q, cards, offsets, starts, factors, axes, scope_starts, scope, strides, table_starts, logs, room):
    """Make the distribution of each variable best given those of the others, one after the other; the largest change.

    Variable v is in factors[starts[v]:starts[v + 1]], at their ``axes``. Some state must stay possible.
    """
    largest = 0.0
    for v in range(cards.shape[0]):
        for s in range(cards[v]):
            room[s] = 0.0
        for k in range(starts[v], starts[v + 1]):
            add_expected(factors[k], axes[k], q, offsets, cards, scope_starts, scope, strides, table_starts, logs, room)
        best, norm = -math.inf, 0.0
        for s in range(cards[v]):
            best = max(best, room[s])
        for s in range(cards[v]):
            room[s] = math.exp(room[s] - best)
            norm += room[s]
        for s in range(cards[v]):
            share = room[s] / norm
            largest = max(largest, abs(share - q[offsets[v] + s]))
            q[offsets[v] + s] = share
    return largest


@lean_kernel
def bound(q, cards, offsets, scope_starts, scope, strides, table_starts, logs, room):
    """The mean logarithm of the product of all factors under q, and the entropy of q."""
    total = 0.0
    for f in range(table_starts.shape[0] - 1):
        own = scope[scope_starts[f]]
        for s in range(cards[own]):
            room[s] = 0.0
        add_expected(f, 0, q, offsets, cards, scope_starts, scope, strides, table_starts, logs, room)
        for s in range(cards[own]):
            if q[offsets[own] + s] > 0.0:
                total += q[offsets[own] + s] * room[s]
    for i in range(q.shape[0]):
        if q[i] > 0.0:
            total -= q[i] * math.log(q[i])
    return total
