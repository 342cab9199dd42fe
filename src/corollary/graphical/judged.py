"""Fitted distributions of a network, tables and others, put into plain words for the referee."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import numpy as np

from corollary.core.graphical.cpd import CPD, LinearGaussian, NoisyOr, Table
from corollary.core.graphical.mixed import MixedNetwork
from corollary.core.types import Array
from corollary.referee.distributions import least_squares, noisy_or, together
from corollary.referee.networks import tables_of_counts
from corollary.referee.verdict import Verification

TOL = 1e-8  # what a noisy-or is fitted to
COUNTED = 1e-10  # by which a probability in a table may be off


def judge_parts(
    network: MixedNetwork, given: Collection[int], rows: Array, weights: Array, added: Sequence[float]
) -> Verification:
    """What the referee says of a network: of what was learned, and of tables with what was ``added`` to their counts.

    Of distributions that were ``given`` nothing is claimed.
    """
    said = []
    for v, cpd in enumerate(network.cpds):
        if v in given:
            continue
        if isinstance(cpd, Table):
            family = rows[:, [v, *network.parents[v]]].astype(np.int64)
            above = [list(range(1, family.shape[1]))]
            said.append(tables_of_counts(family, weights, above, [cpd.values], [added[v]], COUNTED))
        else:
            codes, numbers = network.parts(v, rows)
            cards = tuple(network.cards[p] for p in network.split[v][0])
            judge = _JUDGES.get(type(cpd))
            if judge is None:
                said.append(Verification(None, f"the referee has no second opinion on {type(cpd).__name__}"))
            else:
                said.append(judge(cpd, codes, cards, numbers, rows[:, v], weights))
    return together(said) if said else Verification(None, "all distributions were given: nothing was learned")


def _linear_gaussian(
    cpd: LinearGaussian, codes: Array, cards: tuple[int, ...], numbers: Array, child: Array, weights: Array
) -> Verification:
    setting = np.ravel_multi_index(tuple(codes.T), cards) if cards else np.zeros(len(child), dtype=np.int64)
    coef = cpd.coef.reshape(cpd.intercept.size, cpd.coef.shape[-1])
    return least_squares(
        setting, numbers, child, weights, cpd.intercept.ravel(), coef, cpd.variance.ravel(), cpd.alpha
    )  # fmt: skip


def _noisy_or(
    cpd: NoisyOr, codes: Array, cards: tuple[int, ...], numbers: Array, child: Array, weights: Array
) -> Verification:
    return noisy_or(codes, child, weights, cpd.leak, cpd.strengths, cpd.alpha, TOL)


_JUDGES: dict[type[CPD], Callable[..., Verification]] = {LinearGaussian: _linear_gaussian, NoisyOr: _noisy_or}
