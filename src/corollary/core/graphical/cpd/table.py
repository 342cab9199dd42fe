"""A table: one distribution for each setting of the parents."""

from __future__ import annotations

from typing import Any

import numpy as np

from corollary.core.graphical.cpd.base import DiscreteCPD, as_numbers
from corollary.core.types import Array

PRINTED = 1e-4  # how far from one a row of a table that somebody printed may sum to


class Table(DiscreteCPD):
    """P(child = s | parents), number by number.

    Parameters
    ----------
    values : array of shape (states of the first parent, …, states of the child) or None
        The last axis sums to one (a table printed with a few digits is scaled to do so). None: to be learned.

    Examples
    --------
    >>> Table([[0.9, 0.1], [0.2, 0.8]]).table((2,)).tolist()
    [[0.9, 0.1], [0.2, 0.8]]
    """

    name = "table"
    values: Any

    def __init__(self, values: Any = None) -> None:
        if values is not None:
            values = as_numbers(values, "Table", "values")
            sums = values.sum(axis=-1, keepdims=True) if values.ndim else np.zeros(1)
            if values.size == 0 or (values < 0).any() or (np.abs(sums - 1.0) > PRINTED).any():
                raise self._refuse(
                    "values must be probabilities whose last axis sums to one, but sums lie between "
                    f"{sums.min(initial=np.inf):.6g} and {sums.max(initial=-np.inf):.6g} and the smallest entry is "
                    f"{values.min(initial=np.inf):.6g}."
                )
            values = values / sums
        super().__init__(values=values)

    @property
    def known(self) -> bool:
        return self.values is not None

    @property
    def n_states(self) -> int:
        return int(self.values.shape[-1])

    def check(self, cards: tuple[int, ...], n_numbers: int, card: int) -> None:
        if n_numbers:
            raise self._refuse("a table has no rows for parents that are numbers; use LogisticCPD, or discretise them.")
        if self.known and self.values.shape != (*cards, card):
            raise self._refuse(f"values must have the shape {(*cards, card)}, but it is {self.values.shape}.")

    def probabilities(self, codes: Array, numbers: Array) -> Array:
        found: Array = np.broadcast_to(self.values[tuple(codes.T)], (len(codes), self.values.shape[-1]))
        return found

    def table(self, cards: tuple[int, ...]) -> Array:
        found: Array = self.values
        return found
