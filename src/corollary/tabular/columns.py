"""Columns of a table as numbers a model can use: three small transformers, and the preparation built from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.validation import check_is_fitted, validate_data

from corollary.core.fitted import Booleans, Count, Fitted, Floats, ListOf, Maybe, Names, Text
from corollary.tabular.messages import shown
from corollary.tabular.roles import Column, Role
from corollary.tabular.values import date_format, dates, labels, numbers

MISSING_LABEL = "(missing)"
_MAX_CATEGORIES = 50
_DENSE_CELLS = 50_000_000  # 400 MB of float64; a wider table stays sparse


def _named_columns(X: Any) -> list[tuple[str, Any]]:
    if hasattr(X, "columns"):
        return [(str(name), pd.Series(X[name])) for name in X.columns]
    array = np.asarray(X)
    return [(f"x{index}", pd.Series(array[:, index])) for index in range(array.shape[1])]


class _ColumnReader(TransformerMixin, BaseEstimator):
    """Shared by the three readers: nothing to check about the values, and errors that name the column."""

    fitted: ClassVar[dict[str, Fitted]] = {"n_features_in_": Count("d", low=1), "feature_names_in_": Maybe(Names("d"))}

    def fit(self, X: Any, y: Any = None) -> Self:
        """Remember the columns."""
        validate_data(self, X, skip_check_array=True)
        return self

    def transform(self, X: Any) -> NDArray[Any]:
        """Read every column of ``X``; an unreadable value is a ``ValueError`` that names column and row."""
        check_is_fitted(self)
        validate_data(self, X, reset=False, skip_check_array=True)
        found = []
        for index, (name, series) in enumerate(_named_columns(X)):
            try:
                found.append(self._read(series, index))
            except ValueError as error:
                raise ValueError(f"column {shown(name)}: {error}") from None
        return np.column_stack(found)

    def _read(self, series: Any, index: int) -> NDArray[Any]:
        raise NotImplementedError

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_features_in_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


class NumberColumns(OneToOneFeatureMixin, _ColumnReader):
    """Columns of numbers in any spelling as float64; missing, ``?`` and infinite values become NaN.

    Examples
    --------
    >>> import pandas as pd
    >>> from corollary.tabular.columns import NumberColumns
    >>> NumberColumns().fit_transform(pd.DataFrame({"a": ["1", "?"]}))
    array([[ 1.],
           [nan]])
    """

    def _read(self, series: Any, index: int) -> NDArray[np.float64]:
        return numbers(series)


class CategoryColumns(OneToOneFeatureMixin, _ColumnReader):
    """Columns of labels as text, so that 3, 3.0 and "3" agree between files; a missing value is ``(missing)``."""

    def _read(self, series: Any, index: int) -> NDArray[np.object_]:
        found = labels(series)
        found[found == None] = MISSING_LABEL  # noqa: E711 (elementwise)
        return found


class DateColumns(_ColumnReader):
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

    fitted: ClassVar[dict[str, Fitted]] = _ColumnReader.fitted | {
        "formats_": ListOf(Text(), "d"),
        "origins_": Floats("d"),
        "has_time_": Booleans("d"),
    }

    def __init__(self, formats: Sequence[str] | None = None) -> None:
        self.formats = formats

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the format, the earliest date and whether the time of day matters, for every column."""
        super().fit(X)
        columns = [series for _, series in _named_columns(X)]
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

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """``<column>_year``, ``<column>_month``, ..."""
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", [f"x{index}" for index in range(self.n_features_in_)])
        found = []
        for name, has_time in zip(names, self.has_time_, strict=True):
            hour = ["hour"] if has_time else []
            found += [f"{name}_{part}" for part in ["year", "month", "day", "weekday", *hour, "elapsed_days"]]
        return np.array(found, dtype=object)


def _format(series: Any) -> str:
    if pd.api.types.is_datetime64_any_dtype(series):
        return ""
    texts = labels(series)
    return date_format(pd.unique(texts[texts != None])) or ""  # noqa: E711 (elementwise)


def _days(when: Any) -> Any:
    return (when - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(days=1)


def preparation(columns: Sequence[Column], rows: int) -> ColumnTransformer:
    """The transformer that turns the used ``columns`` into standardised numbers and indicator columns.

    It is fitted inside each fold as part of the pipeline. Rare and unseen categories share one indicator; a missing
    number becomes the median plus an indicator that says so; a missing category is a category.
    """
    by_role = {role: [column for column in columns if column.role is role] for role in Role}
    names = {role: [column.name for column in found] for role, found in by_role.items()}
    at_least = max(1, min(10, rows // 100))
    encoder = OneHotEncoder(
        handle_unknown="infrequent_if_exist", min_frequency=at_least, max_categories=_MAX_CATEGORIES
    )
    steps = [
        ("numbers", make_pipeline(NumberColumns(), *_fill_and_scale()), names[Role.NUMBER]),
        ("dates", _date_steps(by_role[Role.DATE]), names[Role.DATE]),
        ("booleans", make_pipeline(CategoryColumns(), OneHotEncoder(drop="if_binary", handle_unknown="ignore")),
         names[Role.BOOLEAN]),
        ("categories", make_pipeline(CategoryColumns(), encoder), names[Role.CATEGORY]),
    ]  # fmt: skip
    width = sum(min(column.distinct, _MAX_CATEGORIES) if column.role is Role.CATEGORY else 2 for column in columns)
    dense = rows * width <= _DENSE_CELLS
    return ColumnTransformer([step for step in steps if step[2]], sparse_threshold=0.0 if dense else 0.3)


def _fill_and_scale() -> list[Any]:
    return [SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True), StandardScaler()]


def _date_steps(columns: list[Column]) -> Pipeline:
    return make_pipeline(DateColumns(formats=[column.date_format for column in columns]), *_fill_and_scale())


def readable_names(pipeline: Pipeline) -> list[str]:
    """The features the model sees, in words: ``age``, ``sex = male``, ``age is missing``, ``sold (month)``."""
    prepare = pipeline[0]
    columns = sorted(map(str, getattr(prepare, "feature_names_in_", [])), key=len, reverse=True)
    found = []
    for full in prepare.get_feature_names_out():
        kind, _, name = str(full).partition("__")
        if name.startswith("missingindicator_"):
            name = f"{name.removeprefix('missingindicator_')} is missing"
        elif kind in ("categories", "booleans"):
            column = next((each for each in columns if name.startswith(f"{each}_")), name)
            value = name.removeprefix(f"{column}_").replace("infrequent_sklearn", "(rare)")
            name = f"{column} = {value}"
        found.append(name)
    return found
