from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse
from benchmarks import accuracy, harness
from benchmarks.linear import WORKLOADS, lasso, least_squares, logistic, text
from benchmarks.results import REACHED
from benchmarks.workload import Candidate, Data, Workload
from sklearn.linear_model import Lasso, LinearRegression, lasso_path

FAST = harness.Settings(quick=True, repeats=1, cap=0.5, memory=False, growth=False)


def always_there(candidate: Candidate) -> bool:
    return candidate.package == "sklearn"


# every cell of a grid takes a second or more: they are among the long tests
CELLS = [pytest.param(entry, marks=pytest.mark.slow) if entry.grid else entry for entry in WORKLOADS]


@pytest.mark.parametrize("workload", CELLS, ids=lambda workload: workload.name)
def test_scikit_learn_reaches_the_quality_asked_for(workload: Workload) -> None:
    peers = tuple(filter(always_there, workload.candidates))[:1]
    only = Workload(workload.name, "", workload.make, workload.sizes, workload.quick_sizes, peers, workload.quality)
    race = harness.run("linear", only, FAST, lambda message: None)
    assert [outcome.status for outcome in race.outcomes] == [REACHED]


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)
def test_data_have_the_size_asked_for_and_are_the_same_twice(workload: Workload) -> None:
    one, two = (workload.make(*workload.quick_sizes) for _ in range(2))
    assert one.X.shape == workload.quick_sizes
    assert len(one.y) == workload.quick_sizes[0]
    assert one.bytes > 0
    assert np.array_equal(one.y, two.y)
    assert abs(one.X - two.X).max() == 0


def test_lasso_designs_are_stored_by_columns() -> None:
    assert lasso.dense(20, 30).X.flags.f_contiguous
    assert lasso.sparse(20, 30).X.format == "csc"


def test_zero_is_optimal_at_the_largest_strength_and_not_below() -> None:
    data = lasso.dense(30, 50)
    top = data.settings["alphas"][0]
    assert lasso.relative_gap(data, np.zeros(50), top) == pytest.approx(0.0, abs=1e-12)
    assert lasso.relative_gap(data, np.zeros(50), 0.5 * top) > 0.01


@pytest.mark.parametrize("make", [lasso.dense, lasso.sparse])
def test_the_gap_bounds_the_distance_from_the_optimum(make: object) -> None:
    data = make(60, 80)
    alpha = data.settings["alpha"]

    def objective(coefficients: np.ndarray) -> float:
        residual = data.y - data.X @ coefficients
        return float(residual @ residual / (2 * len(data.y)) + alpha * np.abs(coefficients).sum())

    def fit(tolerance: float) -> np.ndarray:
        model = Lasso(alpha=alpha, fit_intercept=False, tol=tolerance, max_iter=100_000).fit(data.X, data.y)
        return np.asarray(model.coef_)

    rough, fine = fit(1e-2), fit(1e-12)
    scale = data.y @ data.y / (2 * len(data.y))
    assert lasso.relative_gap(data, fine, alpha) < 1e-10
    assert lasso.relative_gap(data, rough, alpha) >= (objective(rough) - objective(fine)) / scale - 1e-12


def test_the_worst_point_of_a_path_counts() -> None:
    data = lasso.dense(30, 50)
    alphas, coefficients, _ = lasso_path(data.X, data.y, alphas=data.settings["alphas"], tol=1e-10, max_iter=10_000)
    good = lasso.path_gap(data, (alphas, coefficients))
    coefficients[:, 50] = 0.0
    assert good < 1e-8 < lasso.path_gap(data, (alphas, coefficients))


def test_text_rows_have_unit_length_and_a_heavy_head() -> None:
    X = text.tf_idf(200, 1000)
    assert X.format == "csr"
    assert np.allclose(np.sqrt(X.multiply(X).sum(axis=1)), 1.0)
    documents = np.bincount(X.indices, minlength=1000)
    assert documents[:10].min() > 10 * documents[500:].mean()


def test_objectives_agree_with_plain_sums() -> None:
    X, y = np.array([[1.0, -2.0], [0.5, 3.0]]), np.array([0, 1])
    fit = SimpleNamespace(coef_=np.array([[0.5, -0.25]]), intercept_=np.array([0.1]))
    data = Data(X, y, {"C": 2.0})
    margin = X @ fit.coef_[0] + 0.1
    loss = 2.0 * (np.log1p(np.exp(margin[0])) + np.log1p(np.exp(-margin[1])))
    assert logistic.logistic_objective(data, fit) == pytest.approx(loss + 0.5 * 0.3125)
    signed = Data(scipy.sparse.csr_matrix(X), np.array([-1, 1]), {"C": 2.0})
    assert text.objective(signed, fit) == pytest.approx(loss + 0.75)
    two = SimpleNamespace(coef_=np.vstack([0 * fit.coef_, fit.coef_]), intercept_=np.array([0.0, 0.1]))
    assert logistic.softmax_objective(data, two) == pytest.approx(loss + 0.5 * 0.3125)
    assert least_squares.squared_error(Data(X, margin), fit) == pytest.approx(0.0, abs=1e-20)


def test_rational_arithmetic_recovers_a_polynomial() -> None:
    x = [Fraction(value) for value in range(6)]
    y = [2 - value + Fraction(1, 3) * value**3 for value in x]
    assert accuracy.rational_fit(x, y, 3) == [2, -1, 0, Fraction(1, 3)]


@pytest.mark.parametrize("make", [accuracy.degree_five, accuracy.calibration])
def test_made_problems_agree_with_a_scaled_fit(make: object) -> None:
    problem = make()
    scale = np.abs(problem.X).max(axis=0)
    model = LinearRegression(tol=1e-15).fit(problem.X / scale, problem.y)
    found = np.concatenate([[model.intercept_], model.coef_ / scale])
    assert accuracy.digits(found, problem.certified) > 6


def test_digits_are_those_of_the_worst_coefficient() -> None:
    certified = np.array([1.0, -20.0])
    assert accuracy.digits(certified, certified) == 15.0
    assert accuracy.digits(np.array([1.0001, -20.0]), certified) == pytest.approx(4.0, abs=1e-6)
    assert accuracy.digits(np.array([1.0, 20.0]), certified) == 0.0
    assert accuracy.digits(np.array([np.nan, -20.0]), certified) == 0.0


def test_nist_text_is_parsed(tmp_path: Path) -> None:
    path = tmp_path / "Toy.dat"
    path.write_text("Data:          1 Response Variable (y)\nsome text\nData:  y   x\n  3  1\n  7  2\n 13 3\n\n")
    entry = {
        "columns": ["y", "x"],
        "model": "polynomial",
        "degree": 2,
        "intercept": True,
        "estimate": {"B0": "1.0", "B1": "1.00", "B2": "0.1E+01"},
    }
    problem = accuracy.read_nist(path, entry)
    assert np.array_equal(problem.X, [[1, 1], [2, 4], [3, 9]])
    assert np.array_equal(problem.y, [3, 7, 13])
    assert accuracy.lstsq_digits(problem) > 10


@pytest.mark.skipif(not accuracy.NIST.exists(), reason="the NIST files lie in ../shared/data, which is absent")
def test_nist_sets_are_found_and_the_easy_one_is_solved() -> None:
    names = [check.name for check in accuracy.CHECKS]
    assert "nist-norris" in names
    norris = next(check for check in accuracy.CHECKS if check.name == "nist-norris")
    values = next(iter(norris.measure(True)))
    assert values[0] == "scikit-learn"
    assert values[1] > 9
