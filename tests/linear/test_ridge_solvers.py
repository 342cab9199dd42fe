"""Every ``solver=`` of scikit-learn's Ridge is a hint: the same answer, and the evidence says what ran."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import sklearn.linear_model
from scipy import sparse

import corollary
from corollary import Ridge
from corollary.base import EvidenceWarning

HINTS = ["auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs", "qr"]


def rows(n: int, d: int, k: int = 1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n + d)
    X = rng.standard_normal((n, d))
    Y = X @ rng.standard_normal((d, k)) + rng.standard_normal((n, k))
    return X, Y[:, 0] if k == 1 else Y


@pytest.mark.parametrize("solver", HINTS)
@pytest.mark.parametrize("shape", [(60, 7), (7, 60)])
@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_array, sparse.csc_matrix])
def test_every_solver_gives_the_same_answer_without_a_warning(solver: str, shape: tuple[int, int], wrap) -> None:
    X, Y = rows(*shape, k=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hinted = Ridge(solver=solver, max_iter=500, random_state=0).fit(wrap(X), Y)
    exact = Ridge().fit(X, Y)
    np.testing.assert_allclose(hinted.coef_, exact.coef_, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(hinted.intercept_, exact.intercept_, rtol=1e-9, atol=1e-11)
    assert hinted.evidence_.holds


@pytest.mark.parametrize("solver", HINTS)
def test_no_negative_coefficient_with_any_solver(solver: str) -> None:
    X, y = rows(40, 6)
    model = Ridge(positive=True, solver=solver).fit(X, y)
    np.testing.assert_array_equal(model.coef_, Ridge(positive=True).fit(X, y).coef_)
    assert model.coef_.min() == 0.0
    assert model.evidence_.solver == "non-negative least squares"


@pytest.mark.parametrize("solver", ["svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga"])
@pytest.mark.parametrize("k", [1, 2])
def test_names_and_counts_have_the_shape_of_scikit_learn(solver: str, k: int) -> None:
    X, Y = rows(50, 5, k)
    ours = Ridge(solver=solver, tol=1e-4).fit(X, Y)
    theirs = sklearn.linear_model.Ridge(solver=solver, max_iter=10_000, random_state=0).fit(X, Y)
    assert ours.solver_ == theirs.solver_ == solver
    assert ours.n_iter_.shape == (k,)  # scikit-learn has None where it does not count
    assert theirs.n_iter_ is None or theirs.n_iter_.shape == (k,)
    assert ours.n_iter_.tolist() == [max(1, ours.evidence_.n_iter)] * k


def test_auto_names_what_ran() -> None:
    X, y = rows(50, 5)
    assert Ridge().fit(X, y).solver_ == "cholesky"
    assert Ridge(positive=True).fit(X, y).solver_ == "lbfgs"
    powers = np.linspace(0.0, 1.0, 50)[:, None] ** np.arange(1, 12)
    for solver in ("auto", "cholesky"):  # as scikit-learn, a factor that would be singular gives way
        model = Ridge(1e-14, solver=solver).fit(powers, y)
        assert (model.solver_, model.evidence_.solver) == ("svd", "orthogonal factor")
        assert model.evidence_.holds


def test_conjugate_gradients_leave_a_negligible_penalty_the_shortest_coefficients() -> None:
    """Fewer rows than columns and a penalty below rounding: many fit as well, and ridge tends to the shortest."""
    X, y = rows(20, 50)
    least = np.linalg.pinv(X - X.mean(axis=0)) @ (y - y.mean())
    for alpha in (0.0, 1e-16):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EvidenceWarning)  # rounding divided by so small an alpha
            model = Ridge(alpha, solver="sparse_cg", tol=1e-12).fit(X, y)
        np.testing.assert_allclose(model.coef_, least, atol=1e-10)


def test_tolerance_zero_is_taken_at_its_word() -> None:
    X, y = rows(50, 5)
    with pytest.warns(EvidenceWarning, match="> 0"):
        model = Ridge(tol=0).fit(X, y)
    np.testing.assert_array_equal(model.coef_, Ridge().fit(X, y).coef_)


@pytest.mark.parametrize("solver", ["svd", "sag", "sparse_cg"])
def test_counts_survive_a_file(tmp_path, solver: str) -> None:
    X, Y = rows(30, 4, 2)
    model = Ridge(solver=solver).fit(X, Y)
    model.save(tmp_path / "model")
    back = corollary.load(tmp_path / "model")
    np.testing.assert_array_equal(back.n_iter_, model.n_iter_)
    assert back.solver_ == solver
