"""Small tables, and the command line run inside this process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

from corollary.cli import main


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Outcome]:
    """``run("compare", path, ...)`` gives the exit code and both outputs, 80 columns wide."""
    monkeypatch.setenv("COLUMNS", "80")

    def call(*arguments: object) -> Outcome:
        capsys.readouterr()
        code = main([str(each) for each in arguments])
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return call


@pytest.fixture
def people() -> pd.DataFrame:
    """60 people: two numbers, a category, a yes/no, a date with gaps; ``rich`` depends on age and city."""
    rng = np.random.default_rng(0)
    age = rng.integers(18, 80, 60)
    city = rng.choice(["Bonn", "Köln", "Ulm"], 60)
    frame = pd.DataFrame(
        {
            "age": age,
            "height": rng.normal(170, 9, 60).round(1),
            "city": city,
            "member": rng.choice(["yes", "no"], 60),
            "since": [f"20{10 + i % 9}-0{1 + i % 9}-1{i % 10}" for i in range(60)],
            "rich": np.where(age + 20 * (city == "Bonn") + rng.normal(0, 8, 60) > 55, "rich", "poor"),
        }
    )
    frame.loc[3, "height"] = np.nan
    frame.loc[5, "city"] = None
    frame.loc[7, "since"] = None
    return frame


@pytest.fixture
def people_csv(people: pd.DataFrame, tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    people.to_csv(path, index=False)
    return path
