"""What a conditional distribution is, and all that networks ask of one.

Parents come apart: ``codes`` (n, discrete parents) are states of those that have states, ``numbers`` (n, numeric
parents) are the values of the others. A part without its numbers (``NoisyOr()``) says what is to be learned; one with
them is a distribution.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from corollary.core.part import Part
from corollary.core.types import Array


class CPD(Part, ABC):
    """The distribution of a variable given its parents. Capabilities are attributes."""

    kind = "cpd"
    numeric: ClassVar[bool] = False  # whether the variable itself is a number

    @property
    @abstractmethod
    def known(self) -> bool:
        """Whether its numbers are given; if not, they are to be learned."""

    @property
    @abstractmethod
    def n_states(self) -> int:
        """How many states the variable has, by its numbers; 1 for a number."""

    @abstractmethod
    def check(self, cards: tuple[int, ...], n_numbers: int, card: int) -> None:
        """Raise ValueError unless parents with so many states, so many numeric parents and ``card`` states fit it."""

    @abstractmethod
    def log_prob(self, codes: Array, numbers: Array, child: Array) -> Array:
        """log P(child | parents) of each row; a log density for a number."""

    @abstractmethod
    def sample(self, codes: Array, numbers: Array, rng: np.random.Generator) -> Array:
        """A value of the variable for each row of parents, as float64."""

    def linear(self, codes: Array) -> tuple[Array, Array, Array]:
        """Of a number that is Gaussian: intercepts (n,), coefficients (n, numeric parents) and variances (n,)."""
        raise self._refuse("it is not linear Gaussian.")

    def _refuse(self, what: str) -> ValueError:
        return ValueError(f"{type(self).__name__}: {what}")


class DiscreteCPD(CPD):
    """One whose variable has states: all is said by their probabilities."""

    @abstractmethod
    def probabilities(self, codes: Array, numbers: Array) -> Array:
        """P of each state, for each row of parents (n, states)."""

    def log_prob(self, codes: Array, numbers: Array, child: Array) -> Array:
        with np.errstate(divide="ignore"):
            found: Array = np.log(self.probabilities(codes, numbers)[np.arange(len(child)), child.astype(np.int64)])
        return found

    def sample(self, codes: Array, numbers: Array, rng: np.random.Generator) -> Array:
        shares = self.probabilities(codes, numbers)
        ends = np.cumsum(shares, axis=1)
        levels = rng.random(len(shares)) * ends[:, -1]
        found = (ends <= levels[:, None]).sum(axis=1)
        last = shares.shape[1] - 1 - np.argmax(shares[:, ::-1] > 0, axis=1)  # rounding must not find what cannot be
        return np.minimum(found, last).astype(np.float64)

    def chain(self) -> tuple[float, list[Array]] | None:
        """P(1) without parents, and tables (2, 2, 2) that take them in one after the other, if it is such a chain."""
        return None

    def table(self, cards: tuple[int, ...]) -> Array:
        """All of it as an array, for parents that all have states: an axis for each, the last for the variable."""
        codes = every_setting(cards)
        shares = self.probabilities(codes, np.empty((len(codes), 0)))
        return shares.reshape(*cards, -1)


def every_setting(cards: tuple[int, ...]) -> Array:
    """All joint states of variables with so many states (int64), the last one changing fastest."""
    n = int(np.prod(cards, dtype=np.int64))
    if not cards:
        return np.empty((1, 0), dtype=np.int64)
    return np.stack(np.unravel_index(np.arange(n), cards), axis=1).astype(np.int64)


def as_numbers(value: Any, owner: str, name: str, ndim: int | None = None) -> Array:
    """A float64 array of finite numbers, a copy that cannot be changed; ValueError otherwise."""
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{owner}: {name} must be an array of numbers, but it is {value!r}.") from None
    if (ndim is not None and array.ndim != ndim) or not np.isfinite(array).all():
        shape = "" if ndim is None else f" of {ndim} dimension{'s' * (ndim != 1)}"
        raise ValueError(f"{owner}: {name} must be finite numbers{shape}, but it is {value!r}.")
    array.flags.writeable = False
    return array
