"""Explanations against brute force, the identities of Shapley values, and what a user reads."""

from __future__ import annotations

from itertools import combinations
from math import factorial
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

import corollary
from corollary import explain
from corollary.core.loss import Poisson
from corollary.explaining.explain import stands_alone

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 4))
y = X[:, 0] * X[:, 1] + X[:, 2] + 0.1 * rng.normal(size=60)


def brute_force(predict: Any, row: Any, background: Any) -> Any:
    """Shapley values by their definition, over all sets of columns."""
    d = len(row)

    def worth(known: tuple[int, ...]) -> float:
        mixed = background.copy()
        mixed[:, list(known)] = row[list(known)]
        return float(np.mean(predict(mixed)))

    values = np.zeros(d)
    for j in range(d):
        others = [k for k in range(d) if k != j]
        for size in range(d):
            share = factorial(size) * factorial(d - size - 1) / factorial(d)
            values[j] += share * sum(worth((*s, j)) - worth(s) for s in combinations(others, size))
    return values


def test_sampled_values_agree_with_their_definition_within_their_errors() -> None:
    model = corollary.KNeighborsRegressor(5).fit(X, y)
    background = X[:16]
    found = explain(model, X[40:44], background=background, draws=1600)
    truth = np.array([brute_force(model.predict, row, background) for row in X[40:44]])
    assert found.standard_errors is not None
    assert (np.abs(found.values - truth) <= 4 * found.standard_errors + 1e-12).all()
    assert found.standard_errors.max() < 0.05
    np.testing.assert_allclose(found.base_values, model.predict(background).mean())


def test_of_an_additive_model_every_order_is_exact() -> None:
    model = corollary.Ridge().fit(X, y)
    background = X[:2]
    exact = explain(model, X[:5], background=background)
    sampled = explain(Ridge().fit(X, y), X[:5], background=background, draws=4)  # of which nothing is known
    assert exact.standard_errors is None
    np.testing.assert_allclose(exact.values, model.coef_ * (X[:5] - background.mean(axis=0)))
    np.testing.assert_allclose(sampled.values, exact.values, atol=1e-9)
    assert "Coefficient × distance from the mean of 2 rows" in str(exact)


def test_linear_models_in_the_space_of_their_link() -> None:
    counts = rng.poisson(np.exp(0.3 * X[:, 0])).astype(float)
    model = corollary.LinearModel(Poisson(), alpha=0.01).fit(X, counts)
    found = model.explain(X[:5], background=X)
    assert found.meaning == "logarithm of the prediction"
    np.testing.assert_allclose(np.exp(found.predictions), model.predict(X[:5]))
    sparse_found = model.explain(sparse.csr_array(X[:5]), background=sparse.csr_array(X))
    np.testing.assert_allclose(sparse_found.values, found.values)


def test_columns_of_a_table_add_up_through_its_preparation() -> None:
    n = 120
    table = pd.DataFrame({
        "size": rng.normal(50, 10, n).round(1),
        "colour": rng.choice(["red", "green", "blue"], n),
        "sold": pd.date_range("2020-01-01", periods=n, freq="D").strftime("%Y-%m-%d"),
    })  # fmt: skip
    table["price"] = 3 * table["size"] + 40 * (table["colour"] == "red") + rng.normal(size=n)
    table.loc[::9, "size"] = np.nan
    models = {
        "ridge": corollary.Ridge(),
        "boosting": corollary.GradientBoostingRegressor(n_estimators=20),
        "neighbours": corollary.KNeighborsRegressor(3),
    }
    for name, model in models.items():
        result = corollary.compare(table, "price", models={name: model}, folds=2)
        rows = table.drop(columns="price")[:20]
        found = explain(result.best_, rows, background=rows, draws=8)
        assert set(found.feature_names) == {"size", "colour", "sold"}, name
        np.testing.assert_allclose(found.predictions, result.best_.predict(rows), rtol=1e-6)
        assert found.shown(0, 0) == "missing"
        assert found.feature_names[int(np.argmax(found.importances()))] in ("size", "colour")


def test_a_linear_pipeline_of_compare_knows_its_middle() -> None:
    rng = np.random.default_rng(0)
    n = 90
    table = pd.DataFrame({
        "size": rng.normal(5, 2, n), "colour": rng.choice(["red", "green", "blue"], n),
        "new": rng.choice(["y", "n"], n),
        "sold": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 90, n), unit="D"),
    })  # fmt: skip
    table["price"] = 3 * table["size"] + 40 * (table["colour"] == "red") + rng.normal(size=n)
    model = corollary.compare(table, "price", models={"m": corollary.Ridge()}, folds=2).best_
    rows = table.drop(columns="price")
    whole, one = explain(model, rows), explain(model, rows[7:8])
    np.testing.assert_allclose(one.values[0], whole.values[7])
    np.testing.assert_allclose(whole.predictions, model.predict(rows))
    found = whole.to_frame()
    np.testing.assert_allclose(found["size"].mean(), 0.0, atol=1e-9)  # from the mean of the rows of the fit
    levels = [found["colour"][table["colour"] == each].iloc[0] for each in ("red", "green", "blue")]
    np.testing.assert_allclose(sum(levels), 0.0, atol=1e-9)  # every category alike
    np.testing.assert_allclose(sum(found["new"][table["new"] == each].iloc[0] for each in "yn"), 0.0, atol=1e-9)
    assert stands_alone(model, rows)
    assert not stands_alone(corollary.Ridge().fit(X, y), X)


def test_a_pipeline_that_cannot_be_traced_is_explained_as_a_whole() -> None:
    model = make_pipeline(PolynomialFeatures(2), StandardScaler(), corollary.Ridge()).fit(X, y)
    found = explain(model, X[:3], background=X[:8])
    assert found.values.shape == (3, 4)
    assert "estimated" in str(found)
    np.testing.assert_allclose(found.predictions, model.predict(X[:3]))
    scaled = make_pipeline(StandardScaler(), corollary.Ridge()).fit(X, y)
    exact = explain(scaled, X)
    slopes = scaled[-1].coef_ / scaled[0].scale_
    np.testing.assert_allclose(exact.values, slopes * (X - X.mean(axis=0)), atol=1e-12)


def test_frames_of_every_kind_and_text() -> None:
    table = pd.DataFrame({"colour": ["red", "blue", "green"] * 10, "size": np.arange(30.0)})
    label = (table["colour"] == "red").to_numpy()
    model = corollary.MixedNB().fit(table, label)
    found = model.explain(table[:6], background=table, draws=8)
    assert found.importances().argmax() == 0
    assert found.shown(0, 0) == "red"
    other = corollary.MixedNB().fit(pl.from_pandas(table), label)
    same = other.explain(pl.from_pandas(table[:6]), background=pl.from_pandas(table), draws=8)
    np.testing.assert_allclose(same.values, found.values)
    typed = table.astype({"colour": "category"})
    voted = corollary.VotingClassifier([("t", corollary.RandomForestClassifier(5, random_state=0))], voting="soft")
    voted = voted.fit(typed, label)
    few = typed[:3].assign(colour=typed["colour"][:3].cat.remove_unused_categories())
    assert voted.explain(few, background=typed[3:9], draws=4).certificate.holds


def test_the_sentence_and_the_pictures() -> None:
    data, target = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    model = corollary.GradientBoostingRegressor(n_estimators=30).fit(data, target)
    many, one = model.explain(data), model.explain(data[:1])
    assert str(many).startswith("Over 442 rows the prediction, 152 at its base, moves most with ")
    assert str(one).startswith(f"The prediction is {float(model.predict(data[:1])[0]):,.3g}, from a base of 152, moved")
    import matplotlib.pyplot as plt

    bars, dots = one.plot(), many.plot()
    assert len(bars.patches) == 10
    assert "Shapley value" in dots.get_xlabel()
    plt.close("all")


def test_neighbours_hold_a_single_row_against_the_rows_they_keep() -> None:
    frame = pd.DataFrame(X, columns=list("abcd")).assign(d=np.arange(60))
    model = corollary.KNeighborsRegressor(3).fit(frame, y)
    assert model.explain(frame[:1]).certificate.holds
    with pytest.raises(ValueError, match="One row has nothing to be held against: pass background="):
        corollary.Ridge().fit(X, y).explain(X[:1])


def test_what_cannot_be_explained_says_so() -> None:
    with pytest.raises(TypeError, match="KMeans makes none"):
        explain(corollary.KMeans(2).fit(X), X)
    assert not hasattr(corollary.KMeans(2), "explain")
    assert not hasattr(corollary.PCA(2), "report")
    model = corollary.KNeighborsRegressor(3).fit(X, y)
    with pytest.raises(ValueError, match="draws must be ≥ 4, but it is 1"):
        model.explain(X, draws=1)
    with pytest.raises(ValueError, match="fewer rows at a time"):
        model.explain(np.repeat(X, 5000, axis=0), draws=4000)
    rows, other = (pd.DataFrame(X, columns=list(names)) for names in ("abcd", "wxyz"))
    model = corollary.KNeighborsRegressor(3).fit(rows, y)
    with pytest.raises(ValueError, match=r"background must have the columns of X, \['a', 'b', 'c', 'd'\]"):
        model.explain(rows, background=other)
