"""What a comparison looks like in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from corollary.cli.leaderboard import show_leaderboard
from corollary.cli.say import say

if TYPE_CHECKING:
    from corollary.evaluate.comparison import Comparison, Row
    from corollary.tabular.roles import DataFacts


def show_left_out(console: Console, facts: DataFacts) -> None:
    """The columns that are not used, and why."""
    from corollary.tabular.roles import Role

    unused = [f"{column.name}: {column.note}" for column in facts.columns if column.role is Role.UNUSED]
    if unused:
        more = f"; and {len(unused) - 6} more" if len(unused) > 6 else ""
        say(console, "Left out", "; ".join(unused[:6]) + more)


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


def show_result(console: Console, comparison: Comparison, wide: bool = False) -> None:
    """The leaderboard, what it means, the evidence, and what to look at."""
    console.print()
    show_leaderboard(console, comparison, wide)
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
