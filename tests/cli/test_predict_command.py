"""``corollary predict``: columns in any order, extra ones noted, missing ones named, nothing half-written."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import corollary

Run = Callable[..., Any]


@pytest.fixture
def model(run: Run, people_csv: Path, tmp_path: Path) -> Path:
    path = tmp_path / "best.corollary"
    assert run("compare", people_csv, "-t", "rich", "--save", path).code == 0
    return path


def test_stdout_is_csv_and_remarks_go_to_stderr(run: Run, model: Path, people: pd.DataFrame, people_csv: Path) -> None:
    outcome = run("predict", model, people_csv, "--proba")
    assert outcome.code == 0
    found = pd.read_csv(io.StringIO(outcome.out))
    assert list(found.columns) == ["prediction", "probability_poor", "probability_rich"]
    np.testing.assert_allclose(found.filter(like="probability").sum(axis=1), 1.0)
    chosen = np.where(found["probability_rich"] > 0.5, "rich", "poor")
    assert (found["prediction"] == chosen).all()
    assert "columns the model does not use: 'rich'" in outcome.err
    assert (found["prediction"] == corollary.load(model).predict(people)).all()


def test_order_does_not_matter(run: Run, model: Path, people: pd.DataFrame, people_csv: Path, tmp_path: Path) -> None:
    shuffled = tmp_path / "shuffled.parquet"
    people[people.columns[::-1]].to_parquet(shuffled)
    assert run("predict", model, shuffled).out == run("predict", model, people_csv).out


def test_missing_columns_are_named(run: Run, model: Path, people: pd.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "short.csv"
    people.drop(columns=["age", "city"]).to_csv(path, index=False)
    outcome = run("predict", model, path, "--out", tmp_path / "out.csv")
    assert outcome.code == 2
    assert outcome.err == f"corollary: {path}: lacks 2 columns the model needs: 'age', 'city'\n"
    assert not (tmp_path / "out.csv").exists()


def test_new_categories_and_gaps_are_fine(run: Run, model: Path, people: pd.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "new.csv"
    people.head(3).assign(city="Atlantis", height="?", since="", member="perhaps").to_csv(path, index=False)
    outcome = run("predict", model, path)
    assert outcome.code == 0
    assert outcome.out.count("\n") == 4


def test_an_unreadable_value_is_named(run: Run, model: Path, people: pd.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "odd.csv"
    people.astype({"age": object}).replace({"age": {people["age"][2]: "old"}}).to_csv(path, index=False)
    outcome = run("predict", model, path)
    assert outcome.code == 2
    assert "column 'age': 'old' in row" in outcome.err
    people.assign(since="some day").to_csv(path, index=False)
    outcome = run("predict", model, path)
    assert outcome.code == 2
    assert "column 'since': 'some day' in row 1 is not a date" in outcome.err


def test_the_output_file(run: Run, model: Path, people_csv: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    outcome = run("predict", model, people_csv, "--out", out)
    assert outcome.out == ""
    assert "wrote 60 predictions" in outcome.err
    assert len(pd.read_csv(out)) == 60
    assert run("predict", model, people_csv, "--out", tmp_path / "no" / "out.csv").code == 2


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 not a zip", b"x,y\n1,2\n"])
def test_a_damaged_model_is_refused(content: bytes, run: Run, people_csv: Path, tmp_path: Path) -> None:
    path = tmp_path / "broken.corollary"
    path.write_bytes(content)
    for command in (("predict", path, people_csv), ("inspect", path)):
        outcome = run(*command)
        assert outcome.code == 2
        assert outcome.out == ""
        assert outcome.err.count("\n") == 1
        assert "broken.corollary" in outcome.err


def test_no_such_model_no_rows_no_probabilities(run: Run, model: Path, people_csv: Path, tmp_path: Path) -> None:
    assert "gone.corollary" in run("predict", tmp_path / "gone.corollary", people_csv).err
    empty = tmp_path / "empty.csv"
    empty.write_text(people_csv.read_text().split("\n")[0] + "\n")
    assert "0 rows" in run("predict", model, empty).err
    regression = tmp_path / "height.corollary"
    assert run("compare", people_csv, "-t", "height", "--drop-missing-target", "--save", regression).code == 0
    assert "--proba" in run("predict", regression, people_csv, "--proba").err


def test_a_model_fitted_to_plain_arrays(run: Run, tmp_path: Path) -> None:
    path, table = tmp_path / "ridge.corollary", tmp_path / "two.csv"
    corollary.save(corollary.LinearRegression().fit([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]], [1.0, 2.0, 5.0]), path)
    table.write_text("a,b\n0,1\n1,0\n")
    found = pd.read_csv(io.StringIO(run("predict", path, table).out))
    np.testing.assert_allclose(found["prediction"], [1.0, 2.0])
    table.write_text("a\n0\n")
    assert "the model was fitted with 2" in run("predict", path, table).err


def test_ids_join_and_reasons_add_up(run: Run, people: pd.DataFrame, tmp_path: Path) -> None:
    path, model = tmp_path / "named.csv", tmp_path / "logistic.corollary"
    people.assign(who=[f"person-{i}" for i in range(60)]).to_csv(path, index=False)
    X, y = people[["age", "height", "city"]].fillna({"height": 170.0, "city": "Ulm"}), people["rich"]
    found = corollary.compare(X.assign(rich=y), "rich", models={"m": corollary.LogisticRegression()}, folds=2)
    corollary.save(found.best_, model)
    outcome = run("predict", model, path, "--id", "who", "--explain")
    assert outcome.code == 0, outcome.err
    told = pd.read_csv(io.StringIO(outcome.out))
    assert list(told.columns) == [
        "who",
        "prediction",
        "because_1",
        "adds_1",
        "because_2",
        "adds_2",
        "because_3",
        "adds_3",
    ]
    assert told["who"].tolist() == [f"person-{i}" for i in range(60)]
    read = pd.read_csv(path)[["age", "height", "city"]]
    why = corollary.explain(found.best_, read).to_frame()
    named = told[["because_1", "because_2", "because_3"]].map(lambda text: text.partition(" = ")[0])
    adds = told[["adds_1", "adds_2", "adds_3"]].to_numpy()
    assert (np.diff(np.abs(adds), axis=1) <= 0).all()
    for row in range(60):
        np.testing.assert_allclose(adds[row], why.loc[row, named.iloc[row].tolist()], rtol=1e-5, atol=1e-9)
    assert told["because_1"].str.contains("age = ").any()
    assert "what these columns add to the log-odds of 'rich'" in outcome.err
    assert "'who'" not in outcome.err  # it is used, as the id
    people[:1].assign(who="person-0").to_csv(path, index=False)
    alone = run("predict", model, path, "--id", "who", "--explain")
    assert alone.out.splitlines()[1] == outcome.out.splitlines()[1]  # in whatever file the row is
    assert "means of numbers and dates, every category of a column alike" in alone.err


def test_an_unknown_id_is_refused(run: Run, people_csv: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.corollary"
    corollary.save(corollary.LinearRegression().fit([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]], [1.0, 2.0, 5.0]), model)
    table = tmp_path / "two.csv"
    table.write_text("k,a,b\nx,0,1\ny,1,0\n")
    outcome = run("predict", model, table, "--id", "key")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("corollary: --id key: ")
    assert "no such column" in outcome.err
    found = run("predict", model, table, "--id", "k")
    assert pd.read_csv(io.StringIO(found.out))["k"].tolist() == ["x", "y"]
    table.write_text("a,b\n0,1\n")
    alone = run("predict", model, table, "--explain")
    assert (alone.code, alone.err.count("\n")) == (2, 1)
    assert "has one row, and this model keeps no others to hold it against; put it into one file with" in alone.err
    table.write_text("a,b\n0,1\n1,1\n")
    assert "rows are held against those of" in run("predict", model, table, "--explain").err
