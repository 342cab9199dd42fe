"""A comparison answers, is saved with its card, and is written up, without another import."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import corollary
from corollary.evaluate.card import model_card
from corollary.evaluate.comparison import Comparison


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    x = rng.normal(size=60)
    return pd.DataFrame({"x": x, "kind": rng.choice(["a", "b"], 60), "label": np.where(x > 0, "yes", "no")})


@pytest.fixture(scope="module")
def comparison(frame: pd.DataFrame) -> Comparison:
    return corollary.compare(frame, "label", models={"nb": corollary.GaussianNB()}, folds=2)


def test_it_answers_as_its_best_model(comparison: Comparison, frame: pd.DataFrame) -> None:
    np.testing.assert_array_equal(comparison.predict(frame), comparison.best_.predict(frame))
    np.testing.assert_array_equal(comparison.predict_proba(frame), comparison.best_.predict_proba(frame))


def test_it_is_saved_with_its_card_and_written_up(comparison: Comparison, frame: pd.DataFrame, tmp_path: Path) -> None:
    comparison.save(tmp_path / "m.corollary")
    np.testing.assert_array_equal(corollary.load(tmp_path / "m.corollary").predict(frame), comparison.predict(frame))
    assert corollary.inspect(tmp_path / "m.corollary").card == model_card(comparison)
    comparison.report(tmp_path / "r.html")
    assert comparison.summary().split(":")[0] in (tmp_path / "r.html").read_text()


def test_it_shows_itself_as_it_prints(comparison: Comparison) -> None:
    assert repr(comparison) == str(comparison)


def test_without_a_model_it_says_so(comparison: Comparison, tmp_path: Path) -> None:
    part = replace(comparison, best_=None)
    for use in (lambda: part.predict([[1]]), lambda: part.save(tmp_path / "m.corollary")):
        with pytest.raises(ValueError, match="interrupted before one was kept"):
            use()
