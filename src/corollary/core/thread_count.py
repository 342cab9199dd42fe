"""How many threads the library may use. The first of these that says something decides:

1. a thread of the library itself: one, because its work is already a share;
2. the innermost ``with threads(n)``, or the ``n_jobs`` of an estimator, which is the same thing;
3. ``set_threads(n)``;
4. the environment variable ``COROLLARY_NUM_THREADS``;
5. a task of joblib or Dask, or a process of loky: one, because other workers use the other cores;
6. the environment variable ``OMP_NUM_THREADS``;
7. the usable cores, after CPU affinity and the limits of a container.

Other child processes, from ``multiprocessing`` or elsewhere, are treated like any process. The number of threads
never changes an answer.
"""

from __future__ import annotations

import functools
import multiprocessing
import operator
import os
import sys
import threading
import warnings
from contextlib import ContextDecorator
from contextvars import ContextVar

_own = threading.local()  # has ``thread`` in the library's own threads
_here: ContextVar[tuple[int | None, ...]] = ContextVar("corollary_threads", default=(None,))  # the innermost is last
_everywhere: int | None = None


def n_threads() -> int:
    """The number of threads that a fit or prediction without ``n_jobs`` would use if it began here and now.

    Examples
    --------
    >>> import corollary
    >>> with corollary.threads(2):
    ...     corollary.n_threads()
    2
    """
    if hasattr(_own, "thread"):
        return 1
    chosen = _here.get()[-1] or _everywhere or _from_environment("COROLLARY_NUM_THREADS")
    if chosen is None:
        chosen = 1 if _in_worker() else _from_environment("OMP_NUM_THREADS") or usable_cores()
    return chosen


class threads(ContextDecorator):
    """Use ``n`` threads within this context, in the thread of Python that enters it; other threads are not affected.

    Parameters
    ----------
    n : int or None
        A positive number of threads, which may exceed the number of cores; or −1 for all usable cores, −2 for all but
        one, and so on. None changes nothing. An ``n_jobs`` given to an estimator counts more.

    Examples
    --------
    >>> import corollary
    >>> with corollary.threads(2):
    ...     model = corollary.Ridge().fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    """

    def __init__(self, n: int | None) -> None:
        self._number = None if n is None else _count(n)

    def __enter__(self) -> None:
        chosen = _here.get()
        _here.set((*chosen, self._number or chosen[-1]))

    def __exit__(self, *error: object) -> None:
        _here.set(_here.get()[:-1])


def set_threads(n: int | None) -> None:
    """Use ``n`` threads from now on, in every thread of this process; None goes back to the default.

    Parameters
    ----------
    n : int or None
        As for :func:`threads`. A ``with threads(n)`` and an ``n_jobs`` count more.

    Examples
    --------
    >>> import corollary
    >>> corollary.set_threads(3)
    >>> corollary.n_threads()
    3
    >>> corollary.set_threads(None)
    """
    global _everywhere
    _everywhere = None if n is None else _count(n)


def mark_own_thread() -> None:
    """Called at the start of each thread of the library: what runs in it must not wait for further threads."""
    _own.thread = True


def _count(n: int) -> int:
    try:
        number = operator.index(n)
    except TypeError:
        number = 0
    if number == 0 or isinstance(n, bool):
        raise ValueError(
            "The number of threads (n or n_jobs) must be a positive integer, or a negative one that counts from the "
            f"number of cores (−1 is all of them), but it is {n!r}."
        )
    return number if number > 0 else max(1, usable_cores() + 1 + number)


@functools.cache  # asked for before every few milliseconds of work; a value that makes no sense is reported once
def _from_environment(variable: str) -> int | None:
    value = os.environ.get(variable, "")
    levels = value.split(",") if variable == "OMP_NUM_THREADS" else [value]  # one number for each level of nesting
    first = levels[0].strip()
    if first.isdecimal() and int(first) > 0:
        return int(first)
    if value.strip():
        message = f"The environment variable {variable} must be a positive integer, but it is {value!r}: ignored."
        warnings.warn(message, RuntimeWarning, stacklevel=3)
    return None


def _in_worker() -> bool:
    """True in a task of joblib (threads, loky or multiprocessing) or Dask, and anywhere in a process made by loky.

    The libraries are asked if they are loaded; those that are not have no tasks.
    """
    ours, child = _process()
    if not ours:
        return True
    if threading.get_ident() == threading.main_thread().ident and not child:
        return False  # the common case: neither runs its tasks here
    if "Dask-" in threading.current_thread().name:
        return True
    dask, joblib = sys.modules.get("distributed.worker"), sys.modules.get("joblib.parallel")
    if hasattr(getattr(dask, "thread_state", None), "execution_state"):
        return True
    active_backend = getattr(joblib, "get_active_backend", None)
    return active_backend is not None and (active_backend()[0].nesting_level or 0) > 0


@functools.cache
def _process() -> tuple[bool, bool]:
    """Whether this process is neither loky's nor Dask's, and whether it is some process's child."""
    name = multiprocessing.current_process().name
    return not name.startswith(("LokyProcess", "Dask")), multiprocessing.parent_process() is not None


@functools.cache
def usable_cores() -> int:
    """The cores that this process may use, after CPU affinity and the limits of a container."""
    import joblib  # knows about affinity and cgroups; asking costs file reads, so ask once

    return max(1, int(joblib.cpu_count()))


def _after_fork() -> None:
    """A forked child is no thread of ours, and may be given other cores or another environment before it works."""
    global _own
    _own = threading.local()
    usable_cores.cache_clear()
    _process.cache_clear()
    _from_environment.cache_clear()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_after_fork)
