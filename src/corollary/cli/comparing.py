"""``corollary compare`` and ``corollary demo``."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console

from corollary.cli import INTERRUPTED
from corollary.cli.progress import progress_bar
from corollary.cli.say import say
from corollary.cli.show import show_data, show_result


def run_compare(
    file: Path,
    target: str,
    options: Mapping[str, Any],
    report: Path | None = None,
    save: Path | None = None,
    *,
    wide: bool = False,
) -> int:
    """Compare, print, and write what was asked for; where it goes is checked before the work starts.

    After Ctrl-C what was finished is printed and nothing is written, but what ``--resume`` has kept.
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
        with progress_bar(_seconds(options)) as on_progress:
            comparison = compare(str(file), target, progress=on_progress, **options)
    except Interrupted as stopped:
        show_data(console, stopped.comparison)
        show_result(console, stopped.comparison, wide, finished=False)
        say(console, "Stopped", f"{stopped}; no {'other ' if options.get('resume') else ''}file was written.", "bold")
        if options.get("resume"):
            say(console, "Next", repeated("compare", file, {"target": target, **options}), "bold", wrap=False)
        return INTERRUPTED
    show_data(console, comparison)
    show_result(console, comparison, wide)
    console.print()
    if report is not None:
        write_report(comparison, report)
        say_where(console, "Report", report)
    if save is not None:
        save_model(comparison.best_, save, card=model_card(comparison))
        say_where(console, "Model", save)
        following = following_prediction(save, file, "predictions.csv", options.get("id"))
    else:
        outputs = {"save": "model.corollary"} | ({"report": "report.html"} if report is None else {})
        following = repeated("compare", file, {"target": target, **options, **outputs})
    say(console, "Next", following, "bold", wrap=False)
    return 0


def _seconds(options: Mapping[str, Any]) -> float | None:
    """The time that was set, if any (what is wrong with it, ``compare`` says)."""
    minutes, seconds = options.get("minutes"), options.get("time_budget")
    found = 60 * minutes if minutes is not None else seconds
    return found if found is not None and found > 0 else None


def following_prediction(model: Path, file: Path, out: str, identifier: str | None = None) -> str:
    """The command that uses a saved model on the same file, or on a new one where it came from stdin."""
    source = "new.csv" if str(file) == "-" else str(file)
    named = ["--id", identifier] if identifier else []
    return shlex.join(["corollary", "predict", str(model), source, *named, "--out", out])


def say_where(console: Console, label: str, path: Path) -> None:
    """Name a file that was written, and its size."""
    from corollary.io.summary import size_text

    say(console, label, f"{path} ({size_text(path.stat().st_size)})", "bold")


def repeated(command: str, file: Path, options: Mapping[str, Any]) -> str:
    """The command as it would be typed to run it again with these options."""
    from corollary.report.document import command_line

    usual = {"preset": "fast", "seed": 0, "n_jobs": 1, "bins": 5, "split": "random"}
    return command_line(command, str(file), {name: each for name, each in options.items() if usual.get(name) != each})


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
