"""Which rows and columns a member of a bag gets, and its fit to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from corollary.core.types import Array
from corollary.ensemble.members import fit_member, is_ours, seeded, weight_argument
from corollary.solvers.draws import Urn


@dataclass(frozen=True)
class Sampler:
    """What of the training set a member gets, from the member's seed alone."""

    urn: Urn
    weights: Array  # as they were given
    size: int  # rows that are drawn
    bootstrap: bool
    n_columns: int
    n_drawn_columns: int
    bootstrap_features: bool

    def sample(self, seed: int) -> tuple[Array, Array, np.random.RandomState]:
        """(weight of each row, column numbers, the generator for what else is random about this member)."""
        random = np.random.RandomState(seed)
        columns = np.arange(self.n_columns)
        if self.bootstrap_features or self.n_drawn_columns < self.n_columns:
            columns = np.sort(random.choice(self.n_columns, self.n_drawn_columns, replace=self.bootstrap_features))
        if self.bootstrap:
            return self.urn.draw(self.size, random).astype(np.float64), columns, random
        if self.whole:
            return self.weights, columns, random
        return self.urn.subset(self.size, random), columns, random

    @property
    def whole(self) -> bool:
        """Whether every member gets every row."""
        return not self.bootstrap and self.size >= round(self.urn.total)


def columns_of(X: Any, columns: Array) -> Any:
    return X if len(columns) == X.shape[1] and (np.diff(columns) == 1).all() else X[:, columns]


def fit_one(template: Any, X: Any, y: Array, sampler: Sampler, seed: int, constant: Any) -> tuple[Any, Array, Array]:
    """(fitted member, its columns, [share of the rows' weight that it saw, weight drawn])."""
    amounts, columns, random = sampler.sample(seed)
    member, part = seeded(template, random), columns_of(X, columns)
    facts = np.array([sampler.weights[amounts > 0].sum() / sampler.weights.sum(), amounts.sum()])
    order = sampler.urn.order[amounts[sampler.urn.order] > 0]
    if constant is not None and len(np.unique(y[order])) == 1:  # a rare class was not drawn
        return constant.fit(part[order], y[order]), columns, facts
    if weight_argument(member) != "sample_weight":
        rows = sampler.urn.listed(_whole_numbers(amounts, member))
        return fit_member(member, part[rows], y[rows]), columns, facts
    if is_ours(member):  # rows without weight do not matter to it, so nothing is copied
        return fit_member(member, part, y, amounts), columns, facts
    rows, sums = sampler.urn.merged(amounts)
    return fit_member(member, part[rows], y[rows], sums), columns, facts


def _whole_numbers(amounts: Array, member: Any) -> Array:
    counts: Array = np.rint(amounts)
    if np.abs(counts - amounts).max() > 1e-9:
        raise ValueError(
            f"{type(member).__name__}.fit takes no sample_weight, so weights must be whole numbers (repetitions) when "
            "bootstrap=False. Use bootstrap=True, which draws rows by their weight."
        )
    return counts
