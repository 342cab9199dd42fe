"""What the parameters of a forest mean for given rows: when trees stop growing, and how many rows they draw."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from corollary.core.types import Array
from corollary.solvers.trees.forest.rows import Rows

NO_LIMIT = 2**31 - 1


@dataclass(frozen=True)
class Limits:
    """When to stop growing, in rows and shares of the whole."""

    criterion: str
    max_depth: int
    min_split: int
    min_leaf: int
    min_mass_share: float
    min_gain: float
    max_features: int
    max_leaves: int
    ccp_alpha: float
    monotone: Array | None


def n_draws(model: Any, weights: Array) -> int:
    """Rows in each tree's sample: whole weights count as so many rows."""
    whole = bool(np.all(weights == np.rint(weights)))
    total = float(weights.sum()) if whole else float((weights > 0).sum())
    if model.max_samples is None:
        return int(total)
    if isinstance(model.max_samples, Integral):
        return int(model.max_samples)
    return max(1, int(model.max_samples * total))


def growth_limits(model: Any, rows: Rows) -> Limits:
    """The limits that a model's parameters set for these rows."""
    n, d = int((rows.weights > 0).sum()), len(rows.codes)
    wanted = model.max_features
    if wanted is None:
        columns = d
    elif isinstance(wanted, str):
        columns = int(math.sqrt(d)) if wanted == "sqrt" else int(math.log2(d))
    elif isinstance(wanted, Integral):
        if int(wanted) > d:
            raise ValueError(f"max_features={wanted} must be at most the {d} columns of X.")
        columns = int(wanted)
    else:
        columns = int(wanted * d)
    leaf, split = model.min_samples_leaf, model.min_samples_split
    return Limits(
        criterion=model.criterion,
        max_depth=NO_LIMIT if model.max_depth is None else int(model.max_depth),
        min_split=int(split) if isinstance(split, Integral) else max(2, math.ceil(split * n)),
        min_leaf=int(leaf) if isinstance(leaf, Integral) else max(1, math.ceil(leaf * n)),
        min_mass_share=float(model.min_weight_fraction_leaf),
        min_gain=float(model.min_impurity_decrease),
        max_features=max(1, columns),
        max_leaves=0 if model.max_leaf_nodes is None else int(model.max_leaf_nodes),
        ccp_alpha=float(model.ccp_alpha),
        monotone=model._directions(model.monotonic_cst),
    )
