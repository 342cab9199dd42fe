"""The search: settings that help are found, time is kept, nothing finished is thrown away, and scores are honest."""

from __future__ import annotations

import json
import re
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import corollary
from corollary.evaluate.candidates import Candidate, Configuration
from corollary.evaluate.card import model_card
from corollary.evaluate.compare import Interrupted
from corollary.evaluate.comparison import decimals_for, shown_score
from corollary.evaluate.leaderboard import Row, Trial, ranked
from corollary.evaluate.metrics import METRICS, Prediction
from corollary.evaluate.search.halving import Halving
from corollary.evaluate.search.luck import luck_of
from corollary.evaluate.search.preparations import Preparing
from corollary.evaluate.search.sampling import Sampler
from corollary.evaluate.search.tried import Tried
from corollary.registry import ESTIMATORS, all_estimators
from corollary.tabular.messages import InputError
from corollary.tabular.target import Target

ROWS = 160


@pytest.fixture
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    x, z = rng.normal(size=(2, ROWS))
    kind = rng.choice(["a", "b", "c"], ROWS)
    label = np.where(x + z * (kind == "a") + 0.8 * rng.normal(size=ROWS) > 0, "yes", "no")
    weight = rng.integers(1, 4, ROWS).astype(float)
    return pd.DataFrame({"x": x, "z": z, "kind": kind, "w": weight, "label": label})


def models() -> dict[str, Any]:
    return {"logistic": LogisticRegression(), "tree": DecisionTreeClassifier(min_samples_leaf=10, random_state=0),
            "near": KNeighborsClassifier(15)}  # fmt: skip


# ---- spaces


def test_every_model_that_is_compared_can_be_made_with_what_is_tried_of_it() -> None:
    from corollary.evaluate.candidates import Candidate

    for entry in all_estimators():
        for rows in (100, 100_000) if entry.compare else ():
            sampler = Sampler(Candidate(entry.name, "", entry), entry.space(rows), 0)
            for _ in range(8):
                if (found := sampler.next(None)) is not None:
                    found.make(0)._check_parameters()


def test_a_forest_that_does_well_with_larger_leaves_gets_them() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6))
    data = pd.DataFrame(X, columns=list("abcdef")).assign(y=np.where(X[:, 0] + 2 * rng.normal(size=300) > 0, "u", "v"))
    result = corollary.compare(data, "y", folds=3)
    row = next(row for row in result.rows if row.model == "RandomForestClassifier")
    assert row.settings["min_samples_leaf"] > 1
    assert row.tried == 3
    assert row.beats_baseline
    alone = [trial for trial in result.trials if trial.model == row.model]
    assert row.scores["log-loss"].mean == min(trial.mean for trial in alone)


def test_trees_see_categories_and_gaps_as_they_are(frame: pd.DataFrame) -> None:
    frame.loc[3:9, "x"] = np.nan
    model = corollary.DecisionTreeClassifier(min_samples_leaf=5)
    result = corollary.compare(frame, "label", drop=["w"], models={"tree": model}, folds=2)
    assert result.best_[-1].n_features_in_ == 3  # no indicators
    assert list(result.best_[-1].categories_) == [0]


# ---- ranking


def _row(model: str, *folds: float, **more: Any) -> Row:
    scores = {"log-loss": METRICS["log-loss"].over(folds, 0.25)}
    return Row(model, scores=scores, folds_done=len(folds), **more)


def test_a_model_that_beats_nothing_is_never_as_good_as_the_best() -> None:
    rows = [_row("good", 0.5, 0.9, 0.4), _row("poor", 0.71, 0.72, 0.70), _row("Baseline", 0.7, 0.7, 0.7, baseline=True)]
    found = {row.model: row for row in ranked(rows, METRICS["log-loss"], 3)}
    assert found["good"].beats_baseline
    assert not found["poor"].beats_baseline
    assert not found["poor"].tied  # although the folds could not tell it apart


def test_a_model_with_some_folds_is_judged_by_its_lead_on_these() -> None:
    base = _row("Baseline", 0.9, 0.7, 0.5, baseline=True)
    whole = _row("whole", 0.6, 0.4, 0.2)  # 0.3 ahead
    ahead, behind = _row("ahead", 0.55), _row("behind", 0.6, 0.4)  # 0.35 ahead on a hard fold; 0.3 on two
    found = ranked([behind, whole, base, ahead], METRICS["log-loss"], 3)
    assert [(row.model, row.rank) for row in found] == [("ahead", 1), ("whole", 2), ("behind", 3), ("Baseline", 4)]
    assert [row.beats_baseline for row in found] == [True, True, True, False]
    assert not any(row.tied for row in found)  # one fold is too few to say so


def test_without_a_baseline_models_with_some_folds_stand_after_those_with_all() -> None:
    found = ranked([_row("part", 0.1, 0.2), _row("whole", 0.5, 0.6, 0.4)], METRICS["log-loss"], 3)
    assert [row.model for row in found] == ["whole", "part"]


def test_intervals_stay_inside_the_range_of_the_metric() -> None:
    score = METRICS["accuracy"].over((1.0, 0.9, 1.0), 0.5)
    assert score.high == 1.0
    assert score.cut
    assert METRICS["log-loss"].over((0.0, 0.1, 0.0), 0.5).low == 0.0
    from corollary.evaluate.comparison import shown_score

    assert shown_score(score, 3, interval=True).endswith("–1.000)")


# ---- with a time


def test_a_time_is_kept_and_the_best_are_blended(frame: pd.DataFrame) -> None:
    began = time.monotonic()
    result = corollary.compare(frame, "label", drop=["w"], models=models(), time_budget=20, folds=3)
    assert result.seconds <= time.monotonic() - began + 1e-6
    names = [row.model for row in result.rows]
    assert "Blend" in names
    blend = next(row for row in result.rows if row.model == "Blend")
    # the score of the blend is that of weights which its fold had no say in
    said = result.out_of_fold["Blend"]
    assert log_loss(frame["label"], said.probabilities) == pytest.approx(blend.scores["log-loss"].mean, rel=0.02)
    assert (result.best == "Blend") == bool(result.blend)
    if result.blend:
        assert sum(result.blend.values()) == pytest.approx(1)
        assert set(result.blend) <= set(models())


def test_a_blend_that_wins_is_a_model_that_can_be_kept(frame: pd.DataFrame, tmp_path: Path) -> None:
    from corollary.evaluate.search.refit import vote_of

    result, search, found = _searched(frame)
    assert found.blend is not None
    vote = vote_of(found.blend, search.judge.folds, search.judge.target).fit(result.features, result.target.values)
    corollary.save(vote, tmp_path / "blend.corollary")
    again = corollary.load(tmp_path / "blend.corollary")
    np.testing.assert_array_equal(again.predict_proba(result.features), vote.predict_proba(result.features))
    by_hand = sum(
        share * member.predict_proba(result.features)
        for share, member in zip(found.blend.shares, vote.estimators_, strict=True)
    )
    np.testing.assert_allclose(vote.predict_proba(result.features), by_hand)


def _searched(frame: pd.DataFrame) -> tuple[Any, Any, Any]:
    """A comparison of models of ours, with the search and what it found."""
    from corollary.evaluate.search import search as module

    seen: list[Any] = []
    original = module.Search.finish

    def finish(self: Any, found: Any, X: Any) -> Any:
        seen.extend([self, found])
        return original(self, found, X)

    own = {"logistic": corollary.LogisticRegression(), "tree": corollary.DecisionTreeClassifier(min_samples_leaf=10)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module.Search, "finish", finish)
        result = corollary.compare(frame, "label", drop=["w"], models=own, time_budget=20, folds=3)
    return result, *seen


def test_the_weights_of_a_blend_are_those_of_the_highest_likelihood() -> None:
    from corollary.evaluate.search.blend import _least_squares, _likeliest

    rng = np.random.default_rng(0)
    table = rng.uniform(0.05, 1, size=(400, 3))
    shares = _likeliest(table, np.ones(400))
    assert shares.sum() == pytest.approx(1)
    found = np.log(table @ shares).mean()
    for other in rng.dirichlet(np.ones(3), 500):
        assert np.log(table @ other).mean() <= found + 1e-4
    truth = table @ [0.7, 0.3, 0.0] + 0.01 * rng.normal(size=400)
    np.testing.assert_allclose(_least_squares(table, truth, np.ones(400)), [0.7, 0.3, 0], atol=0.01)


def test_a_fit_that_takes_too_long_is_stopped_and_its_rounds_count(frame: pd.DataFrame) -> None:
    model = corollary.GradientBoostingClassifier(n_estimators=10**6, max_leaf_nodes=4)
    began = time.monotonic()
    result = corollary.compare(frame, "label", drop=["w"], models={"endless": model}, time_budget=4, folds=2)
    assert time.monotonic() - began < 60
    assert result.best_[-1].n_iter_ < 10**6
    assert result.rows[0].folds_done >= 1


def test_without_a_time_the_clock_says_nothing(frame: pd.DataFrame) -> None:
    first, second = (corollary.compare(frame, "label", drop=["w"], folds=2) for _ in range(2))
    assert [trial.scores for trial in first.trials] == [trial.scores for trial in second.trials]
    assert first.bias == second.bias


def test_a_search_that_ends_before_its_time_says_why(frame: pd.DataFrame) -> None:
    result = corollary.compare(frame, "label", drop=["w"], models=models(), time_budget=60, folds=2)
    assert "the search ended before its time, with 3 configurations: its models have no others to try" in result.notes
    assert "the time was used up" not in {trial.dropped for trial in result.trials}
    assert result.seconds < 50


def _halving(scores: list[list[float]], rows: int = 100) -> Halving:
    judge = SimpleNamespace(metric=METRICS["rmse"])
    tried = [Tried(Configuration(Candidate(f"m{i}", "", None)), scores=each) for i, each in enumerate(scores)]
    runner = SimpleNamespace(clock=None, folds=range(3), judge=judge, fits=len(scores), tried=tried)
    return Halving(runner, [], rows, 0)  # type: ignore[arg-type]


def test_few_rows_end_a_search() -> None:
    assert not _halving([[1.0]] * 43)._enough()
    found = _halving([[1.0]] * 44)
    assert found._why_no_more().endswith("with 44 configurations: for so few rows no more are worth trying")


def test_leads_are_worked_out_once_for_every_step(monkeypatch: pytest.MonkeyPatch) -> None:
    found = _halving([[3.0, 3.0, 3.0], [2.0, 4.0, 1.0], [1.0]])
    asked: list[int] = []
    scored = type(found).scored.fget  # type: ignore[attr-defined]
    monkeypatch.setattr(Halving, "scored", property(lambda self: (asked.append(1), scored(self))[1]))
    assert [found.lead(each) for each in found.runner.tried * 2] == pytest.approx([-2 / 3, 0, 1] * 2)
    assert len(asked) == 1
    found.runner.tried[2].scores += [1.0, 1.0]
    found.runner.fits += 2
    assert [found.lead(each) for each in found.runner.tried] == pytest.approx([-2, -4 / 3, 0])
    assert len(asked) == 2


def test_one_time_only(frame: pd.DataFrame) -> None:
    with pytest.raises(InputError, match="--minutes and --time-budget: give one of them"):
        corollary.compare(frame, "label", minutes=1, time_budget=60)
    with pytest.raises(InputError, match="--minutes -1: expected more than 0 minutes"):
        corollary.compare(frame, "label", minutes=-1)


# ---- honest scores


def test_the_luck_of_many_useless_models_is_found() -> None:
    rng = np.random.default_rng(1)
    data = pd.DataFrame({"x": rng.normal(size=120), "y": rng.choice(["a", "b"], 120)})
    coins = {f"coin {i}": DummyClassifier(strategy="uniform", random_state=i) for i in range(20)}
    result = corollary.compare(data, "y", models=coins, metric="accuracy", folds=3)
    assert result.bias is not None
    assert result.bias.configurations == 20
    assert result.bias.bias > 0.02
    low, high = result.bias.corrected_interval
    assert low < 0.5 < high
    assert "It is the best of 20 configurations, and looks better by about" in result.summary()


def test_the_luck_by_rows_is_that_of_the_metric(frame: pd.DataFrame) -> None:
    for metric in ("log-loss", "accuracy", "brier", "auc"):
        result = corollary.compare(frame, "label", drop=["w"], models=models(), metric=metric, folds=3)
        assert result.bias is not None
        said = list(result.out_of_fold.values())
        pooled = [METRICS[metric](result.truth, each, result.target.classes) for each in said]
        best = max(pooled) if METRICS[metric].greater_is_better else min(pooled)
        found = luck_of(said, result.target, result.judged_rows, METRICS[metric], 0)
        assert found is not None
        assert found.best_score == pytest.approx(best), metric


@pytest.mark.parametrize(("metric", "sign"), [("log-loss", 1), ("accuracy", -1)])
def test_the_score_to_expect_is_that_of_the_leaderboard_less_its_luck(
    frame: pd.DataFrame, metric: str, sign: int
) -> None:
    coins = {f"coin {i}": DummyClassifier(strategy="stratified", random_state=i) for i in range(12)}
    result = corollary.compare(frame, "label", models=coins, metric=metric, folds=3)
    assert result.bias is not None
    score = result.best_row.scores[metric]
    assert result.bias.best_score == pytest.approx(score.mean)
    luck, expected = re.findall(r"by about ([\d.]+) for that: expect ([\d.]+) on new", result.summary())[0]
    shown = shown_score(score, decimals_for(score))
    assert float(expected) == pytest.approx(float(shown) + sign * float(luck))
    assert expected in model_card(result).luck
    assert "200 bootstrap draws" in model_card(result).luck


def test_the_best_of_those_that_finished_and_how_many_were_tried(frame: pd.DataFrame) -> None:
    result = corollary.compare(frame, "label", models=models(), folds=3)
    assert "It is the best of 3 configurations" in result.luck()
    assert "tried" not in result.luck()
    part = replace(result, trials=(*result.trials, Trial("logistic", scores=(0.5,)), Trial("tree", dropped="no time")))
    assert "It is the best of 3 configurations that finished all folds, of 4 tried" in part.luck()
    assert "choosing these on their first folds is not counted." in part.summary()


def test_all_that_finished_are_counted_however_many_are_drawn_from() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=60)
    target = Target("y", "regression", "", values)
    said = [Prediction(values + rng.normal(size=60)) for _ in range(50)]
    found = luck_of(said, target, np.arange(60), METRICS["rmse"], 0)
    assert found is not None
    assert found.configurations == 50


# ---- weights and hold-out


def test_weights_count_in_fits_and_in_scores(frame: pd.DataFrame) -> None:
    result = corollary.compare(
        frame, "label", weights="w", models={"m": LogisticRegression(), "n": KNeighborsClassifier()}
    )
    rows = {row.model: row for row in result.rows}
    assert "takes no weights: every row counted the same in its fits" in rows["n"].notes
    assert rows["m"].notes == ()
    repeated = frame.loc[np.repeat(np.arange(ROWS), frame["w"].astype(int))].drop(columns="w")
    whole = LogisticRegression().fit(result.best_[0].transform(repeated), repeated["label"])
    if result.best == "m":
        np.testing.assert_allclose(result.best_[-1].coef_, whole.coef_, atol=1e-3)
    fold = rows["m"].scores["log-loss"]
    plain = corollary.compare(frame.drop(columns="w"), "label", models={"m": LogisticRegression()}).best_row
    assert fold.folds != plain.scores["log-loss"].folds


def test_the_hold_out_is_scored_once_by_the_winner(frame: pd.DataFrame) -> None:
    held = frame.iloc[:40]
    result = corollary.compare(frame.iloc[40:], "label", drop=["w"], models={"m": LogisticRegression()}, holdout=held)
    assert result.holdout is not None
    expected = log_loss(held["label"], result.best_.predict_proba(held))
    assert result.holdout["log-loss"] == pytest.approx(expected)


@pytest.mark.parametrize("form", ["${:,.2f}", "{:.1f}%", "{:,.0f}"])
def test_the_target_of_a_hold_out_is_read_as_that_of_the_table(form: str) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=120)
    number = np.round(5000 + 900 * x + rng.normal(size=120))
    data = pd.DataFrame({"x": x, "price": [form.format(each) for each in number]})
    result = corollary.compare(data.iloc[:80], "price", holdout=data.iloc[80:], models={"m": Ridge()}, folds=3)
    assert result.holdout is not None
    expected = np.sqrt(np.mean((result.best_.predict(data[["x"]].iloc[80:]) - number[80:]) ** 2))
    assert result.holdout["rmse"] == pytest.approx(expected)


def test_rows_of_a_hold_out_without_a_target_are_counted_and_infinite_ones_refused() -> None:
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"x": rng.normal(size=60), "y": rng.normal(size=60)})
    held = data.iloc[:10].assign(y=[np.nan, np.nan, *range(8)])
    result = corollary.compare(data, "y", holdout=held, models={"m": Ridge()}, folds=2)
    assert "hold-out: 2 rows without a target left out" in result.notes
    with pytest.raises(InputError, match=r"--holdout .*: target 'y' is infinite in row 4; expected finite numbers"):
        corollary.compare(data, "y", holdout=held.assign(y=[0.0, 1.0, np.nan, np.inf, *range(6)]), folds=2)


def test_a_hold_out_with_other_columns_is_refused(frame: pd.DataFrame) -> None:
    with pytest.raises(
        InputError, match=r"--holdout .*: has no column 'x', 'kind'; it must have the columns"
    ) as caught:
        corollary.compare(frame, "label", holdout=frame[["z", "label", "w"]], models={"m": LogisticRegression()})
    assert "\n" not in str(caught.value)
    other = frame.assign(label="perhaps")
    with pytest.raises(InputError, match="target 'label': class 'perhaps' is not in the table"):
        corollary.compare(frame, "label", holdout=other, models={"m": LogisticRegression()})


# ---- broken off, and resumed


class Counting(LogisticRegression):
    fits = 0
    stop_at = 10**9

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        type(self).fits += 1
        if type(self).fits >= type(self).stop_at:
            raise KeyboardInterrupt
        return super().fit(X, y, sample_weight)


def test_a_search_that_was_interrupted_goes_on_where_it_was(frame: pd.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "search.jsonl"
    options: dict[str, Any] = {"drop": ["w"], "folds": 4, "resume": path}
    Counting.fits, Counting.stop_at = 0, 4
    with pytest.raises(Interrupted) as caught:
        corollary.compare(frame, "label", models={"m": Counting()}, **options)
    part = caught.value.comparison
    assert (part.best_row.folds_done, part.best_.predict(frame).shape) == (3, (ROWS,))
    assert len(part.truth) == len(part.out_of_fold["m"].values)
    Counting.fits, Counting.stop_at = 0, 10**9
    result = corollary.compare(frame, "label", models={"m": Counting()}, **options)
    assert Counting.fits == 2  # the last fold, and the fit to every row
    assert any("did not have to be done again" in note for note in result.notes)
    whole = corollary.compare(frame, "label", models={"m": LogisticRegression()}, drop=["w"], folds=4)
    assert result.best_row.scores["log-loss"].folds == whole.best_row.scores["log-loss"].folds
    Counting.fits = 0
    corollary.compare(frame, "label", models={"m": Counting()}, **(options | {"seed": 1}))
    assert Counting.fits == 5  # other folds: nothing is known of them


def test_a_damaged_file_of_a_search_is_one_clear_line(frame: pd.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "search.jsonl"
    options: dict[str, Any] = {
        "drop": ["w"],
        "folds": 2,
        "resume": path,
        "models": {"m": corollary.LogisticRegression()},
    }
    evidence = corollary.compare(frame, "label", **options).best_row.evidence
    again = corollary.compare(frame, "label", **options).best_row.evidence
    assert evidence is not None
    assert again is not None
    assert (again.status, again.certificate) == (evidence.status, evidence.certificate)
    lines = path.read_text(encoding="utf-8").splitlines()
    assert all(json.loads(line) for line in lines)
    path.write_text("\n".join(lines) + '\n{"key": "half of a li', encoding="utf-8")  # the machine stopped here
    corollary.compare(frame, "label", **options)
    assert path.read_text(encoding="utf-8").splitlines() == lines
    path.write_text("\n".join([lines[0], lines[1].replace('"prediction": "UEsDB', '"prediction": "AAAA')]) + "\n")
    with pytest.raises(InputError, match=r"--resume .*: line 2 is damaged; delete the file to begin anew"):
        corollary.compare(frame, "label", **options)
    path.write_text("name,age\nAnn,3\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"--resume .*: is not a file of a search"):
        corollary.compare(frame, "label", **options)


def test_the_leaderboard_is_a_table(frame: pd.DataFrame) -> None:
    result = corollary.compare(frame, "label", drop=["w"], models=models(), folds=3)
    table = result.leaderboard()
    assert list(table["model"]) == [row.model for row in result.rows]
    assert list(table["rank"]) == [1, 2, 3, 4]
    assert (table["low"] <= table["log-loss"]).all()
    assert (table["folds"] == 3).all()


def test_more_columns_than_rows_are_seen_by_their_components() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 1100))
    data = pd.DataFrame(X, columns=[f"c{i}" for i in range(1100)]).assign(
        y=np.where(X[:, :40].sum(axis=1) > 0, "u", "v")
    )
    result = corollary.compare(data, "y", folds=2)
    rows = {row.model: row for row in result.rows}
    assert "sees 50 principal components of the 1,100 columns" in rows["GaussianNB"].notes
    assert "sees all principal components of the 1,100 columns" in rows["LogisticRegression"].notes
    # turned or not, the penalised fit is the same
    plain = corollary.compare(
        data, "y", folds=2, models={"m": ESTIMATORS["LogisticRegression"].load()(**rows["LogisticRegression"].settings)}
    )
    np.testing.assert_allclose(
        plain.best_row.scores["log-loss"].folds, rows["LogisticRegression"].scores["log-loss"].folds, rtol=1e-3
    )
    assert result.best_.predict(data).shape == (60,)


def test_words_of_text_stay_sparse_for_models_that_take_them() -> None:
    class Folds:
        def part(self, kind: str, fold: int) -> Any:
            return SimpleNamespace(train=scipy.sparse.csr_array((2_000, 5_000)))

    prepare = Preparing(Folds(), [])  # type: ignore[arg-type]
    assert prepare(corollary.LogisticRegression(), "rotated") == ("plain", ())
    assert prepare(corollary.GaussianNB(), "rotated")[0] == "reduced"


# ---- compiling


def test_compiling_takes_nothing_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    from corollary.evaluate.search import runner

    frame = pd.DataFrame({"a": np.arange(60.0), "y": np.arange(60.0) % 7})
    models = {"line": corollary.LinearRegression(), "more": corollary.Ridge()}
    monkeypatch.setattr(runner, "compile_first", lambda model, part: 1000.0)
    result = corollary.compare(frame, "y", task="regression", models=models, minutes=0.05, folds=3)
    assert all(row.folds_done == 3 for row in result.rows)
    assert any(note.startswith("3000 s beyond the time went into compiling") for note in result.notes)


def test_a_small_fit_that_fails_or_is_quick_has_compiled_nothing() -> None:
    from corollary.evaluate.folds import Part
    from corollary.evaluate.search.compiling import compile_first

    part = Part(np.zeros((5, 1)), np.zeros(5), np.zeros((2, 1)), None, None)
    corollary.LinearRegression().fit(part.train, part.y)
    assert compile_first(corollary.LinearRegression(), part) == 0.0
    assert compile_first(corollary.LogisticRegression(), part) == 0.0  # one class


# ---- hostile cases


def test_models_without_an_error_can_be_blended() -> None:
    x = np.arange(300) % 5
    frame = pd.DataFrame({"x": x, "y": 1.0 * x * x})
    models = {
        "tree": corollary.DecisionTreeRegressor(),
        "small tree": corollary.DecisionTreeRegressor(max_depth=5),
        "line": corollary.Ridge(),
    }
    result = corollary.compare(frame, "y", task="regression", time_budget=5, models=models)
    assert result.best_row.scores["rmse"].mean == pytest.approx(0, abs=1e-9)


def test_a_file_to_resume_from_tells_models_apart_whose_texts_are_cut_short(tmp_path: Path) -> None:
    from sklearn.linear_model import RidgeCV

    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"]).assign(y=lambda f: 9 * f["a"])
    options = {"target": "y", "resume": tmp_path / "fits.jsonl"}
    for last in (1e-3, 1e5):
        models = {"m": RidgeCV(alphas=[1e6] * 35 + [last])}
        resumed = corollary.compare(frame, models=models, **options)
        fresh = corollary.compare(frame, "y", models=models)
        assert resumed.best_row.scores["rmse"].folds == fresh.best_row.scores["rmse"].folds


@pytest.mark.parametrize(
    "said", [np.zeros(3), np.zeros(4, "M8[s]"), np.array(1.0), np.full(4, np.nan), np.array(["a"] * 4)]
)
def test_predictions_of_a_file_that_cannot_be_are_not_used(said: Any) -> None:
    from corollary.evaluate.search.diary import _suits

    assert not _suits(Prediction(said), 4, None)
    assert not _suits(Prediction(np.zeros(4), np.zeros((4, 2))), 4, None)
    assert not _suits(Prediction(np.array([0, 1, 0, 2]), np.zeros((4, 2))), 4, np.array([0, 1]))
    assert not _suits(Prediction(np.array([0, 1, 0, 1]), np.zeros((3, 2))), 4, np.array([0, 1]))
    assert _suits(Prediction(np.array([0, 1, 0, 1]), np.full((4, 2), 0.5)), 4, np.array([0, 1]))


def _with_rows(rows: list[Row], folds: int) -> Any:
    frame = pd.DataFrame({"a": np.arange(40.0), "y": ["n", "y"] * 20})
    result = corollary.compare(frame, "y", models={"good": DummyClassifier()}, folds=3)
    order = ranked(rows, METRICS["log-loss"], folds)
    return replace(result, rows=order, best=next(row.model for row in order if not row.baseline), bias=None)


def test_a_winner_with_some_folds_is_held_against_the_baseline_on_these() -> None:
    base = _row("Baseline", 0.9, 0.5, 0.5, baseline=True)
    late = Row("late", error="there was no time for it", skipped=True)
    told = _with_rows([_row("good", 0.6), base, late], 3).summary()
    assert "log-loss 0.600 over 1 fold; the baseline, which ignores the columns, has 0.900 there." in told
    assert "There was time for all folds of 0 of 2 models: more of it may change the order." in told


def test_too_little_time_is_no_verdict_on_the_columns() -> None:
    base = _row("Baseline", 0.5, 0.5, 0.5, baseline=True)
    told = _with_rows([_row("poor", 0.9), base], 3).summary()
    assert told.startswith("poor came first: ")
    assert "No model beats the baseline so far." in told
    assert "say little" not in told
    whole = _with_rows([_row("poor", 0.9, 0.9, 0.9), base], 3).summary()
    assert "No model beats the baseline: these columns say little about the target." in whole


@pytest.mark.parametrize(("name", "value"), [("a", "bad"), ("when", "no day")])
def test_a_hold_out_that_cannot_be_read_is_refused_before_the_search(name: str, value: str) -> None:
    days = pd.date_range("2024-01-01", periods=40).astype(str)
    frame = pd.DataFrame({"a": np.arange(40.0), "when": days, "y": np.arange(40.0) % 7})
    worse = frame.astype(object)
    worse.loc[3, name] = value
    with pytest.raises(InputError, match=rf"--holdout data: column '{name}': "):
        corollary.compare(frame, "y", holdout=worse, models={"line": corollary.Ridge()})


def test_a_tie_with_the_best_is_not_said_of_a_model_that_may_be_no_better_than_the_baseline() -> None:
    rows = [_row("good", 0.1, 0.2, 0.1), _row("wild", 0.1, 0.9, 0.3), _row("Baseline", 0.7, 0.7, 0.7, baseline=True)]
    assert not any(row.tied for row in ranked(rows, METRICS["log-loss"], 3))
