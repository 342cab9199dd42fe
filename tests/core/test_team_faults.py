"""A team under faults: a thread that fails, Ctrl-C, other signals, forks. Nobody waits for one that is gone."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from _thread import start_new_thread
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from corollary._compiled import _jit
from corollary.core import parallel, team
from corollary.core.team import run_team

sys.path.insert(0, str(Path(__file__).parent))
import team_kernels as kernels
from test_team import plain_ring, ring

pytestmark = pytest.mark.skipif(not _jit.HAVE_NUMBA, reason="without a compiler a team has one thread")


def flags(count: int) -> np.ndarray:
    return np.zeros((2, count), dtype=np.int64)


def when(condition: Any, act: Any) -> threading.Thread:
    """On a thread of its own: wait for the condition, then act."""

    def work() -> None:
        for _ in range(6000):
            if condition():
                act()
                return
            time.sleep(0.01)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


@pytest.mark.parametrize("count", [2, 3, 7])
def test_a_thread_that_fails_takes_the_others_along(count: int) -> None:
    with parallel.threads(count):
        for who in range(count):
            left = np.zeros(count, dtype=np.int64)
            with pytest.raises(ValueError, match="one of us is gone"):
                run_team(kernels.failing, who, left)
            assert left.tolist() == [int(rank != who) for rank in range(count)]
        assert ring(50) == (count, plain_ring(50))


def test_a_failing_caller_that_takes_part_takes_the_others_along() -> None:
    """A thread that is not the main one is a member of its team."""
    found: list[Any] = []

    def caller() -> None:
        with parallel.threads(3):
            for who in (0, 2):
                try:
                    run_team(kernels.failing, who, np.zeros(3, dtype=np.int64))
                except ValueError as error:
                    found.append(str(error))
            found.append(ring(50)[0])

    thread = threading.Thread(target=caller, daemon=True)
    thread.start()
    thread.join(timeout=60)
    assert found == ["one of us is gone", "one of us is gone", 3]


@pytest.mark.parametrize("kernel", [kernels.endless, kernels.endless_taking])
@pytest.mark.parametrize("count", [2, 7])
def test_ctrl_c_ends_all_threads_before_it_is_raised(kernel: Any, count: int) -> None:
    started, left = flags(count)
    press = when(started.all, lambda: os.kill(os.getpid(), signal.SIGINT))
    with parallel.threads(count), pytest.raises(KeyboardInterrupt):
        run_team(kernel, started, left)
    press.join()
    assert left.all()
    with parallel.threads(count):
        assert ring(50) == (count, plain_ring(50))


def test_ctrl_c_that_reaches_another_thread_is_heard() -> None:
    """Some systems deliver it to any thread."""
    started, left = flags(2)
    me = threading.Event()

    def work() -> None:
        while not started.all():
            time.sleep(0.01)
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)
        me.set()

    threading.Thread(target=work, daemon=True).start()
    with parallel.threads(2), pytest.raises(KeyboardInterrupt):
        run_team(kernels.endless, started, left)
    assert me.is_set()
    assert left.all()


def test_whatever_a_handler_of_signals_raises_ends_the_team() -> None:
    class TimeIsUp(Exception):
        pass

    def handler(*args: Any) -> None:
        raise TimeIsUp

    started, left = flags(3)
    before = signal.signal(signal.SIGALRM, handler)
    try:
        press = when(started.all, lambda: os.kill(os.getpid(), signal.SIGALRM))
        with parallel.threads(3), pytest.raises(TimeIsUp):
            run_team(kernels.endless, started, left)
        press.join()
    finally:
        signal.signal(signal.SIGALRM, before)
    assert left.all()


def test_signals_at_any_moment_leave_nobody_behind() -> None:
    """Handed-out work, answers and threads are accounted for wherever a signal falls."""

    class Now(Exception):
        pass

    def handler(*args: Any) -> None:
        raise Now

    before = signal.signal(signal.SIGALRM, handler)
    heard = 0
    try:
        with parallel.threads(3):
            for k in range(300):
                try:
                    signal.setitimer(signal.ITIMER_REAL, 1e-5 + 1e-6 * k)
                    ring(20)
                    signal.setitimer(signal.ITIMER_REAL, 0)
                except Now:
                    heard += 1
                signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert heard
    with parallel.threads(3):
        assert ring(50) == (3, plain_ring(50))


def test_an_error_keeps_nothing_alive() -> None:
    left = np.zeros(3, dtype=np.int64)
    here = weakref.ref(left)
    gc.disable()
    try:
        with parallel.threads(3), pytest.raises(ValueError, match="gone"):
            run_team(kernels.failing, 1, left)
        del left
        for _ in range(100):  # threads let go of it a moment after they have answered
            if here() is None:
                break
            time.sleep(0.02)
        assert here() is None
    finally:
        gc.enable()


def test_no_more_threads_stay_parked_than_are_kept() -> None:
    with parallel.threads(team.KEPT + 10):
        assert ring(2, 100)[0] == team.KEPT + 10
    assert len(team._parked) <= team.KEPT


def _child(queue: Any) -> None:
    with parallel.threads(3):
        queue.put(ring(50))


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # forking while threads exist is the point
def test_a_child_forked_while_a_team_works_has_teams_of_its_own() -> None:
    started, left = flags(3)
    stop: list[Any] = []

    def kernel(team: Any, rank: int, *args: Any) -> None:
        stop.append(team)
        kernels.endless(team, rank, *args)

    def caller() -> None:
        with parallel.threads(3):
            run_team(kernel, started, left)

    thread = threading.Thread(target=caller, daemon=True)
    thread.start()
    while not started.all():
        time.sleep(0.01)
    try:
        context = multiprocessing.get_context("fork")
        queue = context.Queue()
        children = [context.Process(target=_child, args=(queue,)) for _ in range(2)]
        for child in children:
            child.start()
        assert [queue.get(timeout=60) for _ in children] == [(3, plain_ring(50))] * 2
        for child in children:
            child.join(timeout=60)
            assert child.exitcode == 0
        assert not left.any()
    finally:
        from corollary._compiled.team import stop as stop_team

        stop_team(stop[0])
    thread.join(timeout=60)
    assert left.all()


@pytest.mark.parametrize("there", [0, 1, 3])
def test_where_the_system_has_fewer_threads_a_team_is_smaller(monkeypatch: pytest.MonkeyPatch, there: int) -> None:
    """A container's limit of processes, or a user's: the fit goes on with what it can have."""
    started = []

    def start(*args: Any) -> int:
        if len(started) >= there:
            raise RuntimeError("can't start new thread")
        started.append(args)
        return start_new_thread(*args)

    monkeypatch.setattr(team, "start_new_thread", start)
    monkeypatch.setattr(team, "_parked", [])
    with parallel.threads(7):
        assert ring(50) == (max(1, there), plain_ring(50))
        assert parallel.together(lambda rank: rank, 7) == list(range(7))


def test_where_the_system_has_no_thread_blocks_are_worked_on_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(parallel.ThreadPoolExecutor, "_adjust_thread_count", refuse)
    with parallel.threads(11):  # a pool that nobody else has
        assert list(parallel.map_blocks(lambda start, stop: stop - start, 100, 7)) == [7] * 14 + [2]


_FORK = """
import os, threading, time
from numba.core.compiler_lock import global_compiler_lock
from corollary._compiled import _jit

held, done = threading.Event(), threading.Event()

def compile_for_a_while():
    with global_compiler_lock:
        held.set()
        done.wait(0.5)

threading.Thread(target=compile_for_a_while, daemon=True).start()
held.wait()
child = os.fork()
if child == 0:
    with global_compiler_lock:
        os._exit(7)
for _ in range(600):
    if os.waitpid(child, os.WNOHANG) != (0, 0):
        print("ended")
        break
    time.sleep(0.1)
with global_compiler_lock:
    print("free")
os._exit(0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_child_forked_while_a_thread_compiles_can_compile() -> None:
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", _FORK], capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == ["ended", "free"], done.stderr
