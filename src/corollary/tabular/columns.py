"""Columns of a table as numbers a model can use: the preparation made of the readers, and what its features mean."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from corollary.tabular.codes import CategoryCodes
from corollary.tabular.readers import (
    MISSING_LABEL,
    RARE_LABEL,
    CategoryColumns,
    ColumnReader,
    DateColumns,
    NumberColumns,
)
from corollary.tabular.reduction import Components
from corollary.tabular.roles import Column, Role
from corollary.tabular.text import TextColumns

__all__ = [
    "MISSING_LABEL",
    "CategoryCodes",
    "CategoryColumns",
    "Components",
    "DateColumns",
    "NumberColumns",
    "TextColumns",
    "categorical_positions",
    "centre_of",
    "feature_sources",
    "preparation",
    "readable_names",
]

_MAX_CATEGORIES = 50
_MOST_CODES = 255  # with that of missing values they fit into a byte, as bins of trees do
_TOPICS = 32
_DENSE_CELLS = 50_000_000  # 400 MB of float64; a wider table stays sparse
_DENSE_TEXT_CELLS = 8_000_000


def preparation(columns: Sequence[Column], rows: int, *, native: bool = False, components: int | None = None) -> Any:
    """The transformer that turns the used ``columns`` into numbers; it is fitted inside each fold, with the model.

    Parameters
    ----------
    columns : sequence of Column
        Those that are left out are passed over.
    rows : int
        Of the table: decides what is rare, and whether the result is dense.
    native : bool, default False
        For trees: numbers and dates as they are, with NaN where they are missing, categories as codes (see
        ``categorical_positions``), words of text as components. Otherwise standardised numbers and indicators: rare and
        unseen categories share one, a missing number becomes the median plus an indicator that says so, a missing
        category is a category, text its words.
    components : int, optional
        Keep this many principal components of the result, for models that cannot afford more columns than rows.

    Returns
    -------
    ColumnTransformer, or a Pipeline of one and its components
    """
    by_role = {role: [column for column in columns if column.role is role] for role in Role}
    at_least = max(1, min(10, rows // 100))
    make = _native_steps if native else _plain_steps
    steps = [
        (kind, step, [column.name for column in by_role[role]])
        for kind, role, step in make(by_role, at_least, rows)
        if by_role[role]
    ]
    dense = native or _is_dense(by_role, rows)
    prepare = ColumnTransformer(steps, sparse_threshold=0.0 if dense else 1.0 if by_role[Role.TEXT] else 0.3)
    return prepare if components is None else Pipeline([("columns", prepare), ("components", Components(components))])


def _plain_steps(columns: dict[Role, list[Column]], at_least: int, rows: int) -> Iterator[tuple[str, Role, Any]]:
    flags = OneHotEncoder(drop="if_binary", handle_unknown="ignore")
    encoder = OneHotEncoder(
        handle_unknown="infrequent_if_exist", min_frequency=at_least, max_categories=_MAX_CATEGORIES
    )
    yield "numbers", Role.NUMBER, make_pipeline(_numbers(columns[Role.NUMBER]), *_fill_and_scale())
    yield "dates", Role.DATE, make_pipeline(_dates(columns[Role.DATE]), *_fill_and_scale())
    yield "booleans", Role.BOOLEAN, make_pipeline(CategoryColumns(), flags)
    yield "categories", Role.CATEGORY, make_pipeline(CategoryColumns(), encoder)
    yield "text", Role.TEXT, TextColumns(most_words=_most_words(rows))


def _native_steps(columns: dict[Role, list[Column]], at_least: int, rows: int) -> Iterator[tuple[str, Role, Any]]:
    # categories come first, so that where they are does not depend on the parts that dates and text have
    yield "categories", Role.CATEGORY, CategoryCodes(at_least=at_least, most=_MOST_CODES)
    yield "numbers", Role.NUMBER, _numbers(columns[Role.NUMBER])
    yield "booleans", Role.BOOLEAN, CategoryCodes(most=_MOST_CODES)
    yield "dates", Role.DATE, _dates(columns[Role.DATE])
    yield "text", Role.TEXT, TextColumns(most_words=_most_words(rows), components=_TOPICS)


def _fill_and_scale() -> list[Any]:
    return [SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True), StandardScaler()]


def _numbers(columns: list[Column]) -> NumberColumns:
    decimals = [column.decimal for column in columns]
    return NumberColumns(decimals if any(decimals) else None)


def _dates(columns: list[Column]) -> DateColumns:
    return DateColumns(formats=[column.date_format for column in columns])


def _most_words(rows: int) -> int:
    """As many as rows where they stay sparse; of a small table, which is dense, half as many."""
    few = rows // 2 if rows * rows <= 2 * _DENSE_TEXT_CELLS else rows
    return min(20_000, max(200, few))


def _is_dense(columns: dict[Role, list[Column]], rows: int) -> bool:
    width = sum(min(column.distinct, _MAX_CATEGORIES) for column in columns[Role.CATEGORY])
    width += 2 * sum(len(columns[role]) for role in (Role.NUMBER, Role.DATE, Role.BOOLEAN))
    words = _most_words(rows) * len(columns[Role.TEXT])
    return rows * width <= _DENSE_CELLS and rows * words <= _DENSE_TEXT_CELLS


def categorical_positions(columns: Sequence[Column]) -> list[int]:
    """Which outputs of the native preparation are codes of categories, for ``categorical_features``."""
    return list(range(sum(column.role is Role.CATEGORY for column in columns)))


def feature_sources(pipeline: Pipeline) -> list[str]:
    """For every feature that the model sees, the column of the table it came from.

    A principal component comes from all of them: its source is its own name, ``component 1``.
    """
    return [column for column, _ in _features(pipeline[0])]


def readable_names(pipeline: Pipeline) -> list[str]:
    """The features the model sees, in words: ``age``, ``sex = male``, ``age is missing``, ``sold (month)``."""
    return [name for _, name in _features(pipeline[0])]


def centre_of(pipeline: Any) -> NDArray[np.float64] | None:
    """One row of features in the middle of what the preparation was fitted to, of shape (1, features).

    The means of numbers and dates, every category of a column alike, and no words. None for trees and principal
    components, whose preparation keeps no means, and for any other that is not of this library.
    """
    prepare = pipeline[0]
    if len(pipeline) != 2 or not isinstance(prepare, ColumnTransformer):
        return None
    parts: list[NDArray[np.float64]] = []
    for kind, step, columns in prepare.transformers_:
        if kind == "remainder" or not len(columns):
            continue
        last = step.steps[-1][1] if isinstance(step, Pipeline) else step
        if isinstance(last, OneHotEncoder) and isinstance(step[0], CategoryColumns):
            parts.append(_even_shares(last))
        elif isinstance(last, StandardScaler) and last.with_mean:
            parts.append(np.zeros(last.n_features_in_))
        elif isinstance(last, TextColumns) and last.components is None:
            parts.append(np.zeros(sum(map(len, last.parts()))))
        else:
            return None
    return np.concatenate(parts)[None, :] if parts else None


def _even_shares(encoder: OneHotEncoder) -> NDArray[np.float64]:
    """Every indicator of a column at one over the number of its categories, one that has no indicator included."""
    names = encoder.get_feature_names_out([f"{index}|" for index in range(len(encoder.categories_))])
    column = np.array([int(name.partition("|")[0]) for name in names], dtype=np.intp)
    dropped = np.zeros(len(encoder.categories_))
    if encoder.drop_idx_ is not None:
        dropped[:] = [each is not None for each in encoder.drop_idx_]
    return np.asarray(1.0 / (np.bincount(column, minlength=len(dropped)) + dropped)[column])


def _features(prepare: Any) -> list[tuple[str, str]]:
    """The source and the name of every feature of a fitted preparation."""
    if isinstance(prepare, Pipeline):
        width = len(prepare[-1].get_feature_names_out())
        return [(f"component {index + 1}",) * 2 for index in range(width)]
    found: list[tuple[str, str]] = []
    for kind, step, columns in prepare.transformers_:
        if kind == "remainder" or not len(columns):
            continue
        reader, *later = [each for _, each in step.steps] if isinstance(step, Pipeline) else [step]
        # the later steps are asked for names by tokens, so that no name of a column can be taken for another
        tokens = [f"{index}|{part}" for index, parts in enumerate(reader.parts()) for part in parts]
        for each in later:
            tokens = list(each.get_feature_names_out(np.array(tokens, dtype=object)))
        encoded = bool(later) and isinstance(later[-1], OneHotEncoder)
        found += [_feature(token, list(columns), reader, encoded) for token in tokens]
    return found


def _feature(token: str, columns: list[Any], reader: ColumnReader, encoded: bool) -> tuple[str, str]:
    stem = token.removeprefix("missingindicator_")
    index, _, rest = stem.partition("|")
    column = str(columns[int(index)])
    if encoded:  # "_" and the label
        return column, f"{column} = {RARE_LABEL if rest == '_infrequent_sklearn' else rest[1:]}"
    name = reader.described(column, rest)
    return column, f"{name} is missing" if stem != token else name
