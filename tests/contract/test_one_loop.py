"""Every iterative fit runs in the same loop: its history, its ends and its interruptions mean the same everywhere."""

from __future__ import annotations

import warnings
from typing import Any

import instances
import numpy as np
import pytest
import unlabelled
from recorder import Recorder
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score

from corollary import Kind, Status, TimeBudget


def fit(case: Any, model: Any) -> Any:
    """The model, fitted to the case's data."""
    if isinstance(case, instances.Case):
        return model.fit(*case.data())
    return model.fit(case.rows())


EVERY = [*instances.FIRST, *unlabelled.FIRST]
EACH = pytest.mark.parametrize("case", EVERY, ids=[case.name for case in EVERY])


def _iterative(case: Any) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return fit(case, case.make()).evidence_.status is not Status.EXACT


ITERATIVE = [case for case in EVERY if _iterative(case)]
EACH_ITERATIVE = pytest.mark.parametrize("case", ITERATIVE, ids=[case.name for case in ITERATIVE])


@EACH
def test_history(case: Any) -> None:
    """Columns of equal length: steps counted one by one, time that goes forward, the certificate in its own units."""
    evidence = fit(case, case.make()).evidence_
    history = {name: np.asarray(column) for name, column in evidence.history.items()}
    if not history:
        assert evidence.status is Status.EXACT or evidence.n_iter == 0
        return
    assert {"iteration", "objective", "seconds"} <= history.keys()
    assert len({len(column) for column in history.values()}) == 1
    assert "gap" not in history
    steps = history["iteration"]
    np.testing.assert_array_equal(np.diff(steps), 1)
    assert steps[-1] <= evidence.n_iter or evidence.certificate.kind is Kind.CHECKED
    assert (np.diff(history["seconds"]) >= 0).all()
    assert history["seconds"][-1] <= evidence.seconds
    if "certificate" in history and evidence.status is Status.CONVERGED:
        assert history["certificate"].min() <= evidence.certificate.tolerance
        assert evidence.certificate.value in history["certificate"]


@EACH_ITERATIVE
def test_each_end_is_told_in_the_same_way(case: Any) -> None:
    """A budget and Ctrl-C each leave a working model whose evidence names its end and claims nothing."""
    stopped = case.make().set_callbacks(TimeBudget(1e-9))
    with pytest.warns(ConvergenceWarning, match=r"Stopped early: .* It was stopped by a callback"):
        fit(case, stopped)
    interrupted = case.make().set_callbacks(Recorder(0, KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt, match=r"Interrupted: .* It was interrupted from the keyboard"):
        fit(case, interrupted)
    for model, status in ((stopped, Status.BUDGET), (interrupted, Status.INTERRUPTED)):
        evidence = model.evidence_
        assert evidence.status is status
        assert not evidence.holds
        assert not any(kind.word in str(evidence) for kind in Kind)
        assert set(evidence.history) >= {"iteration", "objective", "seconds"}
        assert "best answer so far" in evidence.status.advice


LIMITED = [case for case in ITERATIVE if "max_iter" in case.make().get_params()]


@pytest.mark.parametrize("case", LIMITED, ids=[case.name for case in LIMITED])
def test_max_iter_is_told_in_the_same_way(case: Any) -> None:
    """A fit that one iteration does not finish says so; one that it does is as good as any."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        evidence = fit(case, case.make(max_iter=1)).evidence_
    if evidence.holds:
        assert evidence.status is Status.CONVERGED
        return
    assert evidence.status is Status.MAX_ITER
    assert evidence.claim == f"Not shown to be {evidence.certificate.kind.name.lower()}"
    assert any("stopped at max_iter" in str(each.message) for each in caught)


@pytest.mark.parametrize(
    "case",
    [case for case in ITERATIVE if isinstance(case, instances.Case) and not case.folds],
    ids=lambda case: case.name,
)
def test_ctrl_c_ends_loops_around_a_fit(case: Any) -> None:
    """Nothing swallows it: neither cross-validation nor a search goes on with the next fold."""
    X, y = case.data()
    fits = Recorder(0, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        cross_val_score(case.make().set_callbacks(fits), X, y, cv=3)
    assert fits.seen == 1
    with pytest.raises(KeyboardInterrupt):
        GridSearchCV(case.make().set_callbacks(Recorder(0, KeyboardInterrupt())), {}, cv=3).fit(X, y)
