"""``corollary compare`` and ``corollary demo``."""

from __future__ import annotations

import shlex
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from corollary.cli.show import safe, say, show_data, show_result

if TYPE_CHECKING:
    from corollary.evaluate.race import Progress as OnProgress


def run_compare(
    file: Path, target: str, options: Mapping[str, Any], report: Path | None = None, save: Path | None = None
) -> None:
    """Compare, print, and write what was asked for; where it goes is checked before the work starts."""
    from corollary.evaluate.compare import compare
    from corollary.io import save as save_model
    from corollary.tabular.writing import check_output

    for path, option in ((report, "--report"), (save, "--save")):
        if path is not None:
            check_output(path, option)
    with progress_bar() as on_progress:
        comparison = compare(file, target, progress=on_progress, **options)
    console = Console()
    show_data(console, comparison)
    show_result(console, comparison)
    console.print()
    if report is not None:
        comparison.report(report)
        say_where(console, "Report", report)
    if save is not None:
        save_model(comparison.best_, save)
        say_where(console, "Model", save)
    say(console, "Next", _next(file, target, report, save), "bold", wrap=False)


def say_where(console: Console, label: str, path: Path) -> None:
    size = path.stat().st_size
    say(console, label, f"{path} ({size / 1024:,.0f} kB)" if size >= 1024 else f"{path} ({size} bytes)", "bold")


def _next(file: Path, target: str, report: Path | None, save: Path | None) -> str:
    if save is not None:
        return shlex.join(["corollary", "predict", str(save), str(file), "--out", "predictions.csv"])
    words = ["corollary", "compare", str(file), "--target", target, "--save", "model.corollary"]
    if report is None:
        words += ["--report", "report.html"]
    return shlex.join(words)


@contextmanager
def progress_bar() -> Iterator[OnProgress]:
    """A progress bar on stderr (when that is a terminal), and a Ctrl-C that no solver can swallow.

    A solver answers Ctrl-C by keeping its best answer so far. Here that is not wanted: the whole comparison ends.
    """
    pressed = False

    def on_signal(number: int, frame: Any) -> None:
        nonlocal pressed
        pressed = True
        raise KeyboardInterrupt

    console = Console(stderr=True)
    columns = (BarColumn(bar_width=28), TimeElapsedColumn(), TextColumn("{task.description}", markup=False))
    bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    line = bar.add_task("reading the table", total=None)

    def on_progress(done: int, total: int, name: str) -> None:
        if pressed:
            raise KeyboardInterrupt
        what = f"fit {done + 1} of {total}: {safe(name)}" if done < total else "fitting the best to every row"
        bar.update(line, completed=done, total=total, description=what)

    before = signal.getsignal(signal.SIGINT)
    in_main_thread = before is not None and _is_main_thread()
    if in_main_thread:
        signal.signal(signal.SIGINT, on_signal)
    try:
        with bar:
            yield on_progress
        if pressed:
            raise KeyboardInterrupt
    finally:
        if in_main_thread:
            signal.signal(signal.SIGINT, before)


def _is_main_thread() -> bool:
    import threading

    return threading.current_thread() is threading.main_thread()


def run_demo(folder: Path) -> None:
    """Compare models on the breast-cancer measurements that come with scikit-learn."""
    from sklearn.datasets import load_breast_cancer

    from corollary.tabular.errors import InputError
    from corollary.tabular.writing import write_text

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--out {folder}: cannot be created ({error.strerror})") from None
    bunch = load_breast_cancer(as_frame=True)
    frame = bunch.data.assign(diagnosis=bunch.target_names[bunch.target])
    data = folder / "breast-cancer.csv"
    write_text(data, frame.to_csv(index=False))
    print("569 tumours, 30 measurements each: which are malignant?", file=sys.stdout)
    run_compare(data, "diagnosis", {"preset": "full"}, folder / "report.html", folder / "model.corollary")
