"""The referee of ensembles: what members say, added up again. How members were trained it cannot see."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from corollary.referee.trees import Nodes
from corollary.referee.verdict import Verification

Array = Any
LONG = np.longdouble
ROWS = 200
AGREES = "predictions are the mean of what the members say; how those were trained cannot be judged from outside"


def forest(X: Any, trees: Sequence[Nodes], said: Array) -> Verification:
    """Whether predictions are the mean over trees of the value of the leaf that each row reaches, by another walk."""
    X = (X.toarray() if hasattr(X, "toarray") else np.asarray(X))[:ROWS].astype(np.float64)
    if np.isnan(X).any():
        return Verification(None, "the referee does not walk with gaps")
    return mean_of_members([_leaf_values(X, nodes) for nodes in trees], None, said[:ROWS])


def mean_of_members(members: Sequence[Array], weights: Array | None, said: Array) -> Verification:
    """Whether ``said`` is the weighted mean of the members' predictions."""
    share = np.ones(len(members), LONG) if weights is None else np.asarray(weights, dtype=LONG)
    parts = np.stack([np.asarray(part, dtype=LONG).reshape(len(said), -1) for part in members])
    mean = np.tensordot(share / share.sum(), parts, axes=1)
    size = max(np.abs(parts).max(initial=0), np.finfo(LONG).tiny)
    off = float(np.abs(mean - np.asarray(said, dtype=LONG).reshape(len(said), -1)).max(initial=0) / size)
    if off > 1e-6:  # float32 predictions have seven digits
        return Verification(False, f"predictions differ from the mean of the members by {off:.2g}", off)
    return Verification(None, AGREES, off)


def _leaf_values(X: Array, nodes: Nodes) -> Array:
    at = np.zeros(len(X), np.intp)
    while True:
        feature = nodes.feature[at]
        inner = feature >= 0
        if not inner.any():
            return nodes.value[at]
        here = at[inner]
        left = X[inner, feature[inner]] <= nodes.threshold[here]
        at[inner] = nodes.left[here] + np.where(left, 0, 1)
