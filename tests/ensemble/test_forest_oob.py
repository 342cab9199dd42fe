"""Out-of-bag evidence: votes, scores, permutation importance, pictures."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris, make_classification, make_regression

from corollary import Status
from corollary.callbacks import TimeBudget
from corollary.ensemble.forest.extra_trees import ExtraTreesClassifier
from corollary.ensemble.forest.random_forest import RandomForestClassifier, RandomForestRegressor
from corollary.solvers.draws import row_keys
from corollary.solvers.trees.forest.rows import BinnedRows

mpl.use("agg")


def outside(model: Any, X: Any, y: Any) -> Any:
    """Which rows each tree did not draw, by hand from its seed: bool (rows, trees)."""
    order = np.argsort(row_keys(X, y), kind="stable")
    n = len(X)
    lines = BinnedRows(np.empty((1, n)), None, *[None] * 6, None, False, n, np.empty(0))
    missed = np.empty((n, len(model.nodes_["seeds"])), dtype=bool)
    for t, seed in enumerate(model.nodes_["seeds"]):
        missed[order, t] = lines.drawn(int(seed)) == 0
    return missed


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
@pytest.mark.parametrize("n_classes", [2, 3])
def test_votes_are_those_of_trees_that_did_not_see_the_row(n_classes: int) -> None:
    X, y = make_classification(150, 5, n_informative=4, n_redundant=0, n_classes=n_classes, random_state=0)
    model = RandomForestClassifier(n_estimators=12, oob_score=True, random_state=0).fit(X, y)
    missed, leaves = outside(model, X, y), model.trees_.apply(X)
    assert 0.3 < missed.mean() < 0.45
    expected = np.full((150, n_classes), np.nan)
    for i in range(150):
        if missed[i].any():
            expected[i] = model.trees_.value[leaves[i][missed[i]]].mean(axis=0)
    np.testing.assert_allclose(model.oob_decision_function_, expected, atol=1e-12)
    judged = ~np.isnan(expected[:, 0])
    assert model.oob_score_ == pytest.approx((expected[judged].argmax(axis=1) == y[judged]).mean())
    facts = model.evidence_.facts
    assert facts["OOB error"] == pytest.approx(1 - model.oob_score_)
    assert facts["standard error"] == pytest.approx(np.sqrt(model.oob_score_ * (1 - model.oob_score_) / judged.sum()))
    assert facts["rows without an OOB vote"] == (~judged).sum()
    assert facts["share of rows in a tree's sample"] == pytest.approx(1 - missed.mean())


def test_out_of_bag_numbers() -> None:
    X, y = make_regression(200, 4, noise=3.0, random_state=0)
    model = RandomForestRegressor(n_estimators=40, oob_score=True, random_state=0).fit(X, y)
    missed, leaves = outside(model, X, y), model.trees_.apply(X)
    expected = np.array([model.trees_.value[leaves[i][missed[i]], 0].mean() for i in range(200)])
    np.testing.assert_allclose(model.oob_prediction_, expected, rtol=1e-12)
    assert model.oob_score_ == pytest.approx(1 - np.mean((y - expected) ** 2) / np.var(y))
    assert model.evidence_.history["OOB error"][-1] == pytest.approx(np.mean((y - expected) ** 2))
    several = RandomForestRegressor(n_estimators=30, oob_score=True, random_state=0).fit(X, np.column_stack([y, -y]))
    np.testing.assert_allclose(several.oob_prediction_[:, 0], -several.oob_prediction_[:, 1], atol=1e-9)


def test_out_of_bag_is_an_honest_judge() -> None:
    X, y = make_classification(2000, 10, n_informative=5, flip_y=0.1, random_state=1)
    model = RandomForestClassifier(oob_score=True, random_state=0).fit(X[:1000], y[:1000])
    assert abs(model.oob_score_ - model.score(X[1000:], y[1000:])) < 0.04
    assert model.score(X[:1000], y[:1000]) > 0.99  # which the training rows are not
    history = model.evidence_.history
    assert len(history["OOB error"]) == len(history["iteration"]) == 100
    assert history["OOB error"][-1] < history["OOB error"][0]
    assert 0.62 < model.evidence_.facts["share of rows in a tree's sample"] < 0.645


def test_a_score_of_your_own_and_rows_that_are_always_drawn() -> None:
    X, y = load_iris(return_X_y=True)
    model = RandomForestClassifier(n_estimators=2, oob_score=lambda truth, found: 42.0, random_state=0)
    with pytest.warns(UserWarning, match="Some inputs do not have OOB scores"):
        model.fit(X, y)
    assert model.oob_score_ == 42.0
    without = np.isnan(model.oob_decision_function_[:, 0])
    assert without.any()
    assert f"{without.sum()} rows are in the sample of every tree" in str(model.evidence_)


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
def test_a_warm_start_keeps_the_votes() -> None:
    X, y = load_iris(return_X_y=True)
    whole = RandomForestClassifier(n_estimators=9, oob_score=True, random_state=0).fit(X, y)
    parts = RandomForestClassifier(n_estimators=7, oob_score=True, random_state=0, warm_start=True)
    parts.fit(X, y).set_params(n_estimators=9).fit(X, y)
    np.testing.assert_allclose(parts.oob_decision_function_, whole.oob_decision_function_, atol=1e-12)


def test_max_samples() -> None:
    X, y = load_iris(return_X_y=True)
    for wanted, draws in ((30, 30), (0.2, 30), (1.0, 150), (None, 150)):
        model = RandomForestClassifier(n_estimators=5, max_samples=wanted, random_state=0).fit(X, y)
        assert (model.trees_.weight[model.trees_.roots] == draws).all()


@pytest.mark.parametrize("classes", [True, False])
def test_permutation_importance_finds_the_columns_that_matter(classes: bool) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 6))
    signal = 2 * X[:, 0] + X[:, 3]
    y = (signal > 0) if classes else signal
    model = (RandomForestClassifier if classes else RandomForestRegressor)(n_estimators=60, random_state=0).fit(X, y)
    found = model.oob_permutation_importance(X, y)
    assert found.importances.shape == (6, 60)
    noise = [1, 2, 4, 5]
    assert found.importances_mean[0] > found.importances_mean[3] > 10 * np.abs(found.importances_mean[noise]).max()
    assert (np.abs(found.importances_mean[noise]) < 4 * found.importances_standard_error[noise] + 0.01).all()
    np.testing.assert_allclose(found.importances_mean, found.importances.mean(axis=1))
    again = model.set_params(n_jobs=1).oob_permutation_importance(X, y)
    np.testing.assert_array_equal(found.importances, again.importances)
    shuffled = rng.permutation(600)
    np.testing.assert_allclose(
        model.oob_permutation_importance(X[shuffled], y[shuffled]).importances, found.importances
    )


def test_permutation_importance_by_hand() -> None:
    X, y = make_regression(120, 3, n_informative=1, random_state=0)
    model = RandomForestRegressor(n_estimators=25, random_state=0).fit(X, y)
    found = model.oob_permutation_importance(X, y, n_repeats=20)
    missed, rng = outside(model, X, y), np.random.default_rng(0)
    expected = np.zeros(3)
    for t in range(25):
        tree, rows = model.trees_.tree(t), missed[:, t]
        plain = np.mean((tree.predict_sum(X[rows])[:, 0] - y[rows]) ** 2)
        for f in range(3):
            for _ in range(20):
                moved = X[rows].copy()
                moved[:, f] = rng.permutation(moved[:, f])
                expected[f] += (np.mean((tree.predict_sum(moved)[:, 0] - y[rows]) ** 2) - plain) / 500
    np.testing.assert_allclose(found.importances_mean, expected, rtol=0.1, atol=0.01 * expected.max())


def test_permutation_importance_is_about_the_rows_of_the_fit() -> None:
    X, y = load_iris(return_X_y=True)
    model = RandomForestClassifier(n_estimators=3, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="must be those of the fit"):
        model.oob_permutation_importance(X[:100], y[:100])
    with pytest.raises(ValueError, match="must be those of the fit"):
        model.oob_permutation_importance(X, y, sample_weight=np.full(150, 2.0))
    with pytest.raises(ValueError, match="needs bootstrap=True"):
        ExtraTreesClassifier(n_estimators=3).fit(X, y).oob_permutation_importance(X, y)


def test_a_forest_that_was_stopped_says_so() -> None:
    X, y = load_diabetes(return_X_y=True)
    model = RandomForestRegressor(n_estimators=50, random_state=0).set_callbacks(TimeBudget(1e-9))
    with pytest.warns(UserWarning, match="stopped by a callback"):
        model.fit(X, y)
    assert model.evidence_.status is Status.BUDGET
    assert not model.evidence_.holds
    assert model.trees_.n_trees < 50
    assert np.isfinite(model.predict(X)).all()


def test_pictures() -> None:
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = RandomForestClassifier(n_estimators=20, oob_score=True, random_state=0).fit(X, y)
    ax = model.plot()
    assert ax.get_xlabel() == "trees"
    np.testing.assert_allclose(ax.lines[0].get_ydata(), model.evidence_.history["OOB error"])
    ax = model.plot_importances()
    assert ax.get_yticklabels()[0].get_text().startswith("petal")
    ax = model.plot_importances(model.oob_permutation_importance(X, y), top=2)
    assert len(ax.patches) == 2
    with pytest.raises(ValueError, match="oob_score=True"):
        RandomForestClassifier(n_estimators=2).fit(X, y).plot()
