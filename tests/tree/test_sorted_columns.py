"""The columns that an exact tree sorts once: what their records say, and what sorting takes beside them."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse

from corollary.core.parallel import n_threads
from corollary.core.types import Array
from corollary.solvers.trees.exact.sorted_columns import column_source, sort_columns


def table(n: int, d: int, dtype: str) -> Array:
    X = np.random.default_rng(0).standard_normal((n, d)).round(1).astype(dtype)
    X[::9, 1] = np.nan
    return X


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("record", [np.uint32, np.uint64])
def test_records_are_ranks_and_rows_in_order(record: type, sparse: bool, dtype: str) -> None:
    X = table(3000, 11, dtype)
    source = column_source(scipy.sparse.csr_array(X) if sparse else X)
    records, values = sort_columns(source, None, record, with_values=True)
    assert values is not None
    half = 4 * records.itemsize
    for f, column in enumerate(X.T):
        rank, row = (records[f] >> half).astype(np.int64), (records[f] & ((1 << half) - 1)).astype(np.int64)
        np.testing.assert_array_equal(np.sort(row), np.arange(len(X)))
        known = ~np.isnan(column[row])
        assert (np.diff(rank) >= 0).all()
        np.testing.assert_array_equal(values[f, rank[known]], column[row][known])
        np.testing.assert_array_equal(rank[~known], (1 << half) - 1)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sorting_takes_two_numbers_a_row_and_thread_beside_the_records(dtype: str, order: str) -> None:
    X = np.asarray(table(50_000, 16, dtype), order=order)
    sort_columns(column_source(X), None, np.uint64, with_values=False)  # whatever is compiled is, by now
    tracemalloc.start()
    try:
        records, _ = sort_columns(column_source(X), None, np.uint64, with_values=False)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak - records.nbytes < (2 * n_threads() + 0.5) * 8 * len(X)
