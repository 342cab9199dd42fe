"""Paths of strengths and what scikit-learn's lasso family accepts besides: Gram matrices, routing, shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sklearn.linear_model as theirs
from scipy import sparse
from sklearn import config_context
from sklearn.datasets import load_diabetes
from sklearn.model_selection import GroupKFold

from corollary import ElasticNet, ElasticNetCV, Lasso, LassoCV, enet_path, lasso_path

X, Y = load_diabetes(return_X_y=True)
CENTRED = X - X.mean(axis=0)
TWO = np.column_stack([Y, Y[::-1]]) - Y.mean()


def test_a_start_saves_iterations_and_changes_nothing() -> None:
    wide = CENTRED[:15]
    options = {"alphas": [0.5], "tol": 1e-10, "return_n_iter": True}
    _, coefs, _, counts = lasso_path(wide, Y[:15] - Y[:15].mean(), **options)
    again = lasso_path(wide, Y[:15] - Y[:15].mean(), coef_init=coefs[:, 0], **options)
    np.testing.assert_allclose(again[1], coefs, rtol=1e-6)
    assert again[3] == [0] < counts


@pytest.mark.parametrize("layout", [np.asarray, sparse.csc_array])
def test_several_targets_are_the_multi_task_path(layout: Any) -> None:
    alphas, coefs, gaps = enet_path(layout(CENTRED), TWO, l1_ratio=0.7, alphas=4, tol=1e-12)
    grid, expected, _ = theirs.enet_path(layout(CENTRED), TWO, l1_ratio=0.7, alphas=4, tol=1e-12)
    np.testing.assert_allclose(alphas, grid)
    np.testing.assert_allclose(coefs, expected, atol=1e-6 * np.abs(expected).max())
    assert coefs.shape == (2, 10, 4)
    assert gaps.shape == (4,)
    with pytest.raises(ValueError, match="positive=True is not allowed"):
        enet_path(CENTRED, TWO, positive=True)


def test_older_ways_to_ask_for_a_grid_warn() -> None:
    expected = lasso_path(X, Y, alphas=7)[0]
    with pytest.warns(FutureWarning, match="'n_alphas' was deprecated"):
        np.testing.assert_array_equal(lasso_path(X, Y, n_alphas=7)[0], expected)
    with pytest.warns(FutureWarning, match="'alphas=None' is deprecated"):
        assert len(enet_path(X, Y, alphas=None)[0]) == 100
    with pytest.raises(ValueError, match="not supported for l1_ratio=0"):
        enet_path(X, Y, l1_ratio=0.0)
    assert enet_path(X, Y, l1_ratio=0.0, alphas=[1.0])[1].all()


def test_a_gram_matrix_is_checked_and_changes_nothing() -> None:
    plain = Lasso(alpha=0.1).fit(CENTRED, Y)
    given = Lasso(alpha=0.1, precompute=CENTRED.T @ CENTRED).fit(CENTRED, Y)
    np.testing.assert_array_equal(given.coef_, plain.coef_)
    weights = np.random.default_rng(0).integers(1, 4, len(Y)).astype(float)
    about = X - np.average(X, axis=0, weights=weights)
    gram = (about * weights[:, None]).T @ about * len(Y) / weights.sum()
    ElasticNet(precompute=gram).fit(about, Y, sample_weight=weights)
    for wrong in (2 * CENTRED.T @ CENTRED, np.eye(3)):
        with pytest.raises(ValueError, match=r"Gram matrix.*did not pass validation"):
            Lasso(precompute=wrong).fit(CENTRED, Y)
        with pytest.raises(ValueError, match=r"Gram matrix.*did not pass validation"):
            lasso_path(CENTRED, Y, alphas=2, precompute=wrong)
    with pytest.warns(UserWarning, match="X was centered to fit intercept"):
        Lasso(precompute=(X + 1).T @ (X + 1)).fit(X + 1, Y)


@pytest.mark.parametrize("name", ["Lasso", "ElasticNet"])
def test_shapes_of_one_target_in_two_dimensions(name: str) -> None:
    ours, peer = (getattr(module, name)(alpha=0.1) for module in (__import__("corollary"), theirs))
    ours.fit(X, Y[:, None])
    peer.fit(X, Y[:, None])
    for attribute in ("coef_", "intercept_", "dual_gap_", "n_iter_", "sparse_coef_"):
        assert np.shape(getattr(ours, attribute)) == np.shape(getattr(peer, attribute))
    assert ours.predict(X).shape == peer.predict(X).shape
    assert ours.evidence_.verify(X, Y)


@pytest.mark.parametrize(
    "options",
    [{"alphas": 3}, {"l1_ratio": [0.5]}, {"alphas": [1.0, 0.1], "l1_ratio": [0.5, 0.9]}, {"l1_ratio": [0.5, 1.0]}],
)
def test_shapes_of_a_cross_validation(options: dict[str, Any]) -> None:
    options = {"alphas": 4, "cv": 3, **options}
    ours, peer = ElasticNetCV(**options).fit(X, Y), theirs.ElasticNetCV(**options).fit(X, Y)
    np.testing.assert_allclose(ours.alphas_, peer.alphas_, rtol=1e-6)
    np.testing.assert_allclose(ours.mse_path_, peer.mse_path_, rtol=1e-2)
    assert (ours.alpha_, ours.l1_ratio_) == (pytest.approx(peer.alpha_), peer.l1_ratio_)
    assert ours.plot() is not None


@pytest.mark.parametrize("model", [LassoCV(alphas=3), ElasticNetCV(alphas=3)])
def test_groups_are_routed_to_the_splitter(model: Any) -> None:
    groups = np.arange(len(Y)) % 7
    with pytest.raises(ValueError, match="only supported if enable_metadata_routing=True"):
        model.fit(X, Y, groups=groups)
    splitter = GroupKFold(3)
    expected = model.set_params(cv=list(splitter.split(X, Y, groups))).fit(X, Y).mse_path_
    with config_context(enable_metadata_routing=True):
        model.set_params(cv=splitter).fit(X, Y, groups=groups)
    np.testing.assert_array_equal(model.mse_path_, expected)


def test_bad_strengths_are_named() -> None:
    with pytest.raises(ValueError, match=r"alphas\[1\] == -2"):
        LassoCV(alphas=[1.0, -2.0]).fit(X, Y)
    with pytest.raises(TypeError, match=r"alphas\[0\] must be an instance of float, not str"):
        LassoCV(alphas=["1", 1.0]).fit(X, Y)
    with pytest.raises(ValueError, match="not supported for l1_ratio=0"):
        ElasticNetCV(l1_ratio=0.0).fit(X, Y)
    assert ElasticNetCV(l1_ratio=0.0, alphas=[0.1, 1.0]).fit(X, Y).l1_ratio_ == 0.0


def test_a_fit_that_ends_too_soon_says_so_in_known_words() -> None:
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(40, 300))
    with pytest.warns(UserWarning, match="Objective did not converge.*increase the number of iterations.*duality gap"):
        Lasso(alpha=1e-3, max_iter=1, tol=1e-12).fit(wide, rng.normal(size=40))


def test_unchecked_input_is_held_to_fortran_order() -> None:
    expected = Lasso().fit(X, Y).coef_
    np.testing.assert_allclose(Lasso().fit(np.asfortranarray(X), Y, check_input=False).coef_, expected)
    with pytest.raises(ValueError, match="Fortran order"):
        Lasso().fit(np.ascontiguousarray(X), Y, check_input=False)


def test_a_start_that_is_none() -> None:
    X, y = np.random.default_rng(0).normal(size=(20, 3)), np.arange(20.0)
    for start, why in (([0.0, np.nan, 1.0], "entries that are NaN"), ([0.0, 1.0], r"its shape is \(2,\)")):
        with pytest.raises(ValueError, match=f"coef_init must be 3 finite numbers, .*{why}"):
            lasso_path(X, y, coef_init=start)
