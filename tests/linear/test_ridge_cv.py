"""RidgeCV where people come from scikit-learn: scorers of all targets, routing, no penalty among those of folds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sklearn
import sklearn.linear_model
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import make_scorer, mean_absolute_error
from sklearn.model_selection import GroupKFold, cross_val_score

from corollary import Blocks, LinearRegression, Ridge, RidgeCV

RNG = np.random.default_rng(5)
X = RNG.standard_normal((40, 6))
Y = X @ RNG.standard_normal((6, 2)) * [1.0, 0.02] + RNG.standard_normal((40, 2))
GROUPS = np.repeat(np.arange(8), 5)
WEIGHTS = RNG.integers(1, 4, 40).astype(float)


def twice_the_first(truth: np.ndarray, prediction: np.ndarray) -> float:
    assert truth.shape == prediction.shape == (40, 2)
    return -float(np.average(((truth - prediction) ** 2).mean(axis=0), weights=[2, 1]))


def test_a_scorer_sees_all_targets_at_once() -> None:
    ours, theirs = (
        cls((0.1, 5.0, 80.0), scoring=make_scorer(twice_the_first)).fit(X, Y)
        for cls in (RidgeCV, sklearn.linear_model.RidgeCV)
    )
    assert ours.alpha_ == theirs.alpha_
    assert ours.best_score_ == pytest.approx(theirs.best_score_)
    each = RidgeCV((0.1, 5.0, 80.0), scoring="neg_mean_absolute_error", alpha_per_target=True).fit(X, Y)
    alone = [RidgeCV((0.1, 5.0, 80.0), scoring="neg_mean_absolute_error").fit(X, y) for y in Y.T]
    np.testing.assert_array_equal(each.alpha_, [model.alpha_ for model in alone])
    np.testing.assert_allclose(each.best_score_, [model.best_score_ for model in alone])


@pytest.mark.parametrize("shape", [(40, 6), (40, 5), (10, 6)])
def test_no_penalty_in_folds_is_least_squares(shape: tuple[int, int]) -> None:
    rows, columns = shape
    part = X[:rows, :columns].copy()
    part[:, 0] = part[:, 1]  # many coefficients fit as well: the shortest are taken
    model = RidgeCV((0.0, 1e9), cv=3).fit(part, Y[:rows, 0])
    free = cross_val_score(LinearRegression(), part, Y[:rows, 0], cv=3)
    np.testing.assert_allclose(model.mean_scores_[0], free.mean(), rtol=1e-8)
    model = RidgeCV((0.0,), cv=3).fit(part, Y[:rows, 0])
    np.testing.assert_allclose(model.coef_, LinearRegression().fit(part, Y[:rows, 0]).coef_, atol=1e-12)
    assert model.evidence_.holds


def test_alphas_of_another_type_are_a_type_error() -> None:
    for alphas, number, kind in ((["1", 2.0], 0, "str"), ((1.0, True), 1, "bool"), ([1, None], 1, "NoneType")):
        with pytest.raises(TypeError, match=rf"alphas\[{number}\] must be an instance of float, not {kind}"):
            RidgeCV(alphas).fit(X, Y)


@pytest.mark.parametrize("wrap", [sparse.csr_array, sparse.csc_matrix, lambda X: Blocks([(sparse.csr_array(X), Y)])])
def test_singular_values_of_sparse_rows_are_deprecated_as_in_scikit_learn(wrap: Any) -> None:
    given = wrap(X)
    y = () if isinstance(given, Blocks) else (Y,)
    with pytest.warns(FutureWarning, match="'svd' mode is not supported for sparse X") as caught:
        model = RidgeCV(gcv_mode="svd").fit(given, *y)
    assert caught[0].filename == __file__
    np.testing.assert_allclose(model.coef_, RidgeCV().fit(X, Y).coef_, rtol=1e-9)


class TestRouting:
    """Only what was asked for reaches the splitter and the scorer."""

    @pytest.fixture(autouse=True)
    def _enabled(self) -> Any:
        with sklearn.config_context(enable_metadata_routing=True):
            yield

    def test_groups_reach_the_splitter(self) -> None:
        cv = GroupKFold(4)
        ours = RidgeCV(cv=cv.set_split_request(groups=True)).fit(X, Y, groups=GROUPS)
        direct = RidgeCV(cv=list(cv.split(X, Y, GROUPS))).fit(X, Y)
        np.testing.assert_array_equal(ours.mean_scores_, direct.mean_scores_)

    @pytest.mark.parametrize("cv", [None, 4])
    @pytest.mark.parametrize("asked", [True, False])
    def test_weights_reach_a_scorer_that_asks_for_them(self, cv: Any, asked: bool) -> None:
        seen = []

        def error(truth: np.ndarray, prediction: np.ndarray, sample_weight: Any = None) -> float:
            seen.append(sample_weight)
            return float(mean_absolute_error(truth, prediction, sample_weight=sample_weight))

        scorer = make_scorer(error, greater_is_better=False).set_score_request(sample_weight=asked)
        RidgeCV(cv=cv, scoring=scorer).set_fit_request(sample_weight=True).fit(X, Y, sample_weight=WEIGHTS)
        assert all((weights is not None) == asked for weights in seen)
        if asked:
            assert sum(map(len, seen)) == 3 * 40

    def test_what_is_not_of_rows_reaches_the_scorer_whole(self) -> None:
        seen = []

        def error(truth: np.ndarray, prediction: np.ndarray, table: Any = None) -> float:
            seen.append(table)
            return float(mean_absolute_error(truth, prediction))

        scorer = make_scorer(error, greater_is_better=False).set_score_request(table=True)
        table = np.arange(60.0)
        RidgeCV(cv=4, scoring=scorer).fit(X, Y, table=table)
        assert all(each is table for each in seen)

    def test_weights_need_no_request_without_a_scorer(self) -> None:
        model = clone(RidgeCV()).fit(X, Y, sample_weight=WEIGHTS)
        with sklearn.config_context(enable_metadata_routing=False):
            plain = RidgeCV().fit(X, Y, sample_weight=WEIGHTS)
        np.testing.assert_array_equal(model.coef_, plain.coef_)


def test_extra_keywords_need_routing() -> None:
    with pytest.raises(ValueError, match="only supported if enable_metadata_routing=True"):
        RidgeCV().fit(X, Y, groups=GROUPS)


def test_results_and_scores_have_the_shapes_of_scikit_learn() -> None:
    for y in (Y[:, 0], Y):
        for options in ({}, {"alpha_per_target": True}, {"scoring": "r2"}, {"alphas": 2.0}):
            ours, theirs = (
                cls(store_cv_results=True, **options).fit(X, y) for cls in (RidgeCV, sklearn.linear_model.RidgeCV)
            )
            np.testing.assert_allclose(ours.cv_results_, theirs.cv_results_, rtol=1e-7)
            np.testing.assert_allclose(ours.best_score_, theirs.best_score_, rtol=1e-7)
            for name in ("alpha_", "best_score_", "coef_", "intercept_"):
                assert np.shape(getattr(ours, name)) == np.shape(getattr(theirs, name)), (name, options)
            np.testing.assert_array_equal(ours.coef_, Ridge(ours.alpha_).fit(X, y).coef_)


@pytest.mark.parametrize("cv", [None, 3])
def test_scores_that_are_none(cv: int | None) -> None:
    X, y = np.random.default_rng(0).normal(size=(20, 3)), np.arange(20.0)
    for missing, chosen in ((0.1, 1.0), (1.0, 0.1)):
        number = [0.1, 1.0].index(missing)
        calls = iter(range(100))
        model = RidgeCV([0.1, 1.0], cv=cv, scoring=lambda *_, c=calls, n=number: np.nan if next(c) == n else 1.0)
        with pytest.warns(UserWarning, match=f"test scores are non-finite: scoring gave NaN at alpha={missing:g}"):
            model.fit(X, y)
        assert (model.alpha_, model.best_score_) == (chosen, 1.0)
    with pytest.warns(UserWarning, match="gave NaN at every alpha, so that the first is taken"):
        model = RidgeCV([0.1, 1.0], cv=cv, scoring=lambda *_: np.nan).fit(X, y)
    assert model.alpha_ == 0.1
    assert np.isnan(model.best_score_)
