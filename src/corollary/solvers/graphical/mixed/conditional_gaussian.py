"""Exact answers where numbers are linear Gaussian given states: every setting of the states is a Gaussian.

With all states fixed, numbers are x = μ + S z with independent standard normal z, one to each of them. What is known of
them says r = S_o z, which is solved by a QR factorisation of S_oᵀ: covariances are never formed, so nothing is squared
that could be near singular. Settings are weighed in logarithms, a block of them at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from corollary.core.graphical.cpd import CPD
from corollary.core.graphical.flat import relevant
from corollary.core.graphical.mixed import MixedNetwork, n_settings
from corollary.core.types import Array

MOST = 1 << 16  # settings of the states that are worked through
BLOCK = 1 << 22  # numbers in the matrices of a block of settings
LOG_TWO_PI = float(np.log(2.0 * np.pi))


@dataclass(frozen=True)
class Exact:
    """Settings of the free states with their probabilities, and the Gaussian of the asked numbers under each."""

    states: tuple[int, ...]  # the free variables with states
    settings: Array  # (settings, those)
    weights: Array  # (settings,), with sum one
    numbers: tuple[int, ...]  # those asked for that are free
    means: Array  # (settings, numbers)
    covariances: Array  # (settings, numbers, numbers)
    log_evidence: float  # of what matters to the question

    def marginal(self, variable: int, card: int) -> Array:
        """P(state) of a variable with states."""
        column = self.settings[:, self.states.index(variable)].astype(np.int64)
        return np.bincount(column, self.weights, minlength=card)

    def mean(self) -> Array:
        """The mean of the numbers, over all settings."""
        return np.asarray(self.weights @ self.means)

    def covariance(self) -> Array:
        """The covariance of the numbers, over all settings."""
        away = self.means - self.mean()
        return np.asarray(
            np.einsum("s,sij->ij", self.weights, self.covariances) + np.einsum("s,si,sj->ij", self.weights, away, away)
        )


def why_not_exact(
    network: MixedNetwork, variables: tuple[int, ...], given: Mapping[int, float], *, whole: bool = False
) -> str | None:
    """Why a question has no exact answer here; None if it has one."""
    free = relevant(network, given, variables, whole=whole)
    for v in _concerned(network, free, given, whole):
        hidden = [p for p in network.split[v][1] if p not in given]
        if not network.cpds[v].numeric and hidden:
            return f"the states of variable {v} depend on the number of variable {hidden[0]}, which is not known"
    states = [v for v in free if network.cards[v]]
    count = n_settings(network, states)
    return None if count <= MOST else f"there are {count:.3g} settings of {len(states)} variables, more than {MOST}"


def exact(
    network: MixedNetwork, variables: tuple[int, ...], given: Mapping[int, float], *, whole: bool = False
) -> Exact:
    """The distribution of ``variables`` given what is known, setting by setting of the free states.

    With ``whole``, ``log_evidence`` is that of all that is known, also of what does not matter to ``variables``.

    Notes
    -----
    *Cost.* O(settings × m³) for m numbers that matter; ``why_not_exact`` says beforehand if it cannot be done.
    """
    free = relevant(network, given, variables, whole=whole)
    states = tuple(v for v in free if network.cards[v])
    numbers = tuple(v for v in variables if v in free and not network.cards[v])
    cards = tuple(network.cards[v] for v in states)
    count = int(np.prod(cards, dtype=np.int64))
    concerned = _concerned(network, free, given, whole)
    m = sum(1 for v in concerned if network.cpds[v].numeric)
    size = max(1, BLOCK // max(1, m * m))
    blocks = []
    for start in range(0, count, size):
        codes = np.arange(start, min(start + size, count))
        rows = np.zeros((len(codes), len(network.cards)))
        if states:
            rows[:, states] = np.stack(np.unravel_index(codes, cards), axis=1)
        for v, value in given.items():
            rows[:, v] = value
        blocks.append((rows[:, states], *_weighed(network, concerned, given, rows, numbers)))
    settings, logs, means, covariances = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    total = float(logsumexp(logs))
    if total == -np.inf:
        raise ValueError("The evidence has probability zero: no state of the other variables agrees with it.")
    return Exact(states, settings, np.exp(logs - total), numbers, means, covariances, total)


def _concerned(network: MixedNetwork, free: tuple[int, ...], given: Mapping[int, float], whole: bool) -> list[int]:
    """Free variables, and known ones (all, or those with a free parent), in the order of the network."""
    inside = set(free)
    known = {v for v in given if whole or inside.intersection(network.parents[v])}
    return [v for v in network.order if v in inside or v in known]


def _weighed(
    network: MixedNetwork, concerned: list[int], given: Mapping[int, float], rows: Array, asked: tuple[int, ...]
) -> tuple[Array, Array, Array]:
    """For each row of states: its log weight, and mean and covariance of the asked numbers under it."""
    logs = np.zeros(len(rows))
    system = _System(len(rows), [v for v in concerned if network.cpds[v].numeric])
    for v in concerned:
        cpd = network.cpds[v]
        if cpd.numeric:
            system.add(network, v, cpd, given, rows)
        else:
            logs += cpd.log_prob(*network.parts(v, rows), rows[:, v])
    alive = logs > -np.inf
    density, means, covariances = system.conditioned(given, asked)
    return np.where(alive, logs + density, -np.inf), means, covariances


class _System:
    """x = mean + S z for the numbers of some variables, for many settings at once."""

    def __init__(self, count: int, numbers: list[int]) -> None:
        self.place = {v: i for i, v in enumerate(numbers)}
        self.mean = np.zeros((count, len(numbers)))
        self.spread = np.zeros((count, len(numbers), len(numbers)))  # S

    def add(self, network: MixedNetwork, v: int, cpd: CPD, given: Mapping[int, float], rows: Array) -> None:
        """The equation of v: known parents are put in as numbers, free ones as what they are made of."""
        i = self.place[v]
        self.mean[:, i], coef, variance = cpd.linear(network.parts(v, rows)[0])
        for k, parent in enumerate(network.split[v][1]):
            if parent in given:
                self.mean[:, i] += coef[:, k] * given[parent]
            else:
                j = self.place[parent]
                self.mean[:, i] += coef[:, k] * self.mean[:, j]
                self.spread[:, i] += coef[:, k, None] * self.spread[:, j]
        self.spread[:, i, i] = np.sqrt(variance)

    def conditioned(self, given: Mapping[int, float], asked: tuple[int, ...]) -> tuple[Array, Array, Array]:
        """The log density of what is known; mean and covariance of what is asked, given it."""
        known = [v for v in self.place if v in given]
        wanted = [self.place[v] for v in asked]
        mean, spread = self.mean[:, wanted], self.spread[:, wanted]
        if not known:
            return np.zeros(len(mean)), mean, spread @ spread.swapaxes(1, 2)
        at = [self.place[v] for v in known]
        away = np.array([given[v] for v in known]) - self.mean[:, at]
        q, r = np.linalg.qr(self.spread[:, at].swapaxes(1, 2))
        scaled = np.linalg.solve(r.swapaxes(1, 2), away[..., None])  # lower triangular, one row after the other
        density = -0.5 * (scaled[..., 0] ** 2).sum(axis=1) - np.log(np.abs(np.diagonal(r, axis1=1, axis2=2))).sum(
            axis=1
        )
        along = spread @ q
        rest = spread - along @ q.swapaxes(1, 2)
        return density - 0.5 * len(known) * LOG_TWO_PI, mean + (along @ scaled)[..., 0], rest @ rest.swapaxes(1, 2)
