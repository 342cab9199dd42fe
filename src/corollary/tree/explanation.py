"""Explanation: predictions shared out among columns, with the pictures that show it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse

from corollary.core.evidence import Certificate
from corollary.core.types import Array


@dataclass(frozen=True, eq=False)
class Explanation:
    """What each column adds to each prediction: ``base_values + values.sum(axis=1)`` is the prediction.

    Parameters
    ----------
    values : array of shape (rows, columns), or (rows, columns, outputs) if there are several
    base_values : number, or array of shape (outputs,)
        The prediction when nothing is known.
    data : array or sparse matrix of shape (rows, columns)
        The rows; categories as codes.
    feature_names, output_names : tuple of str
    meaning : str
        What is explained: "probability", "score", "prediction" or "raw prediction".
    categories : mapping of column number to its categories, in the order of their codes
    certificate : Certificate
        How well the values add up.
    """

    values: Array
    base_values: Any
    data: Any
    feature_names: tuple[str, ...]
    output_names: tuple[str, ...]
    meaning: str
    certificate: Certificate
    categories: Mapping[int, Array] = field(default_factory=dict)

    @property
    def predictions(self) -> Array:
        """Base plus all values, (rows,) or (rows, outputs)."""
        return np.asarray(self.base_values + self.values.sum(axis=1))

    def importances(self, output: Any = None) -> Array:
        """Mean size of each column's values, (columns,); of several outputs their sum, unless one is named."""
        sizes = np.abs(self._of(output)).mean(axis=0)
        return np.asarray(sizes.sum(axis=1) if sizes.ndim == 2 else sizes)

    def plot(self, output: Any = None, *, kind: str | None = None, top: int = 12, ax: Any = None) -> Any:
        """Draw the columns that matter most; returns the matplotlib axes.

        ``kind="dots"`` has one dot for each row, at its Shapley value, coloured by the value of the column;
        ``kind="bars"`` the mean size. Bars are the choice when there are several outputs and none is named.
        """
        from corollary.tree.explanation_plots import plot_bars, plot_dots

        kind = kind or ("bars" if self._of(output).ndim == 3 else "dots")
        if kind not in ("dots", "bars"):
            raise ValueError(f"kind must be 'dots' or 'bars', but it is {kind!r}.")
        if kind == "dots" and self._of(output).ndim == 3:
            raise ValueError(
                f"dots show one output; name one of {list(self.output_names)}, output={self.output_names[-1]!r}."
            )
        return plot_dots(self, output, top, ax) if kind == "dots" else plot_bars(self, output, top, ax)

    def plot_row(self, row: int, output: Any = None, *, top: int = 10, ax: Any = None) -> Any:
        """Draw how the columns lead from the base to the prediction of one row; returns the matplotlib axes.

        With several outputs and none named, the one with the highest prediction is shown.
        """
        from corollary.tree.explanation_plots import plot_steps

        n = self.values.shape[0]
        if not -n <= row < n:
            raise ValueError(f"row is {row}, but there are {n} rows.")
        if self.values.ndim == 3 and output is None:
            output = int(np.argmax(self.predictions[row]))
        return plot_steps(self, row, output, top, ax)

    def shown(self, row: int, column: int) -> str:
        """The value of a cell, in words."""
        value = float(self.column(column)[row])
        if np.isnan(value):
            return "missing"
        if column in self.categories:
            return str(self.categories[column][int(value)])
        return f"{value:,.4g}".replace("-", "−")

    def column(self, column: int) -> Array:
        """One column of the rows."""
        if scipy.sparse.issparse(self.data):
            return np.asarray(self.data[:, [column]].toarray()[:, 0])
        return np.asarray(self.data[:, column])

    def label(self, output: Any) -> str:
        """What the values of an output add up to."""
        name = "" if self._of(output).ndim == 3 else self.output_names[self._number(output)]
        return f"{self.meaning} of {name}" if name else self.meaning

    def base(self, output: Any) -> float:
        return float(np.ravel(self.base_values)[self._number(output)])

    def _of(self, output: Any) -> Array:
        """Values of one output, or all of them."""
        if output is None or self.values.ndim == 2:
            return self.values
        return np.asarray(self.values[:, :, self._number(output)])

    def _number(self, output: Any) -> int:
        """An output by its number or its name."""
        if output is None or self.values.ndim == 2:
            return 0
        if str(output) in self.output_names:
            return self.output_names.index(str(output))
        if isinstance(output, int) and 0 <= output < len(self.output_names):
            return output
        raise ValueError(f"output must be one of {list(self.output_names)}, but it is {output!r}.")

    def __repr__(self) -> str:
        n, d = self.values.shape[:2]
        return f"<Explanation of the {self.meaning} of {n} rows by {d} columns; {self.certificate}>"
