"""What a boosted tree may be."""

from __future__ import annotations

from dataclasses import dataclass

from corollary.core.types import Array


@dataclass(frozen=True)
class HistogramRules:
    """What a tree may be."""

    max_leaves: int = 31
    max_depth: int = 2**31 - 1
    min_rows: int = 20
    min_split: int = 2  # rows of a node that may be split
    min_hessian: float = 1e-3
    l1: float = 0.0
    l2: float = 0.0
    leaf_cost: float = 0.0  # γ: a split must gain more than this
    smoothing: float = 10.0  # curvature added to each category
    best_first: bool = True
    monotone: Array | None = None  # −1, 0, +1 per column
    interactions: tuple[frozenset[int], ...] | None = None  # columns that may meet on a path
