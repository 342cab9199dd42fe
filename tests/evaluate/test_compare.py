"""``compare``: honest scores, one failing model never stops the rest, and the best pipeline is whole."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

import corollary
from corollary.core.evidence import Certificate, Evidence, Kind, Status
from corollary.evaluate.compare import Interrupted
from corollary.tabular.messages import InputError

ROWS = 150
DATA = Path(__file__).parents[2] / ".." / "shared" / "data"


@pytest.fixture
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(2)
    x = rng.normal(size=ROWS)
    kind = rng.choice(["a", "b", "c"], ROWS)
    return pd.DataFrame(
        {
            "x": np.where(rng.random(ROWS) < 0.1, np.nan, x),
            "kind": kind,
            "noise": rng.normal(size=ROWS),
            "label": np.where(x + (kind == "a") + 0.5 * rng.normal(size=ROWS) > 0, "yes", "no"),
            "size": 10 * x + 3 * (kind == "b") + rng.normal(size=ROWS),
        }
    )


def test_scores_are_those_of_scikit_learn(frame: pd.DataFrame) -> None:
    result = corollary.compare(frame, "label", drop=["size"], models={"logistic": LogisticRegression()}, seed=3)
    pipeline = clone(result.best_)
    folds = StratifiedKFold(5, shuffle=True, random_state=3)
    expected = -cross_val_score(
        pipeline, frame[["x", "kind", "noise"]], frame["label"], cv=folds, scoring="neg_log_loss"
    )
    np.testing.assert_allclose(result.best_row.scores["log-loss"].folds, expected)


def test_out_of_fold_predictions_cover_every_row_in_order(frame: pd.DataFrame) -> None:
    result = corollary.compare(frame, "label", drop=["size"], models={"logistic": LogisticRegression()})
    said = result.out_of_fold["logistic"]
    assert said.probabilities is not None
    assert said.values.shape == (ROWS,)
    mean = result.best_row.scores["log-loss"].mean
    assert log_loss(frame["label"], said.probabilities) == pytest.approx(mean, rel=1e-6)
    assert (said.values == np.array(["no", "yes"])[said.probabilities.argmax(axis=1)]).all()


def test_regression_and_the_fitted_pipeline(frame: pd.DataFrame) -> None:
    result = corollary.compare(frame, "size", drop=["label"], models={"ridge": Ridge()})
    assert result.target.task == "regression"
    assert [row.model for row in result.rows] == ["ridge", "Baseline"]
    assert result.beats_baseline
    correlation = np.corrcoef(result.best_.predict(frame), frame["size"])[0, 1]
    assert correlation > 0.9


def test_paths_pandas_and_polars_agree(frame: pd.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    results = [corollary.compare(data, "label", models={"m": LogisticRegression()}, drop=["size"], folds=2)
               for data in (frame, polars.from_pandas(frame), path)]  # fmt: skip
    scores = [result.best_row.scores["log-loss"].folds for result in results]
    np.testing.assert_allclose(scores[1], scores[0])
    np.testing.assert_allclose(scores[2], scores[0])


def test_the_registry_is_used_by_default(frame: pd.DataFrame) -> None:
    result = corollary.compare(frame, "label", drop=["size"])
    assert result.best == "LogisticRegression"
    assert result.best_row.canon == "L9"
    evidence = result.best_row.evidence
    assert evidence is not None
    assert evidence == result.best_[-1].evidence_  # what is handed out knows its model, so it is not the same object
    assert evidence.holds
    assert result.best_row.verdict == "✓ optimal"


def test_your_own_candidates_beside_ours(frame: pd.DataFrame) -> None:
    models = {"ours": corollary.LogisticRegression(C=10.0), "theirs": LogisticRegression(C=10.0)}
    result = corollary.compare(frame, "label", drop=["size"], models=models)
    rows = {row.model: row for row in result.rows}
    ours, theirs = (rows[name].scores["log-loss"].folds for name in models)
    np.testing.assert_allclose(ours, theirs, rtol=1e-3)
    assert (rows["ours"].verdict, rows["theirs"].verdict) == ("✓ optimal", "–")


class Warning_(DummyClassifier):
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        warnings.warn("mind\nthe gap", UserWarning, stacklevel=2)
        warnings.warn("for programmers", FutureWarning, stacklevel=2)
        return super().fit(X, y)


class Doubtful(DummyClassifier):
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        self.evidence_ = Evidence(Status.MAX_ITER, Certificate(Kind.OPTIMAL, "gap", len(y) * 1.0, 1e-8), "guessing", 3)
        return super().fit(X, y)


class Broken(BaseEstimator, ClassifierMixin):
    def fit(self, X: Any, y: Any) -> Any:
        raise ValueError("cannot\ndo this")


class Endless(DummyClassifier):
    def predict_proba(self, X: Any) -> Any:
        return np.full((len(X), 2), np.nan)


class Unconverged(corollary.LogisticRegression):
    """Warns as our estimators do, and beside that as others do."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        warnings.warn("something else", UserWarning, stacklevel=2)
        return super().fit(X, y)


def test_what_the_evidence_says_is_not_repeated_as_a_note(frame: pd.DataFrame) -> None:
    models = {"short": Unconverged(max_iter=1)}
    row = corollary.compare(frame, "label", drop=["size"], models=models).best_row
    assert row.verdict == "✗ not shown"
    assert row.notes == ("something else",)
    inside = {"search": make_pipeline(corollary.LogisticRegression(max_iter=1))}  # keeps no evidence of its own
    row = corollary.compare(frame, "label", drop=["size"], models=inside).best_row
    assert row.evidence is None
    assert all("Not shown to be optimal" in note for note in row.notes)
    assert row.notes


def test_what_goes_wrong_with_a_model_is_kept_with_it(frame: pd.DataFrame) -> None:
    models = {"good": LogisticRegression(), "warns": Warning_(), "doubts": Doubtful(), "breaks": Broken(),
              "no probabilities": LinearSVC(), "not a number": Endless()}  # fmt: skip
    result = corollary.compare(frame, "label", drop=["size"], models=models)
    rows = {row.model: row for row in result.rows}
    assert result.best == "good"
    assert rows["warns"].notes == ("mind the gap",)
    assert rows["doubts"].verdict == "✗ not shown"
    assert rows["breaks"].error == "cannot do this"
    assert rows["breaks"].rank is None
    assert rows["not a number"].error == "its predictions are not finite"
    assert rows["no probabilities"].rank is None
    assert np.isfinite(rows["no probabilities"].scores["accuracy"].mean)
    assert np.isnan(rows["no probabilities"].scores["log-loss"].mean)
    text = str(result)
    for words in ("log-loss ↓", "breaks: cannot do this", "good predicts label best"):
        assert words in text
    assert "<table " in result._repr_html_()


def test_without_probabilities_one_can_rank_by_accuracy(frame: pd.DataFrame) -> None:
    models = {"svm": LinearSVC(), "logistic": LogisticRegression()}
    result = corollary.compare(frame, "label", drop=["size"], models=models, metric="accuracy")
    assert {row.model for row in result.rows if row.rank is not None} == {"svm", "logistic", "Baseline"}
    assert result.metric.name == "accuracy"


def test_models_that_cannot_be_told_apart_are_tied(frame: pd.DataFrame) -> None:
    models = {"a": LogisticRegression(), "b": LogisticRegression(C=1.01), "c": DummyClassifier(strategy="prior")}
    rows = {row.model: row for row in corollary.compare(frame, "label", drop=["size"], models=models).rows}
    assert rows["a"].tied != rows["b"].tied  # the best is not tied with itself
    assert not rows["c"].tied


def test_when_nothing_beats_the_baseline_it_is_said() -> None:
    rng = np.random.default_rng(0)
    data = pd.DataFrame({f"x{i}": rng.normal(size=30) for i in range(20)} | {"y": rng.normal(size=30)})
    result = corollary.compare(data, "y", models={"wild": Ridge(alpha=1e-9)})
    assert not result.beats_baseline
    assert result.best == "wild"
    assert "No model beats the baseline" in result.summary()


def _folds(frame: pd.DataFrame, **options: Any) -> tuple[float, ...]:
    result = corollary.compare(frame, "label", drop=["size"], models={"m": LogisticRegression()}, folds=2, **options)
    return result.best_row.scores["log-loss"].folds


def test_a_lead_that_may_be_chance_is_called_so() -> None:
    rng = np.random.default_rng(1)
    data = pd.DataFrame({"x": rng.normal(size=60), "y": rng.choice(["a", "b"], 60)})
    for seed in range(20):  # in some split of pure noise a model is slightly ahead
        result = corollary.compare(data, "y", models={"m": LogisticRegression(C=0.1)}, folds=3, seed=seed)
        if result.beats_baseline:
            break
    assert "That may be chance" in result.summary()


def test_same_seed_same_answer(frame: pd.DataFrame) -> None:
    assert _folds(frame) == _folds(frame)
    assert _folds(frame) != _folds(frame, seed=1)


@pytest.mark.slow  # two processes have to start
def test_same_answer_whatever_the_processes(frame: pd.DataFrame) -> None:
    assert _folds(frame) == _folds(frame, n_jobs=2)


def test_progress_is_told(frame: pd.DataFrame) -> None:
    seen: list[tuple[int, int, str]] = []
    corollary.compare(
        frame,
        "label",
        drop=["size"],
        folds=3,
        models={"m": LogisticRegression()},
        progress=lambda *now: seen.append(now),
    )
    # folds go round all models, so that all have something when it is broken off
    assert seen == [(0, 6, "Baseline"), (1, 6, "m"), (2, 6, "Baseline"), (3, 6, "m"), (4, 6, "Baseline"), (5, 6, "m"),
                    (6, 6, "")]  # fmt: skip


class Interrupting(DummyClassifier):
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        raise KeyboardInterrupt


def test_after_ctrl_c_the_finished_models_are_in_the_exception(frame: pd.DataFrame, tmp_path: Path) -> None:
    models = {"good": LogisticRegression(), "stops": Interrupting(), "never": LogisticRegression()}
    with pytest.raises(KeyboardInterrupt) as caught:
        corollary.compare(frame, "label", drop=["size"], models=models)
    assert isinstance(caught.value, Interrupted)
    assert str(caught.value) == "0 of 3 models were finished, and 1 in part"
    found = caught.value.comparison
    assert [(row.model, row.verdict, row.folds_done) for row in found.rows] == [
        ("good", "–", 1), ("Baseline", "–", 1), ("stops", "not run", 0), ("never", "not run", 0),
    ]  # fmt: skip
    assert "stops: interrupted" in str(found)
    assert found.best == "good"
    assert found.best_.predict(frame).shape == (ROWS,)  # as it was fitted to one fold's training part
    corollary.write_report(found, tmp_path / "part.html")
    assert "interrupted before the last fit" in (tmp_path / "part.html").read_text(encoding="utf-8")


def test_ctrl_c_before_anything_is_finished_is_just_that(frame: pd.DataFrame) -> None:
    with pytest.raises(KeyboardInterrupt) as caught:
        corollary.compare(frame, "label", drop=["size"], models={"stops": Interrupting()})
    assert not isinstance(caught.value, Interrupted)


def test_your_models_stay_as_they_were(frame: pd.DataFrame) -> None:
    model = LogisticRegression()
    corollary.compare(frame, "label", drop=["size"], models={"m": model}, folds=2)
    assert model.random_state is None
    assert not hasattr(model, "coef_")


def test_rows_without_a_target(frame: pd.DataFrame) -> None:
    frame.loc[[4, 9], "label"] = None
    with pytest.raises(InputError, match=r"target 'label' is missing in 2 rows \(first: row 5\)"):
        corollary.compare(frame, "label")
    result = corollary.compare(frame, "label", drop_missing_target=True, models={"m": LogisticRegression()})
    assert result.facts.rows == ROWS - 2
    assert result.facts.rows_without_target == 2


@pytest.mark.skipif(not DATA.is_dir(), reason="the shared data folder is not part of the repository")
@pytest.mark.parametrize(
    ("name", "target", "drop", "best_at_most"),
    [
        ("classification/titanic.csv.gz", "survived", ["boat", "body"], 0.49),
        ("classification/penguins.csv", "species", [], 0.1),
        ("regression/california_housing_ocean.csv.gz", "median_house_value", [], 70_000),
    ],
)
def test_real_tables(name: str, target: str, drop: list[str], best_at_most: float) -> None:
    data = pd.read_csv(DATA / name, na_values="?").sample(frac=1, random_state=0).head(3000)
    result = corollary.compare(data, target, drop=drop)
    assert not [row.error for row in result.rows if row.error]
    assert result.beats_baseline
    assert result.best_row.scores[result.metric.name].mean <= best_at_most
    assert all(row.evidence is not None and row.evidence.holds for row in result.rows if not row.baseline)


@pytest.mark.skipif(not DATA.is_dir(), reason="the shared data folder is not part of the repository")
def test_the_lifeboat_is_suspected() -> None:
    result = corollary.compare(DATA / "classification/titanic.csv.gz", "survived", models={"m": LogisticRegression()})
    leakage = result.checks[0]
    assert not leakage.fine
    assert "'boat'" in leakage.detail


@pytest.mark.parametrize("metric", ["log-loss", "accuracy"])
def test_a_model_of_the_other_task_fails_alone(metric: str) -> None:
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"x": rng.normal(size=80), "k": rng.integers(0, 2, 80)})
    own = {"line": Ridge(), "logistic": LogisticRegression()}
    result = corollary.compare(data, "k", models=own, metric=metric, folds=2)
    row = next(row for row in result.rows if row.model == "line")
    assert row.error.startswith("a regressor, but the target was read as classes")
    assert result.best == "logistic"
    with pytest.raises(InputError, match=r"no model could be fitted \(line: a regressor, but the target was read as"):
        corollary.compare(data, "k", models={"line": Ridge()}, metric=metric, folds=2)
    with pytest.raises(InputError, match="a classifier, but the target was read as numbers"):
        corollary.compare(data, "x", models={"logistic": LogisticRegression()}, folds=2)


def test_one_fold_is_not_called_folds() -> None:
    from corollary.evaluate.candidates import Candidate, Configuration
    from corollary.evaluate.search.fixed import _drop_half
    from corollary.evaluate.search.tried import Tried

    group = [Tried(Configuration(Candidate("m", "", None)), scores=[each]) for each in (1.0, 2.0)]
    _drop_half(group, greater_is_better=True)
    assert [each.dropped for each in group] == ["another configuration was better after 1 fold", ""]
