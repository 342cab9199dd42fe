"""The hold-out table: rows that had no say in anything, scored once by the winner."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from corollary.evaluate.cross_validation import predict
from corollary.evaluate.metrics import Metric
from corollary.tabular.messages import InputError, listed, shown
from corollary.tabular.reading import Table, read_table
from corollary.tabular.target import Target, read_weights
from corollary.tabular.values import labels, numbers


class HoldOut:
    """A table with the columns of the other, read before the search so that what is wrong with it is said at once."""

    def __init__(
        self, data: Any, columns: list[str], target: Target, weights: str | None, header: bool, encoding: str
    ) -> None:
        table = read_table(data, header=header, encoding=encoding)
        frame = table.frame
        needed = [*columns, target.name, *([weights] if weights else [])]
        if missing := [name for name in needed if name not in frame.columns]:
            raise InputError(
                f"--holdout {table.source}: has no column {listed(missing)}; it must have the columns of the table"
            )
        there = ~frame[target.name].isna()
        frame = frame[there]
        if not len(frame):
            raise InputError(f"--holdout {table.source}: has no row with a target")
        self.X, self.table = frame[columns], table
        self.weights = None if weights is None else read_weights(frame[weights], table.source)
        self.values = _values(frame[target.name], target, table)

    def scores(self, model: Any, target: Target, metrics: tuple[Metric, ...]) -> dict[str, float]:
        """The metrics of the fitted winner on these rows, by name."""
        said = predict(model, self.X)
        found = {}
        for metric in metrics:
            try:
                found[metric.name] = metric(self.values, said, target.classes, self.weights)
            except ValueError:  # of one class only, for instance
                found[metric.name] = float("nan")
        return found


def _values(series: Any, target: Target, table: Table) -> Any:
    """The target of these rows, in the kind of the other table's."""
    source = f"--holdout {table.source}"
    try:
        if target.classes is None:
            return numbers(series)
        texts = labels(series)
    except (TypeError, ValueError) as error:
        raise InputError(f"{source}: target {shown(target.name)}: {error}") from None
    known = dict(zip(labels(pd.Series(target.classes)), target.classes, strict=True))
    if unknown := [text for text in pd.unique(texts) if text not in known]:
        raise InputError(f"{source}: class {shown(unknown[0])} of the target is not in the table that is learnt from")
    return np.array([known[text] for text in texts], dtype=target.classes.dtype)
