"""The door for tables with categories and gaps: numbers as they are, categories as codes, missing values as NaN.

The rules. With ``categorical_features="from_dtype"`` the categorical columns of a pandas or polars frame are categories
and everything else is numbers. A mask, a list of column numbers or a list of names chooses others. Categories are
numbered in sorted order; a missing value stays missing, and so does a category that was not there in training.
Infinite numbers are refused.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any, ClassVar

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse
from sklearn.utils.validation import check_array, check_is_fitted, check_X_y, validate_data

from corollary.base import Estimator, check_weights
from corollary.core.door.integers import refuse_far_integers
from corollary.core.door.sparse_input import sound
from corollary.core.door.target import missing, refuse_missing
from corollary.core.fitted import Count, Fitted, Indexed, Labels
from corollary.core.types import Array

MOST_COLUMNS = 2**24  # no tree is grown over more; one number for each still fits into memory
_ARRAY_OPTIONS = {"accept_sparse": "csr", "dtype": (np.float64, np.float32), "ensure_all_finite": "allow-nan"}

_CASTS = {False: "astype('category')", True: "cast(pl.Categorical)"}  # in pandas and the like, in polars


class TableReader(Estimator):
    """An estimator that reads frames, arrays and sparse matrices by the rules above."""

    fitted: ClassVar[dict[str, Fitted]] = {
        "n_features_in_": Count("d", low=1, high=MOST_COLUMNS),
        "categories_": Indexed("d", Labels(None, low=0)),
    }
    categorical_features: Any
    categories_: dict[int, Array]  # of each categorical column, sorted
    n_features_in_: int

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags

    def _read_fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, categorical: Any = None, **options: Any
    ) -> tuple[Any, Array, Array, Array]:
        """(X as numbers and codes, y, weights, which columns are categorical).

        A model that knows which columns these are says so (``categorical``); others have ``categorical_features``.
        """
        if y is None:
            self._validate_fit(X, y)  # refuses, in the words of every other model
        options = {"y_numeric": True, "multi_output": False} | options
        refuse_missing(y, numeric=options["y_numeric"])
        X = sound(X)
        frame = _as_frame(X)
        chosen = _chosen(self.categorical_features, X, frame) if categorical is None else categorical
        categories = {f: _categories(X, frame, f) for f in chosen}
        refuse_far_integers(X, but=categories)
        if categories:
            validate_data(self, X, skip_check_array=True)  # names and number of columns
            rows = _encoded(self._without_text(X, frame, categories), frame, categories)
            X, y = check_X_y(rows, y, estimator=self, **_ARRAY_OPTIONS, **options)
        else:
            X, y = validate_data(self, self._without_text(X, frame), y, **_ARRAY_OPTIONS, **options)
        self.categories_ = categories
        mask = np.zeros(X.shape[1], dtype=bool)
        mask[list(categories)] = True
        return X, y, self._within_reach(check_weights(sample_weight, X)), mask

    def _check_state(self) -> None:
        trees = getattr(self, "trees_", None)  # of a forest they follow from its nodes
        if trees is None:
            return
        words, by_bits = trees.bitsets.shape[1], trees.category >= 0
        for f in np.unique(trees.feature[by_bits]).tolist():
            if f not in self.categories_ or len(self.categories_[f]) > 32 * words:
                raise ValueError(f"categories_ of column {f} do not fit the trees, which split it by {words} words.")
        if np.isin(trees.feature[~by_bits], list(self.categories_)).any():
            raise ValueError("a tree splits a column of categories_ as if it were of numbers.")

    def _directions(self, constraint: Any) -> Array | None:
        """−1, 0 or 1 per column, from an array or a dict by name; None if there is no constraint."""
        if constraint is None:
            return None
        if isinstance(constraint, dict):
            names = list(getattr(self, "feature_names_in_", []))
            unknown = [name for name in constraint if name not in names]
            if unknown:
                raise ValueError(f"monotonic_cst names columns that X does not have: {unknown!r}.")
            constraint = [constraint.get(name, 0) for name in names]
        signs, d = np.asarray(constraint), self.n_features_in_
        if signs.shape != (d,):
            raise ValueError(
                f"monotonic_cst has shape {signs.shape[0] if signs.ndim == 1 else signs.shape} but the input data X "
                f"has {d} features: give one of −1, 0, 1 for each."
            )
        if not np.isin(signs, (-1, 0, 1)).all():
            raise ValueError(
                "monotonic_cst must be None or an array-like of -1, 0 or 1, one for each column, but it is "
                f"{constraint!r}."
            )
        bad = [f for f in self.categories_ if signs[f]]
        if bad:
            raise ValueError(f"monotonic_cst constrains categorical columns {bad}; categories have no order.")
        return signs.astype(np.int8) if signs.any() else None

    def _read_predict(self, X: Any, **options: Any) -> Any:
        check_is_fitted(self)
        X = sound(X)
        frame = _as_frame(X)
        refuse_far_integers(X, but=self.categories_)
        if not self.categories_:
            return validate_data(self, self._without_text(X, frame), reset=False, **_ARRAY_OPTIONS, **options)
        validate_data(self, X, reset=False, skip_check_array=True)
        rows = _encoded(self._without_text(X, frame, self.categories_), frame, self.categories_)
        return check_array(rows, estimator=self, input_name="X", **_ARRAY_OPTIONS)

    def _without_text(self, X: Any, frame: Any, but: Container[int] = ()) -> Any:
        """X, unless it is a frame with columns of text or dates besides those that are categorical."""
        for f, (name, kind) in enumerate(frame.schema.items() if frame is not None else ()):
            if f in but:
                continue
            if kind in (nw.String, nw.Categorical) or isinstance(kind, nw.Enum):
                cast = _CASTS[frame.implementation.is_polars()]
                choice = f"Make it categorical ({cast} and categorical_features='from_dtype'), name it in "
                choice += "categorical_features, or encode it as numbers."
                if "categorical_features" not in self.limits:
                    choice = "Encode it as numbers."
                raise ValueError(f"Column {name!r} holds text. {choice}")
            if kind.is_temporal():
                raise ValueError(f"Column {name!r} holds dates or times. Make numbers of them, such as year and month.")
        return X


def _encoded(X: Any, frame: Any, categories: dict[int, Array]) -> Array:
    """All columns as float64: numbers, and the codes of categories."""
    if frame is None and not scipy.sparse.issparse(X):
        X = np.asarray(X)
    rows, width = (len(frame), len(frame.columns)) if frame is not None else X.shape
    out = np.empty((rows, width))
    for f in range(width):
        column = _column(X, frame, f)
        out[:, f] = _codes(column, categories[f]) if f in categories else _real(column)
    return out


def _real(column: Array) -> Array:
    if column.dtype.kind == "c":
        raise ValueError("Complex data not supported: X has a column of complex numbers.")
    if column.dtype == object and (gaps := _missing(column)).any():  # pandas.NA, which is no number
        column = np.where(gaps, np.nan, column)
    return column.astype(np.float64)


def _categories(X: Any, frame: Any, f: int) -> Array:
    column = _column(X, frame, f)
    values = _plain(column[~_missing(column)])
    if values.dtype.kind == "f" and np.isinf(values).any():
        raise ValueError(f"Column {f} of X is categorical and contains infinity; replace it by a number or by text.")
    return np.unique(values)


def kinds_of_columns(X: Any) -> list[str] | None:
    """ "number", "flag" or "category" (text too) for each column of a frame; None for what is no frame."""
    frame = _as_frame(X)
    if frame is None:
        return None
    return [_kind(frame, name, dtype) for name, dtype in frame.schema.items()]


def _kind(frame: Any, name: Any, dtype: Any) -> str:
    if dtype in (nw.String, nw.Categorical) or isinstance(dtype, nw.Enum):
        return "category"
    if dtype == nw.Object:  # as pandas has flags of which some are missing
        values = np.asarray(frame.get_column(name).to_numpy())
        seen = set(map(type, values[~_missing(values)].tolist()))
        return "flag" if seen and seen <= {bool, np.bool_} else "number"
    return "flag" if dtype == nw.Boolean else "number"


def _as_frame(X: Any) -> Any:
    """X as a narwhals frame, or None when it is not a frame."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    return frame if isinstance(frame, nw.DataFrame) else None


def _chosen(wanted: Any, X: Any, frame: Any) -> list[int]:
    """Numbers of the categorical columns."""
    if wanted is None:
        return []
    if isinstance(wanted, str):
        if frame is None:
            return []
        kinds = list(frame.schema.values())
        return [f for f, kind in enumerate(kinds) if kind == nw.Categorical or isinstance(kind, nw.Enum)]
    width = len(frame.columns) if frame is not None else np.shape(X)[1]
    wanted = np.asarray(wanted)
    if wanted.dtype == bool:
        if wanted.shape != (width,):
            raise ValueError(f"categorical_features has shape {wanted.shape}, but X has {width} columns.")
        return list(map(int, np.flatnonzero(wanted)))
    if wanted.dtype.kind in "iu":
        if wanted.size and (wanted.min() < 0 or wanted.max() >= width):
            raise ValueError(
                f"categorical_features names columns {wanted.tolist()}, but X has columns 0 to {width - 1}."
            )
        return list(map(int, wanted))
    known = [] if frame is None else list(frame.columns)
    unknown = [name for name in wanted.tolist() if name not in known]
    if unknown:
        raise ValueError(f"categorical_features names columns that X does not have: {unknown!r}.")
    return [known.index(name) for name in wanted.tolist()]


def _column(X: Any, frame: Any, f: int) -> Array:
    if frame is not None:
        series = frame.get_column(frame.columns[f])  # whose name may be a number
        if series.dtype == nw.Categorical or isinstance(series.dtype, nw.Enum):
            series = series.cast(nw.String)
        return np.asarray(series.to_numpy())
    if scipy.sparse.issparse(X):
        return np.asarray(X[:, [f]].toarray()[:, 0])
    return np.asarray(np.asarray(X)[:, f])


def _missing(column: Array) -> Array:
    if column.dtype == object:
        return missing(column)
    return np.isnan(column) if column.dtype.kind == "f" else np.zeros(len(column), dtype=bool)


def _plain(values: Array) -> Array:
    """Categories as text, numbers or booleans of this machine: what can be compared, and what a file can hold."""
    kind = values.dtype.kind
    if kind in "mMcV":
        raise ValueError(f"A column of categories holds {values.dtype}; make text or numbers of it.")
    if kind == "S":  # as HDF5 has it
        return np.char.decode(values, "utf-8")
    if kind == "f" and values.dtype.itemsize > 8:
        return values.astype(np.float64)
    return values.astype(str) if kind == "O" else values.astype(values.dtype.newbyteorder("="), copy=False)


def _codes(column: Array, categories: Array) -> Array:
    """Position of each value among the sorted categories; NaN where it is missing or unknown."""
    missing = _missing(column)
    out = np.full(len(column), np.nan)
    if not len(categories):
        return out
    values = _plain(column[~missing])
    if categories.dtype.kind == "U":
        values = values.astype(str)
    try:
        at = np.minimum(np.searchsorted(categories, values), len(categories) - 1)
    except TypeError:
        known = f"{categories[0]!r} in training and {values[0]!r} now"
        raise ValueError(f"A column of categories holds things that cannot be compared: {known}.") from None
    out[~missing] = np.where(categories[at] == values, at, np.nan)
    return out
