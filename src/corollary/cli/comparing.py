"""``corollary compare`` and ``corollary demo``."""

from __future__ import annotations

import shlex
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from corollary.cli import INTERRUPTED
from corollary.cli.say import safe, say
from corollary.cli.show import show_data, show_result

if TYPE_CHECKING:
    from corollary.evaluate.cross_validation import Progress as OnProgress


def run_compare(
    file: Path, target: str, options: Mapping[str, Any], report: Path | None = None, save: Path | None = None
) -> int:
    """Compare, print, and write what was asked for; where it goes is checked before the work starts.

    After Ctrl-C the models that were finished are printed and nothing is written.
    """
    from corollary.evaluate.card import model_card
    from corollary.evaluate.compare import Interrupted, compare
    from corollary.io import save as save_model
    from corollary.report import write_report
    from corollary.tabular.writing import check_output

    for path, option in ((report, "--report"), (save, "--save")):
        if path is not None:
            check_output(path, option, file)
    console = Console()
    try:
        with progress_bar() as on_progress:
            comparison = compare(file, target, progress=on_progress, **options)
    except Interrupted as stopped:
        show_data(console, stopped.comparison)
        show_result(console, stopped.comparison)
        say(console, "Stopped", f"{stopped}; no file was written.", "bold")
        return INTERRUPTED
    show_data(console, comparison)
    show_result(console, comparison)
    console.print()
    if report is not None:
        write_report(comparison, report)
        say_where(console, "Report", report)
    if save is not None:
        save_model(comparison.best_, save, card=model_card(comparison))
        say_where(console, "Model", save)
    if save is not None:
        following = shlex.join(["corollary", "predict", str(save), str(file), "--out", "predictions.csv"])
    else:
        outputs = {"save": "model.corollary"} | ({"report": "report.html"} if report is None else {})
        following = repeated("compare", file, {"target": target, **options, **outputs})
    say(console, "Next", following, "bold", wrap=False)
    return 0


def say_where(console: Console, label: str, path: Path) -> None:
    """Name a file that was written, and its size."""
    from corollary.io.summary import size_text

    say(console, label, f"{path} ({size_text(path.stat().st_size)})", "bold")


def repeated(command: str, file: Path, options: Mapping[str, Any]) -> str:
    """The command as it would be typed to run it again with these options."""
    from corollary.report.document import command_line

    usual = {"preset": "fast", "seed": 0, "n_jobs": 1, "bins": 5}
    return command_line(command, str(file), {name: each for name, each in options.items() if usual.get(name) != each})


@contextmanager
def progress_bar() -> Iterator[OnProgress]:
    """A progress bar on stderr, when that is a terminal, and a Ctrl-C that cannot get lost.

    Python drops an exception that is raised while an object is being finalised, so the key press is also remembered.
    """
    console = Console(stderr=True)
    columns = (BarColumn(bar_width=28), TimeElapsedColumn(), TextColumn("{task.description}", markup=False))
    pressed = False

    def on_signal(number: int, frame: Any) -> None:
        nonlocal pressed
        pressed = True
        raise KeyboardInterrupt

    def on_progress(done: int, total: int, name: str) -> None:
        if pressed:
            raise KeyboardInterrupt
        what = f"fit {done + 1} of {total}: {safe(name)}" if done < total else "fitting the best to every row"
        bar.update(line, completed=done, total=total, description=what)

    in_main_thread = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGINT, on_signal) if in_main_thread else None
    try:
        with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
            line = bar.add_task("reading the table", total=None)
            yield on_progress
        if pressed:
            raise KeyboardInterrupt
    finally:
        if in_main_thread:
            signal.signal(signal.SIGINT, before)


def run_demo(folder: Path) -> int:
    """Compare models on the breast-cancer measurements that come with scikit-learn."""
    from sklearn.datasets import load_breast_cancer

    from corollary.tabular.messages import InputError
    from corollary.tabular.writing import write_text

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--out {folder}: cannot be created ({error.strerror})") from None
    bunch = load_breast_cancer(as_frame=True)
    frame = bunch.data.assign(diagnosis=bunch.target_names[bunch.target])
    data = folder / "breast-cancer.csv"
    write_text(data, frame.to_csv(index=False))
    print("569 tumours, 30 measurements each: which are malignant?")
    return run_compare(data, "diagnosis", {"preset": "full"}, folder / "report.html", folder / "model.corollary")
