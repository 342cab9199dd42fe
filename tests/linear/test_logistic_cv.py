"""Cross-validated logistic regression."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sklearn.linear_model as theirs
from sklearn import config_context
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.metrics import get_scorer, log_loss
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold
from sklearn.preprocessing import scale

from corollary import LogisticRegression, LogisticRegressionCV, load
from corollary.core.evidence import Kind

CANCER = load_breast_cancer()
X, Y = scale(CANCER.data), CANCER.target
IRIS = load_iris(return_X_y=True)
PLAIN: dict[str, Any] = {"l1_ratios": (0.0,), "scoring": "neg_log_loss", "use_legacy_attributes": False}


def test_scores_are_those_of_separate_fits() -> None:
    splits = list(StratifiedKFold(3).split(X, Y))
    model = LogisticRegressionCV(Cs=[0.01, 1.0], cv=splits, **(PLAIN | {"l1_ratios": (0.0, 1.0)})).fit(X, Y)
    assert model.scores_.shape == (3, 2, 2)
    for k, (train, test) in enumerate(splits):
        for m, mix in enumerate((0.0, 1.0)):
            for c, C in enumerate((0.01, 1.0)):
                alone = LogisticRegression(C=C, l1_ratio=mix).fit(X[train], Y[train])
                expected = -log_loss(Y[test], alone.predict_proba(X[test]))
                assert model.scores_[k, m, c] == pytest.approx(expected, rel=5e-2)
    best = np.unravel_index(model.scores_.mean(axis=0).argmax(), (2, 2))
    assert (model.l1_ratio_, model.C_) == ((0.0, 1.0)[best[0]], (0.01, 1.0)[best[1]])
    final = LogisticRegression(C=model.C_, l1_ratio=model.l1_ratio_).fit(X, Y)
    np.testing.assert_allclose(model.coef_, final.coef_, atol=1e-4)
    assert model.evidence_.facts["cross-validated fits"] == 12


def test_grid_and_scoring() -> None:
    model = LogisticRegressionCV(Cs=4, cv=3, **(PLAIN | {"scoring": "accuracy"})).fit(X, Y)
    np.testing.assert_allclose(model.Cs_, np.geomspace(1e-4, 1e4, 4))
    assert ((model.scores_ > 0.5) & (model.scores_ <= 1)).all()
    assert model.score(X, Y) > 0.95


def test_three_classes_and_class_weights() -> None:
    model = LogisticRegressionCV(Cs=[0.1, 1.0], cv=3, class_weight="balanced", **PLAIN)
    model.fit(*IRIS)
    assert model.coef_.shape == (3, 4)
    assert model.evidence_.holds
    assert (model.predict(IRIS[0]) == IRIS[1]).mean() > 0.9


def test_weights_count_in_the_scores() -> None:
    """A fold without weight has no say."""
    splits = list(StratifiedKFold(3).split(X, Y))
    weights = np.ones(len(Y))
    weights[splits[0][1]] = 1e-12
    model = LogisticRegressionCV(Cs=[1e-4, 1.0], cv=splits, **PLAIN).fit(X, Y, sample_weight=weights)
    assert model.Cs_[model.scores_[1:].mean(axis=0).argmax()] == model.C_


def peer(**options: Any) -> Any:
    return theirs.LogisticRegressionCV(solver="newton-cholesky", tol=1e-8, max_iter=1000, **options)


@pytest.mark.parametrize("data", [(X, Y), IRIS], ids=["two", "three"])
@pytest.mark.parametrize("l1_ratios", [None, (0.0,)])
@pytest.mark.filterwarnings("ignore:'l1_ratios=None'")
def test_older_shapes_are_those_of_scikit_learn(data: Any, l1_ratios: Any) -> None:
    options = {"Cs": [1.0, 0.01], "cv": 3, "l1_ratios": l1_ratios, "scoring": None, "use_legacy_attributes": True}
    mine, other = LogisticRegressionCV(**options).fit(*data), peer(**options).fit(*data)
    np.testing.assert_array_equal(mine.C_, other.C_)
    assert mine.l1_ratio_.shape == other.l1_ratio_.shape
    assert mine.n_iter_.shape == other.n_iter_.shape
    assert list(mine.scores_) == list(other.scores_) == list(mine.coefs_paths_)
    for label in other.scores_:
        np.testing.assert_allclose(mine.scores_[label], other.scores_[label], atol=1e-9)
        size = np.abs(other.coefs_paths_[label]).max()
        np.testing.assert_allclose(mine.coefs_paths_[label], other.coefs_paths_[label], atol=1e-2 * size)


@pytest.mark.parametrize("data", [(X, Y), IRIS], ids=["two", "three"])
def test_newer_shapes_are_those_of_scikit_learn(data: Any) -> None:
    options = PLAIN | {"Cs": [1.0, 0.01], "cv": 3}
    mine, other = LogisticRegressionCV(**options).fit(*data), peer(**options).fit(*data)
    assert (mine.C_, mine.l1_ratio_) == (other.C_, other.l1_ratio_)
    for name in ("scores_", "coefs_paths_", "n_iter_", "Cs_", "l1_ratios_"):
        assert getattr(mine, name).shape == getattr(other, name).shape
    assert mine.score(*data) == pytest.approx(other.score(*data), rel=1e-4)
    shown = mine.set_params(use_legacy_attributes=True)
    assert shown.C_.tolist() == [other.C_] * (1 if len(mine.classes_) == 2 else 3)


def test_both_shapes_are_one_file(tmp_path: Any) -> None:
    model = LogisticRegressionCV(Cs=2, cv=3, **(PLAIN | {"use_legacy_attributes": True})).fit(*IRIS)
    model.save(tmp_path / "model")
    found = load(tmp_path / "model")
    np.testing.assert_array_equal(found.scores_[2], model.scores_[2])
    assert found.set_params(use_legacy_attributes=False).coefs_paths_.shape == (3, 1, 2, 3, 5)


@pytest.mark.parametrize("data", [(X, Y), IRIS], ids=["two", "three"])
def test_without_a_refit_coefficients_are_means(data: Any) -> None:
    options = PLAIN | {"Cs": [0.01, 1.0], "cv": 3, "refit": False}
    model, other = LogisticRegressionCV(**options).fit(*data), peer(**options).fit(*data)
    assert model.C_ == other.C_
    best = [model.coefs_paths_[k, 0, model.scores_[k, 0].argmax()] for k in range(3)]
    np.testing.assert_allclose(model.coef_, np.mean(best, axis=0)[:, :-1])
    np.testing.assert_allclose(model.coef_, other.coef_, atol=1e-2)
    assert model.evidence_.certificate.kind is Kind.CHECKED
    assert model.evidence_.verify(*data).stands is None
    model.coef_ = 1.1 * model.coef_
    assert model.evidence_.verify(*data).stands is False


def test_a_class_that_a_fold_does_not_have_is_improbable_there() -> None:
    """Each fold of plain iris holds out a class that it has not seen."""
    options = PLAIN | {"Cs": [1e-6, 1.0], "cv": KFold(3)}
    model = LogisticRegressionCV(**(options | {"scoring": "neg_brier_score"})).fit(*IRIS)
    assert np.isfinite(model.coefs_paths_).all()
    assert (model.scores_ < -1.0).all()
    assert model.C_ == 1e-6
    two = LogisticRegressionCV(**(options | {"cv": KFold(2)})).fit(np.arange(8.0)[:, None], np.repeat(["a", "b"], 4))
    assert (two.scores_ < -30).all()


def test_strengths_stay_in_the_order_they_came_in() -> None:
    model = LogisticRegressionCV(Cs=[100.0, 0.001, 1.0], cv=3, **PLAIN).fit(X, Y)
    sorted_too = LogisticRegressionCV(Cs=[0.001, 1.0, 100.0], cv=3, **PLAIN).fit(X, Y)
    np.testing.assert_array_equal(model.Cs_, [100.0, 0.001, 1.0])
    np.testing.assert_array_equal(model.scores_[..., [1, 2, 0]], sorted_too.scores_)
    assert model.C_ == sorted_too.C_


def test_groups_reach_the_splitter_and_weights_the_scorer() -> None:
    groups, weights = np.arange(len(Y)) % 5, 1.0 + np.arange(len(Y)) % 3
    with pytest.raises(ValueError, match="only supported if enable_metadata_routing=True"):
        LogisticRegressionCV(**PLAIN).fit(X, Y, groups=groups)
    with config_context(enable_metadata_routing=True):
        scorer = get_scorer("neg_log_loss").set_score_request(sample_weight=True)
        model = LogisticRegressionCV(Cs=2, cv=GroupKFold(3), **(PLAIN | {"scoring": scorer}))
        model.set_fit_request(sample_weight=True).fit(X, Y, groups=groups, sample_weight=weights)
        routed = model.score(X, Y, sample_weight=weights)
    folds = list(GroupKFold(3).split(X, Y, groups))
    plain = LogisticRegressionCV(Cs=2, cv=folds, **PLAIN).fit(X, Y, sample_weight=weights)
    np.testing.assert_allclose(model.scores_, plain.scores_)
    assert routed == pytest.approx(plain.score(X, Y, sample_weight=weights))
