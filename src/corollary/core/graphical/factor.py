"""Factors: non-negative functions of a few discrete variables, as arrays whose axes have the numbers of variables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from corollary.core.types import Array


@dataclass(frozen=True)
class Factor:
    """``values`` has one axis for each of ``variables``, which are in increasing order.

    >>> import numpy as np
    >>> rain, wet = np.log([0.8, 0.2]), np.log([[0.9, 0.1], [0.3, 0.7]])
    >>> product = Factor.of((0,), rain) + Factor.of((0, 1), wet)
    >>> np.exp(product.log_total((0,)).values).round(3).tolist()
    [0.78, 0.22]
    """

    variables: tuple[int, ...]
    values: Array

    @classmethod
    def of(cls, variables: Sequence[int], values: Array) -> Factor:
        """A factor from an array whose axes are in any order."""
        order = sorted(range(len(variables)), key=variables.__getitem__)
        return cls(tuple(variables[axis] for axis in order), values.transpose(order))

    def _spread(self, over: tuple[int, ...]) -> Array:
        """The values with an axis of length one for each variable of ``over`` that they do not depend on."""
        mine = iter(self.values.shape)
        have = set(self.variables)
        return self.values.reshape([next(mine) if variable in have else 1 for variable in over])

    def _joined(self, other: Factor) -> tuple[tuple[int, ...], Array, Array]:
        over = tuple(sorted({*self.variables, *other.variables}))
        return over, self._spread(over), other._spread(over)

    def __add__(self, other: Factor) -> Factor:
        """The product of two factors that hold logarithms."""
        over, mine, theirs = self._joined(other)
        return Factor(over, mine + theirs)

    def _axes(self, variables: Iterable[int]) -> tuple[int, ...]:
        gone = set(variables)
        return tuple(axis for axis, variable in enumerate(self.variables) if variable in gone)

    def _left(self, variables: Iterable[int]) -> tuple[int, ...]:
        gone = set(variables)
        return tuple(variable for variable in self.variables if variable not in gone)

    def log_total(self, variables: Iterable[int]) -> Factor:
        """Of logarithms: the logarithm of the sum over these variables."""
        variables = tuple(variables)
        axes = self._axes(variables)
        high = self.values.max(axis=axes, keepdims=True)
        high = np.where(np.isfinite(high), high, 0.0)
        with np.errstate(divide="ignore"):
            summed = np.log(np.exp(self.values - high).sum(axis=axes))
        return Factor(self._left(variables), summed + high.reshape(summed.shape))

    def best(self, variable: int) -> tuple[Factor, Array]:
        """The maximum over one variable, and for which of its states it is (the first of equals)."""
        (axis,) = self._axes((variable,))
        return Factor(self._left((variable,)), self.values.max(axis=axis)), self.values.argmax(axis=axis)

    def given(self, findings: Mapping[int, int]) -> Factor:
        """With these variables fixed at these states."""
        index = tuple(findings.get(variable, slice(None)) for variable in self.variables)
        return Factor(self._left(findings), self.values[index])

    def arranged(self, variables: Sequence[int]) -> Array:
        """The values with axes in this order."""
        return self.values.transpose([self.variables.index(variable) for variable in variables])
