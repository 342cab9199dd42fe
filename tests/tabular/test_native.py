"""The preparation for trees, where features come from, and fewer components of wide tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.pipeline import Pipeline

import corollary
from corollary.tabular.columns import (
    CategoryCodes,
    Components,
    categorical_positions,
    feature_sources,
    preparation,
    readable_names,
)
from corollary.tabular.roles import find_roles

ROWS = 200


def _frame() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    words = np.array(["red", "green", "old", "new", "car", "bike"])
    return pd.DataFrame(
        {
            "x": np.where(rng.random(ROWS) < 0.1, np.nan, rng.normal(size=ROWS)),
            "x_y": [f"${1000 + 7 * i:,}" for i in range(ROWS)],
            "yes": rng.random(ROWS) < 0.5,
            "kind": rng.choice(["a", "b", "c_d"], ROWS),
            "kind_b": np.where(rng.random(ROWS) < 0.2, None, rng.choice(["u", "v"], ROWS)),
            "when": pd.date_range("2020-01-01", periods=ROWS).astype(str),
            "note": [" ".join(rng.choice(words, 4)) + f" no{i}" for i in range(ROWS)],
        }
    )


def _fitted(**options: Any) -> tuple[Pipeline, Any]:
    frame = _frame()
    pipeline = Pipeline([("prepare", preparation(find_roles(frame, "t"), ROWS, **options))])
    return pipeline, pipeline.fit_transform(frame)


def test_the_native_preparation_keeps_gaps_codes_and_units() -> None:
    frame, (pipeline, found) = _frame(), _fitted(native=True)
    columns = find_roles(frame, "t")
    names, sources = readable_names(pipeline), feature_sources(pipeline)
    assert found.shape == (ROWS, len(names)) == (ROWS, len(sources))
    assert names[:4] == ["kind", "kind_b", "x", "x_y"]
    assert [names[position] for position in categorical_positions(columns)] == ["kind", "kind_b"]
    np.testing.assert_array_equal(found[:, 0], np.unique(frame["kind"], return_inverse=True)[1])
    np.testing.assert_array_equal(np.isnan(found[:, 1]), frame["kind_b"].isna())
    np.testing.assert_array_equal(found[:, 2], frame["x"])
    np.testing.assert_array_equal(found[:, 3], 1000.0 + 7 * np.arange(ROWS))
    assert "when (month)" in names
    assert "note (length)" in names
    assert sources[names.index("note (component 1)")] == "note"


def test_sources_of_the_plain_preparation() -> None:
    pipeline, found = _fitted()
    names, sources = readable_names(pipeline), feature_sources(pipeline)
    assert found.shape[1] == len(names) == len(sources)
    pairs = dict(zip(names, sources, strict=True))
    expected = {"x": "x", "x is missing": "x", "x_y": "x_y", "yes = True": "yes", "kind = c_d": "kind"}
    expected |= {"kind_b = (missing)": "kind_b", "when (elapsed days)": "when", "note has 'red'": "note"}
    assert {name: pairs.get(name) for name in expected} == expected
    assert set(sources) == set(_frame().columns)


def test_the_model_takes_the_raw_frame_and_is_saved(tmp_path: Path) -> None:
    frame = _frame()
    columns = find_roles(frame, "t")
    y = frame["x"].fillna(0) + (frame["kind"] == "a")
    model = corollary.GradientBoostingRegressor(n_estimators=5, categorical_features=categorical_positions(columns))
    pipeline = Pipeline([("prepare", preparation(columns, ROWS, native=True)), ("model", model)]).fit(frame, y)
    corollary.save(pipeline, tmp_path / "m.corollary")
    again = corollary.load(tmp_path / "m.corollary")
    np.testing.assert_array_equal(again.predict(frame), pipeline.predict(frame))
    assert feature_sources(again) == feature_sources(pipeline)
    new = frame.assign(kind="never seen", note=None, yes="maybe", when=None)
    assert np.isfinite(again.predict(new)).all()


def test_codes_of_many_labels() -> None:
    labels = [f"k{i % 400:03d}" for i in range(1000)]  # the first 200 stand three times, the others twice
    codes = CategoryCodes(most=50).fit(pd.DataFrame({"a": labels}))
    found = codes.transform(pd.DataFrame({"a": ["k000", "k048", "k049", "k399", "new", None]})).ravel()
    np.testing.assert_array_equal(found, [0, 48, 49, 49, 49, np.nan])
    assert np.unique(codes.transform(pd.DataFrame({"a": labels}))).tolist() == list(range(50))
    none_rare = CategoryCodes(at_least=2, most=400).fit(pd.DataFrame({"a": labels}))
    assert np.isnan(none_rare.transform(pd.DataFrame({"a": ["new"]}))).all()


def test_rare_labels_share_a_code_that_models_take() -> None:
    frame = pd.DataFrame({"kind": [f"k{i % 300}" for i in range(3300)] + [f"once {i}" for i in range(100)]})
    columns = find_roles(frame, "t", categorical=["kind"])
    X = preparation(columns, len(frame), native=True).fit_transform(frame)
    assert X.max() == 254
    y = (X[:, 0] % 2 == 0).astype(int)
    for model in (corollary.RandomForestClassifier(n_estimators=2), corollary.DecisionTreeClassifier()):
        model.set_params(categorical_features=[0], random_state=0)
        assert model.fit(X, y).score(X, y) == 1.0


def test_components_are_those_of_the_peers() -> None:
    X = np.random.default_rng(0).normal(size=(30, 200)) * np.linspace(1, 5, 200)
    ours = Components(5).fit(X)
    peer = PCA(5).fit(X)
    np.testing.assert_allclose(np.abs(ours.transform(X)), np.abs(peer.transform(X)), rtol=1e-2, atol=0.2)
    thin = scipy.sparse.csr_array(np.where(np.abs(X) > 3, X, 0.0))
    expected = TruncatedSVD(5, random_state=0).fit(thin).transform(thin)
    np.testing.assert_allclose(Components(5).fit(thin).transform(thin), expected)
    assert Components(100).fit_transform(X).shape == (30, 29)
    assert Components(500).fit_transform(thin[:, :3]).shape == (30, 3)


def test_components_of_a_table(tmp_path: Path) -> None:
    pipeline, found = _fitted(components=3)
    assert found.shape == (ROWS, 3)
    assert readable_names(pipeline) == feature_sources(pipeline) == ["component 1", "component 2", "component 3"]
    corollary.save(pipeline, tmp_path / "m.corollary")
    np.testing.assert_array_equal(corollary.load(tmp_path / "m.corollary").transform(_frame()), found)


@pytest.mark.parametrize("native", [False, True])
def test_columns_named_alike_are_told_apart(native: bool) -> None:
    frame = pd.DataFrame({"a": ["b_c", "x"] * 20, "a_b": ["c", "d", "c", "c"] * 10, "a_b_c": [1.0, 2.0] * 20})
    prepare = preparation(find_roles(frame, "t"), 40, native=native).fit(frame)
    names = readable_names(Pipeline([("prepare", prepare)]))
    sources = feature_sources(Pipeline([("prepare", prepare)]))
    if native:
        assert names == sources == ["a", "a_b", "a_b_c"]
    else:
        assert names == ["a_b_c", "a = b_c", "a = x", "a_b = c", "a_b = d"]
        assert sources == ["a_b_c", "a", "a", "a_b", "a_b"]
