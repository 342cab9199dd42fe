"""Nested cross-validation, and what long runs share: progress, parallel fits, resuming, Ctrl-C."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification, make_regression
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    RepeatedStratifiedKFold,
    StratifiedKFold,
    cross_val_score,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from corollary import GaussianNB, LassoCV, LogisticRegression, Ridge
from corollary.evaluate import nested
from corollary.evaluate.jobs import Unfinished

X, Y = make_classification(120, 5, flip_y=0.2, random_state=0)
SEARCH = GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 9, 25]}, cv=3)


def test_it_is_the_cross_validation_of_the_search() -> None:
    found = nested(SEARCH, X, Y, cv=4)
    np.testing.assert_allclose(found.score.folds, cross_val_score(SEARCH, X, Y, cv=4))
    train, test = next(iter(StratifiedKFold(4).split(X, Y)))
    again = clone(SEARCH).fit(X[train], Y[train])
    assert found.inner_scores[0] == again.best_score_
    assert found.choices[0] == again.best_params_
    assert found.sizes[0] == (len(train), len(test))
    assert found.to_frame()["n_neighbors"].tolist() == [choice["n_neighbors"] for choice in found.choices]
    low, high = found.interval
    assert 0 <= low < found.score.mean < high <= 1
    np.testing.assert_allclose(found.luck.mean, np.mean(found.inner_scores) - found.score.mean)


def test_how_stable_the_choices_are() -> None:
    found = nested(SEARCH, X, Y, cv=RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0))
    value, share = found.stability["n_neighbors"]
    chosen = [choice["n_neighbors"] for choice in found.choices]
    assert chosen.count(value) == max(chosen.count(each) for each in chosen) == share * 6
    assert found.agreement == share
    assert str(found).endswith(f"{chosen.count(value)} of 6 folds chose the same parameters.")
    assert str(found).startswith(f"accuracy {found.score.mean:.2f}")


def test_models_that_choose_in_their_fit_plain_models_and_models_by_name() -> None:
    A, b = make_regression(60, 4, noise=5.0, random_state=0)
    assert set(nested(LassoCV(), A, b, cv=3).choices[0]) >= {"alpha_"}
    plain = nested(Ridge(), A, b, cv=3)
    assert plain.choices == ({}, {}, {})
    assert str(plain).endswith("3 outer folds).")
    named = nested({"bayes": GaussianNB(), "nearest": KNeighborsClassifier(1)}, X, Y, cv=3, scoring="neg_log_loss")
    assert {choice["model"].split("(")[0] for choice in named.choices} == {"GaussianNB"}
    assert named.interval[1] <= 0


def test_groups_weights_and_other_folds_within() -> None:
    groups = np.arange(len(Y)) // 3
    grouped = GridSearchCV(GaussianNB(), {"var_smoothing": [1e-9, 0.1]}, cv=GroupKFold(3))
    found = nested(grouped, X, Y, cv=GroupKFold(4), groups=groups)
    assert sum(test for _, test in found.sizes) == len(Y)
    weights = np.where(np.arange(len(Y)) % 2, 1.0, 0.0)
    pipeline = GridSearchCV(make_pipeline(StandardScaler(), LogisticRegression()), {"logisticregression__C": [0.1, 1]})
    weighted = nested(pipeline, X, Y, cv=3, inner=KFold(2), sample_weight=weights)
    train, test = next(iter(StratifiedKFold(3).split(X, Y)))
    model = (
        clone(pipeline)
        .set_params(cv=KFold(2))
        .fit(X[train], Y[train], logisticregression__sample_weight=weights[train])
    )
    assert weighted.score.folds[0] == model.score(X[test][weights[test] > 0], Y[test][weights[test] > 0])


def test_it_goes_on_after_ctrl_c(tmp_path: Path) -> None:
    path, seen = tmp_path / "folds.jsonl", []

    def stop(done: int, total: int, what: str) -> None:
        seen.append((done, total, what))
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match=r"2 of 4 fits were finished; resume='.*folds.jsonl' goes on") as caught:
        nested(SEARCH, X, Y, cv=4, resume=path, progress=stop)
    assert isinstance(caught.value, Unfinished)
    assert set(caught.value.finished) == {0, 1}
    assert seen == [(0, 4, "nested"), (1, 4, "nested"), (2, 4, "nested")]
    with path.open("a") as file:
        file.write('{"job": 2, "resu')  # a line that was cut off
    calls: list[Any] = []
    found = nested(SEARCH, X, Y, cv=4, resume=path, progress=lambda *call: calls.append(call))
    assert calls[0] == (2, 4, "nested")
    assert len(calls) == 3
    assert found.score == nested(SEARCH, X, Y, cv=4).score
    assert [json.loads(line).get("job") for line in path.read_text().splitlines()] == [None, 0, 1, 2, 3]


def test_two_at_a_time_give_the_same() -> None:
    with joblib.parallel_config(backend="threading"):  # processes take seconds to start
        assert nested(SEARCH, X, Y, cv=3, n_jobs=2).score == nested(SEARCH, X, Y, cv=3).score


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "folds.jsonl"
    nested(SEARCH, X, Y, cv=3, resume=path)
    with pytest.raises(
        ValueError, match=r"holds the fits of another run \(rows differ\); delete it, or give another path"
    ):
        nested(SEARCH, X + 1, Y, cv=3, resume=path)
    with pytest.raises(ValueError, match=r"another run \(jobs differ\)"):
        nested(SEARCH, X, Y, cv=4, resume=path)
    with pytest.raises(ValueError, match=r"another run \(model differ\)"):
        nested(clone(SEARCH).set_params(cv=2), X, Y, cv=3, resume=path)
    path.write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="is not a file of finished fits; give another path"):
        nested(SEARCH, X, Y, cv=3, resume=path)
    with pytest.raises(ValueError, match="cannot be used: Is a directory"):
        nested(SEARCH, X, Y, cv=3, resume=tmp_path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"y": Y[:5]}, r"y must have one entry for each row of X \(120\), but it has 5"),
        ({"scoring": ["accuracy", "f1"]}, "scoring must be one scorer, a name or a callable, but several came"),
        ({"cv": [(np.arange(100), np.array([], dtype=int))]}, "the test part of split 1 is empty; use fewer folds"),
        ({"cv": [(np.arange(100), np.arange(100, 120))]}, "cv must give at least 2 splits, but it gives 1"),
        ({"X": X[:1], "y": Y[:1]}, "X must have at least 2 rows, but it has 1"),
        ({"sample_weight": np.ones(120)}, "KNeighborsClassifier cannot be fitted with weights; leave them out"),
        ({"X": None}, "X must have rows, but it is a NoneType"),
    ],
)  # fmt: skip
def test_bad_input(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        nested(**({"search": SEARCH, "X": X, "y": Y} | arguments))


def test_the_picture() -> None:
    ax = nested(SEARCH, X, Y, cv=3).plot()
    assert ax.get_ylabel() == "accuracy"
    assert len(ax.get_legend().get_texts()) == 2
