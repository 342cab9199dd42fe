"""Shapley values of any model, estimated by walks from known rows to the row that is explained."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from corollary.core.explanation import Explanation
from corollary.core.memory import check_memory
from corollary.core.types import Array
from corollary.explaining.additive import adding_up
from corollary.explaining.frames import Rows

_AT_ONCE = 20_000  # rows that a model is asked about in one call
_MOST = 100_000_000  # cells of such rows beyond which the answer would take hours


def explain_sampled(
    model: Any,
    X: Any,
    known: Any,
    draws: int,
    rng: np.random.Generator,
    *,
    sources: Sequence[str] | None = None,
    table: Any = None,
) -> Explanation:
    """Estimates with their standard errors. Features with the same entry of ``sources`` are replaced together."""
    rows, others = Rows.of(X), Rows.of(known)
    groups, names = _grouped(rows, sources, table)
    said, output_names, meaning = outcome(model)
    pairs = -(-draws // 2)
    taken = rng.permutation(others.count)[:pairs]
    pairs = -(-pairs // len(taken)) * len(taken)  # every known row is the start of as many walks
    _check_size(rows.count, len(names), rows.width, pairs)
    pool = rows.over(Rows.of(others.take(taken)))
    at_row, at_known = said(X), said(pool.take(np.arange(rows.count, rows.count + len(taken))))
    walks = _Walks(pool, groups, len(names), said, at_row, at_known)
    values, errors = walks.run(pairs, rng)
    base = at_known.mean(axis=0)
    several = len(output_names) > 1
    return Explanation(
        values=values if several else values[:, :, 0],
        base_values=base if several else float(base[0]),
        data=table if table is not None else rows.as_pandas() if rows.framed else pool.native[: rows.count],
        feature_names=tuple(names),
        output_names=output_names,
        meaning=meaning,
        certificate=adding_up(values, base, at_row),
        method=f"Shapley values estimated from {2 * pairs} orders of the columns and {len(taken)} known rows",
        standard_errors=errors if several else errors[:, :, 0],
        index=rows.index if table is None else table.index,
    )


def _grouped(rows: Rows, sources: Sequence[str] | None, table: Any) -> tuple[Array, list[str]]:
    """To which column of the table each feature belongs, and the names of these."""
    if sources is None:
        return np.arange(rows.width), rows.names
    names = list(dict.fromkeys([*map(str, table.columns), *sources]))
    return np.array([names.index(source) for source in sources]), names


def outcome(model: Any) -> tuple[Callable[[Any], Array], tuple[str, ...], str]:
    """What is explained of a model: (numbers of shape (rows, outputs), names of the outputs, what they are)."""
    if not is_classifier(model):
        return lambda rows: _as_columns(model.predict(rows)), _numbered(model), "prediction"
    classes = model.classes_
    if hasattr(model, "predict_proba"):
        if isinstance(classes, list):
            names = tuple(f"output {o}: {label}" for o, each in enumerate(classes) for label in each)
            return lambda rows: np.hstack(model.predict_proba(rows)), names, "probability"
        if len(classes) == 2:
            return lambda rows: _as_columns(model.predict_proba(rows)[:, 1]), (str(classes[1]),), "probability"
        return model.predict_proba, tuple(map(str, classes)), "probability"
    if hasattr(model, "decision_function"):
        names = (str(classes[1]),) if len(classes) == 2 else tuple(map(str, classes))
        return lambda rows: _as_columns(model.decision_function(rows)), names, "score"
    shown = classes[1:] if len(classes) == 2 else classes
    votes: Callable[[Any], Array] = lambda rows: (model.predict(rows)[:, None] == shown).astype(float)  # noqa: E731
    return votes, tuple(map(str, shown)), "vote"


def _as_columns(said: Any) -> Array:
    numbers = np.asarray(said, dtype=np.float64)
    return numbers[:, None] if numbers.ndim == 1 else numbers


def _numbered(model: Any) -> tuple[str, ...]:
    count = getattr(model, "n_outputs_", None) or (
        np.shape(model._y)[1] if np.ndim(getattr(model, "_y", 0)) == 2 else 1
    )
    return ("",) if count == 1 else tuple(f"output {k}" for k in range(count))


def _check_size(rows: int, columns: int, width: int, pairs: int) -> None:
    asked = 2 * rows * pairs * max(columns - 1, 1)
    check_memory(8 * _AT_ONCE * width, "Rows made to explain others", "explain a model of fewer columns")
    if asked * width > 100 * _MOST:
        raise ValueError(
            f"{rows:,} rows of {columns:,} columns would take {asked:,} predictions: explain fewer rows at a time, or "
            "with fewer draws."
        )


class _Walks:
    """From a known row to a row of X, one group of columns after the other, forwards and backwards."""

    def __init__(
        self, pool: Rows, groups: Array, width: int, said: Callable[[Any], Array], at_row: Array, at_known: Array
    ) -> None:
        self.pool, self.groups, self.width, self.said = pool, groups, width, said
        self.at_row, self.at_known = at_row, at_known

    def run(self, pairs: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """Means of the changes, and their standard errors, of shape (rows, columns, outputs)."""
        n, k = self.at_row.shape
        sums, squares = np.zeros((n, self.width, k)), np.zeros((n, self.width, k))
        at_once = max(1, _AT_ONCE // max(1, 2 * (self.width - 1)))
        starts = np.arange(n * pairs)
        for block in np.array_split(starts, -(-len(starts) // at_once)):
            row, known = block // pairs, block % pairs % len(self.at_known)
            order = rng.permuted(np.tile(np.arange(self.width), (len(block), 1)), axis=1)  # when each column comes
            change = 0.5 * (self._changes(row, known, order) + self._changes(row, known, self.width - 1 - order))
            np.add.at(sums, row, change)
            np.add.at(squares, row, change**2)
        mean = sums / pairs
        variance = np.maximum(squares / pairs - mean**2, 0.0) * (pairs / max(pairs - 1, 1))
        return mean, np.sqrt(variance / pairs)

    def _changes(self, row: Array, known: Array, order: Array) -> Array:
        """What the prediction gained when each column came, of shape (walks, columns, outputs)."""
        walks, width, n = len(row), self.width, len(self.at_row)
        steps = np.empty((walks, width + 1, self.at_row.shape[1]))
        steps[:, 0], steps[:, -1] = self.at_known[known], self.at_row[row]
        if width > 1:
            came = order[:, None, :] < np.arange(1, width)[:, None]  # (walks, steps between, columns)
            chosen = np.where(came, row[:, None, None], (n + known)[:, None, None]).reshape(-1, width)
            steps[:, 1:-1] = self.said(self.pool.mixed(chosen, self.groups)).reshape(walks, width - 1, -1)
        gains = np.diff(steps, axis=1)
        return np.take_along_axis(gains, order[:, :, None], axis=1)
