"""Decisions by cost: reading a loss matrix, taking the cheapest decision, and trying all of them again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from corollary.core.types import Array

REJECTED = "rejected"  # the label of a row on which nothing is decided, where labels are text
ROWS = 65_536  # taken at a time


def cost_matrix(cost: Any, classes: Array) -> Array:
    """Costs (K × K), the truth in rows and the decision in columns, from an array, a frame or a dict of dicts."""
    k = len(classes)
    if cost is None:
        return 1.0 - np.eye(k)
    frame = nw.from_native(cost, eager_only=True, pass_through=True)
    if isinstance(cost, Mapping):
        table = _from_names(cost, classes)
    else:
        table = _from_frame(cost, frame, classes) if isinstance(frame, nw.DataFrame) else _numbers(cost)
    if table.shape != (k, k):
        raise ValueError(
            f"cost must have a row and a column for each of the {k} classes {_listed(classes)}, but its shape is "
            f"{table.shape}."
        )
    if not np.isfinite(table).all():
        i, j = np.argwhere(~np.isfinite(table))[0]
        raise ValueError(
            f"cost must be finite, but that of deciding {_name(classes[j])} where {_name(classes[i])} is true is "
            f"{table[i, j]}. Give a large number instead."
        )
    return table


def _numbers(cost: Any) -> Array:
    try:
        return np.array(cost, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"cost must be a table of numbers or a dictionary of dictionaries, but is {cost!r}.") from None


def _from_frame(cost: Any, frame: Any, classes: Array) -> Array:
    """Rows by the labels of the index (the truth) and columns by their names (the decision).

    Where there is no index, rows are in the order of the columns, whose names are text.
    """
    indexed = nw.maybe_get_index(frame) is not None
    labels = classes.tolist() if indexed else [str(label) for label in classes.tolist()]
    decisions = cost.columns.tolist() if indexed else frame.columns
    truths = cost.index.tolist() if indexed else decisions
    for what, names in (("column", decisions), ("row", truths)):
        if len(names) != len(labels) or any(names.count(label) != 1 for label in labels):
            raise ValueError(
                f"cost must have a {what} for each of the classes {_listed(classes)}, named by it, but its {what}s are "
                f"{_listed(names)}. Give the frame an index and columns of classes, or give an array."
            )
    table = _numbers(frame.to_numpy())
    if table.shape != (len(truths), len(decisions)):
        raise ValueError(
            f"cost has no index, so its rows are in the order of its columns {_listed(decisions)}, but there are "
            f"{len(table)} of them."
        )
    return table[np.ix_([truths.index(label) for label in labels], [decisions.index(label) for label in labels])]


def _from_names(cost: Mapping[Any, Any], classes: Array) -> Array:
    """``cost[truth][decision]``; a right decision costs nothing unless it is said what."""
    labels = classes.tolist()
    table = np.zeros((len(labels), len(labels)))
    rows = [row for row in cost.values() if isinstance(row, Mapping)]
    for key in (*cost, *(key for row in rows for key in row)):
        if key not in labels:
            raise ValueError(f"cost is about {_name(key)}, which is none of the classes {_listed(classes)}.")
    for i, truth in enumerate(labels):
        row = cost.get(truth)
        if not isinstance(row, Mapping):
            raise ValueError(
                f"cost must say what each decision costs where {_name(truth)} is true, as cost[{truth!r}] = "
                f"{{decision: number}}, but has {row!r}."
            )
        for j, decision in enumerate(labels):
            if decision not in row and i != j:
                raise ValueError(f"cost[{truth!r}] must say what deciding {_name(decision)} costs, but does not.")
            table[i, j] = _numbers(row.get(decision, 0.0))
    return table


def with_reject(cost: Array, reject_cost: float | None) -> Array:
    """The costs with a last column for deciding nothing, if that is allowed."""
    return cost if reject_cost is None else np.column_stack([cost, np.full(len(cost), float(reject_cost))])


def decisions_of(classes: Array, reject_cost: float | None, reject_label: Any) -> Array:
    """The labels of all decisions: the classes, and that of deciding nothing if it is allowed."""
    if reject_cost is None:
        return classes
    label = reject_label
    if label is None:
        if classes.dtype.kind == "b":
            raise ValueError("reject_label must be given where the classes are False and True.")
        label = REJECTED if classes.dtype.kind in "UO" else -1
    if label in classes.tolist():
        raise ValueError(f"reject_label must be none of the classes {_listed(classes)}, but it is {label!r}.")
    text = classes.dtype.kind == "U"
    if text is not isinstance(label, str) and classes.dtype.kind != "O":
        kind = "text" if text else "a number"
        raise ValueError(f"reject_label must be {kind}, as the classes {_listed(classes)} are, but it is {label!r}.")
    joined = np.empty(len(classes) + 1, dtype=object)
    joined[:-1], joined[-1] = classes.tolist(), label
    return joined if classes.dtype.kind == "O" else np.array(joined.tolist())


def decide(probabilities: Array, cost: Array) -> Array:
    """The number of the decision of least expected cost, the first of them in a tie.

    What a truth costs at most, whatever is decided, changes no decision and is taken off first: costs of 0 and 1 become
    −1 for the right decision and 0 for all others, so that the most probable class wins to the last bit.
    """
    best = np.empty(len(probabilities), dtype=np.intp)
    relative = cost / _size(cost)
    relative = relative - relative.max(axis=1, keepdims=True)
    for start in range(0, len(best), ROWS):
        best[start : start + ROWS] = (probabilities[start : start + ROWS].astype(np.float64) @ relative).argmin(axis=1)
    return best


def regret(probabilities: Array, cost: Array, decided: Array) -> float:
    """By how much the worst decision costs more than the cheapest of all, each tried; relative to the largest cost."""
    relative, worst = cost / _size(cost), 0.0
    for start in range(0, len(decided), ROWS):
        p = probabilities[start : start + ROWS].astype(np.float64)
        tried = [sum(p[:, i] * relative[i, j] for i in range(len(relative))) for j in range(relative.shape[1])]
        expected = np.column_stack(tried)
        taken = np.take_along_axis(expected, decided[start : start + ROWS, None], axis=1)[:, 0]
        worst = max(worst, float((taken - expected.min(axis=1)).max(initial=0.0)))
    return worst


def mean_cost(cost: Array, truth: Array, decided: Array, weights: Array) -> float:
    """What decisions cost on rows whose class number is known, on average."""
    return float(weights @ cost[truth, decided] / weights.sum())


def _size(cost: Array) -> float:
    return float(np.abs(cost).max(initial=0.0)) or 1.0


def _listed(classes: Array | list[Any]) -> str:
    names = [_name(each) for each in list(classes)[:6]]
    return f"[{', '.join(names)}{', …' * (len(classes) > 6)}]"


def _name(label: Any) -> str:
    return repr(label.item() if isinstance(label, np.generic) else label)
