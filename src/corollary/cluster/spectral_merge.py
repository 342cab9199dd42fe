"""More connected components than clusters: which of them belong together."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import pairwise_distances_argmin_min

from corollary.core.types import Array


def merged_components(components: Array, k: int, X: Any | None) -> Array:
    """Labels 0 … k − 1: the k largest components (numbered by size) stay, each other one joins the nearest of them.

    Nearest is the component of the nearest row of X; without rows, the largest one.
    """
    labels = components.copy()
    loose = np.flatnonzero(components >= k)
    if len(loose) == 0:
        return labels
    if X is None:
        labels[loose] = 0
        return labels
    kept = np.flatnonzero(components < k)
    nearest, distance = pairwise_distances_argmin_min(X[loose], X[kept])
    order = np.lexsort((distance, components[loose]))
    _, first = np.unique(components[loose][order], return_index=True)
    target = dict(zip(components[loose][order][first], components[kept[nearest[order][first]]], strict=True))
    labels[loose] = [target[c] for c in components[loose]]
    return labels
