"""What rows mean: a weight is a repetition, order is nothing, and neither blocks nor threads change an answer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from instances import CASES, Case, assert_close, assert_same, every, outputs
from scipy import sparse

from corollary.core import parallel, problem

WEIGHTED = [case for case in CASES if case.weighted and not case.sampled]


def folds_of(rows: Any) -> dict[str, Any]:
    """Folds by the number that a row had at first, so that copies of it stay together."""
    parts = rows % 3
    return {"cv": [(np.flatnonzero(parts != k), np.flatnonzero(parts == k)) for k in range(3)]}


def fit_rows(case: Case, rows: Any, weights: Any = None) -> Any:
    X, y = case.data()
    model = case.make(**case.exact, **folds_of(rows))
    return model.fit(X[rows], y[rows]) if weights is None else model.fit(X[rows], y[rows], sample_weight=weights)


@every(WEIGHTED)
def test_weights_are_repetitions(case: Case) -> None:
    X, y = case.data()
    weights = np.random.default_rng(2).integers(0, 4, len(y))
    weighted = fit_rows(case, np.arange(len(y)), weights.astype(float))
    repeated = fit_rows(case, np.repeat(np.arange(len(y)), weights))
    assert_close(outputs(weighted, X), outputs(repeated, X), **case.digits)


@every(WEIGHTED)
def test_rows_of_weight_zero_do_not_matter(case: Case) -> None:
    """Not even if their X and y are outrageous."""
    X, y = case.data()
    weights = np.random.default_rng(3).uniform(0.5, 1.5, len(y))
    weights[::4] = 0.0
    kept = np.flatnonzero(weights)
    wild, labels = X.copy(), y.copy()
    wild[::4] *= 1000.0
    labels[::4] = y[::4][::-1]
    options = case.exact | folds_of(np.arange(len(y)))
    all_rows = case.make(**options).fit(wild, labels, sample_weight=weights)
    without = fit_rows(case, kept, weights[kept])
    assert_close(outputs(all_rows, X), outputs(without, X), **case.digits)


@every(WEIGHTED)
def test_weights_of_one_are_no_weights(case: Case) -> None:
    X, y = case.data()
    plain, ones = case.make(**case.exact).fit(X, y), case.make(**case.exact).fit(X, y, sample_weight=np.ones(len(y)))
    assert_close(outputs(plain, X), outputs(ones, X), **case.digits)


@every([case for case in CASES if not case.sampled])
def test_row_order_does_not_matter(case: Case) -> None:
    X, y = case.data()
    shuffled = np.random.default_rng(4).permutation(len(y))
    first, second = fit_rows(case, np.arange(len(y))), fit_rows(case, shuffled)
    assert_close(outputs(first, X), outputs(second, X), **case.digits)


def fit_layout(case: Case, layout: str) -> dict[str, Any]:
    X, y = case.data(n=300, classes=3)
    rows = {"C": np.ascontiguousarray, "F": np.asfortranarray, "sparse": sparse.csr_array}[layout](X)
    return outputs(case.make(**case.exact).fit(rows, y), X)


@pytest.fixture
def many_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks as small as they get, and kernels also where NumPy would do."""
    monkeypatch.setattr(parallel, "BLOCK_BYTES", 1)
    monkeypatch.setattr(problem, "ROWS", 50)
    monkeypatch.setattr(problem, "SMALL", 0)


@pytest.mark.parametrize("layout", ["C", "F", "sparse"])
@every(CASES)
def test_blocks_are_the_whole(case: Case, layout: str, request: pytest.FixtureRequest) -> None:
    if layout == "sparse" and not case.sparse:
        return  # refused, which scikit-learn's checks look at
    whole = fit_layout(case, layout)
    request.getfixturevalue("many_blocks")
    assert_close(whole, fit_layout(case, layout), **case.digits)


@pytest.mark.usefixtures("many_blocks")
@every(CASES)
def test_threads_do_not_change_a_bit(case: Case) -> None:
    answers = []
    for n in (1, 2, 3):
        with parallel.threads(n):
            answers.append(fit_layout(case, "C"))
    assert_same(answers[0], answers[1])
    assert_same(answers[0], answers[2])
