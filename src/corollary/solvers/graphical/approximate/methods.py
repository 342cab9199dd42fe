"""One door to the approximate methods."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from corollary.core.graphical.tables import TableNetwork
from corollary.solvers.graphical.approximate.answers import Approximation
from corollary.solvers.graphical.approximate.forward import rejection
from corollary.solvers.graphical.approximate.gibbs import gibbs
from corollary.solvers.graphical.approximate.mean_field import mean_field
from corollary.solvers.graphical.approximate.weighting import likelihood_weighting

METHODS: dict[str, Callable[..., Approximation]] = {  # of (network, variables, given, n_samples, random_state)
    "rejection": rejection,
    "likelihood_weighting": likelihood_weighting,
    "gibbs": gibbs,
    "mean_field": lambda network, variables, given, _, random_state: mean_field(
        network, variables, given, random_state
    ),
}


def approximate(
    network: TableNetwork,
    variables: Iterable[int],
    given: Mapping[int, int],
    method: str = "likelihood_weighting",
    n_samples: int = 100_000,
    random_state: Any = None,
) -> Approximation:
    """Marginals of ``variables`` given what is known, by one of ``METHODS``.

    ``n_samples`` is the number of rows drawn, or of sweeps of Gibbs sampling (all chains together); mean field, which
    draws none, runs until it is at rest. The answer depends on ``random_state`` and never on the number of threads.
    """
    asked = tuple(dict.fromkeys(variables))
    given = {int(variable): int(state) for variable, state in given.items()}
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(map(repr, METHODS))}, but it is {method!r}.")
    return METHODS[method](network, asked, given, n_samples, random_state)
