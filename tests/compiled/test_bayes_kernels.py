"""Sums and scores by class against plain NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from corollary.core import by_class
from corollary.core.parallel import threads

N, D, K = 500, 7, 3
rng = np.random.default_rng(0)
X = rng.normal(size=(N, D)) * 10.0 ** np.arange(-3, 4)
COUNTS = rng.poisson(0.7, size=(N, D)).astype(float)
CODES = rng.integers(-1, K, size=N)
WEIGHTS = rng.integers(0, 3, size=N) * rng.random(N)
OWN = np.where((CODES[:, None] == np.arange(K)) & (CODES[:, None] >= 0), WEIGHTS[:, None], 0.0)
LAYOUTS = {
    "C": np.ascontiguousarray,
    "Fortran": np.asfortranarray,
    "float32": lambda rows: rows.astype(np.float32),
    "csr": sparse.csr_array,
    "csc": sparse.csc_array,
    "int64": lambda rows: wide(sparse.csr_array(rows)),
}


def wide(rows: Any) -> Any:
    rows.indices, rows.indptr = rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
    return rows


def read_only(rows: Any) -> Any:
    rows = rows.copy()
    rows.flags.writeable = False
    return rows


def plain_scores(rows: Any, coef: Any, offsets: Any) -> Any:
    with np.errstate(invalid="ignore"):
        return np.where(rows[:, None, :] != 0, rows[:, None, :] * coef, 0.0).sum(axis=2) + offsets


@pytest.mark.parametrize("layout", LAYOUTS)
def test_class_sums(layout: str) -> None:
    rows = LAYOUTS[layout](COUNTS)
    np.testing.assert_allclose(by_class.class_sums(rows, CODES, WEIGHTS, K), OWN.T @ COUNTS, rtol=1e-12)
    if sparse.issparse(rows):
        probed = by_class.probed_class_sums(rows, CODES, WEIGHTS, K)
        np.testing.assert_allclose(probed, OWN.T @ COUNTS @ by_class.probe(D), rtol=1e-12)
    else:
        np.testing.assert_allclose(by_class.class_sums_again(rows, CODES, WEIGHTS, K), OWN.T @ COUNTS, rtol=1e-12)


@pytest.mark.parametrize("shift", [0.0, 1e9])
@pytest.mark.parametrize("missing", [False, True])
def test_class_moments(missing: bool, shift: float) -> None:
    rows = read_only(X / 10.0 ** np.arange(-3, 4) + shift)
    if missing:
        rows = np.where(rng.random(X.shape) < 0.2, np.nan, rows)
    there = ~np.isnan(rows)
    about = np.full((K, D), shift) + np.arange(K)[:, None]
    first, second, seen = by_class.class_moments(rows, CODES, WEIGHTS, about, missing=missing)
    for k in range(K):
        gaps = np.where(there, rows - about[k], 0.0)
        np.testing.assert_allclose(first[k], OWN[:, k] @ gaps, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(second[k], OWN[:, k] @ gaps**2, rtol=1e-9)
    assert (seen is not None) == missing
    if seen is not None:
        np.testing.assert_allclose(seen, OWN.T @ there, rtol=1e-12)


@pytest.mark.parametrize("missing", [False, True])
def test_gaussian_scores(missing: bool) -> None:
    rows = np.where(rng.random(X.shape) < 0.2, np.nan, X) if missing else X
    means, variances, logs = rng.normal(size=(K, D)), rng.random((K, D)) + 0.1, rng.normal(size=(K, D))
    parts = logs - 0.5 * (rows[:, None, :] - means) ** 2 / variances
    found = by_class.gaussian_scores(rows, means, variances, logs)
    np.testing.assert_allclose(found, np.nansum(parts, axis=2), rtol=1e-10)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("never", [False, True])
def test_linear_scores(layout: str, never: bool) -> None:
    coef, offsets = rng.normal(size=(K, D)), rng.normal(size=K)
    if never:
        coef[1, 2] = -np.inf
    expected = plain_scores(COUNTS, coef, offsets)
    rows = LAYOUTS[layout](COUNTS)
    np.testing.assert_allclose(by_class.linear_scores(rows, coef, offsets), expected, rtol=1e-6)
    if sparse.issparse(rows):  # a zero that is stored is a zero
        rows.data[::3] = 0.0
        expected = plain_scores(rows.toarray(), coef, offsets)
        np.testing.assert_allclose(by_class.linear_scores(rows, coef, offsets), expected, rtol=1e-6)


def test_categories() -> None:
    sizes = np.array([3, 1, 4, 2, 5, 2, 2])
    codes = np.where(rng.random(COUNTS.shape) < 0.2, np.nan, COUNTS)
    found = by_class.category_counts(codes, CODES, WEIGHTS, sizes, K)
    np.testing.assert_allclose(by_class.category_counts_again(codes, CODES, WEIGHTS, sizes, K), found, rtol=1e-12)
    logs, scores = rng.normal(size=(K, sizes.sum())), np.zeros((N, K))
    firsts = np.cumsum(sizes) - sizes
    for j, size in enumerate(sizes):
        for c in range(size):
            here = codes[:, j] == c
            np.testing.assert_allclose(found[:, firsts[j] + c], OWN[here].sum(axis=0), rtol=1e-12)
            scores[here] += logs[:, firsts[j] + c]
    np.testing.assert_allclose(by_class.category_scores(codes, sizes, logs), scores, rtol=1e-10)


def test_threads_change_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("corollary.core.parallel.BLOCK_BYTES", 1)
    answers = []
    for n in (1, 3):
        with threads(n):
            moments = by_class.class_moments(X, CODES, WEIGHTS, np.zeros((K, D)), missing=False)
            answers.append((by_class.class_sums(X, CODES, WEIGHTS, K), moments[0], moments[1]))
    for one, three in zip(*answers, strict=True):
        np.testing.assert_array_equal(one, three)
