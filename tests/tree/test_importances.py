"""Importances: the four measures agree on what is obvious, and are drawn in one order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse

from corollary import GradientBoostingRegressor
from corollary.tree.importances import Importances, _shuffled, importances, plot_importances


@pytest.fixture(autouse=True)
def close() -> Iterator[None]:
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def found() -> Importances:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(1200, 4)), columns=["weak", "strong", "noise", "constant"])
    X["constant"] = 1.0
    y = X["weak"] + 5 * X["strong"] + 0.1 * rng.normal(size=len(X))
    model = GradientBoostingRegressor(n_estimators=20).fit(X[:600], y[:600])
    return importances(model, X[:1100], y[:1100])


@pytest.mark.parametrize("measure", ["gain", "splits", "SHAP", "permutation"])
def test_every_measure_finds_the_strong_column(found: Importances, measure: str) -> None:
    values = found.measures[measure]
    assert found.feature_names[found.ranking(measure)[0]] == "strong"
    assert values[3] == 0.0
    assert values[1] > values[0] > values[2]


def test_shares_sum_to_one(found: Importances) -> None:
    for measure in ("gain", "splits"):
        assert found.measures[measure].sum() == pytest.approx(1)
    assert list(found.spread) == ["permutation"]


def test_plot_has_a_panel_for_each_measure_in_one_order(found: Importances) -> None:
    axes = found.plot(top=3)
    assert [ax.get_title(loc="left") for ax in axes] == ["gain", "splits", "SHAP", "permutation"]
    names = [label.get_text() for label in axes[0].get_yticklabels()]
    assert names[:2] == ["strong", "weak"]
    for ax, values in zip(axes, found.measures.values(), strict=True):
        assert ax.patches[0].get_width() == pytest.approx(values[1])


def test_less_is_measured_with_less() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    model = GradientBoostingRegressor(n_estimators=5).fit(X, X[:, 0])
    assert list(importances(model).measures) == ["gain", "splits"]
    assert list(importances(model, X).measures) == ["gain", "splits", "SHAP"]
    with pytest.raises(ValueError, match="without X"):
        importances(model, y=X[:, 0])
    with pytest.raises(ValueError, match="measure must be"):
        importances(model).plot(order="beauty")


@pytest.mark.parametrize("kind", ["array", "pandas", "polars", "sparse"])
def test_shuffling_keeps_the_kind_and_moves_one_column(kind: str) -> None:
    X = np.arange(12.0).reshape(4, 3)
    order = np.array([2, 0, 3, 1])
    expected = X.copy()
    expected[:, 1] = X[order, 1]
    given: Any = {
        "array": X,
        "pandas": pd.DataFrame(X, columns=list("abc"), index=[7, 3, 9, 1]),
        "polars": pl.DataFrame(X, schema=list("abc")),
        "sparse": scipy.sparse.csr_array(X),
    }[kind]
    found = _shuffled(given, 1, order)
    if kind == "pandas":
        assert list(found.index) == [7, 3, 9, 1]
    np.testing.assert_array_equal(found.toarray() if kind == "sparse" else np.asarray(found), expected)
    assert type(found) is type(given)


def test_frames_with_categories_are_measured_as_they_are() -> None:
    rng = np.random.default_rng(0)
    colour, size = rng.choice(["red", "green", "blue"], 300), rng.normal(size=300)
    y = np.where(colour == "red", 3.0, 0.0) + size
    X = pl.DataFrame({"size": size, "colour": pl.Series(colour, dtype=pl.Categorical)})
    found = importances(GradientBoostingRegressor(n_estimators=20).fit(X, y), X, y)
    assert (found.measures["permutation"] > 0.1).all()


def test_any_numbers_can_be_drawn() -> None:
    (axes,) = plot_importances({"mine": np.array([1.0, 3.0])}, ["a", "b"], np.array([1, 0]))
    assert [bar.get_width() for bar in axes.patches] == [3.0, 1.0]
