"""Bins: the rules written at the head of core/trees/binning.py, each as a test."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from corollary.core.parallel import threads
from corollary.core.trees.binning import Binner


def _twin(binner: Binner, X: np.ndarray) -> np.ndarray:
    """Codes by the definition: the number of thresholds below the value."""
    codes = np.empty(X.shape, dtype=int)
    for f in range(X.shape[1]):
        edges = binner.thresholds[f, : binner.n_bins[f] - 1]
        codes[:, f] = np.searchsorted(edges, X[:, f], side="left")
        codes[np.isnan(X[:, f]), f] = binner.n_bins[f]
    return codes


@pytest.mark.parametrize("max_bins", [2, 3, 16, 255, 1000])
@pytest.mark.parametrize("order", ["C", "F"])
def test_codes_are_the_number_of_thresholds_below(max_bins, order):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.standard_normal(3000), rng.exponential(size=3000), rng.integers(0, 5, 3000)])
    X[rng.random(X.shape) < 0.1] = np.nan
    binner = Binner.fit(X, max_bins)
    codes = binner.transform(X, order)
    np.testing.assert_array_equal(codes, _twin(binner, X))
    assert codes.flags.f_contiguous if order == "F" else codes.flags.c_contiguous
    assert codes.dtype == (np.uint8 if max_bins <= 255 else np.uint16)
    assert (binner.n_bins <= max_bins).all()


@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=60))
@settings(max_examples=60, deadline=None)
def test_few_distinct_values_lose_nothing(values):
    X = np.array(values)[:, None]
    binner = Binner.fit(X, 255)
    assert binner.n_bins[0] == len(np.unique(X))
    codes = binner.transform(X)[:, 0]
    np.testing.assert_array_equal(codes, np.unique(X, return_inverse=True)[1].ravel())


def test_bins_have_about_equal_weight_and_ties_cost_no_resolution():
    rng = np.random.default_rng(1)
    x = rng.standard_normal(100_000)
    x[:60_000] = 0.0  # one value holds most of the rows
    binner = Binner.fit(x[:, None], 255)
    counts = np.bincount(binner.transform(x[:, None])[:, 0])
    others = np.sort(counts)[:-1]
    assert binner.n_bins[0] >= 250
    assert others.max() <= 3 * others.mean()


def test_weights_are_repetitions_and_zero_is_absence():
    rng = np.random.default_rng(2)
    x = rng.standard_normal(2000)
    w = rng.integers(0, 4, 2000)
    weighted = Binner.fit(x[:, None], 31, weights=w.astype(float))
    repeated = Binner.fit(np.repeat(x, w)[:, None], 31)
    np.testing.assert_array_equal(weighted.thresholds, repeated.thresholds)


def test_categories_keep_their_codes_and_the_unknown_are_missing():
    X = np.array([[0.0], [2.0], [1.0], [np.nan]])
    binner = Binner.fit(X, 255, categorical=np.array([True]))
    assert binner.n_bins[0] == 3
    codes = binner.transform(np.array([[0.0], [1.0], [2.0], [3.0], [-1.0], [np.nan], [1e300]]))[:, 0]
    np.testing.assert_array_equal(codes, [0, 1, 2, 3, 3, 3, 3])


def test_too_many_categories_and_codes_that_are_not_whole_are_refused():
    with pytest.raises(ValueError, match="at most 65535"):
        Binner.fit(np.arange(70_000.0)[:, None], categorical=np.array([True]))
    with pytest.raises(ValueError, match="whole numbers"):
        Binner.fit(np.array([[0.5], [1.0]]), categorical=np.array([True]))


def test_all_missing_and_constant_columns_have_one_bin():
    X = np.column_stack([np.full(10, np.nan), np.full(10, 3.0)])
    binner = Binner.fit(X)
    np.testing.assert_array_equal(binner.n_bins, [1, 1])
    np.testing.assert_array_equal(binner.transform(X), np.column_stack([np.full(10, 1), np.zeros(10)]))


@pytest.mark.parametrize("kind", ["float32", "F", "read-only", "csr", "csc", "memmap"])
def test_every_layout_gives_the_same_codes(kind, tmp_path):
    rng = np.random.default_rng(3)
    X = rng.integers(0, 100, (500, 7)).astype(float) * (rng.random((500, 7)) < 0.4)
    expected = Binner.fit(X).transform(X)
    if kind == "float32":
        given_X = X.astype(np.float32)
    elif kind == "F":
        given_X = np.asfortranarray(X)
    elif kind == "read-only":
        given_X = X.copy()
        given_X.flags.writeable = False
    elif kind == "memmap":
        np.save(tmp_path / "x.npy", X)
        given_X = np.load(tmp_path / "x.npy", mmap_mode="r")
    else:
        given_X = scipy.sparse.csr_array(X) if kind == "csr" else scipy.sparse.csc_array(X)
    np.testing.assert_array_equal(Binner.fit(given_X).transform(given_X), expected)


def test_threads_and_row_sample_do_not_change_the_codes():
    X = np.random.default_rng(4).standard_normal((60_000, 3))
    with threads(1):
        one = Binner.fit(X, sample=10_000).transform(X)
    with threads(4):
        four = Binner.fit(X, sample=10_000).transform(X)
    np.testing.assert_array_equal(one, four)


def test_extreme_scales_keep_their_order():
    x = np.array([-1e308, -1e-308, 0.0, 5e-324, 1e-308, 1e308])
    codes = Binner.fit(x[:, None]).transform(x[:, None])[:, 0]
    np.testing.assert_array_equal(codes, np.arange(6))
