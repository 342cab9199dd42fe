"""Likelihood weighting: known variables are not drawn but weighed by how well each sample explains them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from corollary.core.graphical.flat import Flat, flatten
from corollary.core.graphical.tables import TableNetwork
from corollary.core.parallel import map_blocks
from corollary.solvers.graphical.approximate.answers import FEW, Approximation, by_variable, certain
from corollary.solvers.graphical.approximate.forward import ROWS, Tally, drawn, likelihoods, seed_of, total_of
from corollary.solvers.graphical.approximate.support import check_query, possible_state


def likelihood_weighting(
    network: TableNetwork,
    variables: tuple[int, ...],
    given: Mapping[int, int],
    n_samples: int = 100_000,
    random_state: Any = None,
) -> Approximation:
    """Marginals of ``variables`` given what is known, from weighted forward samples.

    Notes
    -----
    *Cost.* O(n × variables that matter), no memory to speak of. The effective number of samples is (Σ w)² / Σ w²: it is
    small where what is known lies far from what is usual, and then ``notes`` says so.
    """
    check_query(network, variables, given, n_samples)
    flat = flatten(network, given, variables)
    tallied = _tallied(flat, n_samples, random_state)
    shares, errors = tallied.shares()
    known = certain(network, given, variables)
    few = f"The samples are worth {tallied.effective:.0f} independent ones: too few to trust. Raise n_samples."
    return Approximation(
        method="likelihood weighting",
        marginals=by_variable(flat, shares, variables) | known,
        errors=by_variable(flat, errors, variables) | {v: np.zeros(network.cards[v]) for v in known},
        n_samples=n_samples,
        effective=tallied.effective,
        notes=(few,) if tallied.effective < FEW else (),
    )


def _tallied(flat: Flat, n_samples: int, random_state: Any) -> Tally:
    seed = seed_of(random_state)

    def work(start: int, stop: int) -> Tally:
        rows = drawn(flat, seed, start, stop)
        return Tally.of(flat, rows, likelihoods(flat, rows))

    tallied = total_of(map_blocks(work, n_samples, ROWS))
    if tallied.total == 0:
        possible_state(flat, np.random.RandomState(0))  # says so if it is impossible
        raise ValueError(
            f"All {n_samples} samples give the evidence probability zero. It is impossible, or hardly ever comes about "
            "by the tables as they are: raise n_samples, use method='gibbs', which starts from a state that agrees "
            "with it, or smooth the tables."
        )
    return tallied
