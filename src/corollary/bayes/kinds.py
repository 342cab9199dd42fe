"""Kinds of columns: which a table has, and the product of their distributions."""

from __future__ import annotations

import difflib
from dataclasses import fields
from typing import Any

import numpy as np

from corollary.bayes.claims import floor
from corollary.core.distribution import DISTRIBUTIONS, Categorical, Columns, Distribution
from corollary.core.types import Array
from corollary.referee.bayes import Group
from corollary.tables import kinds_of_columns

_OF_TYPES = {"number": "gaussian", "flag": "bernoulli", "category": "categorical"}


def kinds_of(X: Any, columns: dict[Any, str] | None) -> Array:
    """The kind of each column, by what is said of it and else by its type."""
    types = kinds_of_columns(X)
    if types is None:
        shape = getattr(X, "shape", None) or np.asarray(X).shape
        types = ["number"] * (shape[1] if len(shape) == 2 else 0)  # of other shapes the door has something to say
    names = [str(name) for name in getattr(X, "column_names", getattr(X, "columns", []))]
    kinds = [_OF_TYPES[each] for each in types]
    for column, kind in (columns or {}).items():
        if kind not in DISTRIBUTIONS:
            raise ValueError(
                f"columns: the kind of {column!r} must be one of {', '.join(DISTRIBUTIONS)}, but it is {kind!r}."
            )
        if isinstance(column, str) and column in names:
            place = list(names).index(column)
        elif not isinstance(column, str) and column in range(len(kinds)):
            place = int(column)
        else:
            raise ValueError(f"columns names {column!r}, which is no column of X: {_others(column, names, len(kinds))}")
        if types[place] == "category" and kind != "categorical":
            raise ValueError(
                f"columns: {column!r} holds text or categories, which cannot be {kind!r}: leave it to be "
                "'categorical', or make numbers of it."
            )
        kinds[place] = kind
    return np.array(kinds)


def _others(column: Any, names: Any, d: int) -> str:
    """What the columns are called, or those that are called nearly so."""
    if not len(names):
        return f"it has columns 0 to {d - 1}, without names."
    if near := difflib.get_close_matches(str(column), names, n=3, cutoff=0.5):
        return f"did you mean {' or '.join(map(repr, near))}?"
    return f"there are {', '.join(map(repr, list(names)[:8]))}{', …' * (len(names) > 8)}."


def groups_of(kinds: Array, sizes: Array) -> Columns:
    """The product of the distributions of all columns, those of one kind together, in the order of their list."""
    groups: list[tuple[list[int], Distribution]] = []
    for kind, cls in DISTRIBUTIONS.items():
        own = np.flatnonzero(kinds == kind)
        if len(own):
            part = cls.made_from({}).spanning(np.zeros(len(own)), sizes[own] - 1.0)
            groups.append((own.tolist(), part))
    return Columns(groups)


def encoded(X: Array, categories: dict[int, Array]) -> Array:
    """Numbers as the places of categories among those that are known; what is none of them is missing."""
    out = np.array(X, dtype=np.float64)
    for f, known in categories.items():
        places = np.minimum(np.searchsorted(known, out[:, f]), max(len(known) - 1, 0))
        out[:, f] = np.where(known[places] == out[:, f], places, np.nan) if len(known) else np.nan
    return out


def claims(
    product: Columns, params: dict[str, Array], statistics: dict[str, Array], X: Any, weights: Array, alpha: float,
    var_smoothing: float,
) -> tuple[list[Group], dict[str, Any]]:  # fmt: skip
    """What is claimed of each kind of columns, for the referee."""
    groups = []
    for columns, part in product.groups:
        said: dict[str, Any] = {
            key.split(".", 1)[1]: v for key, v in (statistics | params).items() if key.startswith(f"{part.name}.")
        }
        own = np.asarray(X, dtype=np.float64)[:, columns]
        first: Any = alpha
        second: Any = 0.0
        sizes: Any = ()
        if part.name == "gaussian":
            first, _ = floor(own, weights, var_smoothing)
            said["seen"] = said["present"]
        elif part.name == "categorical":
            assert isinstance(part, Categorical)
            sizes = part.sizes
            said["tables"], said["counts"] = (part.by_columns({"log": said[name]}) for name in ("log", "states"))
        elif part.name in ("poisson", "exponential"):
            there = ~np.isnan(own)
            rows = np.where(there, weights[:, None], 0.0)
            mean = (rows * np.where(there, own, 0.0)).sum(axis=0) / np.maximum(rows.sum(axis=0), 1e-300)
            first, second = (alpha * mean, alpha) if part.name == "poisson" else (alpha, alpha * mean)
        elif part.name == "bernoulli":
            said["log"] = said["log_one"]
        groups.append(Group(part.name, columns, said, first, second, sizes))
    return groups, {}


def check_statistics(product: Columns, statistics: dict[str, Any], k: int) -> None:
    """ValueError unless these can be the statistics of k classes: files are hostile."""
    expected: dict[str, list[tuple[int, ...]]] = {}
    for columns, part in product.groups:
        width = int(part.sizes.sum()) if isinstance(part, Categorical) else len(columns)
        for field in fields(part.statistics):
            if field.name != "counts":
                expected[f"{part.name}.{field.name}"] = [(k, width), *([(k, 1)] if field.name == "present" else [])]
    if set(statistics) != set(expected):
        raise ValueError(f"statistics_ must be {', '.join(expected)}, but they are others")
    for name, shapes in expected.items():
        value = statistics[name]
        if not (isinstance(value, np.ndarray) and value.dtype == np.float64 and value.shape in shapes):
            raise ValueError(f"{name} of statistics_ must be float64 of shape {shapes[0]}")
        if not np.isfinite(value).all() or (not name.endswith(".mean") and (value < 0).any()):
            raise ValueError(f"{name} of statistics_ must be finite numbers ≥ 0")
