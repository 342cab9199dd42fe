"""What labels of rows say about the components of a mixture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from corollary.core.types import Array
from corollary.solvers.em.start import present


def labelled(block: Any) -> Any:
    """A block (X, y, weights) as (X, weights, labels) of the rows with a positive weight."""
    X, y, weights = block
    return present((X, weights, check_labels(y, X.shape[0])))


def check_labels(y: Any, n: int) -> Array:
    """One whole number for each row, −1 where the component is not known; None is all −1."""
    if y is None:
        return np.full(n, -1)
    labels = np.asarray(y)
    wanted = "y must have one whole number for each row, −1 where the component is not known"
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.shape != (n,):
        raise ValueError(f"{wanted}, but X has {n} rows and y has shape {labels.shape}.")
    try:
        numbers = labels.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{wanted}, but it holds {labels[0]!r}. Leave y out to ignore it.") from None
    strange = ~np.isfinite(numbers) | (numbers != np.rint(numbers))
    if strange.any():
        raise ValueError(f"{wanted}, but it holds {numbers[strange][0]:g}. Leave y out to ignore it.")
    return numbers.astype(np.int64)


@dataclass(frozen=True)
class Labels:
    """Which component each label means. Labels 0 … k − 1 are the components of these numbers; others are counted."""

    known: Array
    asked: int

    @property
    def n_components(self) -> int:
        """Enough for all labels."""
        return max(self.asked, len(self.known))

    @property
    def components(self) -> Array:
        """The component of each known label."""
        numbered = len(self.known) == 0 or (self.known[0] >= 0 and self.known[-1] < self.n_components)
        return self.known if numbered else np.arange(len(self.known))

    @property
    def names(self) -> Array:
        """The label of each component, −1 where it has none."""
        names = np.full(self.n_components, -1)
        names[self.components] = self.known
        return names

    @property
    def notes(self) -> tuple[str, ...]:
        if len(self.known) <= self.asked:
            return ()
        return (f"y has {len(self.known)} labels, so there are {len(self.known)} components instead of {self.asked}.",)

    def codes(self, y: Array) -> Array:
        """The component of each row, −1 where it is not known."""
        if not len(self.known):
            return np.full(len(y), -1, dtype=np.int32)
        places = np.minimum(np.searchsorted(self.known, y), len(self.known) - 1)
        return np.where(y == -1, -1, self.components[places]).astype(np.int32)
