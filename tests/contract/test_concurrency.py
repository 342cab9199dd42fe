"""Fits side by side, in forked children and in worker processes give the answers of a fit alone."""

from __future__ import annotations

import multiprocessing
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import joblib
import numpy as np
import pytest
from instances import CASES, FIRST, Case, assert_close, every, outputs
from sklearn.model_selection import GridSearchCV, cross_val_score

SECONDS = 120  # only a deadlock takes longer


def answer(case: Case, seed: int) -> dict[str, Any]:
    X, y = case.data(n=130, seed=seed)
    return outputs(case.make().fit(X, y), X)


@every(CASES)
def test_fits_in_four_threads(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("corollary.core.parallel.BLOCK_BYTES", 1)
    alone = [answer(case, seed) for seed in range(4)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda seed: answer(case, seed), range(4)))
    for first, second in zip(alone, together, strict=True):
        assert_close(first, second, rtol=1e-9, atol=1e-9)


def child(cases: list[Case], pipe: Any) -> None:
    pipe.send([answer(case, 0) for case in cases])


def test_a_forked_child_can_fit_after_its_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    """The parent has threads and locks that the child does not inherit."""
    monkeypatch.setattr("corollary.core.parallel.BLOCK_BYTES", 1)
    before = [answer(case, 0) for case in FIRST]
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    process = context.Process(target=child, args=(FIRST, theirs))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of every fork beside threads
        process.start()
    try:
        assert ours.poll(SECONDS), "the child hangs"
        found = ours.recv()
    finally:
        process.join(5)
        process.kill()
        ours.close()
        theirs.close()
    for first, second in zip(before, found, strict=True):
        assert_close(first, second, rtol=1e-9, atol=1e-9)


def in_worker(name: str, parameters: dict[str, Any], X: Any, y: Any) -> Any:
    import corollary
    from corollary.core.parallel import n_threads

    model = getattr(corollary, name)(**parameters).fit(X, y)
    return n_threads(), model.predict(X)


def test_worker_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Joblib's workers fit what we fit, on one thread each, and a grid search in them works."""
    tasks = [(case.name, dict(case.parameters), *case.data()) for case in FIRST]
    found = joblib.Parallel(n_jobs=2)(joblib.delayed(in_worker)(*task) for task in tasks)
    for case, task, (threads, predicted) in zip(FIRST, tasks, found, strict=True):
        assert threads == 1
        expected = case.make().fit(*task[2:]).predict(task[2])
        np.testing.assert_allclose(predicted.astype(float), expected.astype(float), rtol=1e-7, atol=1e-9)
    case = next(case for case in FIRST if case.name == "Lasso")
    search = GridSearchCV(case.make(), {"alpha": [0.01, 0.1, 1.0]}, n_jobs=2, cv=3).fit(*case.data())
    alone = GridSearchCV(case.make(), {"alpha": [0.01, 0.1, 1.0]}, cv=3).fit(*case.data())
    assert search.best_params_ == alone.best_params_
    joblib.externals.loky.get_reusable_executor().shutdown(wait=True)


@every(FIRST)
def test_cross_validation(case: Case) -> None:
    X, y = case.data()
    assert np.isfinite(cross_val_score(case.make(), X, y, cv=3)).all()
