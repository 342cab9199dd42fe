"""Worked examples of the notes, closed forms against simulation, and bounds that hold."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_classification

from corollary import LinearRegression, LogisticRegression
from corollary.evaluate import theory


def test_worked_examples_of_the_notes() -> None:
    assert round(theory.edge_length(0.01, 10), 2) == 0.63
    assert theory.edge_length(0.1, 10) == pytest.approx(0.80, abs=0.01)  # 0.794, which the notes round to 0.80
    assert round(theory.median_nearest_distance(10, 500), 2) == 0.52


def test_median_distance_by_simulation() -> None:
    rng = np.random.default_rng(0)
    radius = rng.random((4000, 20)) ** (1 / 3)  # distances from the centre of points spread evenly in a ball
    np.testing.assert_allclose(theory.median_nearest_distance(3, 20), np.median(radius.min(axis=1)), rtol=0.03)
    frame = theory.curse_of_dimensionality([1, 2, 10], [0.01, 0.1], 500).to_frame()
    assert frame.loc[10].round(2).tolist() == [0.63, 0.79, 0.52]


@pytest.mark.parametrize("classes", [2, 3, 10])
def test_cover_and_hart_both_ways(classes: int) -> None:
    for least in np.linspace(0, (classes - 1) / classes, 7):
        low, high = theory.cover_hart_bounds(least, classes)
        assert low == least <= high <= 2 * least + 1e-15
        np.testing.assert_allclose(theory.bayes_error_bounds(high, classes)[0], least, atol=1e-7)
    assert theory.bayes_error_bounds(0.99, classes) == ((classes - 1) / classes,) * 2


def test_one_nearest_neighbour_between_the_bounds() -> None:
    """Two Gaussians at ±1: the least error is Φ(−1) = 0.1587."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 4000)
    found = theory.nearest_neighbour_error((2 * y - 1 + rng.normal(size=4000))[:, None], y)
    low, high = theory.cover_hart_bounds(0.1587)
    assert low < found.error < high + 0.015
    assert found.bayes[0] < 0.1587 < found.bayes[1]
    assert found.interval[0] < found.error < found.interval[1]
    assert str(found).startswith(f"One nearest neighbour errs on {found.error:.3f} of 4,000 rows (95 % interval 0.2")
    assert found.plot().get_xlabel() == "least possible error"


@pytest.mark.parametrize("members", [1, 2, 5, 6])
def test_votes_by_listing_all_outcomes(members: int) -> None:
    error = 0.3
    expected = 0.0
    for wrong in product((0, 1), repeat=members):
        share = sum(wrong) / members
        weight = error ** sum(wrong) * (1 - error) ** (members - sum(wrong))
        expected += weight * (1.0 if share > 0.5 else 0.5 if share == 0.5 else 0.0)
    assert theory.majority_vote_error(members, error) == pytest.approx(expected)


def test_votes_that_correlate() -> None:
    rng = np.random.default_rng(0)
    rho, error = 0.25, 0.3
    difficulty = rng.beta(error * 3, (1 - error) * 3, 40_000)  # (1 − ρ)/ρ = 3
    wrong = rng.random((40_000, 11)) < difficulty[:, None]
    assert np.corrcoef(wrong[:, 0], wrong[:, 1])[0, 1] == pytest.approx(rho, abs=0.02)
    assert theory.majority_vote_error(11, error, rho) == pytest.approx((wrong.sum(axis=1) > 5).mean(), abs=0.01)
    assert theory.majority_vote_error(11, error, 1.0) == error
    assert theory.majority_vote_error(11, 0.0, 0.5) == 0
    table = theory.majority_vote([1, 11, 101], 0.3, [0.0, 0.3]).to_frame()
    assert (np.diff(table["correlation 0"]) < 0).all()
    assert (table["correlation 0.3"].iloc[1:] > table["correlation 0"].iloc[1:]).all()


def test_bounds_hold() -> None:
    """Hoeffding's, for a fixed rule, in at least 95 % of simulations; the VC bound is above it."""
    rng = np.random.default_rng(0)
    gaps = np.abs(rng.binomial(200, 0.3, 2000) / 200 - 0.3)
    assert (gaps <= theory.hoeffding_gap(200)).mean() >= 0.95
    assert theory.vc_gap(200, 3) > theory.hoeffding_gap(200, hypotheses=100) > theory.hoeffding_gap(200)
    rows = np.array([10, 100, 1000, 10_000])
    for bound in (theory.hoeffding_gap(rows), theory.vc_gap(rows, 50)):
        assert (np.diff(bound) < 0).all()
    np.testing.assert_allclose(theory.hoeffding_gap(500), np.sqrt(np.log(2 / 0.05) / 1000))


def test_the_gap_as_measured() -> None:
    X, y = make_classification(300, 10, flip_y=0.1, random_state=0)
    found = theory.generalisation_gap(LogisticRegression(), X, y, vc_dimension=11, train_sizes=[0.1, 1.0])
    assert found.measured[0] > found.measured[-1]
    np.testing.assert_allclose(found.measured[-1], found.curve.train[-1].mean - found.curve.test[-1].mean)
    frame = found.to_frame()
    np.testing.assert_allclose(frame["gap"], frame["test_error"] - frame["train_error"])
    assert (frame["gap"] < frame["vc"]).all()
    assert str(found).startswith("With 240 rows the test error is ")
    assert len(found.plot().get_legend().get_texts()) == 3


@pytest.mark.parametrize("found", [theory.curse_of_dimensionality(), theory.majority_vote()])
def test_pictures_and_sentences(found: Any) -> None:
    assert str(found).endswith(".")
    assert found.plot().get_xlabel() in ("dimensions", "members")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: theory.edge_length(0, 3), r"fraction must lie in \(0, 1\], but it is 0"),
        (lambda: theory.median_nearest_distance(0, 3), "dimensions must be at least 1, but they are 0.0"),
        (lambda: theory.median_nearest_distance(2, 0), "points must be at least 1, but they are 0"),
        (lambda: theory.cover_hart_bounds(0.7), r"bayes_error must lie in \[0, 0.5\] for 2 classes, but it is 0.7"),
        (lambda: theory.bayes_error_bounds(0.1, 1), "classes must be at least 2, but it is 1"),
        (lambda: theory.majority_vote_error(0, 0.1), "members must be a whole number ≥ 1, but it is 0"),
        (lambda: theory.majority_vote_error(3, 0.1, -1), r"correlation must lie in \[0, 1\], but it is -1"),
        (lambda: theory.hoeffding_gap(0), "rows must be at least 1, but they are 0"),
        (lambda: theory.vc_gap(10, 0), "dimension must be greater than 0, but it is 0"),
        (lambda: theory.hoeffding_gap(10, confidence=1), "confidence must lie between 0 and 1, but it is 1"),
        (lambda: theory.nearest_neighbour_error([[1.0], [2.0]], [1, 1]), "labels of at least 2 classes, but it has 1"),
        (
            lambda: theory.generalisation_gap(LinearRegression(), [[1.0], [2.0]], [1, 2]),
            "estimator must be a classifier",
        ),
    ],
)
def test_bad_input(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
