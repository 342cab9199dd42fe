"""Questions to networks with numbers: exact where there is a closed form, else by samples, which is said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from corollary.core.graphical.densities import Density, NormalMixture, WeightedSample
from corollary.core.graphical.flat import relevant
from corollary.core.graphical.mixed import MixedNetwork
from corollary.core.types import Array
from corollary.solvers.graphical.approximate.answers import FEW
from corollary.solvers.graphical.approximate.methods import METHODS, approximate
from corollary.solvers.graphical.exact.elimination import eliminate
from corollary.solvers.graphical.mixed.as_tables import as_tables
from corollary.solvers.graphical.mixed.conditional_gaussian import exact, why_not_exact
from corollary.solvers.graphical.mixed.weighting import mixed_weighting

EXACT = ("auto", "junction_tree", "elimination")


@dataclass(frozen=True)
class MixedAnswer:
    """Probabilities of states and densities of numbers, by variable, with what must be said of them."""

    method: str
    marginals: dict[int, Array]
    densities: dict[int, Density]
    log_evidence: float | None = None
    largest_error: float = 0.0
    notes: tuple[str, ...] = ()
    mean: Array = field(default_factory=lambda: np.empty(0))  # of the asked numbers that are free
    covariance: Array = field(default_factory=lambda: np.empty((0, 0)))
    facts: dict[str, float] = field(default_factory=dict)


def ask(
    network: MixedNetwork,
    variables: tuple[int, ...],
    given: Mapping[int, float],
    method: str = "auto",
    n_samples: int = 100_000,
    random_state: Any = None,
) -> MixedAnswer:
    """The distribution of ``variables`` given what is known.

    Exact where numbers are linear Gaussian given states and there are not too many settings of those, or where all
    numbers that matter are known, so that tables are left. "auto" draws samples otherwise, and a note says why.
    """
    numeric = [v for v in relevant(network, given, variables) if not network.cards[v]]
    why = why_not_exact(network, variables, given)
    if method in EXACT and why is None:
        return _by_settings(network, variables, given)
    if method in EXACT and not numeric:
        return _by_tables(network, variables, given)
    if method in EXACT and method != "auto":
        raise ValueError(f"This question has no exact answer here: {why}. Use method='likelihood_weighting'.")
    if method in ("auto", "likelihood_weighting"):
        notes = (f"Drawn, not exact: {why}.",) if why and method == "auto" else ()
        return _by_weights(network, variables, given, n_samples, random_state, notes)
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(map(repr, (*EXACT, *METHODS)))}, but it is {method!r}.")
    if numeric:
        raise ValueError(
            f"method={method!r} is for states, but variable {numeric[0]} is a number that is not known: use "
            "method='likelihood_weighting'."
        )
    made = as_tables(network, variables, given)
    asked = {v: made.place[v] for v in variables if v in made.place}
    found = approximate(made.network, asked.values(), made.given, method, n_samples, random_state)
    shares = {v: found.marginals[place] for v, place in asked.items()}
    error = 0.0 if np.isnan(found.largest_error) else found.largest_error
    facts = {name: fact for name, fact in found.facts.items() if not name.startswith("log evidence")}  # it was scaled
    return _answer(network, method, given, variables, shares, {}, largest_error=error, notes=(str(found),), facts=facts)


def _by_settings(network: MixedNetwork, variables: tuple[int, ...], given: Mapping[int, float]) -> MixedAnswer:
    found = exact(network, variables, given)
    shares = {v: found.marginal(v, network.cards[v]) for v in variables if v in found.states}
    densities: dict[int, Density] = {
        v: NormalMixture(found.weights, found.means[:, i], found.covariances[:, i, i])
        for i, v in enumerate(found.numbers)
    }
    whole = why_not_exact(network, variables, given, whole=True) is None
    log_evidence = exact(network, variables, given, whole=True).log_evidence if whole else None
    return _answer(
        network, "exact", given, variables, shares, densities, log_evidence=log_evidence, mean=found.mean(),
        covariance=found.covariance(),
    )  # fmt: skip


def _by_tables(network: MixedNetwork, variables: tuple[int, ...], given: Mapping[int, float]) -> MixedAnswer:
    made = as_tables(network, variables, given)
    shares = {}
    for v in variables:
        if v in made.place:
            shares[v], log_evidence = eliminate(made.network, [made.place[v]], made.given)
            if log_evidence == -np.inf:
                raise ValueError("The evidence has probability zero: no state of the other variables agrees with it.")
    return _answer(network, "elimination", given, variables, shares, {})


def _by_weights(
    network: MixedNetwork, variables: tuple[int, ...], given: Mapping[int, float], n_samples: int, random_state: Any,
    notes: tuple[str, ...],
) -> MixedAnswer:  # fmt: skip
    found = mixed_weighting(network, variables, given, n_samples, random_state)
    shares, densities, worst = {}, dict[int, Density](), 0.0
    for i, v in enumerate(variables):
        if v in given:
            continue
        if network.cards[v]:
            shares[v], errors = found.marginal(v, network.cards[v])
            worst = max(worst, float(errors.max()))
        else:
            densities[v] = WeightedSample(found.values[:, i], found.weights, found.moments(v)[2])
    said = f"By likelihood weighting: {n_samples} samples, worth {found.effective:.0f} independent ones"
    said += f"; standard errors of probabilities are at most {worst:.2g}." if shares else "."
    few = (f"{found.effective:.0f} are too few to trust: raise n_samples.",) if found.effective < FEW else ()
    return _answer(
        network, "likelihood_weighting", given, variables, shares, densities, largest_error=worst,
        notes=(*notes, said, *few),
    )  # fmt: skip


def _answer(
    network: MixedNetwork, method: str, given: Mapping[int, float], variables: tuple[int, ...],
    shares: dict[int, Array], densities: dict[int, Density], **more: Any,
) -> MixedAnswer:  # fmt: skip
    """With what is known of those asked for put in."""
    for v in variables:
        if v in given and network.cards[v]:
            shares[v] = np.eye(network.cards[v])[int(given[v])]
        elif v in given:
            densities[v] = WeightedSample(np.array([float(given[v])]), np.ones(1), 0.0)
    return MixedAnswer(method, shares, densities, **more)
