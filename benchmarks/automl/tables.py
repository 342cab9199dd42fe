"""The tables of the race: real ones from the folder of shared data, and one of scikit-learn's, each cut in two."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split

SEED = 20


@dataclass(frozen=True)
class Table:
    """What is to be predicted, and how the two parts are read."""

    name: str
    target: str
    task: str
    parts: Callable[[Path], tuple[Any, Any]]


def _cut(frame: Any, target: str, task: str) -> tuple[Any, Any]:
    return train_test_split(
        frame, test_size=0.25, random_state=SEED, stratify=frame[target] if task == "classification" else None
    )


def _file(name: str, path: str, target: str, task: str, drop: tuple[str, ...] = (), **options: Any) -> Table:
    def parts(folder: Path) -> tuple[Any, Any]:
        frame = pd.read_csv(folder / path, na_values=["?"], **options).drop(columns=list(drop))
        frame.columns = [str(column) for column in frame.columns]
        return _cut(frame, target, task)

    return Table(name, target, task, parts)


def _adult(folder: Path) -> tuple[Any, Any]:
    places = (folder / f"classification/adult_{part}.csv.gz" for part in ("train", "test"))
    first, second = (pd.read_csv(place, na_values=["?"]) for place in places)
    return first, second


def _wine(folder: Path) -> tuple[Any, Any]:
    bunch = load_wine(as_frame=True)
    return _cut(bunch.data.assign(cultivar=bunch.target_names[bunch.target]), "cultivar", "classification")


TABLES = (
    Table("adult", "income", "classification", _adult),
    _file("titanic", "classification/titanic.csv.gz", "survived", "classification", ("boat", "body")),
    _file("diamonds", "regression/diamonds.csv.gz", "price", "regression"),
    _file("penguins", "classification/penguins.csv", "species", "classification"),
    _file("covtype", "classification/covtype_sample.csv.gz", "Cover_Type", "classification"),
    Table("wine", "cultivar", "classification", _wine),
    _file("sms_spam", "text/sms_spam.tsv.gz", "label", "classification", sep="\t", quoting=3, header=None,
          names=["label", "message"]),
    _file("california", "regression/california_housing_ocean.csv.gz", "median_house_value", "regression"),
)  # fmt: skip
