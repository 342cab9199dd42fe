"""Readers of columns: small transformers that turn what stands in a table into numbers, labels, codes and dates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from corollary.core.fitted import Booleans, Count, Fitted, Floats, ListOf, Maybe, Names, Text
from corollary.tabular.messages import shown
from corollary.tabular.values import date_format, dates, is_plain_number, labels, numbers

MISSING_LABEL = "(missing)"
RARE_LABEL = "(rare)"


def named_columns(X: Any) -> list[tuple[str, Any]]:
    """The name and the values of every column of a frame or an array."""
    if hasattr(X, "columns"):
        return [(str(name), pd.Series(X[name])) for name in X.columns]
    array = np.asarray(X)
    return [(f"x{index}", pd.Series(array[:, index])) for index in range(array.shape[1])]


class ColumnReader(TransformerMixin, BaseEstimator):
    """Shared by the readers: nothing to check about the values, and errors that name the column."""

    fitted: ClassVar[dict[str, Fitted]] = {"n_features_in_": Count("d", low=1), "feature_names_in_": Maybe(Names("d"))}

    def fit(self, X: Any, y: Any = None) -> Self:
        """Remember the columns."""
        validate_data(self, X, skip_check_array=True)
        return self

    def transform(self, X: Any) -> Any:
        """Read every column of ``X``; an unreadable value is a ``ValueError`` that names column and row."""
        check_is_fitted(self)
        validate_data(self, X, reset=False, skip_check_array=True)
        found = []
        for index, (name, series) in enumerate(named_columns(X)):
            try:
                found.append(self._read(series, index))
            except ValueError as error:
                raise ValueError(f"column {shown(name)}: {error}") from None
        return self._joined(found)

    def parts(self) -> list[list[str]]:
        """For every column, what its features are called beside the column's name (one feature as it is: ``[""]``)."""
        return [[""]] * self.n_features_in_

    def described(self, column: str, part: str) -> str:
        """A feature in words, from its column and its part: ``sold (month)``."""
        return f"{column} ({part.replace('_', ' ')})" if part else column

    def _read(self, series: Any, index: int) -> Any:
        raise NotImplementedError

    def _joined(self, found: list[Any]) -> Any:
        return np.column_stack(found)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """``<column>``, or ``<column>_<part>`` where a column has parts."""
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", [f"x{index}" for index in range(self.n_features_in_)])
        pairs = zip(names, self.parts(), strict=True)
        return np.array([f"{name}_{part}" if part else name for name, all_ in pairs for part in all_], dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_features_in_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


class NumberColumns(OneToOneFeatureMixin, ColumnReader):
    """Columns of numbers in any spelling as float64; missing, ``?`` and infinite values become NaN.

    Parameters
    ----------
    decimals : sequence of {"", ".", ","}, optional
        For each column the decimal mark of numbers written as people do (``$3,750.50``, ``12.3%``, ``(1,200)``), or
        ``""`` for plain ones. By default all are plain.

    Examples
    --------
    >>> import pandas as pd
    >>> from corollary.tabular.columns import NumberColumns
    >>> NumberColumns().fit_transform(pd.DataFrame({"a": ["1", "?"]}))
    array([[ 1.],
           [nan]])
    >>> NumberColumns([","]).fit_transform(pd.DataFrame({"a": ["€1.200,50", "(3)"]}))
    array([[1200.5],
           [  -3. ]])
    """

    def __init__(self, decimals: Sequence[str] | None = None) -> None:
        self.decimals = decimals

    def fit(self, X: Any, y: Any = None) -> Self:
        """Remember the columns."""
        super().fit(X)
        self._check_state()
        return self

    def _check_state(self) -> None:
        marks = self.decimals
        if marks is None:
            return
        if not all(isinstance(mark, str) and mark in ("", ".", ",") for mark in marks):
            raise ValueError(f'decimals: expected "", "." or "," for every column, got {marks!r}')
        if len(marks) != self.n_features_in_:
            raise ValueError(f"decimals: expected {self.n_features_in_} (one per column), got {len(marks)}")

    def transform(self, X: Any) -> Any:
        """Read every column of ``X``; an unreadable value is a ``ValueError`` that names column and row."""
        if isinstance(X, pd.DataFrame) and all(is_plain_number(kind) for kind in X.dtypes.unique()):
            check_is_fitted(self)
            validate_data(self, X, reset=False, skip_check_array=True)
            found = X.to_numpy(dtype=np.float64, na_value=np.nan, copy=True)  # at once: tables can be very wide
            found[np.isinf(found)] = np.nan
            return found
        return super().transform(X)

    def _read(self, series: Any, index: int) -> NDArray[np.float64]:
        return numbers(series, "" if self.decimals is None else self.decimals[index])


class CategoryColumns(OneToOneFeatureMixin, ColumnReader):
    """Columns of labels as text, so that 3, 3.0 and "3" agree between files; a missing value is ``(missing)``."""

    def _read(self, series: Any, index: int) -> NDArray[np.object_]:
        found = labels(series)
        found[found == None] = MISSING_LABEL  # noqa: E711 (elementwise)
        return found


class CategoryCodes(OneToOneFeatureMixin, ColumnReader):
    """Columns of labels as codes 0, 1, 2, …; a missing value is NaN, as models that split on categories take it.

    Parameters
    ----------
    at_least : int ≥ 1, default 1
        Labels with fewer rows share one code, the last, ``(rare)``.
    most : int ≥ 2, default 255
        Codes of a column, that of ``(rare)`` among them: the labels with the most rows have one of their own.

    Attributes
    ----------
    labels_ : list of ndarray
        The labels with a code of their own, in increasing order.
    has_rare_ : ndarray of bool
        Whether there is a code for the others. If so, a label that was not there in ``fit`` has it too; if not, it is
        NaN.

    Cost: one pass over the labels.

    Examples
    --------
    >>> import pandas as pd
    >>> from corollary.tabular.columns import CategoryCodes
    >>> codes = CategoryCodes(at_least=2).fit(pd.DataFrame({"a": ["x", "y", "y", "x", "z"]}))
    >>> codes.transform(pd.DataFrame({"a": ["y", "z", None, "new"]})).ravel()
    array([ 1.,  2., nan,  2.])
    """

    fitted: ClassVar[dict[str, Fitted]] = ColumnReader.fitted | {
        "labels_": ListOf(Names("?"), "d"),
        "has_rare_": Booleans("d"),
    }

    def __init__(self, at_least: int = 1, most: int = 255) -> None:
        self.at_least = at_least
        self.most = most

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the labels of every column that have a code of their own."""
        super().fit(X)
        found = [self._chosen(labels(series)) for _, series in named_columns(X)]
        self.labels_ = [kept for kept, _ in found]
        self.has_rare_ = np.array([rare for _, rare in found])
        return self

    def _chosen(self, texts: NDArray[np.object_]) -> tuple[NDArray[np.str_], bool]:
        kept, counts = np.unique(texts[texts != None].astype(str), return_counts=True)  # noqa: E711 (elementwise)
        enough = counts >= self.at_least
        if enough.sum() + (not enough.all()) > self.most:
            common = np.argsort(-counts, kind="stable")[: self.most - 1]
            enough &= np.isin(np.arange(len(kept)), common)
        return kept[enough], not enough.all()

    def _read(self, series: Any, index: int) -> NDArray[np.float64]:
        texts, known = labels(series), self.labels_[index]
        codes = pd.Index(known.astype(object)).get_indexer(texts).astype(np.float64)
        codes[codes < 0] = len(known) if self.has_rare_[index] else np.nan
        codes[texts == None] = np.nan  # noqa: E711 (elementwise)
        return codes

    def _check_state(self) -> None:
        if any(len(np.unique(known)) != len(known) for known in self.labels_):
            raise ValueError("labels_ must be different in every column.")


class DateColumns(ColumnReader):
    """Columns of dates as year, month, day, weekday (0 = Monday), hour (if any is not midnight) and elapsed days.

    Parameters
    ----------
    formats : sequence of str, optional
        For each column ``"ISO8601"``, a ``strptime`` format, or ``""`` (a column of dates, or ISO text). By default
        the format is found in ``fit``.

    Attributes
    ----------
    formats_ : list of str
    origins_ : ndarray
        The earliest date seen in ``fit``, in days since 1970, from which elapsed days count.
    has_time_ : ndarray of bool

    Examples
    --------
    >>> import pandas as pd
    >>> from corollary.tabular.columns import DateColumns
    >>> parts = DateColumns().fit(pd.DataFrame({"sold": ["2024-02-29", "2024-03-01"]}))
    >>> [str(name) for name in parts.get_feature_names_out()]
    ['sold_year', 'sold_month', 'sold_day', 'sold_weekday', 'sold_elapsed_days']
    """

    fitted: ClassVar[dict[str, Fitted]] = ColumnReader.fitted | {
        "formats_": ListOf(Text(), "d"),
        "origins_": Floats("d"),
        "has_time_": Booleans("d"),
    }

    def __init__(self, formats: Sequence[str] | None = None) -> None:
        self.formats = formats

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the format, the earliest date and whether the time of day matters, for every column."""
        super().fit(X)
        columns = [series for _, series in named_columns(X)]
        self.formats_ = [_format(series) for series in columns] if self.formats is None else list(self.formats)
        if len(self.formats_) != len(columns):
            raise ValueError(f"formats: expected {len(columns)} (one per column), got {len(self.formats_)}")
        stamps = [dates(series, form) for series, form in zip(columns, self.formats_, strict=True)]
        self.origins_ = np.array([0.0 if when.isna().all() else _days(when).min() for when in stamps])
        self.has_time_ = np.array([bool((when.dt.hour.fillna(0) != 0).any()) for when in stamps])
        return self

    def _read(self, series: Any, index: int) -> NDArray[np.float64]:
        when = dates(series, self.formats_[index])
        parts = [when.dt.year, when.dt.month, when.dt.day, when.dt.day_of_week]
        if self.has_time_[index]:
            parts.append(when.dt.hour)
        parts.append(_days(when) - self.origins_[index])
        return np.column_stack([part.to_numpy(np.float64, na_value=np.nan) for part in parts])

    def parts(self) -> list[list[str]]:
        """``["year", "month", …]`` for every column."""
        hour = (["hour"] if has_time else [] for has_time in self.has_time_)
        return [["year", "month", "day", "weekday", *each, "elapsed_days"] for each in hour]


def _format(series: Any) -> str:
    if pd.api.types.is_datetime64_any_dtype(series):
        return ""
    texts = labels(series)
    return date_format(pd.unique(texts[texts != None])) or ""  # noqa: E711 (elementwise)


def _days(when: Any) -> Any:
    return (when - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(days=1)
