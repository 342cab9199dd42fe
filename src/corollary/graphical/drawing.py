"""Rows drawn from a network, also given findings: from the junction tree, so none is thrown away."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from corollary.core.types import Array
from corollary.graphical.compiled_network import CompiledNetwork
from corollary.graphical.rows import posteriors
from corollary.solvers.graphical.approximate.forward import forward_samples


def draw(compiled: CompiledNetwork, findings: Mapping[int, int], n_samples: int, random_state: Any) -> Array:
    """Rows of states. Without findings each variable is drawn given its parents; with them, given all drawn before."""
    network = compiled.network
    if not findings:
        return forward_samples(network, n_samples, random_state)
    random = check_random_state(random_state)
    codes = np.full((n_samples, network.size), -1, dtype=np.int64)
    for variable, state in findings.items():
        codes[:, variable] = state
    for variable in network.order:
        if variable in findings:
            continue
        different, number = np.unique(codes, axis=0, return_inverse=True)
        shares, logs = posteriors(compiled, different, variable)
        if (logs == -np.inf).any():
            raise ValueError("given has probability zero in this network: no row agrees with it.")
        edges = np.cumsum(shares, axis=1)[number.ravel()]
        drawn = (random.random_sample(n_samples)[:, None] * edges[:, -1:] >= edges).sum(axis=1)
        codes[:, variable] = np.minimum(drawn, network.cards[variable] - 1)
    return codes
