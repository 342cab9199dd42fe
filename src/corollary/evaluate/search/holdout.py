"""The hold-out table: rows that had no say in anything, scored once by the winner."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from corollary.evaluate.cross_validation import predict
from corollary.evaluate.metrics import Metric
from corollary.tabular.messages import InputError, count, listed, shown
from corollary.tabular.reading import read_table
from corollary.tabular.roles import Column, Role
from corollary.tabular.target import Target, read_more, read_weights, without_target
from corollary.tabular.values import dates, numbers


class HoldOut:
    """A table with the columns of the other, read before the search so that what is wrong with it is said at once."""

    def __init__(
        self, data: Any, used: Sequence[Column], target: Target, weights: str | None, header: bool, encoding: str
    ) -> None:
        table = read_table(data, header=header, encoding=encoding)
        frame, columns = table.frame, [column.name for column in used]
        needed = [*columns, target.name, *([weights] if weights else [])]
        if missing := [name for name in needed if name not in frame.columns]:
            raise InputError(
                f"--holdout {table.source}: has no column {listed(missing)}; it must have the columns of the table"
            )
        gone = without_target(frame[target.name])
        frame = frame[~gone]  # the index stays, so that messages name the rows of the table as it was given
        if not len(frame):
            raise InputError(f"--holdout {table.source}: has no row with a target")
        self.note = f"hold-out: {count(int(gone.sum()), 'row')} without a target left out" if gone.any() else ""
        self.X = frame[columns]
        for column in used:
            _refuse_unreadable(frame[column.name], column, table.source)
        self.weights = None if weights is None else read_weights(frame[weights], table.source)
        self.values = read_more(frame[target.name], target, f"--holdout {table.source}: target {shown(target.name)}")

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


def _refuse_unreadable(series: Any, column: Column, source: str) -> None:
    """Numbers and dates are read once to see that they can be; the preparation reads them again."""
    try:
        if column.role is Role.NUMBER:
            numbers(series, column.decimal)
        elif column.role is Role.DATE:
            dates(series, column.date_format)
    except ValueError as error:
        raise InputError(f"--holdout {source}: column {shown(column.name)}: {error}") from None
