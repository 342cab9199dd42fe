"""The race of the searches: its arithmetic, its tables, and a tool that fails is a line, not the end."""

from __future__ import annotations

import json
import sys

import numpy as np
import pandas as pd
import pytest
from benchmarks.automl import __main__ as race
from benchmarks.automl import tool
from benchmarks.automl.page import best_peer, lead, text
from benchmarks.automl.tables import TABLES, Table


def test_a_lead_is_positive_where_ours_is_better_whichever_way_is_better():
    assert lead("log-loss", 0.9, 1.0) == pytest.approx(0.1)
    assert lead("accuracy", 0.9, 1.0) == pytest.approx(-0.1)


def test_the_better_peer_counts_and_one_that_failed_does_not():
    line = {"FLAML": {"rmse": 3.0}, "AutoGluon": {"rmse": 2.0}}
    assert best_peer("rmse", line) == 2.0
    assert best_peer("rmse", {"FLAML": {"failed": "no"}, "AutoGluon": {"rmse": 2.0}}) == 2.0
    assert best_peer("rmse", {"FLAML": {"failed": "no"}}) is None


def test_scores_match_probabilities_to_classes_by_name():
    truth = pd.Series(["b", "a", "b"])
    said = (np.array(["b", "a", "a"]), np.array([[0.9, 0.1], [0.2, 0.8], [0.4, 0.6]]), np.array(["b", "a"]))
    found = tool.scores(truth, said, "classification")
    assert found["log-loss"] == pytest.approx(-np.log([0.9, 0.8, 0.4]).mean())
    assert found["accuracy"] == pytest.approx(2 / 3)


def test_a_tool_that_fails_is_a_line_with_its_last_words(tmp_path):
    table = Table("t", "y", "regression", lambda folder: (None, None))
    found = race.run(table, "corollary", sys.executable, tmp_path, 0.01)
    assert "train.csv" in found["failed"]


def test_the_page_has_a_line_for_each_metric_and_says_what_failed():
    line = {
        "rows": 10, "columns": 2, "task": "regression", "corollary": {"rmse": 2.0, "r2": 0.5, "seconds": 1.0},
        "FLAML": {"failed": "no"}, "AutoGluon": {"rmse": 4.0, "r2": 0.25, "seconds": 1.0},
    }  # fmt: skip
    page = text({"t": json.loads(json.dumps(line))})
    assert "| `t` | 10 × 2 | rmse | 2 | failed | 4 | +50.00% | 1, –, 1 |" in page
    assert "| r2 | 0.5000 | failed | 0.2500 | +100.00% |" in page
    part = {"rows": 10, "columns": 2, "task": "regression", "corollary": {"rmse": 2.0, "r2": 0.5, "seconds": 1.0}}
    assert "| rmse | 2 | – | – | – | 1, –, – |" in text({"t": part})


def test_the_eight_tables_of_the_race():
    assert [table.name for table in TABLES] == [
        "adult", "titanic", "diamonds", "penguins", "covtype", "wine", "sms_spam", "california",
    ]  # fmt: skip
