"""Threads that work on one thing at once: parked between tasks, borrowed by one caller at a time.

``together`` runs a task of Python on each of them. ``run_team`` has them enter one compiled kernel, in which they meet
(see ``corollary._compiled.team``): for work in many short steps that depend on each other.

All threads of a call must run at once, since they wait for each other. So a call never queues behind another: two
callers have threads of their own, more are started when none is idle, and a task on a thread of the library, or of
somebody who has split the cores already, is a team of one.
"""

from __future__ import annotations

import os
import threading
from _thread import start_new_thread
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from corollary.core.thread_count import mark_own_thread, n_threads, usable_cores

T = TypeVar("T")

LOOK_UP = 0.2  # seconds; a signal that reaches another thread does not wake a main thread that waits for ever
KEPT = 64  # threads that stay parked

_lock = threading.Lock()
_parked: list[SimpleQueue[Any]] = []  # by their inboxes


def _forget() -> None:
    """A forked child inherits no threads: start again, with a fresh lock."""
    global _lock, _parked
    _lock, _parked = threading.Lock(), []


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_forget)


class _Call:
    """One task for several threads: what they answered, and a bell that the last of them rings."""

    def __init__(self, task: Callable[[int], Any], helpers: int) -> None:
        self.task, self.helpers = task, helpers
        self.answers: list[tuple[int, Any, BaseException | None]] = []
        self.bell: SimpleQueue[None] = SimpleQueue()

    def run(self, rank: int) -> None:
        try:
            self.answers.append((rank, self.task(rank), None))
        except BaseException as error:
            self.answers.append((rank, None, error))
        if len(self.answers) >= self.helpers:
            self.bell.put(None)

    def wait(self, count: int) -> None:
        """Until there are so many answers; these are counted, since a signal may drown out the bell."""
        while len(self.answers) < count:
            with suppress(Empty):
                self.bell.get(timeout=LOOK_UP)


def _serve(inbox: SimpleQueue[Any]) -> None:
    """The life of a parked thread."""
    mark_own_thread()
    while (job := inbox.get()) is not None:
        call, rank = job
        call.run(rank)
        del job, call  # what was worked on must not live until the next task


class _TooFew(Exception):
    """The system lets us have no more than ``count`` threads."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.count = count


def _borrow(count: int, found: list[SimpleQueue[Any]]) -> None:
    """Add the inboxes of so many threads to those found."""
    with _lock:
        while _parked and len(found) < count:
            found.append(_parked.pop())
    while len(found) < count:
        inbox: SimpleQueue[Any] = SimpleQueue()
        try:
            start_new_thread(_serve, (inbox,))  # threading.Thread.start breaks when a signal comes while it waits
        except RuntimeError:
            raise _TooFew(len(found)) from None
        found.append(inbox)


def _give_back(inboxes: list[SimpleQueue[Any]]) -> None:
    with _lock:
        kept = max(0, KEPT - len(_parked))
        _parked.extend(inboxes[:kept])
    for inbox in inboxes[kept:]:
        inbox.put(None)


def _at_once(task: Callable[[int], T], count: int, takes_part: bool, stop: Callable[[], None]) -> list[T]:
    """``[task(0), task(1), …]`` on as many threads; the calling one is the first of them or only waits.

    Whatever happens, this ends when all of them have ended: nothing of this call may go on writing into shared arrays.
    ``stop`` is called when the caller hears a signal or fails, so that they end soon.
    """
    ranks = range(1 if takes_part else 0, count)
    inboxes: list[SimpleQueue[Any]] = []
    call = _Call(task, len(ranks))
    results: list[Any] = [None] * count
    errors: list[BaseException] = []
    given: list[None] = []
    try:
        _borrow(len(ranks), inboxes)
        # one call of C: a signal comes before any of them has started or when all have
        given.extend(map(SimpleQueue.put, inboxes, [(call, rank) for rank in ranks]))
        if takes_part:
            results[0] = task(0)
        call.wait(len(given))
    except BaseException as error:
        stop()
        errors.append(error)
        while len(call.answers) < len(given):
            with suppress(BaseException):  # Ctrl-C again: it has been heard
                call.wait(len(given))
    _give_back(inboxes)
    for rank, result, _ in call.answers:
        results[rank] = result
    errors += [failure for _, _, failure in call.answers if failure is not None]
    try:
        if errors:
            raise errors[0]
        return results
    finally:  # an error holds this frame and this call; what was worked on must not live until they are collected
        call.answers.clear()
        del errors


def together(task: Callable[[int], T], count: int) -> list[T]:
    """``[task(0), task(1), …]`` computed at once; the calling thread does the first. For many short rounds of work."""
    if count == 1 or n_threads() == 1:
        return [task(k) for k in range(count)]
    try:
        return _at_once(task, count, True, lambda: None)
    except _TooFew:
        return [task(k) for k in range(count)]


def run_team(kernel: Callable[..., T], *args: Any, most: int | None = None) -> T:
    """``kernel(team, rank, *args)`` on all threads of a team at once; returns what the first of them does.

    The team has as many threads as are allowed, and no more than ``most``: the number of shares that the work has. The
    main thread only waits, so that it hears Ctrl-C at once; then, or when a thread fails, all leave the kernel where
    they next meet, and the error is raised here. Without a compiler it is a team of one; where the system has fewer
    threads left, a team of those.
    """
    from corollary._compiled._jit import HAVE_NUMBA  # here, since it brings Numba
    from corollary._compiled.team import new_team, stop

    allowed = n_threads() if HAVE_NUMBA else 1
    size = max(1, allowed if most is None else min(allowed, most))
    team = new_team(size, size > usable_cores())
    if size == 1:
        return kernel(team, 0, *args)
    takes_part = threading.current_thread() is not threading.main_thread()

    def enter(rank: int) -> T:
        try:
            return kernel(team, rank, *args)
        except BaseException:
            stop(team)
            raise

    try:
        return _at_once(enter, size, takes_part, lambda: stop(team))[0]
    except _TooFew as few:
        return run_team(kernel, *args, most=few.count + takes_part)
