"""Threads: order, errors, nesting, forks and the BLAS limit."""

from __future__ import annotations

import multiprocessing
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import threadpoolctl

from corollary.core import parallel


def test_results_come_in_order_whatever_the_threads() -> None:
    for count in (1, 2, 5):
        with parallel.threads(count):
            assert list(parallel.map_blocks(lambda a, b: (a, b), 10, 3)) == [(0, 3), (3, 6), (6, 9), (9, 10)]


def test_nothing_to_do_is_an_error_for_sums_only() -> None:
    assert list(parallel.map_blocks(lambda a, b: a, 0, 3)) == []
    with pytest.raises(ValueError, match="no rows"):
        parallel.sum_blocks(lambda a, b: a, 0, 3)


def test_an_error_in_a_block_reaches_the_caller_and_stops_the_rest() -> None:
    def task(start: int, stop: int) -> int:
        if start == 4:
            raise RuntimeError("block 4")
        return start

    with parallel.threads(2), pytest.raises(RuntimeError, match="block 4"):
        list(parallel.map_blocks(task, 100, 2))
    assert list(parallel.map_blocks(lambda a, b: a, 4, 2)) == [0, 2]


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_arrays_are_added_in_block_order(count: int) -> None:
    X = np.random.default_rng(0).standard_normal((1000, 3)) * np.geomspace(1e-8, 1e8, 1000)[:, None]

    def task(start: int, stop: int) -> np.ndarray:
        time.sleep(0.001 * ((start // 64) % 3))  # blocks end in another order than they begin
        return np.asarray(X[start:stop].sum(axis=0))

    with parallel.threads(count):
        found = parallel.add_blocks(task, 1000, 64)
    np.testing.assert_array_equal(found, sum(X[a : a + 64].sum(axis=0) for a in range(0, 1000, 64)))


@pytest.mark.parametrize("bad", [0, 640])
def test_an_error_while_adding_leaves_nobody_waiting(bad: int) -> None:
    def task(start: int, stop: int) -> np.ndarray:
        if start == bad:
            raise RuntimeError(f"block {bad}")
        return np.zeros(2)

    for count in (1, 2, 5):
        with parallel.threads(count), pytest.raises(RuntimeError, match=f"block {bad}"):
            parallel.add_blocks(task, 1000, 64)


def test_the_sums_of_all_parts_of_the_rows_stay_small() -> None:
    for n in (1, 100, 2_000, 10**7):
        for length in (1, 10**3, 10**5, 10**6, 10**8):
            size = parallel.rows_per_part(n, length, least=16, most=128)
            parts = -(-n // size)
            assert size >= 16
            assert parts <= 128
            assert parts * length <= max(parallel.SUMS, 16 * length)
    assert parallel.rows_per_part(10**6, 10**6, least=16, most=128) == 62_500  # threads still have 16 parts to share


def test_a_task_inside_the_pool_runs_its_own_blocks_in_line() -> None:
    def outer(start: int, stop: int) -> int:
        return parallel.sum_blocks(lambda a, b: b - a, 10, 3)

    with parallel.threads(2):
        assert list(parallel.map_blocks(outer, 8, 1)) == [10] * 8


def test_nested_requests_do_not_wait_for_each_other() -> None:
    """A member of an ensemble with an ``n_jobs`` of its own runs in the pool and must not ask the pool for more."""

    def outer(start: int, stop: int) -> int:
        with parallel.threads(2):
            return parallel.sum_blocks(lambda a, b: b - a, 10, 3) + sum(parallel.together(lambda k: k, 3))

    def run() -> list[int]:
        with parallel.threads(2):
            return list(parallel.map_blocks(outer, 8, 1))

    found: list[list[int]] = []
    thread = threading.Thread(target=lambda: found.append(run()), daemon=True)  # a deadlock must not hang the tests
    thread.start()
    thread.join(timeout=60)
    assert found == [[13] * 8]


@pytest.mark.parametrize("count", [2, 5, 3, 12])
def test_as_many_threads_run_as_are_allowed_and_no_more(count: int) -> None:
    """Also more than there are cores, and whatever was asked for before."""
    meeting = threading.Barrier(count)
    lock = threading.Lock()
    now = most = 0

    def task(start: int, stop: int) -> None:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        if start < count:
            meeting.wait(timeout=60)  # broken, with an error, unless all are there at once
        with lock:
            now -= 1

    with parallel.threads(count):
        parallel.each_block(task, 5 * count, 1)
        assert most == count
        parallel.together(lambda k: meeting.wait(timeout=60), count)


def test_pools_of_sizes_no_longer_used_end() -> None:
    def ours() -> int:
        return sum(thread.name.startswith("corollary_") for thread in threading.enumerate())

    for count in range(2, 14):
        with parallel.threads(count):
            parallel.each_block(lambda a, b: None, 40, 1)
    kept = parallel._pool_of.cache_info()
    assert kept.currsize == kept.maxsize
    for _ in range(200):
        if ours() <= sum(range(14 - kept.maxsize, 14)):
            break
        time.sleep(0.05)
    else:
        pytest.fail(f"{ours()} threads are left")


def test_a_pool_that_is_replaced_finishes_its_work() -> None:
    with parallel.threads(2):
        blocks = parallel.map_blocks(lambda a, b: a, 50, 1)
        found = [next(blocks)]
    for count in range(3, 14):
        with parallel.threads(count):
            parallel.each_block(lambda a, b: None, 40, 1)
    assert [*found, *blocks] == list(range(50))


def _blas_threads() -> list[int]:
    return [library["num_threads"] for library in threadpoolctl.threadpool_info() if library["user_api"] == "blas"]


def test_the_blas_limit_is_shared_and_undone() -> None:
    before = _blas_threads()
    with parallel.one_blas_thread():
        with parallel.threads(2):
            seen = list(parallel.map_blocks(lambda a, b: _blas_threads(), 8, 1))
        assert all(set(counts) == {1} for counts in seen)
        with parallel.one_blas_thread():
            pass
        assert set(_blas_threads()) == {1}  # leaving an inner context must not undo the outer one
    assert _blas_threads() == before


def test_limits_in_many_threads_leave_the_process_as_it_was() -> None:
    before = _blas_threads()

    def work(_: int) -> None:
        with parallel.one_blas_thread():
            np.ones((50, 50)) @ np.ones((50, 50))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(40)))
    assert _blas_threads() == before


def test_concurrent_callers_get_their_own_results() -> None:
    def caller(k: int) -> float:
        with parallel.threads(2):
            return float(parallel.sum_blocks(lambda a, b: np.float64(k * (b - a)), 1000, 7))

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(caller, range(8))) == [1000.0 * k for k in range(8)]


def _child(queue: multiprocessing.Queue) -> None:
    queue.put((parallel.n_threads(), parallel.sum_blocks(lambda a, b: b - a, 100, 9)))


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # forking while threads exist is the point
def test_a_forked_child_works_after_its_parent_used_the_pool() -> None:
    with parallel.threads(2):
        parallel.sum_blocks(lambda a, b: b - a, 100, 9)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_child, args=(queue,))
    child.start()
    assert queue.get(timeout=60) == (parallel.n_threads(), 100)
    child.join(timeout=60)
    assert child.exitcode == 0


def test_requested_threads_are_local_to_their_context() -> None:
    outside = parallel.n_threads()
    with parallel.threads(3):
        assert parallel.n_threads() == 3
        found: list[int] = []
        other = threading.Thread(target=lambda: found.append(parallel.n_threads()))
        other.start()
        other.join()
        assert found == [outside]
    assert parallel.n_threads() == outside
