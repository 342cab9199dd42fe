"""What an approximate method answers: marginal distributions, and how far they may be off."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from corollary.core.evidence import Evidence
from corollary.core.graphical.flat import Flat
from corollary.core.graphical.tables import TableNetwork
from corollary.core.types import Array

FEW = 100  # a number of independent draws below which standard errors are not to be trusted


@dataclass(frozen=True)
class Approximation:
    """Marginal distributions of the variables that were asked for, with an honest statement of their accuracy.

    ``errors`` are standard errors of the probabilities, by variable; empty for a method that has none. ``effective`` is
    the number of independent draws from the very distribution that was asked for which would be worth as much.
    ``notes`` are sentences that must not be overlooked; ``facts`` are further numbers.
    """

    method: str
    marginals: dict[int, Array]
    errors: dict[int, Array]
    n_samples: int
    effective: float
    facts: dict[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    evidence: Evidence | None = None  # of a method that climbs to a stationary point

    @property
    def largest_error(self) -> float:
        """The largest standard error of any probability; NaN where none is known."""
        return max((float(error.max()) for error in self.errors.values()), default=np.nan)

    def __str__(self) -> str:
        if self.evidence is not None:
            text = f"By mean field: {self.evidence} It has a bias that no number here measures."
        else:
            worth = f"{self.n_samples} samples, worth {self.effective:.0f} independent ones"
            if self.effective > self.n_samples:
                worth += " (more, since probabilities are averaged and not draws)"
            text = f"By {self.method}: {worth}; standard errors are at most {self.largest_error:.2g}."
        return " ".join([text, *self.notes])


def certain(network: TableNetwork, given: Mapping[int, int], asked: tuple[int, ...]) -> dict[int, Array]:
    """The marginals of those asked for that are known: all on one state."""
    return {v: np.eye(network.cards[v])[given[v]] for v in asked if v in given}


def by_variable(flat: Flat, values: Array, asked: tuple[int, ...]) -> dict[int, Array]:
    """Numbers that lie end to end for all states of all free variables, for those asked for."""
    place = {variable: j for j, variable in enumerate(flat.variables)}
    return {v: values[flat.offsets[place[v]] : flat.offsets[place[v] + 1]] for v in asked if v in place}
