"""Hostile fits over every estimator: a fit may be not proved; it may not be proved and wrong."""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np
import pytest
from hostile_fits import FAILURES, Fit, many_fits, table
from hostile_models import NAMES, TABLE, make, target_of
from plain_objective import CLASSES, Plain
from second_opinion import reading

from corollary.linear.claims import _terms
from corollary.referee.linear.judge import yardstick
from corollary.referee.linear.problem import Objective, Problem
from corollary.registry import ESTIMATORS


def test_every_estimator_is_attacked():
    assert set(TABLE) == set(ESTIMATORS)


# The least share of fits that the referee must confirm, of hundreds: a library that refuses everything proves nothing
# false. Most estimators have 0.53 to 0.99; of the scale of Huber, and of columns that forests draw, less is decided.
LEAST, LESS = 0.4, {"HuberRegressor": 0.15, "RandomForestClassifier": 0.1}


def _confirmed(found: list[Fit]) -> dict[str, float]:
    """The share of confirmed fits, by estimator and of all together."""
    own = {name: [fit.outcome == "confirmed" for fit in found if fit.name == name] for name in TABLE}
    return {name: float(np.mean(each)) for name, each in own.items()} | {
        "all": float(np.mean([fit.outcome == "confirmed" for fit in found]))
    }


def _attack(seed: int, fits: int, processes: int) -> list[Fit]:
    found = list(many_fits(seed, range(fits), processes))
    failed = [fit for fit in found if fit.outcome in FAILURES]
    failures = [f"--seed {seed} --number {fit.number}: {fit.outcome}: {fit.label}: {fit.words}" for fit in failed]
    assert len(found) == fits
    assert not failures, "\n".join([*failures, table(found)])
    return found


def test_a_few_hundred_hostile_fits_find_no_false_proof():
    found = _attack(seed=1, fits=5 * len(TABLE), processes=1)
    assert _confirmed(found)["all"] >= 0.7, table(found)
    held = {fit.name for fit in found if fit.outcome in ("confirmed", "undecided")}
    assert held == set(TABLE), table(found)


@pytest.mark.slow
def test_many_hostile_fits_find_no_false_proof():
    found = _attack(seed=2, fits=20_000, processes=os.cpu_count() or 1)
    few = {name: share for name, share in _confirmed(found).items() if share < LESS.get(name, LEAST)}
    assert not few, f"{few}\n{table(found)}"


GROUPED = {"loss": "squared", "penalty": "group", "groups": [4, 4, 9]}
LINEAR = [(name, settings) for name in NAMES for settings in TABLE[name] if ESTIMATORS[name].family == "linear"]
LINEAR.append(("LinearModel", GROUPED))


@pytest.mark.parametrize(("name", "settings"), LINEAR, ids=str)
def test_two_readings_of_a_linear_model_agree(name: str, settings: dict[str, Any]) -> None:
    """What models tell the referee of their problem, and what their documentation says, are written apart."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = rng.poisson(np.exp(X[:, 0] / 2)).astype(float)
    model = make(name, settings, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y > 0.5 if target_of(name, settings) == "classes" else y)
    own, told = reading(name, model.get_params(deep=False), vars(model)), _terms(model, np.ones(40), 0)
    assert own is not None
    assert told is not None
    for array in ("groups", "group_strengths"):
        np.testing.assert_array_equal(own.pop(array, ()), told.pop(array, ()))
    assert own.pop("mean") == bool(np.isclose(float(told.pop("weights").sum()), 1.0))
    plain = {"parameter": 0.0, "l1": 0.0, "l2": 0.0, "positive": False}
    assert {**plain, **own} == {**plain, **told, "parameter": told.get("parameter") or 0.0}


@pytest.mark.parametrize("loss", ["squared", "huber", "absolute", "quantile", "epsilon_insensitive", *CLASSES])
def test_the_objective_for_clarabel_is_that_of_the_referee(loss: str) -> None:
    """Two writings of one formula, in different coordinates; yardsticks to a few digits."""
    rng = np.random.default_rng(0)
    X, y, w = rng.normal(size=(40, 3)) + 5.0, 2 * rng.normal(size=40), rng.random(40)
    y = np.sign(y) if loss in CLASSES else y
    given = {"X": X, "y": y, "weights": w, "loss": loss, "parameter": 0.3, "l1": 0.2, "l2": 0.7}
    plain, problem = Plain(**given), Problem(Objective(**given))
    beta, start = rng.normal(size=3), 0.4
    own, other = plain.value(beta, start), problem.value(problem.inward(beta, start)) * problem.unit
    np.testing.assert_allclose(float(own), float(other), rtol=1e-14)
    np.testing.assert_allclose(float(plain.yardstick()), float(yardstick(problem) * problem.unit), rtol=1e-4)
