"""The three readers of columns and the preparation made of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline

from corollary.tabular.columns import CategoryColumns, DateColumns, NumberColumns, preparation, readable_names
from corollary.tabular.roles import Column, Role, find_roles


def test_numbers_in_any_spelling() -> None:
    frame = pd.DataFrame({"a": [1, 2, 3], "b": ["4.5", "?", "-1e3"], "c": [np.inf, 1.0, None]})
    expected = [[1, 4.5, np.nan], [2, np.nan, 1], [3, -1000, np.nan]]
    np.testing.assert_array_equal(NumberColumns().fit_transform(frame), expected)


def test_labels_agree_between_types() -> None:
    spellings = [[3, 4, None], [3.0, 4.0, np.nan], ["3", " 4", "?"], pd.Categorical([3, 4, None])]
    for values in spellings:
        found = CategoryColumns().fit_transform(pd.DataFrame({"a": pd.Series(values)}))
        assert found[:, 0].tolist() == ["3", "4", "(missing)"]


def test_polars_and_arrays() -> None:
    frame = polars.DataFrame({"a": [1, 2], "b": ["x", None]})
    assert CategoryColumns().fit_transform(frame).tolist() == [["1", "x"], ["2", "(missing)"]]
    assert NumberColumns().fit_transform(np.array([["1"], ["?"]], dtype=object))[0, 0] == 1.0


def test_date_parts() -> None:
    frame = pd.DataFrame({"d": ["2024-02-29 13:00", None, "2023-12-31 00:00"]})
    dates = DateColumns().fit(frame)
    assert dates.get_feature_names_out().tolist() == [
        f"d_{part}" for part in ("year", "month", "day", "weekday", "hour", "elapsed_days")
    ]
    found = dates.transform(frame)
    np.testing.assert_allclose(found[0], [2024, 2, 29, 3, 13, 60 + 13 / 24])
    assert np.isnan(found[1]).all()
    np.testing.assert_allclose(found[2], [2023, 12, 31, 6, 0, 0])


def test_elapsed_days_count_from_the_training_rows() -> None:
    dates = DateColumns().fit(pd.DataFrame({"d": ["2024-01-10", "2024-01-20"]}))
    later = pd.DataFrame({"d": pd.to_datetime(["2024-01-01"])})  # another type, the same day
    assert dates.transform(later)[0, -1] == -9


def test_a_column_without_dates_in_this_fold() -> None:
    dates = DateColumns(["ISO8601"]).fit(pd.DataFrame({"d": [None, None]}))
    assert np.isnan(dates.transform(pd.DataFrame({"d": [None]}))).all()


def test_errors_name_column_and_row() -> None:
    fitted = NumberColumns().fit(pd.DataFrame({"size": [1]}))
    with pytest.raises(ValueError, match="column 'size': 'big' in row 2 is not a number"):
        fitted.transform(pd.DataFrame({"size": ["1", "big"]}))
    with pytest.raises(ValueError, match="one per column"):
        DateColumns(["ISO8601"]).fit(pd.DataFrame({"a": ["2020-01-01"], "b": ["2020-01-01"]}))
    with pytest.raises(NotFittedError):
        NumberColumns().transform(pd.DataFrame({"size": [1]}))


def test_they_can_be_cloned() -> None:
    assert clone(DateColumns(["%d.%m.%Y"])).formats == ["%d.%m.%Y"]
    assert isinstance(clone(CategoryColumns()), CategoryColumns)


def _frame(rows: int = 200) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "x": np.where(rng.random(rows) < 0.1, np.nan, rng.normal(size=rows)),
            "yes": rng.random(rows) < 0.5,
            "kind": rng.choice(["a", "b", "c_d"], rows),
            "when": pd.date_range("2020-01-01", periods=rows).astype(str),
        }
    )


def test_the_preparation_is_standardised_complete_and_named() -> None:
    frame = _frame()
    columns = find_roles(frame, "t")
    pipeline = Pipeline([("prepare", preparation(columns, len(frame)))])
    found = pipeline.fit_transform(frame)
    names = readable_names(pipeline)
    assert found.shape == (200, len(names))
    assert np.isfinite(found).all()
    assert names[:2] == ["x", "x is missing"]
    assert [name for name in names if "=" in name] == ["yes = True", "kind = a", "kind = b", "kind = c_d"]
    np.testing.assert_allclose(found[:, 0].mean(), 0, atol=1e-12)
    np.testing.assert_allclose(found[:, 0].std(), 1)


def test_unseen_values_do_not_break_it() -> None:
    frame = _frame()
    prepare = preparation(find_roles(frame, "t"), len(frame)).fit(frame)
    with pytest.warns(UserWarning, match="unknown categories"):
        found = prepare.transform(pd.DataFrame({"x": [None], "yes": ["maybe"], "kind": ["new"], "when": [None]}))
    assert np.isfinite(found).all()


def test_rare_categories_share_a_column() -> None:
    frame = pd.DataFrame({"kind": ["a"] * 600 + ["b"] * 390 + [f"rare {i % 5}" for i in range(10)]})
    pipeline = Pipeline([("prepare", preparation(find_roles(frame, "t"), 1000).fit(frame))])
    assert readable_names(pipeline) == ["kind = a", "kind = b", "kind = (rare)"]


def test_a_very_wide_table_stays_sparse() -> None:
    column = Column("kind", Role.CATEGORY, 0, 50)
    assert preparation([column], 1_000).sparse_threshold == 0.0
    assert preparation([column], 10_000_000).sparse_threshold == 0.3
