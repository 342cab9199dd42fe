"""``corollary models`` and ``corollary inspect``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from corollary.cli.say import safe, say
from corollary.registry import Entry, all_estimators
from corollary.tabular.messages import InputError


def run_models(task: str | None, as_json: bool) -> None:
    """Print the registry, or what of it is for a task."""
    tasks = dict.fromkeys(each for entry in all_estimators() for each in entry.tasks)
    if task is not None and task not in tasks:
        raise InputError(f"--task {task}: expected one of {', '.join(tasks)}")
    rows = [_described(entry) for entry in all_estimators(task)]
    if as_json:
        print(json.dumps(rows, indent=2))
        return
    console = Console()
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0), header_style="dim")
    for name in ("model", "task", "canon", "compare", "can do"):
        table.add_column(name, no_wrap=name == "model", max_width=14 if name == "task" else None)
    for row in rows:
        can = ", ".join(row["capabilities"]) if not row["problem"] else f"not available: {row['problem']}"
        table.add_row(row["name"], ", ".join(row["tasks"]), row["canon"], row["compare"] or "–", can.replace("_", " "))
    console.print(table)
    console.print("[dim]compare: from which preset on [/][bold]corollary compare[/][dim] tries it.[/]")


def _described(entry: Entry) -> dict[str, Any]:
    problem = ""
    capabilities: list[str] = []
    try:
        capabilities = sorted(entry.capabilities)
    except Exception as error:  # one broken family must not hide the others
        problem = " ".join(str(error).split())
    return {
        "name": entry.name, "tasks": list(entry.tasks), "canon": entry.canon, "family": entry.family,
        "compare": entry.compare, "capabilities": capabilities, "problem": problem,
    }  # fmt: skip


def run_inspect(file: Path, as_json: bool = False) -> None:
    """Print what is in a model file: its card, if it has one, and what it is made of."""
    from corollary.io import inspect
    from corollary.io.summary import size_text

    found = inspect(file)
    if as_json:
        print(json.dumps(found.to_json(), indent=2))
        return
    console = Console()
    say(console, "File", f"{found.path}, {size_text(found.file_bytes)}")
    for label, text in found.about():
        say(console, label, text, "bold")
    console.print()
    for line in found.structure():
        console.print(safe(line), markup=False, highlight=False, soft_wrap=True)
    if found.card is None:
        say(console, "Note", "without a model card; compare --save writes one (target, columns, score, data)")
