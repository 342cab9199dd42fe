"""``corollary cluster``."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from corollary.cli.comparing import progress_bar, repeated, say_where
from corollary.cli.show import plain_table, safe, say, show_left_out
from corollary.tabular.messages import count, shortened

if TYPE_CHECKING:
    from corollary.evaluate.clustering import Clustering

_TRAITS = 12
_CELL = 18


def run_cluster(
    file: Path,
    options: Mapping[str, Any],
    report: Path | None = None,
    save: Path | None = None,
    labels: Path | None = None,
) -> None:
    """Find clusters, print them, and write what was asked for; where it goes is checked before the work starts."""
    from corollary.evaluate.clustering import cluster
    from corollary.io import save as save_model
    from corollary.report import write_report
    from corollary.tabular.writing import check_output, write_text

    for path, option in ((report, "--report"), (save, "--save"), (labels, "--labels")):
        if path is not None:
            check_output(path, option, file)
    with progress_bar() as on_progress:
        found = cluster(file, progress=on_progress, **options)
    console = Console()
    _show(console, found)
    if save is not None:  # first: the one that a model could refuse
        save_model(found.model_, save)
        say_where(console, "Model", save)
    if report is not None:
        write_report(found, report)
        say_where(console, "Report", report)
    if labels is not None:
        lines = "".join(f"{row + 1},{each}\n" for row, each in enumerate(found.labels))
        write_text(labels, f"row,cluster\n{lines}")
        say_where(console, "Labels", labels)
    if save is not None and hasattr(found.model_, "predict"):
        following = shlex.join(["corollary", "predict", str(save), str(file), "--out", "clusters.csv"])
    else:
        outputs = {"report": report or "report.html", "labels": labels or "labels.csv"}
        following = repeated("cluster", file, {**options, "k": found.k, **outputs})
    say(console, "Next", following, "bold", wrap=False)


def _show(console: Console, found: Clustering) -> None:
    from corollary.tabular.roles import tally

    facts = found.facts
    console.print()
    say(console, "Data", f"{facts.source}: {facts.rows:,} rows; {tally(facts.columns)}")
    show_left_out(console, facts)
    for note in found.notes:
        say(console, "Note", note)
    if found.choice is not None:
        console.print()
        console.print(_choice_table(found, console.width))
    console.print()
    console.print(_size_table(found))
    console.print()
    profile, more = _profile(found, console.width)
    console.print(profile)
    console.print(Text(f"▲ ▼ differ from all rows by a standard deviation{more}", style="dim"))
    console.print()
    say(console, "Result", _result(found), "bold")
    if found.evidence is not None:
        say(console, "Evidence", f"{found.method}, fitted to every row. {found.evidence}", "bold")
        if found.evidence.holds:
            kind = found.evidence.certificate.kind
            say(console, kind.name.lower(), kind.value, "dim", "dim")
    console.print()


def _result(found: Clustering) -> str:
    score = (
        "" if found.silhouette != found.silhouette else f" Mean silhouette {found.silhouette:.2f}, by {found.method}."
    )
    return f"{found.reason}{score}"


def _choice_table(found: Clustering, width: int) -> Table:
    """The criteria for each k; asterisks mark what each speaks for."""
    assert found.choice is not None
    lines = found.choice.table()
    while sum(max(map(len, column)) + 2 for column in zip(*lines, strict=True)) > width:
        lines = [line[:-1] for line in lines]
    table = plain_table(lines[0], ())
    for line in lines[1:]:
        table.add_row(*(Text(_mark_first(cell)) for cell in line), style="bold" if line[0] == str(found.k) else "")
    return table


def _size_table(found: Clustering) -> Table:
    table = plain_table(["cluster", "rows", "share", "silhouette", "typical row"])
    for each, size in enumerate(found.sizes):
        score, typical = found.silhouette_of(each), found.typical[each]
        table.add_row(
            str(each),
            f"{size:,}",
            f"{size / found.facts.rows:.1%}",
            "–" if score != score else f"{score:.2f}",
            f"{typical + 1:,}" if typical >= 0 else "–",
        )
    return table


def _profile(found: Clustering, width: int) -> tuple[Table, str]:
    """Columns of the table against clusters, as many clusters as fit, and what was left out."""
    shown = found.traits[:_TRAITS]
    names = [_short(trait.name) for trait in shown]
    room = width - max(map(len, names), default=0) - 2
    order: list[list[str]] = []
    for each in range(found.k):
        cells = [str(each), *(_cell(trait.values[each], trait.strength[each]) for trait in shown)]
        room -= max(map(len, cells)) + 2
        if room < 0 and order:
            break
        order.append(cells)
    table = plain_table(["", *(cells[0] for cells in order)])
    for row, name in enumerate(names):
        table.add_row(Text(name), *(Text(cells[row + 1]) for cells in order))
    gone = [
        count(number, noun)
        for number, noun in ((found.k - len(order), "cluster"), (len(found.traits) - len(shown), "column"))
        if number
    ]
    return table, f"; {' and '.join(gone)} more in the report" if gone else ""


def _cell(value: str, strength: float) -> str:
    return ("▲ " if strength >= 1 else "▼ " if strength <= -1 else "") + _short(value)


def _mark_first(cell: str) -> str:
    """An asterisk stands before its number, so that numbers end in one column."""
    return f"*{cell[:-1]}" if cell.endswith("*") else cell.rstrip()


def _short(text: str) -> str:
    return shortened(safe(text).replace("\n", " "), _CELL)
