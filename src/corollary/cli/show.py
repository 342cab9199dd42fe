"""What a comparison looks like in a terminal."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from corollary.evaluate.comparison import Comparison, Row
    from corollary.tabular.roles import DataFacts

_INDENT = 11
_ROOM_FOR_NUMBERS = 40  # the column of evidence shows verdicts only if it would be narrower
_COLOURS = {"good": "green", "plain": "", "bad": "red"}


def safe(text: object) -> str:
    """Text without control characters, so that no column name can steer the terminal."""
    return "".join(char if char.isprintable() or char == "\n" else "�" for char in str(text))


def say(console: Console, label: str, text: object, style: str = "dim", body: str = "", *, wrap: bool = True) -> None:
    """A labelled line; what does not fit continues under its beginning (a command to copy stays on one line)."""
    width = max(20, console.width - _INDENT - 1) if wrap else 10_000
    together = safe(text).replace(" s)", "\u00a0s)")  # a number of seconds stays with its unit
    lines = textwrap.wrap(together, width, break_long_words=False, break_on_hyphens=False) or [""]
    console.print(Text.assemble((label.ljust(_INDENT), style), (lines[0], body)), soft_wrap=True)
    for line in lines[1:]:
        console.print(Text(" " * _INDENT + line, style=body), soft_wrap=True)


def show_left_out(console: Console, facts: DataFacts) -> None:
    """The columns that are not used, and why."""
    from corollary.tabular.roles import Role

    unused = [f"{column.name}: {column.note}" for column in facts.columns if column.role is Role.UNUSED]
    if unused:
        more = f"; and {len(unused) - 6} more" if len(unused) > 6 else ""
        say(console, "Left out", "; ".join(unused[:6]) + more)


def plain_table(titles: Sequence[str], left: Sequence[int] = (0,)) -> Table:
    """A table with a line under its titles; the columns in ``left`` begin on the left, the others end on the right."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0), header_style="dim")
    for index, title in enumerate(titles):
        table.add_column(Text(safe(title)), justify="left" if index in left else "right", no_wrap=True)
    return table


def show_data(console: Console, comparison: Comparison) -> None:
    """What was read, what is to be predicted, what was left out."""
    from corollary.tabular.messages import count
    from corollary.tabular.roles import Role, tally

    facts, target = comparison.facts, comparison.target
    console.print()
    say(console, "Data", f"{facts.source}: {facts.rows:,} rows; {tally(facts.columns)}")
    counts = target.class_counts
    classes = ", ".join(f"{name} {n / facts.rows:.1%}" for name, n in list(counts.items())[:6])
    more = f" and {len(counts) - 6} more" if len(counts) > 6 else ""
    say(
        console, "Target", f"{target.name}: {target.task}, {target.reason}" + (f" ({classes}{more})" if classes else "")
    )
    show_left_out(console, facts)
    notes = [*comparison.notes]
    if facts.rows_without_target:
        verb = "was" if facts.rows_without_target == 1 else "were"
        notes.append(f"{count(facts.rows_without_target, 'row')} without a target {verb} left out")
    notes += [
        f"{column.name}: {column.note}" for column in facts.columns if column.note and column.role is not Role.UNUSED
    ]
    for note in notes:
        say(console, "Note", note)


def leaderboard(comparison: Comparison, width: int) -> Table:
    """The table of models; without room for it, fewer scores; with room for them, the certificates."""
    head, *body = comparison.table()
    for line, row in zip(body, comparison.rows, strict=True):
        line[1] = safe(line[1]) + (" ≈" if row.tied else "")
    head, *body = _fitting([head, *body], width)
    table = plain_table(head, (1, len(head) - 1))
    verdicts = _verdicts(comparison.rows, width - _width([line[:-1] for line in (head, *body)]) - 1)
    for line, row, verdict in zip(body, comparison.rows, verdicts, strict=True):
        line.pop()
        style = "bold" if row.model == comparison.best else "dim" if row.baseline or row.error else ""
        table.add_row(*map(Text, line), Text(verdict, style=_COLOURS[row.tone]), style=style)
    return table


def _fitting(lines: list[list[str]], width: int) -> list[list[str]]:
    """The table without what takes too much room: its last scores, then the seconds; the first score always stays."""
    while _width(lines) > width and len(lines[0]) > 4:
        gone = max(3, len(lines[0]) - 3)
        lines = [[cell for index, cell in enumerate(line) if index != gone] for line in lines]
    return lines


def _verdicts(rows: Sequence[Row], room: int) -> list[str]:
    """What is claimed of each fit, and with room for it the number that shows it."""
    from corollary.tabular.messages import shortened

    found = []
    for row in rows:
        text = row.verdict
        if row.evidence is not None and not row.error and room >= _ROOM_FOR_NUMBERS:
            name = row.evidence.certificate.name
            number = row.certificate.removeprefix(name).split()[0]
            text += f": {shortened(name, room - len(f'{text}:  {number}'))} {number}"
        found.append(text)
    return found


def _width(lines: list[list[str]]) -> int:
    return sum(max(map(len, column)) + 2 for column in zip(*lines, strict=True))


def show_result(console: Console, comparison: Comparison) -> None:
    """The leaderboard, what it means, the evidence, and what to look at."""
    console.print()
    console.print(leaderboard(comparison, console.width))
    _legend(console, comparison)
    console.print()
    without_scores: dict[tuple[str, str], list[str]] = {}
    for row in comparison.rows:
        if row.error:
            without_scores.setdefault((row.verdict, row.error), []).append(row.model)
    for (verdict, reason), names in without_scores.items():
        say(console, verdict.capitalize(), f"{', '.join(names)}: {reason}", "red" if verdict == "failed" else "dim")
    say(console, "Result", comparison.summary(), "bold")
    best = comparison.best_row
    if best.evidence is not None:
        which = "in its weakest fold" if comparison.best_ is None else "fitted to every row"
        say(console, "Evidence", f"{best.model}, {which}. {best.evidence}", "bold")
    for check in comparison.checks:
        if not check.fine:
            say(console, "Look at", f"{check.title}. {check.detail}", "yellow")
    for row in comparison.rows:
        for remark in _remarks(row, row is best):
            say(console, "Note", f"{row.model}: {remark}")


def _legend(console: Console, comparison: Comparison) -> None:
    """What the signs mean, and the words under "evidence"."""
    folds = len(comparison.best_row.scores[comparison.metric.name].folds)
    ties = "; ≈ cannot be told apart from the best" if any(row.tied for row in comparison.rows) else ""
    console.print(Text(f"± is a 95% interval over {folds} folds{ties}", style="dim"), soft_wrap=True)
    if comparison.kinds:
        about = "✓ the claim about the fit holds (it is about training, not about the scores):"
        console.print(Text(about, style="dim"), soft_wrap=True)
    for kind in comparison.kinds:
        say(console, kind.name.lower(), kind.value, "dim", "dim")


def _remarks(row: Row, is_best: bool) -> list[str]:
    """Evidence that does not hold (that of the best was shown already), and two of the fits' warnings at most."""
    doubts = [str(row.evidence)] if row.evidence is not None and not row.evidence.holds and not is_best else []
    return [*doubts, *(text.removeprefix(f"{row.model}: ") for text in row.notes[:2])]


def note(text: str) -> None:
    """A remark on stderr, where it cannot mix with results."""
    print(f"corollary: note: {safe(text)}", file=sys.stderr)
