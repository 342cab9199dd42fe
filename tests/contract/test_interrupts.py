"""Ctrl-C ends models of models within an iteration of a member, on whatever thread that is fitted."""

from __future__ import annotations

import os
import signal
import threading
import time
from typing import Any

import numpy as np
import pytest

from corollary.core import parallel
from corollary.ensemble.boosting.gradient_boosting import GradientBoostingRegressor
from corollary.registry import ESTIMATORS

PATIENCE = 8.0  # seconds that an interrupted fit may take on a busy machine; the fit itself takes minutes


class Endless(GradientBoostingRegressor):
    """A member that goes on for minutes, an iteration at a time, and tells when it has begun."""

    __module__ = "corollary.endless"  # members of the library are fitted on threads
    begun = threading.Event()

    def _observer(self, *args: Any) -> Any:
        self.begun.set()
        return super()._observer(*args)


def endless(name: str) -> Any:
    member = Endless(n_estimators=10**6, min_samples_leaf=1)
    Ensemble = ESTIMATORS[name].load()
    if name.startswith("Bagging"):
        return Ensemble(member, n_estimators=4)
    return Ensemble([("first", member), ("second", member)])


class Finger(threading.Thread):
    """Presses Ctrl-C soon after a member has begun."""

    pressed = 0.0

    def run(self) -> None:
        if Endless.begun.wait(60):
            time.sleep(0.3)
            self.pressed = time.perf_counter()
            os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("name", ["StackingRegressor", "VotingRegressor", "BlendingRegressor", "BaggingRegressor"])
def test_ctrl_c_ends_an_ensemble_within_an_iteration_of_a_member(name: str, workers: int) -> None:
    X = np.random.default_rng(0).normal(size=(300, 4))
    model = endless(name)
    Endless.begun.clear()
    finger = Finger()
    finger.start()
    with parallel.threads(workers), pytest.raises(KeyboardInterrupt):
        model.fit(X, X[:, 0] * X[:, 1])
    assert time.perf_counter() - finger.pressed < PATIENCE
    finger.join()
    with parallel.threads(workers):  # the threads are free again
        assert list(parallel.map_blocks(lambda start, stop: start, 6, 1)) == list(range(6))


def test_tasks_of_a_call_that_ended_stop() -> None:
    started, stopped = threading.Event(), threading.Event()

    def task(start: int, stop: int) -> int:
        if start == 0:
            started.wait(10)
            raise OSError("disk full")
        try:
            started.set()
            while True:
                parallel.stop_if_ended()
                time.sleep(0.001)
        except KeyboardInterrupt:
            stopped.set()
            raise

    with parallel.threads(2), pytest.raises(OSError, match="disk full"):
        list(parallel.map_blocks(task, 2, 1))
    assert stopped.is_set()
    parallel.stop_if_ended()  # nobody is waited for here
