"""``corollary cluster``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from corollary.cli.comparing import following_prediction, repeated, say_where
from corollary.cli.grid import Column, drawn, fitted, plain
from corollary.cli.progress import progress_bar
from corollary.cli.say import safe, say
from corollary.cli.show import show_left_out
from corollary.tabular.messages import count, shortened

if TYPE_CHECKING:
    from corollary.evaluate.clustering import Clustering

_TRAITS, _CLUSTERS, _NUMBERS = 12, 20, 16  # lines of each table
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
        found = cluster(str(file), progress=on_progress, **options)
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
        following = following_prediction(save, file, "clusters.csv")
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
        _show_choice(console, found)
    console.print()
    _show_sizes(console, found)
    console.print()
    _show_profile(console, found)
    console.print()
    say(console, "Result", f"{found.summary()} By {found.method}.", "bold")
    if found.structure is not None and not found.structure.found:
        say(console, "Look at", "nothing shows that there are groups at all; do not read much into these.", "yellow")
    for warning in found.warnings:
        say(console, "Look at", f"{warning}.", "yellow")
    if found.evidence is not None:
        say(console, "Evidence", f"{found.method}, fitted to every row. {found.evidence}", "bold")
        if found.evidence.holds:
            kind = found.evidence.certificate.kind
            say(console, kind.name.lower(), kind.value, "dim", "dim")
    console.print()


def _show_choice(console: Console, found: Clustering) -> None:
    """The criteria at the numbers worth seeing; asterisks mark what each speaks for."""
    assert found.choice is not None
    head, *body = found.choice.table()
    named = {place for place, line in enumerate(body) if any("*" in cell for cell in line) or line[0] == str(found.k)}
    near = {place + step for place in named for step in (-1, 0, 1)} | {0, len(body) - 1}
    shown = [line for place, line in enumerate(body) if place in near or len(body) <= _NUMBERS]
    cells = [[_mark_first(cell) for cell in line] for line in shown]
    columns = [
        Column(title, column, goes=at)
        for at, (title, column) in enumerate(zip(head, zip(*cells, strict=True), strict=True))
    ]
    columns, gone = fitted(columns, console.width)
    console.print(drawn(columns, ["bold" if line[0] == str(found.k) else "" for line in cells]), soft_wrap=True)
    more = [count(len(body) - len(shown), "more number")] if len(shown) < len(body) else []
    words = [f"{', '.join([*gone, *more])} in the report (--report FILE)"] if gone or more else []
    if body[-1][head.index("gap")].strip() == "–":
        words.append("elbow and gap are asked for small k only")
    if words:
        console.print(Text("; ".join(words), style="dim"), soft_wrap=True)


def _show_sizes(console: Console, found: Clustering) -> None:
    rows = []
    for each in range(min(found.k, _CLUSTERS)):
        score, typical, size = found.silhouette_of(each), found.typical[each], found.sizes[each]
        typical_row = f"{typical + 1:,}" if typical >= 0 else "–"
        share, shown = f"{size / found.facts.rows:.1%}", "–" if score != score else f"{score:.2f}"
        rows.append([str(each), f"{size:,}", share, shown, typical_row])
    console.print(drawn(plain(["cluster", "rows", "share", "silhouette", "typical row"], rows)), soft_wrap=True)
    if found.k > _CLUSTERS:
        sizes = found.sizes[_CLUSTERS:]
        more = f"and {found.k - _CLUSTERS} more clusters of {sizes.min():,} to {sizes.max():,} rows, in the report"
        console.print(Text(more, style="dim"), soft_wrap=True)


def _show_profile(console: Console, found: Clustering) -> None:
    """Columns of the table against clusters, as many clusters as fit, and what was left out."""
    shown = found.traits[:_TRAITS]
    columns = [Column("", [_short(trait.name) for trait in shown], left=True)]
    for each in range(found.k):
        cells = [_cell(trait.values[each], trait.strength[each]) for trait in shown]
        columns.append(Column(str(each), cells, goes=each))
    columns, gone = fitted(columns, console.width)
    console.print(drawn(columns), soft_wrap=True)
    numbers = ((len(gone), "cluster"), (len(found.traits) - len(shown), "column"))
    missing = [count(number, noun) for number, noun in numbers if number]
    more = f"; {' and '.join(missing)} more in the report" if missing else ""
    console.print(Text(f"▲ ▼ differ from all rows by a standard deviation{more}", style="dim"), soft_wrap=True)


def _cell(value: str, strength: float) -> str:
    return ("▲ " if strength >= 1 else "▼ " if strength <= -1 else "") + _short(value)


def _mark_first(cell: str) -> str:
    """An asterisk stands before its number, so that numbers end in one column."""
    return f"*{cell[:-1]}" if cell.endswith("*") else cell.rstrip()


def _short(text: str) -> str:
    return shortened(safe(text).replace("\n", " "), _CELL)
