"""The nouns of a benchmark: data, candidates, a rule of equal quality, and the workload that joins them."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

OURS = "corollary"


def load(module: str, name: str) -> Any:
    """An attribute of a module that may not be installed; imported when it is asked for."""
    return getattr(importlib.import_module(module), name)


def decades(first: float, last: float) -> tuple[float, ...]:
    """Tolerances from ``first`` down to ``last``, a factor of ten apart.

    >>> decades(5e-1, 5e-3)
    (0.5, 0.05, 0.005)
    """
    ladder = [first]
    while ladder[-1] > last * 1.001:
        ladder.append(float(f"{ladder[-1] / 10:.6g}"))
    return tuple(ladder)


@dataclass(frozen=True)
class Data:
    """What every candidate is given: the same arrays, in the layout that suits the peers best."""

    X: Any
    y: Any
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def bytes(self) -> int:
        """Memory of X (the three arrays of a compressed sparse matrix)."""
        if hasattr(self.X, "indptr"):
            return int(self.X.data.nbytes + self.X.indices.nbytes + self.X.indptr.nbytes)
        return int(self.X.nbytes)


@dataclass(frozen=True)
class Candidate:
    """One library solving the workload: ``fit(data, tolerance)`` returns whatever the quality rule can read.

    ``package`` is the module that must be importable, else the candidate is listed as missing. ``tolerances`` run from
    the loosest to the tightest; the loosest that satisfies the quality rule is the one that is timed, so nobody is
    charged for digits that nobody asked for. An exact method has none.
    """

    name: str
    package: str
    fit: Callable[[Data, float], Any]
    tolerances: tuple[float, ...] = ()

    @property
    def ours(self) -> bool:
        return self.package == OURS

    @property
    def installed(self) -> bool:
        return importlib.util.find_spec(self.package) is not None


@dataclass(frozen=True)
class Quality:
    """When two answers count as equally good.

    ``measure(data, fit)`` is a number to minimise. With ``absolute`` it must itself be at most ``within`` (a relative
    duality gap, say); otherwise it may exceed the best known value by the fraction ``within``. The best known value is
    the least of ``reference(data)``, where given, and of what the candidates reach.
    """

    name: str
    measure: Callable[[Data, Any], float]
    within: float
    absolute: bool = False
    reference: Callable[[Data], float] | None = None

    def excess(self, value: float, best: float) -> float:
        """How far a value is above what it should be, on the scale of ``within``."""
        return value if self.absolute else (value - best) / abs(best)

    def holds(self, excess: float) -> bool:
        # A tolerance chosen to match the rule exactly lands on it, on either side by a rounding error.
        return excess <= 1.01 * self.within

    def __str__(self) -> str:
        if self.absolute:
            return f"{self.name} ≤ {self.within:g}"
        return f"{self.name} within {self.within:g} of the best"


@dataclass(frozen=True)
class Workload:
    """A data maker, the candidates, the rule of equal quality, and the bar.

    ``make(n, d)`` draws the data, the same for the same sizes. ``bar`` is the least ratio (best peer's time over ours)
    that is asked for; ``memory_bar`` the most extra memory, as a fraction of X. A cell of a grid has the name of its
    ``grid`` and words for columns of that table of its own (``cell``); of cells only the time is measured.
    """

    name: str
    title: str
    make: Callable[[int, int], Data]
    sizes: tuple[int, int]
    quick_sizes: tuple[int, int]
    candidates: tuple[Candidate, ...]
    quality: Quality
    bar: float = 1.0
    memory_bar: float | None = None
    grid: str = ""
    cell: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        tuned = any(candidate.tolerances for candidate in self.candidates)
        if tuned and not self.quality.absolute and self.quality.reference is None:
            raise ValueError(f"{self.name}: a tolerance can only be chosen against a reference or an absolute rule")

    def candidate(self, name: str) -> Candidate:
        return next(candidate for candidate in self.candidates if candidate.name == name)


@dataclass(frozen=True)
class Check:
    """A number of ours against a bar, without a race: start-up seconds, digits of accuracy.

    ``measure(quick)`` yields names and values; ``"corollary"`` is the one that is held against the bar, the others are
    shown beside it (what comes before a failure is kept). A bar of None reports only. ``details`` are words for the
    columns of a table of its own.
    """

    name: str
    title: str
    unit: str
    bar: float | None
    higher_is_better: bool
    measure: Callable[[bool], Iterable[tuple[str, float]]]
    details: dict[str, str] = field(default_factory=dict)
