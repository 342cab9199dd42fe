"""A fit that goes on from an earlier one speaks of what it has done itself: the rest may be of other rows."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import corollary
from corollary import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from corollary.core.types import Array
from corollary.linear import LinearRegression
from corollary.tree import DecisionTreeClassifier

BOOSTED = (GradientBoostingRegressor, GradientBoostingClassifier)
DRAWN = (RandomForestRegressor, RandomForestClassifier, BaggingRegressor, BaggingClassifier)
ALL = (*BOOSTED, *DRAWN, ExtraTreesClassifier)


def rows(seed: int = 0, n: int = 120) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    return X, X[:, 0] + X[:, 1] ** 2 + 0.3 * rng.standard_normal(n)


def answers(cls: Any, y: Array) -> Array:
    return (y > 0.5).astype(np.int64) if cls.__name__.endswith("Classifier") else y


def went_on(cls: Any, **parameters: Any) -> tuple[Any, Array, Array]:
    """A model of ten trees of some rows and two of others, and these."""
    X, y = rows()
    model = cls(n_estimators=10, warm_start=True, random_state=0, **parameters).fit(X, answers(cls, y))
    Z, z = 5 * X + 1, answers(cls, -y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.set_params(n_estimators=12).fit(Z, z), Z, z


@pytest.mark.parametrize("cls", ALL)
def test_rounds_of_other_rows_are_told_and_not_judged(cls: Any, tmp_path: Path) -> None:
    parameters = {"min_samples_leaf": 5} if cls in BOOSTED or "Forest" in cls.__name__ else {}
    model, X, y = went_on(cls, **parameters)
    told = [note for note in model.evidence_.notes if note.startswith("10 of the 12 ")]
    assert len(told) == 1
    assert told[0].endswith("are of earlier fits, on rows that need not be these; what is said is said of the others.")
    path = tmp_path / "model.cml"
    corollary.save(model, path)
    for each in (model, corollary.load(path)):
        found = each.evidence_.verify(X, y)
        assert found.stands is not False, found.words
        if model.evidence_.holds and "Bagging" not in cls.__name__:
            assert "earlier fits" in found.words


@pytest.mark.parametrize("cls", ALL)
def test_a_fit_of_its_own_has_no_such_note(cls: Any) -> None:
    X, y = rows()
    model = cls(n_estimators=3, warm_start=True, random_state=0).fit(X, answers(cls, y))
    assert not any("earlier fits" in note for note in model.evidence_.notes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again = model.fit(X, answers(cls, y))
    assert any(note.startswith("All ") and "nothing is said of them" in note for note in again.evidence_.notes)
    assert not any(
        "earlier fits" in n for n in again.set_params(warm_start=False).fit(X, answers(cls, y)).evidence_.notes
    )


@pytest.mark.parametrize("cls", BOOSTED)
def test_a_loss_that_rises_in_a_new_round_is_still_refuted(cls: Any) -> None:
    model, X, y = went_on(cls, min_samples_leaf=5)
    assert model.evidence_.verify(X, y).stands is not False
    last = model.trees_.tree(model.trees_.n_trees - 1)
    model.trees_.value[-last.node_count :] *= -40
    assert model.evidence_.verify(X, y).stands is False


@pytest.mark.parametrize("cls", [RandomForestRegressor, RandomForestClassifier])
def test_a_new_tree_of_a_forest_is_still_judged(cls: Any) -> None:
    model, X, y = went_on(cls, max_features=None)
    assert model.evidence_.verify(X, y).stands is not False
    model.trees_.count[model.trees_.roots[-1]] += 1
    assert model.evidence_.verify(X, y).stands is False


@pytest.mark.parametrize("cls", DRAWN)
def test_trees_of_other_rows_have_no_vote_out_of_the_bag(cls: Any) -> None:
    """They may have seen every one of these rows: here, they have."""
    X, y = rows(1, 200)
    y = answers(cls, np.random.default_rng(2).standard_normal(200))  # nothing can be learnt, only remembered
    member = {} if "Forest" in cls.__name__ else {"estimator": DecisionTreeClassifier()}
    member = {"estimator": LinearRegression()} if cls is BaggingRegressor else member
    keys = {"random_state": 0, "oob_score": True, "warm_start": True, **member}
    name = "oob_decision_function_" if cls.__name__.endswith("Classifier") else "oob_prediction_"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = cls(n_estimators=8, **keys).fit(np.tile(X, (3, 1)), np.tile(y, 3))
        model.set_params(n_estimators=14).fit(X, y)
        alone = cls(n_estimators=14, **keys).fit(X, y)
        before = getattr(model, name)
        model.fit(X, y)  # goes on from trees some of which are of these rows
    np.testing.assert_array_equal(getattr(model, name), before)
    own = np.isfinite(before if before.ndim == 1 else before[:, 0])
    assert own.sum() < np.isfinite(getattr(alone, name)).reshape(200, -1)[:, 0].sum()  # six trees, not fourteen
    if "Bagging" in cls.__name__:
        assert [len(sample) for sample in model.estimators_samples_] == [0] * 8 + [200] * 6
        return
    shuffled = model.oob_permutation_importance(X, y, random_state=0)
    assert shuffled.importances.shape == (4, 6)


def test_members_that_drew_from_these_rows_keep_their_votes() -> None:
    X, y = rows()
    parts = BaggingRegressor(LinearRegression(), 4, warm_start=True, oob_score=True, random_state=0).fit(X, y)
    parts.set_params(n_estimators=9).fit(X, y)
    whole = BaggingRegressor(LinearRegression(), 9, oob_score=True, random_state=0).fit(X, y)
    np.testing.assert_array_equal(parts.oob_prediction_, whole.oob_prediction_)


@pytest.mark.parametrize("cls", DRAWN)
def test_files_that_do_not_tell_of_earlier_fits_still_load_and_go_on(cls: Any, tmp_path: Path) -> None:
    X, y = rows()
    model = cls(n_estimators=3, warm_start=True, oob_score=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, answers(cls, y))
        for name in ("_before", "_key"):
            model.__dict__.pop(name, None)
        corollary.save(model, tmp_path / "model.cml")
        old = corollary.load(tmp_path / "model.cml")
        assert old.evidence_.verify(X, answers(cls, y)).stands is not False
        assert old.set_params(n_estimators=5).fit(X, answers(cls, y)).evidence_.holds
    assert old.evidence_.verify(X, answers(cls, y)).stands is not False


@pytest.mark.parametrize("cls", DRAWN)
def test_a_file_cannot_say_that_more_trees_are_of_earlier_fits_than_there_are(cls: Any, tmp_path: Path) -> None:
    X, y = rows()
    model = cls(n_estimators=3, random_state=0).fit(X, answers(cls, y))
    model._before = (4, 0)
    with pytest.raises(ValueError, match="cannot be of earlier fits"):
        corollary.save(model, tmp_path / "model.cml")
