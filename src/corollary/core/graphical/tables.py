"""A Bayesian network of discrete variables as plain arrays: what algorithms of inference and learning work on.

Variables are numbers 0 … d − 1, states are numbers 0 … card − 1. Names, types of columns and files are the business of
the estimators above.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from corollary.core.graphical.dag import DAG
from corollary.core.types import Array


@dataclass(frozen=True)
class TableNetwork:
    """P(x) = Π P(xᵢ | parents of i).

    ``tables[i]`` has one axis for each of ``parents[i]``, in that order, and the last one for i itself, which sums to
    one. ``order`` lists all variables, parents before children.
    """

    cards: tuple[int, ...]
    parents: tuple[tuple[int, ...], ...]
    tables: tuple[Array, ...]
    order: tuple[int, ...]

    @classmethod
    def of(cls, parents: Sequence[Sequence[int]], tables: Sequence[Array]) -> TableNetwork:
        """The network of these tables; states are counted by their last axes."""
        dag = DAG.of(parents)
        arrays = tuple(np.ascontiguousarray(table, dtype=np.float64) for table in tables)
        return cls(tuple(table.shape[-1] for table in arrays), dag.parents, arrays, dag.order)

    @property
    def size(self) -> int:
        return len(self.cards)

    @property
    def dag(self) -> DAG:
        return DAG(self.parents, self.order)

    @cached_property
    def flat(self) -> Array:
        """The tables one after another in one array, made once."""
        return np.concatenate([table.ravel() for table in self.tables]) if self.tables else np.zeros(0)

    def family(self, variable: int) -> tuple[int, ...]:
        """The axes of its table: parents, then itself."""
        return (*self.parents[variable], variable)

    def log_prob(self, states: Array) -> Array:
        """log P of rows of states, all of them known; −∞ where it is zero."""
        total = np.zeros(len(states))
        with np.errstate(divide="ignore"):
            for variable, table in enumerate(self.tables):
                total += np.log(table)[tuple(states[:, member] for member in self.family(variable))]
        return total

    def joint(self) -> Array:
        """P of everything, one axis for each variable: for small networks, and for tests."""
        product = np.ones(self.cards)
        for variable, table in enumerate(self.tables):
            family = self.family(variable)
            order = np.argsort(family)
            shape = [1] * self.size
            for member in family:
                shape[member] = self.cards[member]
            product = product * table.transpose(order).reshape(shape)
        return product
