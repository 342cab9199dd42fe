"""Explanation: predictions shared out among columns, with the table, the sentence and the pictures that show it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
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
    data : array, sparse matrix or pandas frame of shape (rows, columns)
        The rows; categories of arrays as codes.
    feature_names, output_names : tuple of str
    meaning : str
        What is explained: "probability", "score", "log-odds", "prediction" …
    categories : mapping of column number to its categories, in the order of their codes
    certificate : Certificate
        How well the values add up.
    method : str
        Where the values come from, in words.
    standard_errors : array as ``values``, or None
        Of values that were estimated from draws; None if they are exact.
    index : sequence or None
        The names of the rows, if they had any.
    """

    values: Array
    base_values: Any
    data: Any
    feature_names: tuple[str, ...]
    output_names: tuple[str, ...]
    meaning: str
    certificate: Certificate
    categories: Mapping[int, Array] = field(default_factory=dict)
    method: str = "Shapley values read off the trees"
    standard_errors: Array | None = None
    index: Any = None

    @property
    def predictions(self) -> Array:
        """Base plus all values, (rows,) or (rows, outputs)."""
        return np.asarray(self.base_values + self.values.sum(axis=1))

    def importances(self, output: Any = None) -> Array:
        """Mean size of each column's values, (columns,), over rows, and over outputs unless one is named."""
        sizes = np.abs(self._of(output)).mean(axis=0)
        return np.asarray(sizes.mean(axis=1) if sizes.ndim == 2 else sizes)

    def plot(self, output: Any = None, *, kind: str | None = None, top: int = 12, ax: Any = None) -> Any:
        """Draw the columns that matter most, of one row how they lead to its prediction; returns the matplotlib axes.

        ``kind="dots"`` has one dot for each row, at its Shapley value, coloured by the value of the column;
        ``kind="bars"`` the mean size. Bars are the choice when there are several outputs and none is named.
        """
        from corollary.core.explanation_plots import plot_bars, plot_dots

        if kind is None and len(self.values) == 1:
            return self.plot_row(0, output, top=top, ax=ax)
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
        from corollary.core.explanation_plots import plot_steps

        n = self.values.shape[0]
        if not -n <= row < n:
            raise ValueError(f"row is {row}, but there are {n} rows.")
        if self.values.ndim == 3 and output is None:
            output = int(np.argmax(self.predictions[row]))
        return plot_steps(self, row, output, top, ax)

    def to_frame(self, output: Any = None) -> Any:
        """A pandas frame of the values, a line for each row: its ``base`` and all columns sum to the prediction.

        With several outputs and none named, each has its own such columns, under its name.
        """
        import pandas as pd

        if self.values.ndim == 3 and output is None:
            return pd.concat({name: self.to_frame(name) for name in self.output_names}, axis=1)
        frame = pd.DataFrame(self._of(output), columns=list(self.feature_names), index=self.index)
        frame.insert(0, "base", self.base(output), allow_duplicates=True)
        return frame

    def by_column(self, sources: Sequence[str], data: Any) -> Explanation:
        """The same of the columns that features were made of: ``sources`` has one for each feature, ``data`` the rows.

        Values of features that came from the same column are added up.
        """
        names = list(dict.fromkeys([*map(str, data.columns), *sources]) if hasattr(data, "columns") else sources)
        place = {name: number for number, name in enumerate(dict.fromkeys(names))}
        sums = np.zeros((self.values.shape[0], len(place), *self.values.shape[2:]))
        for feature, source in enumerate(sources):
            sums[:, place[source]] += self.values[:, feature]
        return replace(self, values=sums, data=data, feature_names=tuple(place), categories={}, index=data.index)

    def shown(self, row: int, column: int) -> str:
        """The value of a cell, in words."""
        if hasattr(self.data, "iloc"):
            cell = self.data.iloc[row, column]
            if not isinstance(cell, (bool, np.bool_)) and isinstance(cell, (int, float, np.number)):
                return _number_shown(float(cell))
            return "missing" if cell is None or cell != cell else str(cell)
        value = float(self.column(column)[row])
        if column in self.categories and not np.isnan(value):
            return str(self.categories[column][int(value)])
        return _number_shown(value)

    def column(self, column: int) -> Array:
        """One column of the rows, as numbers; NaN where they are none."""
        if hasattr(self.data, "iloc"):
            import pandas as pd

            cells = self.data.iloc[:, column]
            numeric = pd.api.types.is_numeric_dtype(cells) and not pd.api.types.is_complex_dtype(cells)
            return np.asarray(cells.to_numpy(np.float64, na_value=np.nan) if numeric else np.full(len(cells), np.nan))
        if scipy.sparse.issparse(self.data):
            return np.asarray(self.data[:, [column]].toarray()[:, 0])
        return np.asarray(self.data[:, column])

    def label(self, output: Any) -> str:
        """What the values of an output add up to."""
        name = "" if self._of(output).ndim == 3 else self.output_names[self._number(output)]
        return f"{self.meaning} of {name}" if name else self.meaning

    @property
    def outputs(self) -> str:
        """How many outputs there are, in words: ``"3 classes"``, or ``"2 outputs"`` of a regressor."""
        return f"{len(self.output_names)} {'outputs' if self.meaning == 'prediction' else 'classes'}"

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

    def __str__(self) -> str:
        n, several = len(self.values), self.values.ndim == 3
        output = int(np.argmax(self.predictions[0])) if several and n == 1 else None
        sizes = self.importances(output) if n != 1 else np.abs(self._of(output)[0])
        top = [int(f) for f in np.argsort(-sizes, kind="stable")[:3] if sizes[f] > 0]
        if n == 1:
            reached = self.base(output) + float(self._of(output)[0].sum())
            text = f"The {self.label(output)} is {_short(reached)}, from a base of {_short(self.base(output))}"
            parts = [f"{self._told(f)} {_signed(self._of(output)[0][f])}" for f in top]
        else:
            start = "" if several else f", {_short(self.base(0))} at its base,"
            over = f"{n:,} rows and {self.outputs}" if several else f"{n:,} rows"
            text = f"Over {over} the {self.label(output)}{start}"
            parts = [f"{self.feature_names[f]} (mean size {_short(sizes[f])})" for f in top]
        joined = " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
        moved = f"{' moves most with' if n != 1 else ', moved most by'} {joined}" if top else " never moves"
        return f"{text}{moved}. {self._how()}"

    def _told(self, column: int) -> str:
        return f"{self.feature_names[column]} = {self.shown(0, column)}"

    def _how(self) -> str:
        """Where the values come from, and how well they add up."""
        far = f"values and base add up to it, to {self.certificate.value:.1g}"
        if not self.certificate.holds:
            far = f"values and base do not add up to it ({self.certificate})"
        if self.standard_errors is not None:
            far += f"; no standard error is above {_short(float(np.max(self.standard_errors, initial=0.0)))}"
        return f"{self.method}: {far}."

    def __repr__(self) -> str:
        n, d = self.values.shape[:2]
        return f"<Explanation of the {self.meaning} of {n} rows by {d} columns; {self.certificate}>"


def _number_shown(value: float) -> str:
    return "missing" if np.isnan(value) else f"{value:,.4g}".replace("-", "−")


def _short(value: float) -> str:
    return f"{value:,.3g}".replace("-", "−")


def _signed(value: float) -> str:
    return f"{value:+,.3g}".replace("-", "−")
