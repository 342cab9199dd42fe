"""The card in a model file: kept word for word, shown, and never believed before it was checked."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from model_files import forge, scaler
from sklearn.preprocessing import StandardScaler

from corollary import io
from corollary.io.card import ColumnOfCard, ModelCard, plain_line

CARD = ModelCard(
    model="Ridge",
    target="price",
    task="regression",
    source="houses.csv",
    sha256="0" * 64,
    rows=1200,
    metric="RMSE",
    score=20.5,
    low=18.0,
    high=23.0,
    baseline=70.25,
    validation="over 5 random folds",
    seed=3,
    columns=(ColumnOfCard("rooms", "number"), ColumnOfCard("key", "left out", "identifier")),
    n_columns=2,
    luck="of 12 configurations",
    holdout={"rmse": 21.0},
    settings={"alpha": "0.1"},
    versions={"corollary": "0.1.0"},
)


def test_a_card_comes_back_as_it_was(tmp_path: Path) -> None:
    io.save(StandardScaler().fit([[1.0], [2.0]]), tmp_path / "m", card=CARD)
    found = io.inspect(tmp_path / "m")
    assert found.card == CARD
    assert found.format_version == 2
    assert io.load(tmp_path / "m").mean_ == [1.5]
    text = str(found)
    for words in ("predicts: price (regression)", "from: number: rooms", "left out: key (identifier)", "seed 3",
                  "score: RMSE 20.5, 95% interval 18 to 23, over 5 random folds; a model that ignores the columns has "
                  "70.25", "hold-out: rmse 21 on a table that took no part", "data: houses.csv: 1,200 rows",
                  f"sha-256: {'0' * 64}", "model: Ridge (alpha=0.1)", "luck: of 12 configurations"):  # fmt: skip
        assert words in text, words
    assert found.to_json()["card"]["columns"][1] == {"name": "key", "role": "left out", "note": "identifier"}


def test_without_a_card_files_are_as_they_were(tmp_path: Path) -> None:
    io.save(StandardScaler(), tmp_path / "m")
    found = io.inspect(tmp_path / "m")
    assert (found.card, found.format_version) == (None, 1)
    assert found.to_json()["card"] is None


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"target": 5}, "under target"),
        ({"target": "a\x1b[2Jb"}, "under target"),
        ({"model": "x" * 1001}, "under model"),
        ({"rows": -1}, "as rows"),
        ({"rows": True}, "as rows"),
        ({"rows": 1.5}, "as rows"),
        ({"seed": "0"}, "as seed"),
        ({"score": "good"}, "under 'score'"),
        ({"low": True}, "under 'low'"),
        ({"sha256": "abc"}, "SHA-256"),
        ({"sha256": 5}, "SHA-256"),
        ({"classes": "abc"}, "as classes"),
        ({"classes": ["a", 1], "n_classes": 2}, "under classes"),
        ({"classes": ["a"] * 1001}, "at most 1,000"),
        ({"classes": ["a"]}, "more classes or columns"),
        ({"columns": [["a"]]}, "the column"),
        ({"columns": [{"name": "a", "role": "b"}]}, "the column"),
        ({"columns": [{"name": "a", "role": "b\n", "note": ""}]}, "under columns"),
        ({"holdout": []}, "as holdout"),
        ({"holdout": {"rmse": None}}, "under 'rmse'"),
        ({"settings": {"a\x07": "b"}}, "under settings"),
        ({"versions": {"a": 1}}, "under versions"),
        ({"more": 1}, "card has the entries"),
    ],
)
def test_forged_cards_are_refused(changes: dict[str, Any], reason: str, tmp_path: Path) -> None:
    path = forge(tmp_path / "m", scaler(), format_version=2, card=CARD.to_json() | changes)
    for read in (io.load, io.inspect):
        with pytest.raises(io.ModelFileError, match=reason):
            read(path)


@pytest.mark.parametrize("card", [None, 5, [], "card", {}])
def test_something_else_is_no_card(card: Any, tmp_path: Path) -> None:
    with pytest.raises(io.ModelFileError, match="card has the entries"):
        io.inspect(forge(tmp_path / "m", scaler(), format_version=2, card=card))


def test_a_card_that_could_not_be_read_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(io.ModelFileError, match="under target"):
        io.save(StandardScaler(), tmp_path / "m", card=dataclasses.replace(CARD, target="two\nlines"))
    assert not list(tmp_path.iterdir())


def test_names_of_users_are_made_fit_for_a_card() -> None:
    assert plain_line("a\x1b[31m\n b") == "a�[31m b"
    assert len(plain_line("x" * 999)) == 200
