"""How many threads: who decides, in which order, and where there is one thread only."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
import types
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import joblib
import numpy as np
import pytest

import corollary
from corollary import n_threads, set_threads, threads
from corollary.base import Estimator, fitting
from corollary.core import parallel, thread_count

CORES = joblib.cpu_count()
OMP, OURS = "OMP_NUM_THREADS", "COROLLARY_NUM_THREADS"


def forget() -> None:
    set_threads(None)
    thread_count._from_environment.cache_clear()


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every test starts from the defaults and leaves them."""
    monkeypatch.delenv(OMP, raising=False)
    monkeypatch.delenv(OURS, raising=False)
    forget()
    yield
    forget()


@pytest.fixture
def omp(monkeypatch: pytest.MonkeyPatch) -> int:
    """A default that no machine has by itself, and that comes after the rule for workers."""
    monkeypatch.setenv(OMP, str(CORES + 1))
    return CORES + 1


def ask(*_: object) -> int:
    return n_threads()


def ask_within(n: int) -> int:
    with threads(n):
        return n_threads()


def in_thread(name: str | None = None) -> int:
    found: list[int] = []
    thread = threading.Thread(target=lambda: found.append(n_threads()), name=name)
    thread.start()
    thread.join()
    return found[0]


def test_the_default_is_the_usable_cores() -> None:
    assert n_threads() == CORES
    assert in_thread() == CORES


def test_the_same_functions_serve_users_and_fits() -> None:
    assert corollary.threads is parallel.threads is threads
    assert corollary.n_threads is parallel.n_threads


def test_innermost_context_then_process_then_environment(monkeypatch: pytest.MonkeyPatch, omp: int) -> None:
    assert n_threads() == omp
    monkeypatch.setenv(OURS, "7")
    thread_count._from_environment.cache_clear()
    assert n_threads() == 7
    set_threads(6)
    assert n_threads() == 6
    with threads(5):
        assert n_threads() == 5
        with threads(4), threads(None):
            assert n_threads() == 4
        set_threads(3)
        assert n_threads() == 5
    assert n_threads() == 3
    set_threads(None)
    assert n_threads() == 7


class Asking(Estimator):
    """Learns how many threads its fit may use."""

    def __init__(self, n_jobs: int | None = None) -> None:
        self.n_jobs = n_jobs

    @fitting
    def fit(self, X: Any = None, y: Any = None) -> Asking:
        self.found_ = n_threads()
        return self


def test_n_jobs_of_an_estimator_is_the_innermost_context() -> None:
    with threads(3):
        assert Asking(n_jobs=5).fit().found_ == 5
        assert Asking().fit().found_ == 3
    set_threads(4)
    assert Asking(n_jobs=5).fit().found_ == 5
    assert Asking().fit().found_ == 4


def test_negative_numbers_count_from_the_cores() -> None:
    for n, expected in ((-1, CORES), (-2, max(1, CORES - 1)), (-CORES - 5, 1), (np.int64(3), 3)):
        assert ask_within(n) == expected
        set_threads(n)
        assert n_threads() == expected


@pytest.mark.parametrize("bad", [0, 1.5, "2", True, [1]])
def test_bad_numbers_are_refused_and_change_nothing(bad: Any) -> None:
    set_threads(3)
    with pytest.raises(ValueError, match=r"number of threads .* must be a positive integer.*but it is "):
        set_threads(bad)
    with pytest.raises(ValueError, match="number of threads") as error, threads(bad):
        pass
    assert repr(bad) in str(error.value)
    assert n_threads() == 3


def test_a_context_is_for_its_own_thread_and_ends_after_an_error() -> None:
    with threads(CORES + 3):
        assert in_thread() == CORES
    with pytest.raises(ZeroDivisionError), threads(CORES + 3):
        _ = 1 / 0
    assert n_threads() == CORES


def test_a_context_can_be_entered_again_and_within_itself() -> None:
    three = corollary.threads(3)
    for _ in range(2):
        with three, corollary.threads(2), three, corollary.threads(None):
            assert corollary.n_threads() == 3
    with corollary.threads(2):
        with three:
            pass
        assert corollary.n_threads() == 2


def test_the_process_wide_number_is_seen_by_all_threads() -> None:
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(ask).result() == CORES
        set_threads(CORES + 2)
        assert pool.submit(ask).result() == CORES + 2
        pool.submit(set_threads, CORES + 4).result()
        assert n_threads() == CORES + 4


def put(queue: Any) -> None:
    queue.put((n_threads(), parallel.sum_blocks(lambda a, b: b - a, 100, 9)))


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # forking while threads exist is the point
@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
@pytest.mark.parametrize("daemon", [False, True])
def test_a_plain_child_process_is_like_any_process(method: str, daemon: bool, omp: int) -> None:
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    child = context.Process(target=put, args=(queue,), daemon=daemon)
    child.start()
    try:
        assert queue.get(timeout=120) == (omp, 100)
        child.join(timeout=60)
        assert child.exitcode == 0
    finally:
        child.kill()


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_child_forked_in_a_thread_of_the_library_is_free_again(omp: int) -> None:
    context = multiprocessing.get_context("fork")
    queue = context.Queue()

    def fork(start: int, stop: int) -> int:
        if start == 0:
            child = context.Process(target=put, args=(queue,))
            child.start()
            child.join(timeout=60)
        return n_threads()

    with threads(2):
        assert list(parallel.map_blocks(fork, 2, 1)) == [1, 1]
    assert queue.get(timeout=60) == (omp, 100)


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_pool_of_processes_is_not_limited(omp: int) -> None:
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(ask, range(2)) == [omp, omp]


@pytest.fixture
def fresh_loky() -> Iterator[None]:
    """Workers read the environment when they start."""
    joblib.externals.loky.get_reusable_executor().shutdown(wait=True)
    yield
    joblib.externals.loky.get_reusable_executor().shutdown(wait=True)


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.usefixtures("fresh_loky", "omp")
@pytest.mark.parametrize("backend", ["loky", "multiprocessing", "threading"])
def test_one_thread_in_tasks_of_joblib_unless_asked(backend: str) -> None:
    run = joblib.Parallel(n_jobs=2, backend=backend)
    assert run(joblib.delayed(ask)() for _ in range(4)) == [1] * 4
    assert run(joblib.delayed(ask_within)(3) for _ in range(4)) == [3] * 4
    assert n_threads() == CORES + 1


def test_a_loop_of_joblib_without_workers_is_not_limited(omp: int) -> None:
    assert joblib.Parallel(n_jobs=1)(joblib.delayed(ask)() for _ in range(2)) == [omp] * 2
    with joblib.parallel_config(backend="threading", n_jobs=2):
        assert n_threads() == omp
        assert in_thread() == omp


@pytest.mark.usefixtures("fresh_loky")
def test_our_variable_counts_in_workers_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(OURS, "3")
    assert joblib.Parallel(n_jobs=2)(joblib.delayed(ask)() for _ in range(2)) == [3, 3]


@pytest.mark.usefixtures("fresh_loky")
def test_a_loky_process_without_joblib() -> None:
    executor = joblib.externals.loky.get_reusable_executor(max_workers=1)
    assert executor.submit(ask).result(timeout=120) == 1


def test_one_thread_in_tasks_of_dask(monkeypatch: pytest.MonkeyPatch, omp: int) -> None:
    assert in_thread("Dask-Default-Threads-1-0") == 1
    assert in_thread("worker-Dask-Default-Threads-1-0") == 1
    assert in_thread("other") == omp
    worker = types.ModuleType("distributed.worker")
    worker.thread_state = threading.local()
    monkeypatch.setitem(sys.modules, "distributed.worker", worker)

    def task() -> int:
        worker.thread_state.execution_state = {}
        return n_threads()

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(ask).result() == omp
        assert pool.submit(task).result() == 1
    assert n_threads() == omp


def test_one_thread_in_the_library_itself_whoever_asks_for_more() -> None:
    set_threads(4)
    with threads(2):
        assert list(parallel.map_blocks(lambda a, b: (n_threads(), ask_within(3)), 6, 1)) == [(1, 1)] * 6
        assert parallel.together(lambda k: k == 0 or n_threads() == 1, 2) == [True, True]


def fresh(**variables: str) -> tuple[str, str]:
    """What ``n_threads()`` says, asked twice in a fresh process, and what goes to stderr."""
    environment = {name: value for name, value in os.environ.items() if name not in (OMP, OURS)} | variables
    code = "import corollary; print(corollary.n_threads(), corollary.n_threads())"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=120, check=True
    )
    return done.stdout.strip(), done.stderr


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, CORES),
        ({OMP: "5"}, 5),
        ({OMP: "5,2"}, 5),
        ({OURS: " 6 "}, 6),
        ({OURS: "6", OMP: "5"}, 6),
        ({OURS: "", OMP: "5"}, 5),
    ],
)
def test_environment_variables(variables: dict[str, str], expected: int) -> None:
    assert fresh(**variables) == (f"{expected} {expected}", "")


@pytest.mark.parametrize(
    ("variable", "value"), [(OURS, "many"), (OURS, "-1"), (OURS, "0"), (OURS, "4,2"), (OMP, "2.5"), (OMP, "²")]
)
def test_a_variable_that_makes_no_sense_gives_one_warning(variable: str, value: str) -> None:
    found, error = fresh(**{variable: value})
    assert found == f"{CORES} {CORES}"
    assert error.count("RuntimeWarning") == 1
    assert f"{variable} must be a positive integer, but it is '{value}'" in error


def test_children_warn_of_it_in_their_own_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(OURS, "none")
    with pytest.warns(RuntimeWarning, match=OURS):
        assert n_threads() == CORES
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert n_threads() == CORES
    thread_count._from_environment.cache_clear()
    with pytest.warns(RuntimeWarning, match=OURS):
        assert n_threads() == CORES


def test_asking_imports_neither_numpy_nor_a_compiler() -> None:
    code = "import sys, corollary; corollary.set_threads(2); corollary.n_threads(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert not {"numpy", "numba", "joblib", "sklearn", "scipy"} & set(done.stdout.split())
