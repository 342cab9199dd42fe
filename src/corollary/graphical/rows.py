"""Many rows of findings at once: rows that lack the same values share a junction tree."""

from __future__ import annotations

from typing import Any

import numpy as np

from corollary.core.types import Array
from corollary.graphical.compiled_network import CompiledNetwork
from corollary.solvers.graphical.learning.missing import by_gaps


def likelihoods(compiled: CompiledNetwork, codes: Array) -> Array:
    """log P of what is known of each row."""
    found = np.empty(len(codes))
    for rows, absent in by_gaps(codes < 0):
        if not absent.any():
            found[rows] = compiled.network.log_prob(codes[rows])
        else:
            found[rows] = compiled.tree(np.flatnonzero(~absent).tolist(), []).run(codes[rows])[1]
    return found


def posteriors(compiled: CompiledNetwork, codes: Array, target: int) -> tuple[Array, Array]:
    """(P(target | what is known) for each row, log P of what is known); impossible rows get the prior, and −∞."""
    shares, logs = np.empty((len(codes), compiled.network.cards[target])), np.empty(len(codes))
    for rows, absent in by_gaps(codes < 0):
        tree = compiled.tree(np.flatnonzero(~absent).tolist(), [target], together=True)
        shares[rows], logs[rows] = tree.run(codes[rows])
    lost = logs == -np.inf
    if lost.any():
        nothing = np.full((1, codes.shape[1]), -1)
        shares[lost] = compiled.tree([], [target], together=True).run(nothing)[0]
    return shares, logs


def as_given(X: Any, answer: Array) -> Array:
    """Float32 for rows that came as float32."""
    return answer.astype(np.float32) if getattr(X, "dtype", None) == np.float32 else answer
