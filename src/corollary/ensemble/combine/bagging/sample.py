"""The members of a bag: which rows and columns each gets, its fit to them, and one after another in the loop."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from corollary.core.evidence import Certificate, Kind
from corollary.core.types import Array
from corollary.ensemble.members import fit_member, in_order, is_ours, seeded, weight_argument
from corollary.ensemble.routing import Told
from corollary.solvers.draws import Urn
from corollary.solvers.loop import Algorithm, Measure


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
    """Some columns of X; X itself if they are all, in order."""
    return X if len(columns) == X.shape[1] and (np.diff(columns) == 1).all() else X[:, columns]


@dataclass(frozen=True)
class Member:
    """One fitted model, its columns, the share of the rows' weight that it saw, and the weight that was drawn."""

    model: Any
    columns: Array
    coverage: float
    weight: float


def fit_one(template: Any, X: Any, y: Array, sampler: Sampler, seed: int, constant: Any, told: Told) -> Member:
    """Fit a copy to the sample of its seed; ``constant`` stands in for one that refuses a single class."""
    amounts, columns, random = sampler.sample(seed)
    model, part, urn = seeded(template, random), columns_of(X, columns), sampler.urn
    try:
        if weight_argument(model) == "sample_weight":  # rows without weight do not matter to it: nothing is copied
            fit_member(model, part, y, told=told.of("estimator", model) | {"sample_weight": amounts})
        else:
            rows = urn.listed(_whole_numbers(amounts, model))
            fit_member(model, part[rows], y[rows], told=told.of("estimator", model, rows, len(y)))
    except ValueError:
        order = urn.order[amounts[urn.order] > 0]
        if constant is None or len(np.unique(y[order])) > 1:
            raise
        model = constant.fit(part[order], y[order])
    seen = sampler.weights[amounts > 0].sum() / sampler.weights.sum()
    return Member(model, columns, float(seen), float(amounts.sum()))


def _whole_numbers(amounts: Array, member: Any) -> Array:
    counts: Array = np.rint(amounts)
    if np.abs(counts - amounts).max() > 1e-9:
        raise ValueError(
            f"{type(member).__name__}.fit takes no sample_weight, so weights must be whole numbers (repetitions) when "
            "bootstrap=False. Use bootstrap=True, which draws rows by their weight."
        )
    return counts


class Bag(Algorithm[int]):
    """Fits the members of ``seeds`` after the ``earlier`` ones; a state is the number of members that are whole.

    Members are fitted ahead, on threads or by joblib, and a step waits for the next. The objective is the number of
    members still to come, since nothing else is lowered.
    """

    name = "bagging"
    kind = Kind.CHECKED
    certificate_name = "relative error of the weight drawn"

    def __init__(
        self, template: Any, X: Any, y: Array, sampler: Sampler, seeds: Array, earlier: int, constant: Any, n_jobs: Any,
        told: Told,
    ) -> None:  # fmt: skip
        self.sampler, self.earlier, self.n_members = sampler, earlier, len(seeds)
        self.members: list[Member] = []
        self.foreign = not is_ours(template)
        calls = [partial(fit_one, template, X, y, sampler, int(seed), constant, told) for seed in seeds[earlier:]]
        self.coming = in_order(calls, [template], n_jobs)

    def init(self) -> int:
        return self.earlier

    def step(self, state: int) -> int:
        self.members.append(next(self.coming))
        return state + 1

    def measure(self, state: int) -> Measure | None:
        return Measure(float(self.n_members - state), done=state == self.n_members) if state else None

    def certify(self, measure: Measure, tol: float) -> Certificate:
        """By how much the weight that any member was given is off from what it should be."""
        sampler = self.sampler
        wanted = sampler.weights.sum() if sampler.whole else float(sampler.size)
        # the last unit of weights that do not sum to a whole number is not a whole one
        short = 0.0 if sampler.whole or sampler.bootstrap else np.ceil(sampler.urn.total) - sampler.urn.total
        off = max((abs(member.weight - wanted) - short for member in self.members), default=0.0)
        return Certificate(self.kind, self.certificate_name, max(float(off), 0.0) / wanted, tol)

    def facts(self, count: int) -> dict[str, float]:
        """How many members there are, what share of the rows' weight the new ones saw, and should have seen."""
        facts = {"members": float(count)}
        if self.members:
            facts["coverage"] = float(np.mean([member.coverage for member in self.members]))
        if self.sampler.bootstrap:  # 1 − 1/e = 63.2 % if as many rows are drawn as there are
            share = self.sampler.weights / self.sampler.weights.sum()
            facts["expected coverage"] = float(share @ (1 - (1 - share) ** self.sampler.size))
        return facts
