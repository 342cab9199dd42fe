"""What the report measures anew: effects of columns, curves, parts of the error; and what it says about them."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import VotingClassifier
from sklearn.metrics import recall_score, roc_auc_score
from test_report import Page, _check_whole

import corollary
from corollary.cli import main
from corollary.evaluate.calibration import calibration
from corollary.evaluate.comparison import Comparison, decimals_for
from corollary.evaluate.metrics import Score
from corollary.evaluate.optimisation_bias import OptimisationBias
from corollary.report import render
from corollary.report.column_effects import dependence, explained, explained_sample, shuffled
from corollary.report.data_figures import by_range, by_value
from corollary.report.exchanged import Exchange
from corollary.report.leaderboard_section import against_the_best
from corollary.report.study import MOST_ROWS, NotStudied, Study, study
from corollary.report.study import _splits as splits_of
from corollary.report.threshold_figure import threshold_figures


def _table(rows: int = 150) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    x, noise = rng.normal(size=rows), rng.normal(size=rows)
    town = rng.choice(["Bonn", "Köln", "Mainz"], rows)
    frame = pd.DataFrame({"x": np.where(rng.random(rows) < 0.1, np.nan, x), "town": town, "noise": noise})
    frame["day"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 90, rows), unit="D")
    frame["size"] = 10 * x + 3 * (town == "Köln") + rng.normal(size=rows)
    frame["label"] = np.where(x + (town == "Köln") + 0.5 * rng.normal(size=rows) > 0, "yes", "no")
    return frame


@cache
def _compared(target: str, kind: str) -> Comparison:
    models: dict[str, Any] = {
        "ridge": corollary.Ridge(), "logistic": corollary.LogisticRegression(),
        "boosting": corollary.GradientBoostingClassifier(n_estimators=10),
        "forest": corollary.RandomForestRegressor(5, random_state=0),
        "neighbours": corollary.KNeighborsClassifier(), "bayes": corollary.GaussianNB(),
    }  # fmt: skip
    other = "label" if target == "size" else "size"
    return corollary.compare(_table(), target, models={kind: models[kind]}, drop=[other], folds=3)


@pytest.mark.parametrize(
    ("target", "kind", "raw"),
    [("size", "ridge", "predict"), ("label", "logistic", "decision_function"), ("size", "forest", "predict"),
     ("label", "boosting", "decision_function")],
)  # fmt: skip
def test_contributions_of_columns_add_up_to_predictions(target: str, kind: str, raw: str) -> None:
    result = _compared(target, kind)
    found = explained(result, result.features)
    assert found.standard_errors is None
    assert sorted(found.feature_names) == sorted(result.features.columns)
    said = np.asarray(getattr(result.best_, raw)(result.features))
    np.testing.assert_allclose(found.predictions, said, atol=1e-8)


@pytest.mark.parametrize(("target", "kind"), [("size", "forest"), ("label", "logistic")])
def test_exchanging_features_is_preparing_changed_rows(target: str, kind: str) -> None:
    result = _compared(target, kind)
    quick, slow = (Exchange(result.best_, result.features) for _ in range(2))
    slow.features = None
    rng = np.random.default_rng(0)
    taken, given = rng.integers(0, 150, 60), rng.integers(0, 150, 60)
    for column in result.features.columns:
        one, two = (rows.exchanged(column, taken, rows, given) for rows in (quick, slow))
        np.testing.assert_array_equal(one.values, two.values)
        if one.probabilities is not None:
            np.testing.assert_allclose(one.probabilities, two.probabilities)


@pytest.mark.parametrize(("target", "kind"), [("label", "bayes"), ("label", "neighbours"), ("size", "ridge")])
def test_the_report_and_predict_explain_a_row_alike(target: str, kind: str) -> None:
    result = _compared(target, kind)
    found = explained_sample(result)
    assert not isinstance(found, str)
    assert len(found.values) >= 100
    np.testing.assert_allclose(found.predictions, corollary.explain(result.best_, found.data).predictions)
    text = _check_whole(render(result)).text
    assert "How far each column moves predictions" in text
    if kind == "ridge":
        np.testing.assert_allclose(found.values, corollary.explain(result.best_, found.data).values)
    else:
        assert found.standard_errors is not None
        assert "Shapley values estimated from 32 orders of the columns and 16 known rows" in text
        assert "no standard error above" in text


def test_partial_dependence_is_the_mean_over_rows() -> None:
    result = _compared("size", "ridge")
    column = next(each for each in result.facts.used if each.name == "x")
    found = dependence(result, column, rows=500)
    assert found is not None
    assert found.places is not None
    for place, mean in zip(found.places, found.means[:, 0], strict=True):
        assert mean == pytest.approx(result.best_.predict(result.features.assign(x=place)).mean())
    assert (np.diff(found.means[:, 0]) > 0).all()


def test_shuffling_shows_which_columns_are_needed() -> None:
    result = _compared("label", "logistic")
    studied = study(result)
    assert isinstance(studied, Study)
    lost = shuffled(result, studied.model, studied.held_out, list(result.features.columns), until=np.inf)
    worth = dict(zip(lost.columns, lost.losses, strict=True))
    assert max(worth, key=lambda name: worth[name]) == "x"
    assert worth["x"] > 10 * abs(worth["noise"])
    none = shuffled(result, studied.model, studied.held_out, ["x", "noise"], until=0.0)
    assert (none.columns, none.left_out) == (["x"], 1)


def test_the_study_is_bounded_and_holds_rows_out() -> None:
    rows = np.random.default_rng(0).normal(size=(2 * MOST_ROWS, 2))
    table = pd.DataFrame({"a": rows[:, 0], "y": rows.sum(axis=1)})
    found = study(corollary.compare(table, "y", models={"ridge": corollary.Ridge()}, folds=2))
    assert isinstance(found, Study)
    assert found.rows == MOST_ROWS
    assert len(found.held_out) == MOST_ROWS // 4
    assert list(found.sizes) == sorted(found.sizes)
    assert found.sizes[-1] == MOST_ROWS - MOST_ROWS // 4


def test_the_study_holds_rows_out_as_the_comparison_does() -> None:
    rng = np.random.default_rng(0)
    who = np.repeat(np.arange(40), 6)
    frame = pd.DataFrame({"a": rng.normal(size=240), "who": [f"p{each}" for each in who], "when": rng.permutation(240)})
    frame["y"] = frame["a"] + rng.normal(size=40)[who]
    models = {"m": corollary.Ridge()}
    for split in ("group:who", "time:when"):
        result = corollary.compare(frame, "y", models=models, split=split, folds=3)
        found = study(result)
        assert isinstance(found, Study)
        assert result.groups is not None
        held_out = result.groups[found.held_out]
        for train, test in splits_of(result)[0]:
            if split.startswith("group"):
                assert not set(result.groups[train]) & set(result.groups[test])
            else:
                assert result.groups[train].max() < result.groups[test].min()
        assert len(np.unique(held_out)) == (10 if split.startswith("group") else 40)
        text = _check_whole(render(result)).text
        assert ("what came next held out" in text) == split.startswith("time")
        assert ("asked about" in text and "later ones" in text) == split.startswith("time")


@cache
def _several() -> Comparison:
    return corollary.compare(
        _table(), "label", drop=["size"], folds=3, models={
            "logistic": corollary.LogisticRegression(), "bayes": corollary.GaussianNB(),
        },
    )  # fmt: skip


def test_holm_makes_the_least_p_value_larger() -> None:
    result = _several()
    tests = against_the_best(result)
    assert set(tests) == {row.model for row in result.rows} - {result.best}
    for model, (difference, p) in tests.items():
        score = next(row for row in result.rows if row.model == model).scores["log-loss"]
        assert difference.mean == pytest.approx(score.mean - result.best_row.scores["log-loss"].mean)
        assert (p < 0.05) <= difference.excludes_zero  # an adjusted test never finds more


@pytest.mark.parametrize(("target", "kind"), [("label", "boosting"), ("size", "forest"), ("label", "neighbours")])
def test_no_kind_of_evidence_claims_more_than_it_shows(target: str, kind: str) -> None:
    text = _check_whole(render(_compared(target, kind))).text
    assert "✓ checked" in text
    assert not re.search(r"(?i)\b(proved|optimal|optimum)\b", text)


def test_the_lines_of_code_do_what_they_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    _table().to_csv("some data.csv", index=False)
    result = corollary.compare("some data.csv", "label", models={"m": corollary.LogisticRegression()}, drop=["size"])
    corollary.save(result.best_, "model.corollary")
    result.features.to_csv("new.csv", index=False)
    source = render(replace(result, settings={**result.settings, "models": None}))  # as if the command had done it
    python = re.findall(r'<code class="python">(.*?)</code>', source, re.DOTALL)
    shell = re.sub("<[^>]+>", "", re.findall(r'<code class="shell">(.*?)</code>', source, re.DOTALL)[0]).splitlines()
    assert len(python) == 1
    exec(re.sub("&quot;", '"', re.sub("&#x27;", "'", python[0])), {})
    assert shell[0].startswith("corollary compare &#x27;some data.csv&#x27; --target label")
    assert shell[0].endswith("--save model.corollary")
    assert main(shell[1].split()[1:]) == 0
    assert len(pd.read_csv("predictions.csv")) == 150


def test_the_luck_of_a_search_is_said() -> None:
    result = _compared("label", "logistic")
    luck = OptimisationBias("bootstrap", 0.30, 0.02, (0.01, 0.03), False, configurations=40, repeats=200)
    page = Page(render(replace(result, bias=luck, holdout={"log-loss": 0.31}, blend={"a": 0.25, "b": 0.75})))
    score = result.best_row.scores["log-loss"]
    places = decimals_for(score)
    expected = f"{round(score.mean, places) + 0.02:.{places}f}"
    assert "was measured on the folds that chose it. It is the best of 40 configurations" in page.text
    assert f"by about {0.02:.{places}f} for that: expect {expected} on new rows" in page.text
    assert "95 % interval 0.010 to 0.030, 200 bootstrap draws" in page.text
    assert "log-loss on the hold-out" in page.text
    assert "is a weighted mean of: a 0.25, b 0.75." in page.text


def test_a_blend_is_explained_too() -> None:
    result = _compared("label", "logistic")
    vote = VotingClassifier([("a", result.best_), ("b", result.best_)], voting="soft")
    page = _check_whole(render(replace(result, best_=vote.fit(result.features, result.target.values))))
    assert "What each column is worth" in page.text
    assert "Shapley values estimated from 32 orders of the columns and 16 known rows" in page.text


def test_what_was_not_finished_is_said() -> None:
    result = _compared("label", "logistic")
    page = _check_whole(render(replace(result, best_=None)))
    assert "Not known: the comparison was interrupted before the last fit." in page.text
    one = Score((0.5,), 0.25)
    rows = tuple(replace(row, scores=dict.fromkeys(row.scores, one)) for row in result.rows)
    page = _check_whole(render(replace(result, rows=rows, out_of_fold={})))
    assert "not all folds of the best model were finished" in page.text


def test_groups_text_and_many_columns() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(120, 30)), columns=[f"c{each}" for each in range(30)])
    frame["who"] = np.repeat(np.arange(24), 5)
    frame["said"] = [f"row {each} has many words {each % 7}" for each in range(120)]
    frame["y"] = frame["c0"] > 0
    result = corollary.compare(
        frame, "y", models={"m": corollary.LogisticRegression()}, split="group:who", folds=3, drop=["said"]
    )
    page = _check_whole(render(result))
    assert "The first 24 of 30 columns are drawn." in page.text
    assert "no value of who is on both sides of a fold" in page.text
    assert "a quarter of the groups held out, 3 times" in page.text
    assert "random halves of the 24 groups in 120 rows and asked about the other groups" in page.text
    words = corollary.compare(frame[["said", "c0", "y"]], "y", models={"m": corollary.LogisticRegression()}, folds=3)
    assert "6 words" in _check_whole(render(words)).text


def test_a_rare_class_fills_more_than_two_dots() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=1500)
    frame = pd.DataFrame({"x": x, "y": rng.random(1500) < 1 / (1 + np.exp(4.2 - 1.5 * x))})
    assert frame["y"].mean() < 0.06
    source = render(corollary.compare(frame, "y", models={"m": corollary.LogisticRegression()}, folds=3))
    drawn = re.search(r"<title>Calibration curve</title>.*?</svg>", source, re.DOTALL)
    assert drawn is not None
    assert drawn.group().count("<circle") >= 5
    assert "equally many should be so" in source


def test_thresholds_follow_costs() -> None:
    rng = np.random.default_rng(0)
    p = rng.random(4000)
    page = Page(f"<main>{''.join(threshold_figures(rng.random(4000) < p, p, True))}</main>")
    found = dict(re.findall(r"(a miss costs 5 false alarms|a false alarm costs 5 misses)(0\.\d+)", page.text))
    assert float(found["a miss costs 5 false alarms"]) == pytest.approx(1 / 6, abs=0.08)
    assert float(found["a false alarm costs 5 misses"]) == pytest.approx(5 / 6, abs=0.08)


def test_parts_of_columns_hold_every_row() -> None:
    values = np.array([0.0, 1.0, 2.0, 2.0, np.nan])
    assert by_range(values).part.tolist() == [0, 1, 2, 2, -1]
    assert by_range(values).names == ("0", "2")
    spread = by_range(np.append(np.linspace(0, 1, 1000), 50.0))
    assert spread.names == ("0.005", "… 0.995") or spread.names[1].startswith("…")
    assert spread.part.max() == 19
    assert np.bincount(spread.part).sum() == 1001
    found = by_value(np.array(["b", "a", "b", None], dtype=object))
    assert found.names == ("b", "a")
    assert found.part.tolist() == [0, 1, 0, -1]
    assert by_value([f"v{each}" for each in range(20)]).names[-1] == "14 others"


def _weighted(kind: str) -> Comparison:
    """Rows of weight 50 of which many are wrong, and others of weight 1."""
    frame = _table(200).drop(columns=["size", "day"])
    heavy = np.arange(200) % 4 == 0
    flipped = np.where(frame["label"] == "yes", "no", "yes")
    frame["label"] = np.where(heavy & (np.arange(200) % 8 == 0), flipped, frame["label"])
    frame["w"] = np.where(heavy, 50.0, 1.0)
    models: dict[str, Any] = {
        "logistic": corollary.LogisticRegression(),
        "neighbours": corollary.KNeighborsClassifier(),
    }
    return corollary.compare(frame, "label", models={kind: models[kind]}, weights="w", folds=3, metric="accuracy")


def test_weights_count_in_every_figure() -> None:
    result = _weighted("logistic")
    said, weights = result.out_of_fold["logistic"], result.judged_weights
    assert weights is not None
    assert said.probabilities is not None
    text = _check_whole(render(result)).text
    right = np.average(said.values == result.truth, weights=weights)
    assert abs(right - (said.values == result.truth).mean()) > 0.02
    assert f"right, {right:.1%} of the weight of all rows" in text
    assert f"AUC {roc_auc_score(result.truth, said.probabilities[:, 1], sample_weight=weights):.3f}" in text
    assert f"off by {calibration(result.truth, said.probabilities, sample_weight=weights).expected_error:.3f}" in text
    assert text.count("Rows count by their weights.") == 5
    assert "The weights are in the fits; the parts count rows." in text
    recall = recall_score(result.truth, said.values, pos_label="yes", sample_weight=weights)
    assert f"{recall:.3f}" in text
    found = study(result)
    assert isinstance(found, Study)
    rows = splits_of(result)[0][0][0]
    assert result.target.weights is not None
    again = clone(result.best_).fit(
        result.features.iloc[rows], result.target.values[rows], model__sample_weight=result.target.weights[rows]
    )
    np.testing.assert_allclose(found.model[-1].coef_, again[-1].coef_)


def test_a_model_that_takes_no_weights_is_reported_all_the_same() -> None:
    text = _check_whole(render(_weighted("neighbours"))).text
    assert "Learning curve" in text
    assert "Bias and variance" in text
    assert "Not measured" not in text


def test_the_page_says_which_test_each_mark_is_of() -> None:
    text = _check_whole(render(_several())).text
    assert "≈ stands where the 95% interval of this one difference includes zero" in text
    assert "p allows for all comparisons together" in text


class FewRows(corollary.Ridge):
    """A model that cannot be fitted to half of the rows."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        if len(y) < 90:
            raise ValueError(f"it takes 90 rows, not {len(y)}")
        return super().fit(X, y, sample_weight)


def test_a_curve_that_cannot_be_drawn_says_why() -> None:
    result = replace(_compared("size", "ridge"), best_=None)
    assert study(result) == NotStudied("the comparison was interrupted before the last fit")
    result = corollary.compare(_table(), "size", models={"m": FewRows()}, drop=["label"], folds=3)
    text = _check_whole(render(result)).text
    assert "Learning curveNot measured: m on 14 rows: it takes 90 rows, not 14." in text.replace("\n", "")
    assert "What each column is worthNot measured: m on 14 rows" in text.replace("\n", "")
    assert "Bias and variance" in text
