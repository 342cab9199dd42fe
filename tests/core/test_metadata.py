"""Metadata beside X and y: refused unless they are routed, and cut to rows only where they have one entry for each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import sklearn

from corollary.core.door import metadata

ROWS = np.array([3, 0, 3])
FOUR = np.array([10.0, 11.0, 12.0, 13.0])
TAKEN = [13.0, 10.0, 13.0]


@pytest.mark.parametrize("value", [FOUR, FOUR.tolist(), tuple(FOUR), pd.Series(FOUR, index=list("abcd"))])
def test_entries_of_rows(value: Any) -> None:
    np.testing.assert_array_equal(metadata.of_rows(value, ROWS, 4), TAKEN)


def test_tables_and_ragged_lists_are_cut_too() -> None:
    table = FOUR[:, None] + [0.0, 0.5]
    np.testing.assert_array_equal(metadata.of_rows(table, ROWS, 4), table[ROWS])
    np.testing.assert_array_equal(metadata.of_rows(scipy.sparse.coo_array(table), ROWS, 4).toarray(), table[ROWS])
    assert metadata.of_rows([[1], [2, 3], [], [4]], ROWS, 4) == [[4], [1], [4]]


@pytest.mark.parametrize(
    "value", [np.arange(5), [1, 2, 3], "four", b"four", {1: 2, 2: 3, 3: 4, 4: 5}, {1, 2, 3, 4}, np.float64(2), None]
)
def test_what_has_not_one_entry_for_each_row_stays_whole(value: Any) -> None:
    assert metadata.of_rows(value, ROWS, 4) is value


def test_nobody_routes_unless_that_is_enabled() -> None:
    assert not metadata.enabled()
    metadata.refuse(object(), "fit", {})
    with pytest.raises(
        ValueError, match=r"\['groups'\] to object.fit is only supported if enable_metadata_routing=True"
    ):
        metadata.refuse(object(), "fit", {"groups": FOUR})
    with sklearn.config_context(enable_metadata_routing=True):
        assert metadata.enabled()
        metadata.refuse(object(), "fit", {"groups": FOUR})
