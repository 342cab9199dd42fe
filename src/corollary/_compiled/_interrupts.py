"""Ctrl-C held back for a while, and delivered right afterwards."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class _Waiting:
    """A handler of SIGINT that only remembers that it came."""

    def __init__(self) -> None:
        self.came = False

    def __call__(self, number: int, frame: Any) -> None:
        self.came = True


@contextmanager
def held_back() -> Iterator[None]:
    """Let nothing inside be cut short by Ctrl-C: whoever had asked to hear it hears it when the block ends.

    Only the main thread is ever interrupted, so on others there is nothing to do; nor is there where SIGINT is ignored,
    was given a handler outside Python (which could not be put back), or is being held back already.
    """
    before = signal.getsignal(signal.SIGINT) if threading.current_thread() is threading.main_thread() else None
    waiting = _Waiting()
    if before in (None, signal.SIG_IGN) or isinstance(before, _Waiting) or not _installed(waiting):
        yield
        return
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is waiting:  # unless somebody has set another one meanwhile
            signal.signal(signal.SIGINT, before)
        if waiting.came:
            signal.raise_signal(signal.SIGINT)


def _installed(handler: _Waiting) -> bool:
    try:
        signal.signal(signal.SIGINT, handler)
    except ValueError:  # not the main interpreter
        return False
    return True
