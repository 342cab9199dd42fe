"""Messages in a tree of cliques whose tables lie one after another in one array.

The tree comes as whole numbers. A row of ``cliques`` is (first axis, axes, first entry, entries, parent or −1, first
entry of the message to the parent, entries of it, first stride of it), children before parents; the axes of a clique
that it shares with its parent come first, so a message upwards is a sum over contiguous entries. A row of ``factors``
is (clique or −1, first entry in ``tables``, first stride, first finding, findings). A row of ``wanted`` is (clique,
entries before, states, entries after, first entry of the answer). ``numbers`` holds, by those places: states of the
axes; strides along the axes of a clique into something smaller; pairs (variable, stride) of findings.
"""

from __future__ import annotations

import math
from typing import Any

from corollary._compiled._jit import inner_kernel, lean_kernel

TINY = 1e-150  # products below it are scaled before they meet the next factor, which may be as small again


@inner_kernel
def _multiply(
    table: Any, first: int, size: int, numbers: Any, axis: int, axes: int, small: Any, at: int, stride: int, digits: Any
) -> float:
    """Multiply the entries of a clique by those of something smaller, found by its strides along the clique's axes.

    Products of many small numbers are scaled, so that they do not vanish; the logarithm of the scale is returned.
    """
    top = 0.0
    states, step = numbers[axis + axes - 1], numbers[stride + axes - 1]
    for a in range(axes):
        digits[a] = 0
    entry = first
    while entry < first + size:
        for s in range(states):
            value = table[entry + s] * small[at + s * step]
            table[entry + s] = value
            if value > top:
                top = value
        entry += states
        a = axes - 2
        while a >= 0:
            digits[a] += 1
            at += numbers[stride + a]
            if digits[a] < numbers[axis + a]:
                break
            at -= numbers[stride + a] * numbers[axis + a]
            digits[a] = 0
            a -= 1
    if top >= TINY:
        return 0.0
    if top == 0.0:
        return -math.inf
    for entry in range(first, first + size):
        table[entry] /= top
    return math.log(top)


@inner_kernel
def _project(
    table: Any, first: int, size: int, numbers: Any, axis: int, axes: int, small: Any, at: int, stride: int, digits: Any
) -> None:
    """Add the entries of a clique up into something smaller."""
    states, step = numbers[axis + axes - 1], numbers[stride + axes - 1]
    for a in range(axes):
        digits[a] = 0
    entry = first
    while entry < first + size:
        for s in range(states):
            small[at + s * step] += table[entry + s]
        entry += states
        a = axes - 2
        while a >= 0:
            digits[a] += 1
            at += numbers[stride + a]
            if digits[a] < numbers[axis + a]:
                break
            at -= numbers[stride + a] * numbers[axis + a]
            digits[a] = 0
            a -= 1


@inner_kernel
def _fill(
    cliques: Any, factors: Any, numbers: Any, tables: Any, codes: Any, row: int, beliefs: Any, digits: Any
) -> float:
    """Each clique the product of its factors at the findings of this row; the log of those that are only a number."""
    beliefs[:] = 1.0
    log_scale = 0.0
    for f in range(len(factors)):
        clique, at, stride = factors[f, 0], factors[f, 1], factors[f, 2]
        first = factors[f, 3]
        for finding in range(factors[f, 4]):
            at += codes[row, numbers[first + 2 * finding]] * numbers[first + 2 * finding + 1]
        if clique < 0:
            if tables[at] <= 0.0:
                return -math.inf
            log_scale += math.log(tables[at])
        else:
            axis, axes, start, size = cliques[clique, 0], cliques[clique, 1], cliques[clique, 2], cliques[clique, 3]
            log_scale += _multiply(beliefs, start, size, numbers, axis, axes, tables, at, stride, digits)
            if log_scale == -math.inf:
                return log_scale
    return log_scale


@inner_kernel
def _collect(cliques: Any, numbers: Any, beliefs: Any, messages: Any, digits: Any) -> float:
    """Messages towards the roots, each scaled to sum to one; the log of what was divided by: log P(findings)."""
    log_scale = 0.0
    for c in range(len(cliques)):
        start, size, parent = cliques[c, 2], cliques[c, 3], cliques[c, 4]
        if parent < 0:
            total = 0.0
            for entry in range(start, start + size):
                total += beliefs[entry]
            if not total > 0.0:
                return -math.inf
            for entry in range(start, start + size):
                beliefs[entry] /= total
            log_scale += math.log(total)
            continue
        sent, shared = cliques[c, 5], cliques[c, 6]
        block = size // shared
        total = 0.0
        for s in range(shared):
            part = 0.0
            for entry in range(start + s * block, start + (s + 1) * block):
                part += beliefs[entry]
            messages[sent + s] = part
            total += part
        if not total > 0.0:
            return -math.inf
        for s in range(shared):
            messages[sent + s] /= total
        log_scale += math.log(total)
        axis, axes, stride = cliques[parent, 0], cliques[parent, 1], cliques[c, 7]
        start, size = cliques[parent, 2], cliques[parent, 3]
        log_scale += _multiply(beliefs, start, size, numbers, axis, axes, messages, sent, stride, digits)
        if log_scale == -math.inf:
            return log_scale
    return log_scale


@inner_kernel
def _distribute(cliques: Any, numbers: Any, beliefs: Any, back: Any, digits: Any) -> None:
    """Messages from the roots: afterwards every clique holds P(its variables | findings)."""
    for place in range(len(cliques)):
        c = len(cliques) - 1 - place
        parent = cliques[c, 4]
        if parent < 0:
            continue
        shared = cliques[c, 6]
        for s in range(shared):
            back[s] = 0.0
        axis, axes, stride = cliques[parent, 0], cliques[parent, 1], cliques[c, 7]
        _project(beliefs, cliques[parent, 2], cliques[parent, 3], numbers, axis, axes, back, 0, stride, digits)
        start, block = cliques[c, 2], cliques[c, 3] // shared
        for s in range(shared):
            part = 0.0
            for entry in range(start + s * block, start + (s + 1) * block):
                part += beliefs[entry]
            ratio = back[s] / part if part > 0.0 else 0.0
            for entry in range(start + s * block, start + (s + 1) * block):
                beliefs[entry] *= ratio


@inner_kernel
def _answer(wanted: Any, cliques: Any, beliefs: Any, answers: Any, row: int) -> None:
    """Sum cliques down to single variables, each to sum to one."""
    for w in range(len(wanted)):
        start = cliques[wanted[w, 0], 2]
        before, states, after, first = wanted[w, 1], wanted[w, 2], wanted[w, 3], wanted[w, 4]
        total = 0.0
        for s in range(states):
            part = 0.0
            for b in range(before):
                entry = start + (b * states + s) * after
                for a in range(after):
                    part += beliefs[entry + a]
            answers[row, first + s] = part
            total += part
        for s in range(states):
            answers[row, first + s] /= total


@lean_kernel
def infer(
    begin: int,
    end: int,
    calibrate: bool,
    cliques: Any,
    factors: Any,
    wanted: Any,
    numbers: Any,
    tables: Any,
    codes: Any,
    beliefs: Any,
    messages: Any,
    back: Any,
    digits: Any,
    answers: Any,
    log_evidence: Any,
) -> None:
    """For rows begin … end: log P(findings), and what is wanted given them (of impossible findings: zeros).

    Without ``calibrate`` only the roots hold probabilities, so only of them something can be wanted.
    """
    for row in range(begin, end):
        found = _fill(cliques, factors, numbers, tables, codes, row, beliefs, digits)
        if found > -math.inf:
            found += _collect(cliques, numbers, beliefs, messages, digits)
        log_evidence[row] = found
        if found > -math.inf:
            if calibrate:
                _distribute(cliques, numbers, beliefs, back, digits)
            _answer(wanted, cliques, beliefs, answers, row)
