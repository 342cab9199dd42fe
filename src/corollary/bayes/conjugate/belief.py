"""The door for data of conjugate models, and what beliefs about one number have in common."""

from __future__ import annotations

import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from corollary.bayes.conjugate.intervals import KINDS as KINDS
from corollary.bayes.conjugate.intervals import interval_of
from corollary.core.types import Array


class Belief:
    """Checks at the door that all beliefs share; subclasses are frozen dataclasses."""

    def _keep_positive(self, *names: str) -> None:
        """Turn fields into floats, or say which of them is not a finite number above zero."""
        for name in names:
            object.__setattr__(self, name, self._real(name, above_zero=True))

    def _real(self, name: str, *, above_zero: bool) -> float:
        value = getattr(self, name)
        number = isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)
        if not number or not math.isfinite(value) or (above_zero and value <= 0):
            wanted = "a finite number > 0" if above_zero else "a finite number"
            hint = " After an update this means that the data or weights are too large." if value == math.inf else ""
            raise ValueError(f"{type(self).__name__}: {name} must be {wanted}, but it is {value!r}.{hint}")
        return float(value)


class BeliefInOneNumber(Belief, ABC):
    """A belief about one number that scipy knows as a frozen continuous distribution."""

    @abstractmethod
    def distribution(self) -> Any:
        """The belief itself, as a frozen distribution of scipy."""

    @abstractmethod
    def mean(self) -> float:
        """The expected value of the parameter."""

    def variance(self) -> float:
        """The variance of the parameter under this belief."""
        return float(self.distribution().var())

    def interval(self, level: float = 0.95, kind: str = "equal-tailed") -> tuple[float, float]:
        """The credible interval that holds the parameter with probability ``level``.

        ``kind`` is "equal-tailed" (the same probability is left out at both ends) or "highest-density" (the shortest
        one; no point outside is more probable than one inside).
        """
        return interval_of(self.distribution(), level, kind)

    def log_prob(self, value: Any) -> Any:
        """The log density of the belief at ``value``."""
        return self.distribution().logpdf(value)

    def sample(self, size: Any = None, random_state: Any = None) -> Any:
        """Draws of the parameter: one number, or an array of the shape ``size``."""
        drawn = self.distribution().rvs(size=1 if size is None else size, random_state=random_state)
        return float(np.ravel(drawn)[0]) if size is None else np.asarray(drawn)


def finite(data: Any, name: str = "data") -> Array:
    """Numbers as a float64 vector; text, gaps and infinities are refused."""
    try:
        values = np.atleast_1d(np.asarray(data, dtype=np.float64))
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be numbers, but came as {_shown(data)}.") from None
    if values.ndim != 1:
        raise ValueError(f"{name} must be a number or a list of numbers, but has {values.ndim} dimensions.")
    if not np.isfinite(values).all():
        first = int(np.flatnonzero(~np.isfinite(values))[0])
        raise ValueError(f"{name} must be finite, but {name}[{first}] is {values[first]}. Leave out what is missing.")
    return values


def counts(data: Any, name: str = "data") -> Array:
    """Whole numbers ≥ 0 as a float64 vector."""
    values = finite(data, name)
    refuse(name, values, (values >= 0) & (values == np.floor(values)), "whole numbers ≥ 0")
    return values


def refuse(name: str, values: Array, good: Array, wanted: str) -> None:
    """Raise ValueError for the first value that is not as wanted."""
    if not good.all():
        first = int(np.flatnonzero(~good)[0])
        raise ValueError(f"{name} must be {wanted}, but {name}[{first}] is {values[first]:g}.")


def alike(value: Any, values: Array, name: str, check: Callable[[Any, str], Array]) -> Array:
    """``value`` checked, and one for each of ``values``: a single one counts for all."""
    found = check(value, name)
    if np.ndim(value) and len(found) != len(values):
        raise ValueError(f"{name} must be one number or {len(values)}, one for each datum, but there are {len(found)}.")
    return np.broadcast_to(found, values.shape)


def repetitions(weights: Any, n: int) -> Array:
    """How often each of n data counts: ones, or finite numbers ≥ 0."""
    if weights is None:
        return np.ones(n)
    found = finite(weights, "weights")
    if len(found) != n:
        raise ValueError(f"weights must be {n}, one for each datum, but there are {len(found)}.")
    refuse("weights", found, found >= 0, "≥ 0")
    return found


def refuse_nothing(total: float) -> None:
    """Raise ValueError where data without any weight are asked for what is most likely under them."""
    if not total > 0:
        raise ValueError("Nothing has been seen: the data are empty or have no weight, so no value is most likely.")


def _shown(data: Any) -> str:
    text = repr(data)
    return text if len(text) <= 60 else f"{text[:57]}…"
