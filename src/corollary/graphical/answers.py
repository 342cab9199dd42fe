"""What a query answers: probabilities of states, by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from corollary.core.graphical.densities import Density
from corollary.core.types import Array
from corollary.graphical.states import called, shown

SHOWN = 12  # combinations of states of a joint table, in words


class Probabilities(dict[Any, float]):
    """Probabilities by state; a state may be asked for by its text too, as in findings."""

    def __missing__(self, state: Any) -> float:
        same = [share for each, share in self.items() if str(each) == str(state)]
        if len(same) != 1:
            raise KeyError(f"there is no state {state!r}; the states are {shown(list(self))}")
        return same[0]


@dataclass(frozen=True)
class Answer(Mapping[str, Any]):
    """P(each variable | findings), by variable and then by state; ``answer["rain"]["yes"]`` is a number.

    Attributes
    ----------
    marginals : dict of variable to dict of state to probability
    given : dict
        The findings.
    log_evidence : float or None
        log P(findings), where the method knows it.
    joint : array or None
        P(all variables together | findings), one axis for each in the order asked for, if ``joint=True`` was said.
    method : str
    standard_error : float or None
        Of methods that draw: about how far off a probability may be.
    notes : tuple of str
        What such a method says of its answer.
    facts : dict of str to float
        Further numbers of such a method: "split R-hat", "acceptance rate", "log evidence, at least" (a bound of it).
    densities : dict of variable to Density
        Of variables that are numbers: ``answer["height"].mean``, ``.std``, ``.interval(0.95)``.
    mean, covariance : arrays or None
        Of the numbers asked for, together, in their order, where the answer is exact.
    names : sequence of str
        All variables of the network, so that those asked for by their places are found by them.
    """

    marginals: dict[str, Probabilities]
    given: dict[str, Any] = field(default_factory=dict)
    log_evidence: float | None = None
    joint: Array | None = None
    method: str = "junction_tree"
    standard_error: float | None = None
    notes: tuple[str, ...] = ()
    densities: dict[str, Density] = field(default_factory=dict)
    mean: Array | None = None
    covariance: Array | None = None
    facts: dict[str, float] = field(default_factory=dict)
    names: Sequence[str] = field(default=(), repr=False)

    def __getitem__(self, variable: str | int) -> Any:
        name = called(variable, self.names)
        if name not in self.densities and name not in self.marginals:
            raise KeyError(f"there is no variable {variable!r} in this answer; there are {shown(list(self))}")
        return self.densities[name] if name in self.densities else self.marginals[name]

    def __iter__(self) -> Iterator[str]:
        yield from self.marginals
        yield from self.densities

    def __len__(self) -> int:
        return len(self.marginals) + len(self.densities)

    def most_likely(self) -> dict[str, Any]:
        """The most probable state of each variable by itself (for all of them together: ``map_query``)."""
        return {name: max(states, key=states.__getitem__) for name, states in self.marginals.items()}

    def __repr__(self) -> str:
        lines = []
        if self.given:
            lines.append("given " + ", ".join(f"{name} = {state}" for name, state in self.given.items()))
        width = max((len(name) for name in self), default=0)
        for name, states in self.marginals.items():
            shares = ", ".join(f"{state}: {share:.4g}" for state, share in states.items())
            lines.append(f"{name:<{width}}  {shares}")
        lines.extend(f"{name:<{width}}  {density}" for name, density in self.densities.items())
        lines.extend(self._together())
        if self.given and self.log_evidence is not None:
            lines.append(f"log P(given) = {self.log_evidence:.6g}")
        lines.extend(self.notes)
        if self.facts:
            lines.append(", ".join(f"{name}: {value:.6g}" for name, value in self.facts.items()))
        return "\n".join(lines)

    def _together(self) -> list[str]:
        """The joint table in words: the most probable states, if there are many."""
        if self.joint is None or self.joint.ndim < 2:
            return []
        order = np.argsort(-self.joint, axis=None, kind="stable")
        lines, labels = [f"{', '.join(self.marginals)} together"], [list(each) for each in self.marginals.values()]
        for place in np.sort(order[:SHOWN]):
            at = np.unravel_index(place, self.joint.shape)
            states = ", ".join(str(each[i]) for each, i in zip(labels, at, strict=True))
            lines.append(f"  {states}: {self.joint[at]:.4g}")
        left = self.joint.size - SHOWN
        return [*lines, f"  and {left} more that are less probable"] if left > 0 else lines


@dataclass(frozen=True)
class MostProbable(Mapping[str, Any]):
    """States that are together most probable. ``probability`` is P(states | findings)."""

    states: dict[str, Any]
    given: dict[str, Any]
    log_probability: float
    log_evidence: float
    names: Sequence[str] = field(default=(), repr=False)

    @property
    def probability(self) -> float:
        from math import exp

        return exp(self.log_probability)

    def __getitem__(self, variable: str | int) -> Any:
        return self.states[called(variable, self.names)]

    def __iter__(self) -> Iterator[str]:
        return iter(self.states)

    def __len__(self) -> int:
        return len(self.states)

    def __repr__(self) -> str:
        known = f" given {', '.join(f'{n} = {s}' for n, s in self.given.items())}" if self.given else ""
        states = ", ".join(f"{name} = {state}" for name, state in self.states.items())
        return f"{states} with probability {self.probability:.4g}{known}"
