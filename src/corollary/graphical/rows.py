"""Many rows of findings at once: rows that lack the same values share a junction tree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from corollary.core.types import Array
from corollary.graphical.compiled_network import CompiledNetwork


def _patterns(codes: Array) -> Iterator[tuple[Array, Array]]:
    """(rows, the variables that are known in all of them), for each set of known variables."""
    known = codes >= 0
    if known.all():
        yield np.arange(len(codes)), np.arange(codes.shape[1])
        return
    keys = np.packbits(known, axis=1)
    _, first, number = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(number.ravel(), kind="stable")
    ends = np.cumsum(np.bincount(number.ravel()))
    for k, end in enumerate(ends):
        yield order[ends[k - 1] if k else 0 : end], np.flatnonzero(known[first[k]])


def likelihoods(compiled: CompiledNetwork, codes: Array) -> Array:
    """log P of what is known of each row."""
    found = np.empty(len(codes))
    for rows, known in _patterns(codes):
        if len(known) == codes.shape[1]:
            found[rows] = compiled.network.log_prob(codes[rows])
        else:
            found[rows] = compiled.tree(known.tolist(), []).run(codes[rows])[1]
    return found


def posteriors(compiled: CompiledNetwork, codes: Array, target: int) -> tuple[Array, Array]:
    """(P(target | what is known) for each row, log P of what is known); impossible rows get the prior, and −∞."""
    shares, logs = np.empty((len(codes), compiled.network.cards[target])), np.empty(len(codes))
    for rows, known in _patterns(codes):
        shares[rows], logs[rows] = compiled.tree(known.tolist(), [target], together=True).run(codes[rows])
    lost = logs == -np.inf
    if lost.any():
        nothing = np.full((1, codes.shape[1]), -1)
        shares[lost] = compiled.tree([], [target], together=True).run(nothing)[0]
    return shares, logs


def as_given(X: Any, answer: Array) -> Array:
    """Float32 for rows that came as float32."""
    return answer.astype(np.float32) if getattr(X, "dtype", None) == np.float32 else answer
