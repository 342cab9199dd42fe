"""A Bayesian network of discrete variables as plain arrays: what algorithms of inference and learning work on.

Variables are numbers 0 … d − 1, states are numbers 0 … card − 1. Names, types of columns and files are the business of
the estimators above.
"""

from __future__ import annotations

from dataclasses import dataclass

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
