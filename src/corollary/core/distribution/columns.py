"""Different distributions for different columns, all independent of each other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from corollary.core.distribution.base import Distribution, Params
from corollary.core.distribution.shares import Hard, Shares
from corollary.core.limits import Integer, Limit
from corollary.core.types import Array

_NUMBER = Integer(0, 2**31)


@dataclass(frozen=True)
class Several:
    """What rows contribute to each of several distributions."""

    parts: tuple[Any, ...]

    def __add__(self, other: Several) -> Several:
        return Several(tuple(a + b for a, b in zip(self.parts, other.parts, strict=True)))


class _Groups(Limit):
    def accepts(self, value: Any) -> bool:
        if not isinstance(value, (list, tuple)) or not value:
            return False
        pairs = all(isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in value)
        return pairs and all(_numbers(columns) and isinstance(part, Distribution) for columns, part in value)

    def __str__(self) -> str:
        return "a list of pairs of the numbers of some columns and their Distribution"


def _numbers(columns: Any) -> bool:
    return isinstance(columns, (list, tuple)) and len(columns) > 0 and all(map(_NUMBER.accepts, columns))


class Columns(Distribution):
    """The product of distributions of groups of columns: ``Columns([([0, 2], Gaussian()), ([1], Bernoulli())])``.

    The parameters are those of the groups, their names behind the group's number: ``"0.mean"``.
    """

    name = "columns"
    groups: Any
    limits: ClassVar[dict[str, Limit]] = {"groups": _Groups()}

    def __init__(self, groups: Any) -> None:
        super().__init__(groups=groups)
        self.by_column = all(part.by_column for _, part in groups)
        self.nonnegative = any(part.nonnegative for _, part in groups)

    @classmethod
    def each(cls, parts: list[Distribution]) -> Columns:
        """One distribution for each column; columns with equal ones are a group if they are independent."""
        groups: list[tuple[list[int], Distribution]] = []
        for j, part in enumerate(parts):
            same = [columns for columns, known in groups if known == part and part.by_column]
            if same:
                same[0].append(j)
            else:
                groups.append(([j], part))
        return cls(groups)

    def check_columns(self, d: int) -> None:
        """ValueError unless the groups have each of d columns once."""
        named = sorted(int(j) for columns, _ in self.groups for j in columns)
        if named != list(range(d)):
            twice = [j for j, after in pairwise(named) if j == after]
            lost = sorted(set(range(d)) - set(named))
            what = f"column {twice[0]} is in two" if twice else f"column {lost[0]} is in none" if lost else ""
            what = what or f"column {named[-1]} is in one, but there are only {d}"
            raise ValueError(f"Columns: each of the {d} columns must be in one group, but {what}.")

    def _parts(self, X: Array) -> Iterator[tuple[Array, Distribution]]:
        return ((X[:, _taken(columns)], part) for columns, part in self.groups)

    def of_groups(self, params: Params) -> Iterator[tuple[Distribution, Params]]:
        """The distribution of each group, and the parameters of it."""
        for number, (_, part) in enumerate(self.groups):
            head = f"{number}."
            yield part, {name[len(head) :]: value for name, value in params.items() if name.startswith(head)}

    def spanning(self, low: Array, high: Array) -> Columns:
        self.check_columns(len(low))
        taken = [_taken(columns) for columns, _ in self.groups]
        settled = [part.spanning(low[own], high[own]) for own, (_, part) in zip(taken, self.groups, strict=True)]
        return Columns([(list(columns), part) for (columns, _), part in zip(self.groups, settled, strict=True)])

    def softened(self, rows: float) -> Columns:
        return Columns([(columns, part.softened(rows)) for columns, part in self.groups])

    def weighing(self, unit: float) -> Columns:
        return Columns([(columns, part.weighing(unit)) for columns, part in self.groups])

    def check(self, X: Any) -> None:
        self.check_columns(X.shape[1])
        for columns, part in self.groups:
            try:
                part.check(X[:, _taken(columns)])
            except ValueError as error:
                raise ValueError(f"Columns {list(columns)}, in this order: {error}") from None

    def summarize(self, X: Any, shares: Shares) -> Several:
        return Several(tuple(part.summarize(rows, shares) for rows, part in self._parts(X)))

    def again(self, X: Any, shares: Hard, statistics: Several) -> Several:
        pairs = zip(self._parts(X), statistics.parts, strict=True)
        return Several(tuple(part.again(rows, shares, own) for (rows, part), own in pairs))

    def error(self, statistics: Several, again: Several) -> float:
        pairs = zip(self.groups, statistics.parts, again.parts, strict=True)
        return max(part.error(own, second) for (_, part), own, second in pairs)

    def finish(self, statistics: Several) -> Params:
        found: dict[str, Array] = {}
        for number, ((_, part), own) in enumerate(zip(self.groups, statistics.parts, strict=True)):
            found |= {f"{number}.{name}": value for name, value in part.finish(own).items()}
        return found

    def log_prob(self, X: Any, params: Params) -> Array:
        pairs = zip(self._parts(X), self.of_groups(params), strict=True)
        return np.sum([part.log_prob(rows, own) for (rows, part), (_, own) in pairs], axis=0)

    def log_fit(self, X: Any, params: Params) -> Array:
        pairs = zip(self._parts(X), self.of_groups(params), strict=True)
        return np.sum([part.log_fit(rows, own) for (rows, part), (_, own) in pairs], axis=0)

    def sample(self, params: Params, members: Array, rng: np.random.RandomState) -> Array:
        drawn = [part.sample(own, members, rng) for part, own in self.of_groups(params)]
        out = np.empty((len(members), sum(rows.shape[1] for rows in drawn)))
        for (columns, _), rows in zip(self.groups, drawn, strict=True):
            out[:, list(columns)] = rows
        return out

    def log_prior(self, params: Params) -> float:
        return float(sum(part.log_prior(own) for part, own in self.of_groups(params)))

    def linear_form(self, params: Params) -> tuple[Array, Array] | None:
        forms = [part.linear_form(own) for part, own in self.of_groups(params)]
        found = [form for form in forms if form is not None]
        if len(found) < len(forms):
            return None
        coef = np.empty((len(found[0][1]), sum(form[0].shape[1] for form in found)))
        for (columns, _), form in zip(self.groups, found, strict=True):
            coef[:, list(columns)] = form[0]
        return coef, np.sum([form[1] for form in found], axis=0)

    def distance(self, params: Params, after: Params, shares: Array) -> float:
        pairs = zip(self.of_groups(params), self.of_groups(after), strict=True)
        lengths = [part.distance(own, other, shares) for (part, own), (_, other) in pairs]
        return float(np.sqrt(np.sum(np.square(lengths))))

    def near(self, X: Any, weights: Array, rows: Any, own: Hard) -> Params:
        found: dict[str, Array] = {}
        for number, ((some, part), (alone, _)) in enumerate(zip(self._parts(X), self._parts(rows), strict=True)):
            found |= {f"{number}.{name}": value for name, value in part.near(some, weights, alone, own).items()}
        return found

    def n_free(self, params: Params) -> int:
        return sum(part.n_free(own) for part, own in self.of_groups(params))

    def check_params(self, params: Params, k: int, d: int) -> None:
        self.check_columns(d)
        if not isinstance(params, dict) or any(name.split(".")[0] not in self._numbers() for name in params):
            raise ValueError("parameters of Columns must be named by their groups")
        for (columns, _), (part, own) in zip(self.groups, self.of_groups(params), strict=True):
            part.check_params(own, k, len(columns))

    def _numbers(self) -> set[str]:
        return {str(number) for number in range(len(self.groups))}


def _taken(columns: Any) -> Any:
    """Columns as a slice where they are neighbours: nothing is copied."""
    first, last = columns[0], columns[-1]
    return slice(first, last + 1) if list(columns) == list(range(first, last + 1)) else list(columns)
