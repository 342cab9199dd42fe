"""What a comparison looks like in a terminal."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from corollary.cli.leaderboard import settings_text, show_leaderboard
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


def show_result(console: Console, comparison: Comparison, wide: bool = False, finished: bool = True) -> None:
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
    _show_more(console, comparison)
    best = comparison.best_row
    if best.evidence is not None:
        which = "fitted to every row" if finished else "in its weakest fold"
        say(console, "Evidence", f"{best.model}, {which}. {best.evidence}", "bold")
    for check in comparison.checks:
        if not check.fine:
            say(console, "Look at", f"{check.title}. {check.detail}", "yellow")
    for row in comparison.rows:
        for remark in _remarks(row, row is best):
            say(console, "Note", f"{row.model}: {remark}")


def _show_more(console: Console, comparison: Comparison) -> None:
    """What a search has chosen and of how much, and the score on rows that took no part."""
    from corollary.evaluate.wording import decimals, number
    from corollary.tabular.messages import count

    best = comparison.best_row
    if comparison.blend:
        shares = sorted(comparison.blend.items(), key=lambda item: -item[1])
        say(console, "Blend", " + ".join(f"{share:.0%} {name}" for name, share in shares), "bold")
    elif best.settings:
        say(console, "Settings", settings_text(best.settings), "bold")
    if comparison.holdout:
        labels = {metric.name: metric.label for metric in comparison.metrics}
        places = {name: decimals(best.scores[name].half_width) for name in labels if name in best.scores}
        scores = (f"{labels.get(name, name)} {number(value, places.get(name, 3))}"
                  for name, value in comparison.holdout.items())  # fmt: skip
        say(console, "Hold-out", f"{', '.join(scores)}, on rows that had no say in anything", "bold")
    timed = comparison.settings.get("minutes") or comparison.settings.get("time_budget")
    if timed and comparison.seconds == comparison.seconds:
        scored = [trial.model for trial in comparison.trials if trial.scores]
        tried = f"{count(len(scored), 'configuration')} of {count(len(set(scored)), 'model')}"
        say(console, "Time", f"{comparison.seconds:.0f} s: {tried} got a score")


def _legend(console: Console, comparison: Comparison) -> None:
    """What the signs mean, and the words under "evidence"."""
    from corollary.evaluate.card import validation_words

    name = comparison.metric.name
    cut = any(row.scores[name].cut for row in comparison.rows if name in row.scores)
    sign = "± or (low–high)" if cut else "±"
    several = len(comparison.best_row.scores[name].folds) > 1
    words = [f"{sign} is a 95% interval {validation_words(comparison)}" if several else "one fold only: no intervals"]
    if any(row.tied for row in comparison.rows):
        words.append("≈ cannot be told apart from the best")
    for line in textwrap.wrap("; ".join(words), console.width):
        console.print(Text(line, style="dim"), soft_wrap=True)
    if comparison.kinds:
        about = "✓ the claim about the fit holds (it is about training, not about the scores):"
        console.print(Text(about, style="dim"), soft_wrap=True)
    for kind in comparison.kinds:
        say(console, kind.name.lower(), kind.value, "dim", "dim")


def _remarks(row: Row, is_best: bool) -> list[str]:
    """Evidence that does not hold (that of the best was shown already), and two of the fits' warnings at most."""
    doubts = [str(row.evidence)] if row.evidence is not None and not row.evidence.holds and not is_best else []
    return [*doubts, *(text.removeprefix(f"{row.model}: ") for text in row.notes[:2])]
