"""Cross-validated lasso and elastic net."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_diabetes
from sklearn.model_selection import KFold, ShuffleSplit

from corollary import ElasticNetCV, Lasso, LassoCV
from corollary.linear import lasso_cv, squared_path

X, Y = load_diabetes(return_X_y=True)


def naive_errors(alphas: np.ndarray, splits: list[tuple[np.ndarray, np.ndarray]], intercept: bool) -> np.ndarray:
    """One lasso per strength and fold."""
    errors = np.empty((len(alphas), len(splits)))
    for k, (train, test) in enumerate(splits):
        for a, alpha in enumerate(alphas):
            model = Lasso(alpha, fit_intercept=intercept, tol=1e-10).fit(X[train], Y[train])
            errors[a, k] = np.mean((Y[test] - model.predict(X[test])) ** 2)
    return errors


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("splitter", [KFold(4), ShuffleSplit(3, random_state=0)])
def test_errors_are_those_of_separate_fits(splitter: KFold | ShuffleSplit, intercept: bool) -> None:
    """Whether folds share moments (a partition) or not."""
    splits = list(splitter.split(X))
    model = LassoCV(alphas=[0.01, 0.1, 1.0], cv=splits, fit_intercept=intercept).fit(X, Y)
    np.testing.assert_array_equal(model.alphas_, [1.0, 0.1, 0.01])
    np.testing.assert_allclose(model.mse_path_, naive_errors(model.alphas_, splits, intercept), rtol=1e-4)
    assert model.alpha_ == model.alphas_[model.mse_path_.mean(axis=1).argmin()]
    np.testing.assert_allclose(model.coef_, Lasso(model.alpha_, fit_intercept=intercept).fit(X, Y).coef_, rtol=1e-4)


def test_moments_and_rows_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    first = LassoCV(alphas=8, cv=3).fit(X, Y)
    for module in (lasso_cv, squared_path):
        monkeypatch.setattr(module, "worth_compressing", lambda shape: False)
    second = LassoCV(alphas=8, cv=3).fit(X, Y)
    np.testing.assert_allclose(first.alphas_, second.alphas_, rtol=1e-9)
    np.testing.assert_allclose(first.mse_path_, second.mse_path_, rtol=1e-4)
    np.testing.assert_allclose(first.coef_, second.coef_, rtol=1e-4)


def test_sparse_and_wide() -> None:
    rng = np.random.default_rng(0)
    A = rng.normal(size=(30, 50)) * (rng.random((30, 50)) < 0.4)
    b = 3 * A[:, 0] + rng.normal(size=30)
    dense, thin = (LassoCV(alphas=6, cv=3, tol=1e-10).fit(each, b) for each in (A, sparse.csr_array(A)))
    assert dense.alpha_ == pytest.approx(thin.alpha_)
    np.testing.assert_allclose(dense.coef_, thin.coef_, atol=1e-5)
    assert dense.evidence_.facts["path fits"] == 18
    assert dense.evidence_.facts["path fits optimal"] == 18


def test_weights_are_repetitions() -> None:
    counts = np.random.default_rng(1).integers(0, 3, len(Y))
    rows = np.repeat(np.arange(len(Y)), counts)
    fold = np.arange(len(Y)) % 3
    splits = [[(np.flatnonzero(f != k), np.flatnonzero(f == k)) for k in range(3)] for f in (fold, fold[rows])]
    weighted = LassoCV(alphas=[0.1, 1.0], cv=splits[0]).fit(X, Y, sample_weight=counts)
    repeated = LassoCV(alphas=[0.1, 1.0], cv=splits[1]).fit(X[rows], Y[rows])
    np.testing.assert_allclose(weighted.mse_path_, repeated.mse_path_, rtol=1e-5)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-4)


def test_shapes_for_one_and_several_mixes() -> None:
    one = ElasticNetCV(alphas=4, cv=3).fit(X, Y)
    assert one.alphas_.shape == (4,)
    assert one.mse_path_.shape == (4, 3)
    assert one.l1_ratio_ == 0.5
    two = ElasticNetCV(alphas=4, cv=3, l1_ratio=[0.2, 0.9]).fit(X, Y)
    assert two.alphas_.shape == (2, 4)
    assert two.mse_path_.shape == (2, 4, 3)
    assert two.l1_ratio_ in (0.2, 0.9)
    assert two.alphas_[0, 0] == pytest.approx(two.alphas_[1, 0] * 0.9 / 0.2)  # all zero from there on


def test_picture() -> None:
    for model in (LassoCV(alphas=4, cv=3), ElasticNetCV(alphas=4, cv=3, l1_ratio=[0.5, 1.0])):
        axes = model.fit(X, Y).plot()
        assert axes.get_xlabel()
        assert f"{model.alpha_:.3g}" in axes.texts[0].get_text()
        plt.close(axes.figure)
