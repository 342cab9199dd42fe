"""Threads over ranges of rows: shared pools, a fixed block partition, results merged in block order.

The partition depends on the data's shape alone, never on the number of threads, so an answer does not change with
the machine. Kernels and BLAS calls run single-threaded inside a block; the threads are ours.
"""

from __future__ import annotations

import functools
import itertools
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import numpy as np

from corollary.core.team import LOOK_UP
from corollary.core.team import run_team as run_team
from corollary.core.team import together as together
from corollary.core.thread_count import mark_own_thread
from corollary.core.thread_count import n_threads as n_threads  # for those who share out work
from corollary.core.thread_count import threads as threads
from corollary.core.types import Array

T = TypeVar("T")

BLOCK_BYTES = 4 << 20  # a block of rows that stays in a shared cache while it is used twice
SUMS = 1 << 23  # numbers that the sums of all parts of the rows may be: 64 MiB

_lock = threading.Lock()


def _forget_pool() -> None:
    """A forked child inherits no threads: start again, with fresh locks."""
    global _lock
    _lock = threading.Lock()
    _pool_of.cache_clear()
    _blas.reset()


@functools.lru_cache(maxsize=8)
def _pool_of(size: int) -> ThreadPoolExecutor:
    """A pool of that many threads. A pool that has not been used lately is shut down when its work is done."""
    return ThreadPoolExecutor(size, thread_name_prefix="corollary", initializer=mark_own_thread)


def _get_pool(size: int) -> ThreadPoolExecutor:
    with _lock:
        return _pool_of(size)


class _Caller:
    """Somebody who has tasks done on threads; when they have ``ended``, tasks that still run are to stop."""

    def __init__(self) -> None:
        self.ended, self.parent = False, _current_caller()

    def run(self, task: Callable[..., T], *args: Any) -> T:
        _of_this_thread.call = self
        try:
            return task(*args)
        finally:
            _of_this_thread.call = None


_of_this_thread = threading.local()


def _current_caller() -> _Caller | None:
    return getattr(_of_this_thread, "call", None)


def stop_if_ended() -> None:
    """On a thread that works for somebody who is gone (Ctrl-C, an error, enough answers): raise KeyboardInterrupt.

    Only the main thread hears Ctrl-C. Whatever takes long asks this once an iteration, so that a whole fit that runs on
    a thread ends as soon as it would in the main one.
    """
    call = _current_caller()
    while call is not None:
        if call.ended:
            raise KeyboardInterrupt
        call = call.parent


class _BlasLimit:
    """One BLAS thread while anyone is inside; concurrent fits share the limit instead of racing to undo it."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self._lock = threading.Lock()
        self._depth = 0
        self._libraries: list[Any] | None = None
        self._with_scipy = False
        self._before: list[int] = []

    def __enter__(self) -> None:
        with self._lock:
            if self._depth == 0:
                scipy_loaded = "scipy.linalg" in sys.modules  # it brings a BLAS of its own
                if self._libraries is None or scipy_loaded != self._with_scipy:
                    from threadpoolctl import ThreadpoolController

                    self._libraries = ThreadpoolController().select(user_api="blas").lib_controllers
                    self._with_scipy = scipy_loaded
                # its own context would ask each library for its version and architecture, which takes longer
                self._before = [library.get_num_threads() for library in self._libraries]
                self._limit([1] * len(self._before))
            self._depth += 1

    def __exit__(self, *exc: object) -> None:
        with self._lock:
            self._depth -= 1
            if self._depth == 0:
                self._limit(self._before)

    def _limit(self, counts: list[int]) -> None:
        for library, count in zip(self._libraries or (), counts, strict=True):
            library.set_num_threads(count)


_blas = _BlasLimit()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Within this context BLAS and LAPACK use one thread: quicker for small matrices, and the same bits everywhere."""
    with _blas:
        yield


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_forget_pool)


def block_rows(n_rows: int, row_bytes: int) -> int:
    """Rows per block: about ``BLOCK_BYTES`` each, never so few that the merge costs more than the work."""
    return max(64, min(n_rows, BLOCK_BYTES // max(1, row_bytes)))


def rows_per_part(n: int, length: int, *, least: int = 1, most: int, fewest: int = 16, room: int | None = None) -> int:
    """Rows of a part where every part has sums of ``length`` numbers of its own, by the shape of the data alone.

    A part has at least so many rows, and there are ``most`` parts at most: fewer if all sums would be more than
    ``room`` numbers (64 MiB of them), but no fewer than ``fewest`` for that, so that threads have something to share.
    """
    parts = min(max((SUMS if room is None else room) // max(length, 1), fewest), most)
    return max(least, -(-n // parts))


def map_blocks(task: Callable[[int, int], T], n: int, size: int) -> Iterator[T]:
    """Yield ``task(start, stop)`` for consecutive blocks of ``range(n)``, in order, computed on threads.

    At most two results per thread are outstanding, so memory stays bounded whatever the number of blocks.
    """
    stop_if_ended()
    if n <= size:
        if n > 0:
            yield task(0, n)
        return
    bounds = [(start, min(start + size, n)) for start in range(0, n, size)]
    allowed = n_threads()
    workers = min(allowed, len(bounds))
    with _blas:
        if workers <= 1:
            for start, stop in bounds:
                stop_if_ended()
                yield task(start, stop)
            return
        pool, position, call = _get_pool(allowed), 0, _Caller()
        pending = deque[Future[T]]()
        try:
            while position < len(bounds) or pending:
                while position < len(bounds) and len(pending) < 2 * workers:
                    pending.append(_begun(pool, call, task, *bounds[position]))
                    position += 1
                yield _first_of(pending)
        finally:
            _drain(call, pending)


class _Once:
    """A task with its future, done by whoever comes first."""

    def __init__(self, task: Callable[[], Any]) -> None:
        self.task, self.future, self._turns = task, Future[Any](), itertools.count()

    def __call__(self) -> None:
        if next(self._turns) > 0 or not self.future.set_running_or_notify_cancel():
            return
        try:
            self.future.set_result(self.task())
        except BaseException as error:
            self.future.set_exception(error)
        finally:
            del self.task  # what was worked on must not live as long as its answer


def _begun(pool: ThreadPoolExecutor, call: _Caller, task: Callable[..., T], *args: Any) -> Future[T]:
    """The answer to come; of this thread where the system, or an interpreter that ends, has no thread for it."""
    once = _Once(functools.partial(call.run, task, *args))
    try:
        pool.submit(once)
    except RuntimeError:  # it may be in the pool's queue all the same
        once()
    return once.future


def _first_of(pending: deque[Future[T]]) -> T:
    """Its result, taken off when it is there: after Ctrl-C, what was waited for is still to be waited for.

    A signal that reaches another thread does not wake a main thread that waits for ever, so it looks up now and then.
    """
    first = pending[0]
    while not first.done():
        with suppress(TimeoutError):  # of the wait; a task's own is raised below
            first.exception(timeout=0.2)
    pending.popleft()
    return first.result()


def _drain(call: _Caller, pending: Iterable[Future[Any]]) -> None:
    """After an error or Ctrl-C: nothing of this call may go on writing into shared arrays."""
    call.ended = True
    for future in pending:
        future.cancel()
    for future in pending:
        if not future.cancelled():
            future.exception()


def each_block(task: Callable[[int, int], Any], n: int, size: int) -> None:
    """Run ``task(start, stop)`` on every block, for its effect on disjoint slices."""
    for _ in map_blocks(task, n, size):
        pass


def sum_blocks(task: Callable[[int, int], T], n: int, size: int) -> T:
    """Add ``task(start, stop)`` over all blocks, in block order (the result owns its memory)."""
    total: Any = None
    for part in map_blocks(task, n, size):
        total = part if total is None else total + part
    if total is None:
        raise ValueError("no rows to sum over")
    result: T = total
    return result


def add_blocks(task: Callable[[int, int], Array], n: int, size: int) -> Array:
    """The sum of the arrays ``task(start, stop)`` of all blocks, added up in block order and in place.

    For work of some milliseconds: the calling thread takes part, while those of a pool would still be waking up. A
    thread that is done with its block waits until it is its turn to add it, so there is one array to a thread.
    """
    stop_if_ended()
    if n == 0:
        raise ValueError("no rows to sum over")
    bounds = [(start, min(start + size, n)) for start in range(0, n, size)]
    numbers, turn, sums, failures = itertools.count(), threading.Condition(), list[Array](), list[BaseException]()
    added = 0

    def work(rank: int) -> None:
        nonlocal added
        try:
            while (k := next(numbers)) < len(bounds) and not failures:
                part = task(*bounds[k])
                with turn:
                    while added < k and not failures:
                        turn.wait(LOOK_UP)
                    if failures:
                        return
                    sums[:] = [part if not sums else np.add(sums[0], part, out=sums[0])]
                    added += 1
                    turn.notify_all()
        except BaseException as error:  # Ctrl-C too: nobody is to wait for a turn that never comes
            with turn:
                failures.append(error)
                turn.notify_all()
            raise

    with _blas:
        together(work, min(n_threads(), len(bounds)))
    return sums[0]


def share_out(task: Callable[[Any], T], items: Sequence[Any], most: int) -> list[T]:
    """``[task(item), …]`` on at most so many threads, of which the calling one is the first: for short tasks."""
    found, numbers = dict[int, T](), itertools.count()

    def work(rank: int) -> None:
        while (k := next(numbers)) < len(items):
            found[k] = task(items[k])

    together(work, max(1, min(n_threads(), len(items), most)))
    return [found[k] for k in range(len(items))]


def map_each(task: Callable[[Any], T], items: Iterable[Any]) -> Iterator[T]:
    """Yield ``task(item)`` in the order of the items, on threads; at most two items a thread are read ahead."""
    workers = n_threads()
    with _blas:
        if workers <= 1:
            yield from map(task, items)
            return
        pool, pending, call = _get_pool(workers), deque[Future[T]](), _Caller()
        try:
            for item in items:
                pending.append(_begun(pool, call, task, item))
                if len(pending) >= 2 * workers:
                    yield _first_of(pending)
            while pending:
                yield _first_of(pending)
        finally:
            _drain(call, pending)
