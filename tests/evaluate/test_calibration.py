"""Calibration: the decomposition adds up, intervals are Wilson's, and rare classes fill more than two bins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import brier_score_loss

from corollary.evaluate import calibration
from corollary.evaluate.calibration import wilson


def right(rng: np.random.Generator, rows: int = 2000) -> tuple[Any, Any]:
    p = rng.beta(0.8, 1.6, rows)
    return (rng.random(rows) < p).astype(int), p


def test_wilson_is_scipys() -> None:
    for hits, rows in ((0, 5), (3, 10), (50, 50), (120, 400)):
        expected = stats.binomtest(hits, rows).proportion_ci(method="wilson")
        np.testing.assert_allclose(wilson(hits / rows, rows), (expected.low, expected.high), atol=1e-12)


@pytest.mark.parametrize("strategy", ["mass", "events", "width"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_brier_score_is_the_sum_of_its_parts(strategy: str, weighted: bool) -> None:
    rng = np.random.default_rng(0)
    y, p = right(rng)
    weights = rng.uniform(0.5, 2, len(y)) if weighted else None
    found = calibration(y, p, strategy=strategy, sample_weight=weights)
    parts = found.reliability - found.resolution + found.uncertainty + found.within
    np.testing.assert_allclose(found.brier, parts, rtol=1e-12)
    np.testing.assert_allclose(found.brier, brier_score_loss(y, p, sample_weight=weights))
    np.testing.assert_allclose(found.rows.sum(), len(y) if weights is None else weights.sum())
    assert found.reliability >= 0 <= found.resolution


def test_weights_of_two_are_rows_twice() -> None:
    y, p = right(np.random.default_rng(1), 300)
    found, twice = calibration(y, p, sample_weight=np.full(300, 2.0)), calibration(np.tile(y, 2), np.tile(p, 2))
    np.testing.assert_allclose(found.observed, twice.observed)
    np.testing.assert_allclose(found.expected_error, twice.expected_error)


def test_equal_mass_and_ties() -> None:
    y, p = right(np.random.default_rng(0))
    assert np.ptp(calibration(y, p, strategy="mass").rows) <= 2
    lumps = np.repeat([0.1, 0.5, 0.9], 100)
    found = calibration(np.r_[np.arange(300) % 2], lumps)
    assert found.rows.tolist() == [100, 100, 100]
    np.testing.assert_allclose(found.predicted, [0.1, 0.5, 0.9])
    assert found.within == pytest.approx(0, abs=1e-15)


def test_a_rare_class_fills_more_than_two_bins() -> None:
    rng = np.random.default_rng(0)
    p = np.where(rng.random(5000) < 0.03, rng.beta(2, 2, 5000), rng.beta(0.5, 200, 5000))
    y = rng.random(5000) < p
    assert 0.01 < y.mean() < 0.04
    found = calibration(y, p)
    assert found.strategy == "events"
    assert np.count_nonzero(found.predicted > 0.1) >= 5
    assert np.count_nonzero(calibration(y, p, strategy="mass").predicted > 0.1) <= 1


def test_right_probabilities_pass_and_wrong_ones_do_not() -> None:
    passed = 0
    for seed in range(40):
        y, p = right(np.random.default_rng(seed), 500)
        passed += calibration(y, p).p_value >= 0.05
    assert passed >= 34
    y, p = right(np.random.default_rng(0))
    found = calibration(y, p)
    assert found.verdict == "nothing speaks against them"
    assert found.expected_error < 2 * found.by_chance
    assert calibration(y, np.sqrt(p)).verdict == "on the whole they are too high"
    assert calibration(y, p**2).verdict == "on the whole they are too low"
    sure = np.linspace(0.01, 0.99, 2000)
    happened = np.random.default_rng(0).random(2000) < 0.3 + 0.4 * sure
    assert calibration(happened, sure).verdict == "they are too high in places and too low in others"
    assert str(found).startswith("Probabilities of class '1' are off by 0.0")


def test_labels_columns_and_the_most_likely_class() -> None:
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 1, 1], 900)
    y = np.array(["a", "b", "c"])[[rng.choice(3, p=row) for row in p]]
    found = calibration(y, p)
    assert found.label is None
    np.testing.assert_allclose(found.share, np.mean(np.array(["a", "b", "c"])[p.argmax(axis=1)] == y))
    np.testing.assert_allclose(calibration(y, p, label="b").observed, calibration(y == "b", p[:, 1]).observed)
    ax = calibration(y, p, label="b").plot()
    assert ax.get_xlabel() == "mean probability of class b"
    assert list(found.to_frame()) == ["predicted", "observed", "low", "high", "rows"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"probabilities": [0.5]},
            r"y and probabilities must have the same rows, but they have shapes \(4,\) and \(1,\)",
        ),
        ({"probabilities": [0.5, 2.0, 0.1, 0.3]}, "probabilities must lie between 0 and 1; for decision values"),
        ({"strategy": "deciles"}, "strategy must be one of 'auto', 'mass', 'events', 'width', but it is 'deciles'"),
        ({"bins": 1}, "bins must be at least 2, but it is 1"),
        ({"sample_weight": [1, 2]}, "sample_weight must be 4 weights ≥ 0, one for each row, not all zero"),
        (
            {"probabilities": np.full((4, 3), 1 / 3)},
            "probabilities have 3 columns, but there are 2 classes; say classes=",
        ),
        ({"probabilities": np.full((4, 2), 0.5), "label": 7}, "label '7' is not a class; there are '0', '1'"),
    ],
)
def test_bad_input(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        calibration(**({"y": [0, 1, 0, 1], "probabilities": [0.1, 0.8, 0.3, 0.6]} | arguments))
