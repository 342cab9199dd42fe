"""Hard data give the right answer or a clear ValueError: never NaN, never a hang, never a raw NumPy warning."""

from __future__ import annotations

import signal
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from instances import CASES, Case, assert_close, every, outputs
from sklearn.exceptions import ConvergenceWarning

SECONDS = 20  # long enough for any of these on a busy machine: only a hang takes longer


@pytest.fixture(autouse=True)
def no_hang() -> Iterator[None]:
    def stop(number: int, frame: Any) -> None:
        raise TimeoutError(f"not finished after {SECONDS} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def stack(*columns: Any) -> Any:
    return np.column_stack(columns)


SCALES = 10.0 ** np.array([-9, 6, 0, 9, -6])

# name -> what becomes of X and y; these are hard but well within float64, so the evidence must hold
HARD: dict[str, Callable[[Any, Any], tuple[Any, Any]]] = {
    "two rows": lambda X, y: (X[:2], y[:2]),
    "one column": lambda X, y: (X[:, :1], y),
    "constant columns": lambda X, y: (stack(X, np.ones(len(X)), np.full(len(X), 1e9), np.zeros(len(X))), y),
    "repeated columns": lambda X, y: (stack(X, X), y),
    "repeated rows": lambda X, y: (np.repeat(X[:6], 10, axis=0), np.repeat(y[:6], 10)),
    "one distinct row": lambda X, y: (np.repeat(X[:1], 60, axis=0), y),
    "nothing but zeros": lambda X, y: (np.zeros_like(X), y),
    "more columns than rows": lambda X, y: (np.random.default_rng(5).normal(size=(12, 30)), y[:12]),
    "denormal numbers": lambda X, y: (X * 1e-310, y),
    "columns of 1e-300": lambda X, y: (X * 1e-300, y),
    "columns of 1e-100": lambda X, y: (X * 1e-100, y),
}

# here squares overflow, or a row or column drowns the others in rounding: evidence, a warning or a refusal will do
EXTREME: dict[str, Callable[[Any, Any], tuple[Any, Any]]] = {
    "nearly repeated columns": lambda X, y: (stack(X, X * (1 + 1e-12)), y),
    "different scales": lambda X, y: (X * SCALES, y),
    "far from the origin": lambda X, y: (X + 1e8, y),
    "columns of 1e100": lambda X, y: (X * 1e100, y),
    "columns of 1e300": lambda X, y: (X * 1e300, y),
    "one column of 1e200": lambda X, y: (stack(X, X[:, 0] * 1e200), y),
    "one enormous row": lambda X, y: (np.concatenate([X[:-1], X[-1:] * 1e6]), y),
}

HARD_TARGETS: dict[str, Callable[[Any], Any]] = {
    "constant": lambda y: np.full(len(y), 3.0),
    "zero": lambda y: np.zeros(len(y)),
    "far from zero": lambda y: y + 1e4,
}

EXTREME_TARGETS: dict[str, Callable[[Any], Any]] = {
    "1e100": lambda y: y * 1e100,
    "1e-100": lambda y: y * 1e-100,
    "1e300": lambda y: y * 1e300,
    "1e-300": lambda y: y * 1e-300,
    "one enormous": lambda y: np.append(y[:-1], 1e12),
    "very far from zero": lambda y: y + 1e10,
}


def survives(case: Case, X: Any, y: Any, *, holds: bool = True) -> Any:
    """The fitted model, with finite predictions, and evidence that holds or a warning; None if it refused in words."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("error")
        warnings.simplefilter("always", ConvergenceWarning)
        try:
            model = case.make(max_iter=case.enough if holds else 20).fit(X, y)
            answers = outputs(model, X)
        except ValueError as refusal:  # of the fit, or of asking one row for its four neighbours
            if len(str(refusal)) > 30:  # a sentence
                return None
            raise
    assert not np.isnan(getattr(model, "coef_", 0.0)).any()
    for name, value in answers.items():
        if value.dtype.kind == "f":
            assert np.isfinite(value).all(), name
    assert model.evidence_.holds != bool(caught)
    assert model.evidence_.holds or not holds, str(model.evidence_)
    return model


def labels(case: Case, y: Any) -> Any:
    """At least two classes."""
    if case.classifier and len(np.unique(y)) < 2:
        y = np.arange(len(y)) % 2
    return y


@pytest.mark.parametrize("what", HARD)
@every(CASES)
def test_hard_rows(case: Case, what: str) -> None:
    X, y = HARD[what](*case.data())
    survives(case, X, labels(case, y))


@pytest.mark.parametrize("what", EXTREME)
@every(CASES)
def test_extreme_rows(case: Case, what: str) -> None:
    X, y = EXTREME[what](*case.data())
    survives(case, X, labels(case, y), holds=False)


REGRESSORS = [case for case in CASES if not case.classifier]


@pytest.mark.parametrize("what", HARD_TARGETS)
@every(REGRESSORS)
def test_hard_targets(case: Case, what: str) -> None:
    X, y = case.data()
    survives(case, X, HARD_TARGETS[what](y))


@pytest.mark.parametrize("what", EXTREME_TARGETS)
@every(REGRESSORS)
def test_extreme_targets(case: Case, what: str) -> None:
    X, y = case.data()
    survives(case, X, EXTREME_TARGETS[what](y), holds=False)


@every(CASES)
def test_one_row(case: Case) -> None:
    X, y = case.data()
    model = survives(case, X[:1], y[:1])
    if model is not None and getattr(model, "fit_intercept", True):
        assert model.predict(X[:1]) == pytest.approx(y[:1], rel=1e-3, abs=1.01 * case.tube)


@every([case for case in CASES if not case.drawn and not case.counting])  # smoothing adds to constant counts
def test_columns_that_say_nothing_change_nothing(case: Case) -> None:
    X, y = case.data()
    wide = stack(X, np.zeros(len(X)), np.full(len(X), 7.0))
    if not getattr(case.make(), "fit_intercept", True):  # then a constant column is an intercept
        wide = wide[:, :-1]
    plain, model = case.make(tol=1e-9).fit(X, y), case.make(tol=1e-9).fit(wide, y)
    assert_close(outputs(model, wide), outputs(plain, X), rtol=1e-3, atol=1e-3)


@every(REGRESSORS)
def test_a_constant_target_is_learnt_exactly(case: Case) -> None:
    X, y = case.data()
    model = case.make().fit(X, np.full(len(y), 2.5))
    assert model.evidence_.holds
    if getattr(model, "fit_intercept", True):
        np.testing.assert_allclose(model.predict(X), 2.5, rtol=1e-3, atol=1.01 * case.tube)


SHIFTED = [
    case
    for case in CASES
    if getattr(case.make(), "fit_intercept", True) and not case.drawn and not case.counting  # counts have an origin
]


@every(SHIFTED)
def test_the_origin_of_a_column_does_not_matter(case: Case) -> None:
    """The intercept is not penalised, so moving a column moves only the intercept."""
    X, y = case.data()
    plain, moved = case.make(tol=1e-9).fit(X, y), case.make(tol=1e-9).fit(X + 1e4, y)
    assert_close(outputs(moved, X + 1e4), outputs(plain, X), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("classes", [5, 20])
@every([case for case in CASES if case.classifier and not case.folds])
def test_many_classes(case: Case, classes: int) -> None:
    X, y = case.data(classes=classes)
    model = case.make().fit(X, y)
    assert model.evidence_.holds
    assert set(model.predict(X)) <= set(range(classes))


@every([case for case in CASES if case.classifier and not case.folds])
def test_a_class_with_one_row(case: Case) -> None:
    X, y = case.data()
    y[0] = 2
    model = case.make().fit(X, y)
    assert model.evidence_.holds
    assert model.classes_.tolist() == [0, 1, 2]


@every([case for case in CASES if case.classifier and case.name != "BernoulliNB"])  # which sees signs alone
def test_separable_classes(case: Case) -> None:
    X, _ = case.data()
    y = (X[:, 0] > np.median(X[:, 0])).astype(int)
    X[:, 0] += 10 * y
    model = case.make().fit(X, y)
    assert model.evidence_.holds
    if case.family == "graphical":  # a density of all columns together, cut into few states: not made to separate
        return
    np.testing.assert_array_equal(model.predict(X), y)
