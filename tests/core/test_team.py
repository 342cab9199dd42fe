"""Threads that meet inside compiled code: the same answers for any number of them."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import joblib
import numpy as np
import pytest

from corollary._compiled import _jit
from corollary.core import parallel
from corollary.core.team import run_team

sys.path.insert(0, str(Path(__file__).parent))
import team_kernels as kernels

compiled = pytest.mark.skipif(not _jit.HAVE_NUMBA, reason="without a compiler a team has one thread")
COUNTS = [1, 2, 3, 7]


def column_sums(X: np.ndarray, size: int = 37) -> np.ndarray:
    parts, total = np.empty((-(-len(X) // size), X.shape[1])), np.empty(X.shape[1])
    assert run_team(kernels.column_sums, X, size, parts, total)
    return total


def ring(count: int = 500, cells: int = 40) -> tuple[int, list[int]]:
    """The size of the team that made it, and what became of the ring."""
    table = np.zeros((2, cells), dtype=np.int64)
    table[0] = np.arange(cells)
    return run_team(kernels.rounds, count, table), table[count % 2].tolist()


def plain_ring(count: int = 500, cells: int = 40) -> list[int]:
    row = np.arange(cells)
    for _ in range(count):
        row = (np.roll(row, 1) + row + np.roll(row, -1)) % 1_000_003
    return row.tolist()


@pytest.mark.parametrize("count", COUNTS)
def test_sums_are_those_of_blocks_in_their_order(count: int) -> None:
    """To the last bit, also where the order matters."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 11)) * 10.0 ** rng.integers(-12, 12, (1000, 11))

    def block(start: int, stop: int) -> np.ndarray:
        return np.add.accumulate(X[start:stop])[-1]  # one after another

    expected = parallel.sum_blocks(block, len(X), 37)
    with parallel.threads(count):
        for _ in range(20):
            np.testing.assert_array_equal(column_sums(X), expected)


@compiled
@pytest.mark.parametrize("count", COUNTS)
def test_what_one_has_written_all_see_after_a_meeting(count: int) -> None:
    with parallel.threads(count):
        for _ in range(5):
            assert ring() == (count, plain_ring())


@pytest.mark.parametrize("count", COUNTS)
def test_each_block_is_taken_once_between_meetings(count: int) -> None:
    seen = np.zeros((50, 200), dtype=np.int64)
    with parallel.threads(count):
        run_team(kernels.all_taken, 200, seen)
    assert (seen == 1).all()


@compiled
def test_a_team_is_no_larger_than_its_work() -> None:
    table = np.zeros((2, 8), dtype=np.int64)
    with parallel.threads(7):
        assert [run_team(kernels.rounds, 3, table, most=most) for most in (0, 1, 3, 9)] == [1, 1, 3, 7]


@compiled
def test_many_more_threads_than_cores_take_little_more_work() -> None:
    """Of those that wait, that is: work is counted in seconds of processors, which other programs do not add to."""

    def seconds(count: int) -> float:
        with parallel.threads(count):
            ring(10)
            began = time.process_time()
            assert ring(1000, 12_000)[0] == count
            return time.process_time() - began

    alone = min(seconds(1) for _ in range(3))
    crowd = 8 * joblib.cpu_count()
    assert min(seconds(crowd) for _ in range(3)) < 4 * alone + 1000 * crowd * 3e-5  # a slice of time would be 3e-3


@compiled
def test_callers_at_once_have_teams_of_their_own() -> None:
    """Whoever queued behind another here would wait for ever."""
    start, wrong = threading.Barrier(4), []

    def caller(count: int) -> None:
        with parallel.threads(count):
            start.wait(timeout=60)
            for _ in range(30):
                if ring(50) != (count, expected):
                    wrong.append(count)

    expected = plain_ring(50)
    threads = [threading.Thread(target=caller, args=(count,), daemon=True) for count in (2, 3, 2, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
        assert not thread.is_alive()
    assert not wrong


def _size() -> int:
    return ring(5)[0]


@compiled
def test_a_team_inside_the_pool_or_another_team_is_one_thread() -> None:
    with parallel.threads(3):
        assert list(parallel.map_blocks(lambda a, b: _size(), 6, 1)) == [1] * 6
        assert parallel.together(lambda k: _size() if k else 1, 3) == [1] * 3
        assert _size() == 3


@compiled
def test_a_task_of_joblib_is_one_thread() -> None:
    with ThreadPoolExecutor(1) as pool:  # joblib runs the tasks of its caller's thread there
        work = [joblib.delayed(_size)() for _ in range(4)]
        assert pool.submit(joblib.Parallel(n_jobs=2, backend="threading"), work).result(timeout=120) == [1] * 4


def run(program: str, **variables: str) -> list[str]:
    """What a fresh process prints that knows the kernels beside this file."""
    path = os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(program)],
        env=os.environ | {"PYTHONPATH": path} | variables,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_a_process_of_loky_is_one_thread(tmp_path: Path) -> None:
    program = """
        import joblib, test_team
        if __name__ == "__main__":
            print(*joblib.Parallel(n_jobs=2)(joblib.delayed(test_team._size)() for _ in range(4)))
    """
    assert run(program) == ["1"] * 4


def test_without_a_compiler_a_team_has_one_thread() -> None:
    program = """
        import corollary, test_team
        with corollary.threads(4):
            print(test_team.ring(20) == (1, test_team.plain_ring(20)))
            test_team.test_sums_are_those_of_blocks_in_their_order(3)
    """
    assert run(program, NUMBA_DISABLE_JIT="1") == ["True"]


@compiled
def test_a_second_process_compiles_nothing(tmp_path: Path) -> None:
    program = """
        import corollary, test_team
        from team_kernels import rounds
        with corollary.threads(3):
            test_team.ring(5)
        print(sum(rounds.stats.cache_hits.values()), sum(rounds.stats.cache_misses.values()))
    """
    assert [run(program, NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(2)] == [["0", "1"], ["1", "0"]]
