"""Boosting by threads that meet: one answer whatever their number, and under faults."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any

import joblib
import numpy as np
import pytest

from corollary import GradientBoostingClassifier, threads
from corollary._compiled import _jit

ROWS = 46_000  # as many as seven threads are worth
compiled = pytest.mark.skipif(not _jit.HAVE_NUMBA, reason="without a compiler a team has one thread")


def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, 4)).astype(np.float32)
    X[::7, 3] = np.nan
    return X, (X[:, 0] * X[:, 1] + np.sin(3 * X[:, 2]) + rng.normal(size=ROWS) > 0).astype(int)


def answer(count: int | None, n_estimators: int = 4) -> np.ndarray:
    X, y = data()
    with threads(count):
        return GradientBoostingClassifier(n_estimators=n_estimators).fit(X, y).predict_proba(X[:2000])


@pytest.fixture(scope="module")
def alone() -> np.ndarray:
    return answer(1)


@pytest.mark.parametrize("count", [2, 3, 7])
def test_any_number_of_threads_gives_one_answer(count: int, alone: np.ndarray) -> None:
    np.testing.assert_array_equal(answer(count), alone)


def test_two_fits_at_once(alone: np.ndarray) -> None:
    found: list[np.ndarray] = []
    fits = [threading.Thread(target=lambda: found.append(answer(3)), daemon=True) for _ in range(2)]
    for fit in fits:
        fit.start()
    for fit in fits:
        fit.join(timeout=300)
    assert len(found) == 2
    for one in found:
        np.testing.assert_array_equal(one, alone)


def test_fits_in_tasks_of_joblib(alone: np.ndarray) -> None:
    for one in joblib.Parallel(n_jobs=2, backend="threading")(joblib.delayed(answer)(None) for _ in range(2)):
        np.testing.assert_array_equal(one, alone)


def _child(queue: Any) -> None:
    queue.put(answer(3))


@compiled
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # forking while threads exist is the point
def test_a_child_forked_during_a_fit_fits_by_itself(alone: np.ndarray) -> None:
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_child, args=(queue,))
    found: list[np.ndarray] = []
    fit = threading.Thread(target=lambda: found.append(answer(3, 40)), daemon=True)
    fit.start()
    time.sleep(0.3)
    child.start()
    np.testing.assert_array_equal(queue.get(timeout=300), alone)
    child.join(timeout=60)
    assert child.exitcode == 0
    fit.join(timeout=300)
    np.testing.assert_array_equal(found[0], answer(1, 40))


@compiled
def test_ctrl_c_keeps_the_trees_so_far(alone: np.ndarray) -> None:
    X, y = data()
    model = GradientBoostingClassifier(n_estimators=100_000)
    press = threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT))
    press.start()
    with threads(3), pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    press.join()
    assert model.evidence_.status.name == "INTERRUPTED"
    kept = int(model.evidence_.history["iteration"][-1])
    np.testing.assert_array_equal(model.predict_proba(X[:2000]), answer(1, kept))
    np.testing.assert_array_equal(answer(3), alone)


@compiled
def test_a_second_process_compiles_no_tree() -> None:
    program = """
import numpy as np, corollary
from corollary._compiled.trees.boosting.round import boost_round
X = np.random.default_rng(0).normal(size=(200, 4)).astype(np.float32)
corollary.GradientBoostingClassifier(n_estimators=1).fit(X, (X[:, 0] > 0).astype(int))
print(sum(boost_round.stats.cache_hits.values()), sum(boost_round.stats.cache_misses.values()))
"""

    def run() -> str:
        command = [sys.executable, "-c", program]
        return subprocess.run(command, capture_output=True, text=True, timeout=500, check=True).stdout.strip()

    assert "1 0" in (run(), run())
