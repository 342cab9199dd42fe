"""A file of finished fits answers the question it was made for, and no other."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse, stats
from sklearn.datasets import load_iris
from sklearn.metrics import fbeta_score, make_scorer, mean_absolute_error
from sklearn.model_selection import GroupKFold, RandomizedSearchCV

from corollary import DecisionTreeClassifier, DecisionTreeRegressor, GaussianNB, KNeighborsClassifier
from corollary.evaluate import (
    bias_variance,
    compare_models,
    learning_curve,
    nested,
    optimisation_bias,
    paired_test,
    validation_curve,
)
from corollary.evaluate.identity import identity

X, LABELS = load_iris(return_X_y=True)
Y = (LABELS == 2).astype(int)
HALF, TWICE = (make_scorer(fbeta_score, beta=beta) for beta in (0.5, 2))
JUDGES: dict[str, Any] = {
    "nested": lambda **more: nested(GaussianNB(), X, Y, cv=3, **more),
    "learning curve": lambda **more: learning_curve(GaussianNB(), X, Y, cv=3, train_sizes=[0.5, 1.0], **more),
    "validation curve": lambda **more: validation_curve(
        KNeighborsClassifier(), X, Y, "n_neighbors", [1, 9], cv=3, **more
    ),
    "paired": lambda **more: paired_test(GaussianNB(), KNeighborsClassifier(), X, Y, cv=3, **more),
    "models": lambda **more: compare_models({"a": GaussianNB(), "b": KNeighborsClassifier()}, X, Y, cv=3, **more),
}


@pytest.mark.parametrize("judge", JUDGES.values(), ids=JUDGES)
def test_scorers_of_one_name_are_told_apart(judge: Any, tmp_path: Path) -> None:
    path = tmp_path / "fits.jsonl"
    first = judge(scoring=HALF, resume=path)
    assert str(judge(scoring=HALF, resume=path)) == str(first)
    with pytest.raises(ValueError, match=r"another run \(scoring differ\)"):
        judge(scoring=TWICE, resume=path)


def test_what_the_predictions_are_coded_by_is_part_of_the_question(tmp_path: Path) -> None:
    """Labels kept for the squared loss would be read as codes of classes."""
    model, y, path = DecisionTreeClassifier(max_depth=1), Y + 1, tmp_path / "fits.jsonl"
    ask = partial(bias_variance, model, X[::2], y[::2], X[1::2], draws=3, resume=path)
    ask(y[1::2], loss="squared")
    for changed, more in {
        "loss": {"y_test": y[1::2], "loss": "0-1"},
        "y_test": {"y_test": y[1::2] + 1, "loss": "squared"},
        "truth": {"y_test": y[1::2], "truth": y[1::2], "loss": "squared"},
    }.items():
        with pytest.raises(ValueError, match=rf"another run \({changed} differ\)"):
            ask(**more)


def _source(noise: float) -> Any:
    def draw(rng: np.random.Generator) -> tuple[Any, Any]:
        x = rng.uniform(0, 6, (40, 1))
        return x, np.sin(x[:, 0]) + rng.normal(0, noise, 40)

    return draw


def test_sources_of_one_name_are_told_apart(tmp_path: Path) -> None:
    grid = np.linspace(0, 6, 20)[:, None]
    ask = partial(bias_variance, DecisionTreeRegressor(max_depth=2), *_source(0.1)(np.random.default_rng(0)), grid,
                  truth=np.sin(grid[:, 0]), draws=3, resume=tmp_path / "fits.jsonl")  # fmt: skip
    assert str(ask(method=_source(0.1))) == str(ask(method=_source(0.1)))
    with pytest.raises(ValueError, match=r"another run \(method differ\)"):
        ask(method=_source(0.9))


def test_groups_and_settings_that_were_drawn_are_part_of_the_question(tmp_path: Path) -> None:
    groups = np.arange(len(Y)) % 10
    search = RandomizedSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 3, 5, 7, 9]}, n_iter=2, cv=GroupKFold(2))
    cv = [(np.arange(0, 150, 2), np.arange(1, 150, 2)), (np.arange(1, 150, 2), np.arange(0, 150, 2))]
    nested(search.set_params(random_state=0), X, Y, cv=cv, groups=groups, resume=tmp_path / "nested.jsonl")
    with pytest.raises(ValueError, match=r"another run \(groups differ\)"):
        nested(search, X, Y, cv=cv, groups=groups[::-1], resume=tmp_path / "nested.jsonl")
    search.set_params(random_state=None, cv=2)
    options: dict[str, Any] = {"method": "bootstrap", "repeats": 5, "resume": tmp_path / "luck.jsonl"}
    search.fit(X, Y)
    luck = optimisation_bias(search, X, Y, **options)
    assert optimisation_bias(search, X, Y, **options) == luck
    search.set_params(n_iter=2, param_distributions={"n_neighbors": [20, 30]}).fit(X, Y)
    with pytest.raises(ValueError, match=r"another run"):
        optimisation_bias(search, X, Y, **options)


def test_versions_are_part_of_the_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "fits.jsonl"
    nested(GaussianNB(), X, Y, cv=3, resume=path)
    monkeypatch.setattr("sklearn.__version__", "0.1")
    with pytest.raises(ValueError, match=r"another run \(\w+ differ\)"):
        nested(GaussianNB(), X, Y, cv=3, resume=path)


class _Locked:
    """Holds nothing that can be looked at."""

    __slots__ = ()

    def __call__(self, model: Any, X: Any, y: Any) -> float:
        return 0.5


def test_what_cannot_be_described_is_refused_in_one_line(tmp_path: Path) -> None:
    assert nested(GaussianNB(), X, Y, cv=3, scoring=_Locked()).score.mean == 0.5
    with pytest.raises(ValueError, match=r"^resume: a _Locked cannot be told from others of its kind; leave resume"):
        nested(GaussianNB(), X, Y, cv=3, scoring=_Locked(), resume=tmp_path / "fits.jsonl")
    assert not (tmp_path / "fits.jsonl").exists()


FACTOR = 2


def _reads_a_global(x: float) -> float:
    return sum(FACTOR * each for each in (x,))


class _Counting:
    def __init__(self, start: int) -> None:
        self.start, self.itself = start, self


def test_identities_differ_where_results_do(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs: list[tuple[Any, Any]] = [
        (HALF, TWICE),
        (make_scorer(mean_absolute_error), make_scorer(mean_absolute_error, greater_is_better=False)),
        (stats.loguniform(1, 10), stats.loguniform(1, 100)),
        (np.random.RandomState(0), np.random.RandomState(1)),
        (np.random.default_rng(0), np.random.default_rng(1)),
        (sparse.csr_array(np.eye(3)), sparse.csr_array(2 * np.eye(3))),
        (partial(max, 1), partial(max, 2)),
        (lambda x: x + 1, lambda x: x + 2),
        (lambda x, y=1: x, lambda x, y=2: x),
        (_Counting(1), _Counting(2)),
        (GaussianNB(), GaussianNB(var_smoothing=1e-3)),
        ({"a", "b"}, {"a", "c"}),
        (np.sin, np.cos),
    ]
    for first, second in pairs:
        assert identity(first) == identity(first)
        assert identity(first) != identity(second), first
    before = identity(_reads_a_global)
    monkeypatch.setitem(globals(), "FACTOR", 3)
    assert identity(_reads_a_global) != before


def test_identities_are_the_same_in_every_process() -> None:
    program = (
        "from test_resuming import *\nfrom test_resuming import _source\n"
        "print(identity([HALF, _source(0.1), _source, stats.loguniform(1, 9), GaussianNB(), {'a', 'b', 'c'},"
        " lambda x: x in {'a', 'b', 'c'}, X]))"
    )
    found = {
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True,
                       env=os.environ | {"PYTHONHASHSEED": seed}, cwd=Path(__file__).parent).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(found) == 1
