"""Progress on stderr, where that is a terminal, and a Ctrl-C that cannot get lost."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeElapsedColumn
from rich.text import Text

from corollary.cli.say import safe

if TYPE_CHECKING:
    from corollary.evaluate.cross_validation import Progress as OnProgress


class _TimeLeft(ProgressColumn):
    """What is left of a time that was set, in minutes and seconds."""

    max_refresh = 0.5

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._end = time.monotonic() + seconds

    def render(self, task: Task) -> Text:
        left = max(0, round(self._end - time.monotonic()))
        return Text(f"{left // 60}:{left % 60:02d} left" if left else "finishing")


class _TimeUsed(BarColumn):
    """A bar that runs with the clock."""

    def __init__(self, seconds: float) -> None:
        super().__init__(bar_width=20)
        self._began, self._seconds = time.monotonic(), seconds

    def render(self, task: Task) -> Any:
        task.total, task.completed = self._seconds, min(self._seconds, time.monotonic() - self._began)
        return super().render(task)


class _Teller:
    """What ``compare`` calls: what runs now, and who leads. Raises a Ctrl-C that was lost elsewhere."""

    def __init__(self, bar: Progress, seconds: float | None) -> None:
        self._bar, self._timed, self._leader = bar, seconds is not None, ""
        self._line = bar.add_task("reading the table", total=None)
        self.pressed = False

    def __call__(self, done: int, total: int, name: str) -> None:
        if self.pressed:
            raise KeyboardInterrupt
        many = f"fit {done + 1}" if self._timed else f"fit {done + 1} of {total}"
        what = f"{many}: {safe(name)}{self._leader}" if name else "fitting the best to every row"
        if self._timed:
            self._bar.update(self._line, description=what)
        else:
            self._bar.update(self._line, completed=done, total=total, description=what)

    def leads(self, name: str, metric: str, score: float) -> None:
        """Remember the best so far, to be shown with the next fit."""
        self._leader = f"; best so far {safe(name)}, {metric} {score:.4g}"


@contextmanager
def progress_bar(seconds: float | None = None) -> Iterator[OnProgress]:
    """A bar of the fits that are done or, if a time was set, of the time; beside it what runs and who leads.

    Python drops an exception that is raised while an object is being finalised, so a Ctrl-C is also remembered.
    """
    console = Console(stderr=True)
    timed = (
        (BarColumn(bar_width=20), TimeElapsedColumn()) if seconds is None else (_TimeUsed(seconds), _TimeLeft(seconds))
    )
    words = TextColumn("{task.description}", markup=False)
    bar = Progress(*timed, words, console=console, transient=True, disable=not console.is_terminal)
    tell = _Teller(bar, seconds)

    def on_signal(number: int, frame: Any) -> None:
        tell.pressed = True
        raise KeyboardInterrupt

    in_main_thread = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGINT, on_signal) if in_main_thread else None
    try:
        with bar:
            yield tell
        if tell.pressed:
            raise KeyboardInterrupt
    finally:
        if in_main_thread:
            signal.signal(signal.SIGINT, before)
