"""Tables that people write down, read as arrays: with or without parents, as lists or by the states of parents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from corollary.core.types import Array
from corollary.graphical.states import States, find, given_states, plain, shown

PRINTED = 1e-4  # how far from one a sum may be that was printed with a few digits


def read_tables(
    tables: Mapping[str, Any], states: Mapping[str, Sequence[Any]]
) -> tuple[list[str], list[Array], list[list[int]], list[Array]]:
    """(names, labels of states, parents, arrays) of ``BayesianNetwork.from_tables``."""
    names = [str(name) for name in tables]
    states = {names[find(name, names, "table for the variable")]: each for name, each in states.items()}
    parted = [_parted(table) for table in tables.values()]
    for name, (above, _) in zip(names, parted, strict=True):
        for parent in above:
            if parent not in names:
                raise ValueError(
                    f"The table of {name!r} has the parent {parent!r}, for which there is no table: give one for every "
                    f"variable. There are tables of {shown(names)}."
                )
        if len(set(above)) < len(above):
            raise ValueError(f"The table of {name!r} names a parent twice: {shown(above)}.")
    labels = [_labels(name, states.get(name), *parts) for name, parts in zip(names, parted, strict=True)]
    parents = [[names.index(parent) for parent in above] for above, _ in parted]
    arrays = []
    for v, (_, table) in enumerate(parted):
        scopes = [States(names[m], labels[m]) for m in (*parents[v], v)]
        arrays.append(check_table(_array(table, scopes), scopes))
    return names, labels, parents, arrays


def _parted(table: Any) -> tuple[list[str], Any]:
    if isinstance(table, tuple) and len(table) == 2:
        above, values = table
        if isinstance(above, str):
            return [above], values
        if all(isinstance(parent, str) for parent in above):
            return list(above), values
    return [], table


def _labels(name: str, given: Sequence[Any] | None, above: list[str], table: Any) -> Array:
    if given is not None:
        return given_states(given, name).labels
    rows = list(table.values()) if isinstance(table, Mapping) and above else [table]  # by the states of parents
    if all(isinstance(row, Mapping) for row in rows):
        return plain(np.asarray(list(dict.fromkeys(state for row in rows for state in row)), dtype=object))
    table = next(row for row in rows if not isinstance(row, Mapping))
    shape = np.shape(table)
    if not shape:
        raise ValueError(f"The table of {name!r} must be an array of probabilities, but it is {table!r}.")
    return np.arange(shape[-1])


def _array(table: Any, scopes: list[States]) -> Array:
    """A table as an array with an axis for each of these variables."""
    if not isinstance(table, Mapping):
        try:
            return np.array(table, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"The table of {scopes[-1].name!r} must be an array of numbers.") from None
    if len(scopes) == 1:
        return _distribution(table, scopes[0])
    values = np.full([scope.size for scope in scopes], np.nan)
    for key, row in table.items():
        setting = key if isinstance(key, tuple) else (key,)
        if len(setting) != len(scopes) - 1:
            raise ValueError(
                f"The table of {scopes[-1].name!r} needs {len(scopes) - 1} states of parents, not {key!r}."
            )
        place = tuple(scope.code(state) for scope, state in zip(scopes, setting, strict=False))
        values[place] = _distribution(row, scopes[-1])
    for place in product(*(range(scope.size) for scope in scopes[:-1])):
        if np.isnan(values[place]).all():
            raise ValueError(f"The table of {scopes[-1].name!r} has no row for {setting_words(scopes, place)}.")
    return values


def _distribution(row: Any, scope: States) -> Array:
    if not isinstance(row, Mapping):
        return np.array(row, dtype=np.float64)
    values = np.zeros(scope.size)
    for state, share in row.items():
        values[scope.code(state)] = share
    return values


def setting_words(scopes: list[States], place: Sequence[int]) -> str:
    """The states of parents at a place of a table, in words."""
    return ", ".join(f"{scope.name} = {scope.labels.tolist()[i]}" for scope, i in zip(scopes, place, strict=False))


def place_of(entry: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The indices of an entry that is counted along all axes."""
    return tuple(int(index) for index in np.unravel_index(entry, shape))


def check_table(values: Array, scopes: list[States], printed: float = PRINTED) -> Array:
    """The table, scaled to sum to one where only printing is to blame that it does not; else ValueError."""
    name, shape = scopes[-1].name, tuple(scope.size for scope in scopes)
    if values.shape != shape:
        axes = ", ".join(f"{scope.size} states of {scope.name!r}" for scope in scopes)
        raise ValueError(f"The table of {name!r} must have shape {shape} ({axes}), but it is {values.shape}.")
    if not (values >= 0).all() or not np.isfinite(values).all():
        raise ValueError(
            f"The table of {name!r} must hold probabilities, but one is {values[~(values >= 0)].min(initial=0)}."
        )
    sums = values.sum(axis=-1)
    off = np.abs(sums - 1.0)
    if off.max() > printed:
        place = place_of(int(off.argmax()), off.shape)
        where = f" for {setting_words(scopes, place)}" if len(scopes) > 1 else ""
        raise ValueError(f"The table of {name!r} sums to {sums[place]:.6g}{where}, not to one.")
    return np.ascontiguousarray(values / sums[..., None])
