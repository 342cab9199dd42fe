"""Rows of networks with numbers, and likelihood weighting for questions that have no exact answer there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from corollary.core.graphical.flat import relevant
from corollary.core.graphical.mixed import MixedNetwork
from corollary.core.parallel import each_block, map_blocks
from corollary.core.types import Array
from corollary.solvers.graphical.approximate.forward import seed_of

ROWS = 4096  # of a block, each of which has random numbers of its own


def mixed_samples(network: MixedNetwork, n_samples: int, random_state: Any = None) -> Array:
    """Independent rows from the joint distribution (n_samples, d), float64; threads do not change them."""
    seed = int(seed_of(random_state))
    rows = np.empty((n_samples, len(network.cards)))

    def fill(start: int, stop: int) -> None:
        rng = _generator(seed, start)
        for v in network.order:
            rows[start:stop, v] = network.draw(v, rows[start:stop], rng)

    each_block(fill, n_samples, ROWS)
    return rows


@dataclass(frozen=True)
class Weighted:
    """Values of the asked variables in samples, and what each sample is worth; the weights sum to one."""

    variables: tuple[int, ...]
    values: Array  # (n, variables)
    weights: Array
    log_evidence: float  # an estimate, of what matters to the question

    @property
    def effective(self) -> float:
        """The number of samples of equal weight that are worth as much."""
        return float(1.0 / (self.weights @ self.weights))

    def marginal(self, variable: int, card: int) -> tuple[Array, Array]:
        """P(state) of a variable with states, and its standard errors."""
        held = self.values[:, self.variables.index(variable), None] == np.arange(card)
        found = self.weights @ held
        unseen = 0.5 / (self.effective + 1.0)
        floor = np.sqrt(unseen * (1.0 - unseen) / (self.effective + 1.0))
        return found, np.maximum(np.sqrt((self.weights**2) @ (held - found) ** 2), floor)

    def moments(self, variable: int) -> tuple[float, float, float]:
        """Mean and variance of a number, and the standard error of the mean."""
        values = self.values[:, self.variables.index(variable)]
        mean = float(self.weights @ values)
        away = values - mean
        return mean, float(self.weights @ away**2), float(np.sqrt((self.weights**2) @ away**2))


def mixed_weighting(
    network: MixedNetwork,
    variables: tuple[int, ...],
    given: Mapping[int, float],
    n_samples: int = 100_000,
    random_state: Any = None,
) -> Weighted:
    """Samples of the free variables, parents first, weighed by how well they explain what is known."""
    free = relevant(network, given, variables)
    inside, seed = set(free), int(seed_of(random_state))
    explained = [v for v in given if inside.intersection(network.parents[v])]

    def work(start: int, stop: int) -> tuple[Array, Array]:
        rng, rows, logs = _generator(seed, start), np.zeros((stop - start, len(network.cards))), np.zeros(stop - start)
        for v, value in given.items():
            rows[:, v] = value
        for v in free:
            rows[:, v] = network.draw(v, rows, rng)
        for v in explained:
            logs += network.cpds[v].log_prob(*network.parts(v, rows), rows[:, v])
        return rows[:, variables], logs

    parts = list(map_blocks(work, n_samples, ROWS))
    values, logs = np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])
    peak = float(logs.max())
    if peak == -np.inf:
        raise ValueError(
            f"All {n_samples} samples give the evidence probability zero: it is impossible, or lies too far from all "
            "that the network expects. Check the values in given, or raise n_samples."
        )
    weights = np.exp(logs - peak)
    return Weighted(variables, values, weights / weights.sum(), peak + float(np.log(weights.mean())))


def _generator(seed: int, start: int) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(key=seed, counter=[0, 0, 0, start // ROWS]))
