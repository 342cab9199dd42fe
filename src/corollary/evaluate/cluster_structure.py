"""Is there anything to divide? The same clustering of rows that have no clusters, as a yardstick."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import silhouette_score

from corollary.solvers.cluster_scores import box_around, rows_without_clusters

_ROWS, _ROWS_OF_A_CLUSTER, _MOST_ROWS = 1000, 20, 2000
_DRAWS = 19  # above all of them by chance: once in twenty


@dataclass(frozen=True)
class Structure:
    """How well the rows divide, and how well rows drawn evenly from the box around them do.

    Attributes
    ----------
    silhouette : float
        The mean silhouette of a sample of the rows.
    reference : array
        Of samples as large, drawn evenly from the smallest box along the principal axes that holds the rows, each
        divided anew into as many clusters by the same method.
    """

    silhouette: float
    reference: NDArray[np.float64]

    @property
    def found(self) -> bool:
        """Whether the rows divide better than every draw that has no clusters."""
        return bool(self.silhouette > self.reference.max())

    def __str__(self) -> str:
        low, high = f"{self.reference.min():.2f}", f"{self.reference.max():.2f}"
        span = low if low == high else f"{low} to {high}"
        without = f"{len(self.reference)} tables drawn evenly from the same ranges, so without clusters, have {span}"
        if not self.found:
            return (
                f"No structure was found: a silhouette of {self.silhouette:.2f} is no better than chance gives, for "
                f"{without}. The groups may do no more than cut up one cloud."
            )
        words = ((0.5, "well apart"), (0.25, "apart, with rows in between"), (-1.0, "hardly apart, if more than chance"))
        apart = next(word for limit, word in words if self.silhouette > limit)
        return f"The clusters are {apart}: silhouette {self.silhouette:.2f}, while {without}."


def find_structure(
    make: Callable[[], Any], k: int, rows: NDArray[np.float64], seed: int, draws: int = _DRAWS
) -> Structure | None:
    """The yardstick for a division into ``k`` clusters by ``make()``; None if no silhouette exists.

    *Cost*: ``draws`` + 1 fits of at most 1000 rows, or 20 rows for a cluster and at most 2000.
    """
    random = np.random.RandomState(seed)
    size = min(len(rows), max(_ROWS, min(_MOST_ROWS, _ROWS_OF_A_CLUSTER * k)))
    few = rows[np.sort(random.permutation(len(rows))[:size])]
    if k < 2 or k >= size:
        return None
    box = box_around(few)
    here = _silhouette(make(), few)
    drawn = (_silhouette(make(), rows_without_clusters(box, size, random)) for _ in range(draws))
    there = np.array([each for each in drawn if not np.isnan(each)])
    return None if np.isnan(here) or len(there) == 0 else Structure(here, there)


def _silhouette(model: Any, rows: NDArray[np.float64]) -> float:
    try:
        labels = np.asarray(model.fit_predict(rows))
    except (ValueError, MemoryError):  # of rows that this method cannot divide nothing is said
        return np.nan
    return float(silhouette_score(rows, labels)) if 1 < len(np.unique(labels)) < len(labels) else np.nan
