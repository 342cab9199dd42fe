"""What ``Blocks`` takes, and what is said where it is not taken."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import corollary
from corollary import PCA, Blocks, KMeans, Lasso, LinearRegression, MiniBatchKMeans, VotingRegressor
from corollary.core import blocks as module

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = X @ [1.0, 2.0, 3.0] + RNG.normal(size=60)
PARTS = [(X[:20], Y[:20]), (X[20:20], Y[20:20]), (X[20:], Y[20:])]  # one has no rows
WHOLE = LinearRegression().fit(X, Y)


def memory_map(folder: Path) -> Any:
    np.save(folder / "X.npy", X)
    return np.load(folder / "X.npy", mmap_mode="r")


@pytest.mark.parametrize("kind", ["array", "memory map", "csr", "csc", "coo", "pandas", "polars"])
def test_a_table_is_cut_into_blocks(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TABLE_BYTES", 200)
    table = {
        "array": lambda: X,
        "memory map": lambda: memory_map(tmp_path),
        "csr": lambda: sparse.csr_array(X),
        "csc": lambda: sparse.csc_array(X),
        "coo": lambda: sparse.coo_matrix(X),
        "pandas": lambda: pd.DataFrame(X, columns=list("abc"), index=np.linspace(0, 1, 60)),
        "polars": lambda: pl.DataFrame(X, schema=list("abc")),
    }[kind]()
    assert len(list(Blocks(table))) > 5
    np.testing.assert_allclose(PCA(2).fit(Blocks(table)).mean_, X.mean(axis=0))
    np.testing.assert_allclose(LinearRegression().fit(Blocks((table, Y))).coef_, WHOLE.coef_)


def test_weights_are_cut_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TABLE_BYTES", 200)
    weights = RNG.uniform(size=60)
    whole, parts = LinearRegression().fit(X, Y, weights), LinearRegression().fit(Blocks((X, Y, weights)))
    np.testing.assert_allclose(parts.coef_, whole.coef_)
    with pytest.raises(ValueError, match="X has 60 rows, but its y or sample_weight has 9"):
        Blocks((X, Y[:9]))


def test_two_tables_are_two_blocks() -> None:
    assert len(list(Blocks((X[:30], X[30:])))) == 2


def test_a_function_makes_the_blocks_anew() -> None:
    for source in (PARTS, lambda: (part for part in PARTS), lambda: PARTS):
        np.testing.assert_allclose(LinearRegression().fit(Blocks(source)).coef_, WHOLE.coef_)
    with pytest.raises(TypeError, match="must return an iterator of blocks, but it gave 3"):
        LinearRegression().fit(Blocks(lambda: 3))


@pytest.mark.parametrize("source", [None, 3, "rows.csv", b"rows", Path("rows.csv"), {"a": [1.0]}], ids=repr)
def test_other_sources_are_refused_in_a_sentence(source: Any) -> None:
    with pytest.raises(TypeError, match=f"Blocks takes a table, a list .* a {type(source).__name__}"):
        Blocks(source)


def test_an_iterator_is_refused_with_the_remedy() -> None:
    with pytest.raises(ValueError, match=r"empty after one pass.*Blocks\(lambda"):
        Blocks(iter(PARTS))


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ((np.full((5, 3), np.nan), Y[:5]), "Block 3: Input X contains NaN"),
        ((X, Y[:9]), "Block 3: .*inconsistent"),
        ((X[:, :2], Y), "Block 3: X has 2 features"),
        ((X,), "Block 3: Lasso needs y"),
        ((X, Y, -np.ones(60)), "Block 3: Negative"),
        ((X, Y, Y, Y), "Block 3: .*this one has 4 parts"),
        ((), "Block 3: .*this one has 0 parts"),
    ],
)
def test_errors_name_the_block(bad: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Lasso().fit(Blocks([*PARTS, bad]))


def test_repr() -> None:
    assert repr(Blocks(PARTS)) == "Blocks(list of 3)"
    assert repr(Blocks(X, executor="threads")) == "Blocks(ndarray of shape (60, 3), executor='threads')"
    assert repr(Blocks(test_repr)) == "Blocks(test_repr)"


LEARN = ["LinearRegression", "Ridge", "Lasso", "KMeans", "MiniBatchKMeans", "SoftKMeans", "PCA"]
OTHERS = [
    *["GradientBoostingRegressor", "RandomForestRegressor", "DecisionTreeRegressor", "KNeighborsRegressor"],
    *["BaggingRegressor", "AdaBoostClassifier", "KMedoids", "AgglomerativeClustering", "SpectralClustering"],
    *["NearestNeighbors", "HaarFeatures", "CascadeClassifier"],
]


@pytest.mark.parametrize("name", OTHERS)
def test_models_that_do_not_learn_from_blocks_say_so(name: str) -> None:
    with pytest.raises(TypeError, match=f"{name} does not learn from Blocks.*The fit of linear models, KMeans"):
        getattr(corollary, name)().fit(Blocks(PARTS))


@pytest.mark.parametrize("name", [name for name in OTHERS if "C" not in name[:1]])
def test_also_with_y(name: str) -> None:
    with pytest.raises(TypeError, match=f"{name} does not learn from Blocks"):
        getattr(corollary, name)().fit(Blocks(PARTS), Y)
    with pytest.raises(TypeError, match="VotingRegressor does not learn from Blocks"):
        VotingRegressor([("a", Lasso())]).fit(Blocks(PARTS), Y)


@pytest.mark.parametrize("name", LEARN)
def test_models_that_do(name: str) -> None:
    getattr(corollary, name)().fit(Blocks(PARTS))


def test_one_block_at_a_time() -> None:
    blocks, lasso, kmeans = Blocks(PARTS), Lasso(0.1).fit(X, Y), KMeans(2, random_state=0).fit(X)
    for name, call in {
        "Lasso.predict": lasso.predict,
        "Lasso.score": lasso.score,
        "KMeans.predict": kmeans.predict,
        "KMeans.transform": kmeans.transform,
        "PCA.transform": PCA(2).fit_transform,
        "LinearRegression.partial_fit": LinearRegression().partial_fit,
        "MiniBatchKMeans.partial_fit": MiniBatchKMeans(2).partial_fit,
    }.items():
        with pytest.raises(TypeError, match=f"{name} takes one block at a time"):
            call(blocks)
        with pytest.raises(TypeError, match=f"{name} takes one block at a time"):
            call(X=blocks)
    with pytest.raises(TypeError, match="Blocks are not an array"):
        make_pipeline(StandardScaler(), Lasso()).fit(blocks)
