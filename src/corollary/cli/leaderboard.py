"""The leaderboard in a terminal: rank, model and score always; the rest as far as there is room."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from corollary.cli.grid import Column, drawn, fitted
from corollary.tabular.messages import shortened

if TYPE_CHECKING:
    from corollary.evaluate.comparison import Comparison, Row

_COLOURS = {"good": "green", "plain": "", "bad": "red"}
_SETTINGS = 60  # characters of what the search chose
_NAME = 20  # characters of a certificate's name, where there is no room for all
_ENDLESS = 10_000


def show_leaderboard(console: Console, comparison: Comparison, wide: bool = False) -> None:
    """Print it; what there is no room for is named below (with ``wide`` all is shown, however long the lines get)."""
    columns, gone = fitted(leaderboard_columns(comparison), _ENDLESS if wide else console.width)
    styles = [
        "bold" if row.model == comparison.best else "dim" if row.baseline or row.error else ""
        for row in comparison.rows
    ]
    console.print(drawn(columns, styles), soft_wrap=True)
    gone = [each for each in gone if each != "whole certificates" or "certificates" not in gone]
    if gone:
        console.print(Text(f"no room for: {', '.join(gone)}; --wide shows all", style="dim"), soft_wrap=True)


def leaderboard_columns(comparison: Comparison) -> list[Column]:
    """All there is to show, with what goes first: settings, certificates, configurations tried, the last scores."""
    head, *body = comparison.table()
    rows, by_title = comparison.rows, dict(zip(head, zip(*body, strict=True), strict=True))
    most = max(row.folds_done for row in rows)
    some = [f" ({row.folds_done} of {most} folds)" if 0 < row.folds_done < most else "" for row in rows]
    names = [row.model + (" ≈" if row.tied else "") + part for row, part in zip(rows, some, strict=True)]
    columns = [Column("#", by_title["#"]), Column("model", names, left=True, may_shrink=True)]
    for place, metric in enumerate(comparison.metrics):
        columns.append(Column(metric.title, by_title[metric.title], goes=0 if place == 0 else 2 + place))
    columns.append(Column("fit s", by_title["fit s"], goes=2))
    if any(row.tried > 1 for row in rows):
        columns.append(Column("tried", [str(row.tried or "–") for row in rows], goes=57))
    columns.append(_evidence(rows))
    if any(row.settings for row in rows):
        chosen = [shortened(settings_text(row.settings), _SETTINGS) for row in rows]
        columns.append(Column("settings", chosen, left=True, goes=70))
    return columns


def _evidence(rows: Sequence[Row]) -> Column:
    """What is claimed of each fit and the number that shows it; where there is no room, the claim alone."""
    colours = [_COLOURS[row.tone] for row in rows]
    brief = Column("evidence", [row.verdict for row in rows], left=True, styles=colours)
    found = brief
    for limit, goes, called in ((_NAME, 55, "certificates"), (_ENDLESS, 60, "whole certificates")):
        cells = [row.verdict + _certificate(row, limit) for row in rows]
        found = Column("evidence", cells, left=True, goes=goes, styles=colours, instead=found, called=called)
    return found


def _certificate(row: Row, limit: int) -> str:
    """Its name, shortened if need be, and its value, without the tolerance."""
    if row.evidence is None or row.error:
        return ""
    name = row.evidence.certificate.name
    return f": {shortened(name, limit)} {row.certificate.removeprefix(name).split()[0]}"


def settings_text(settings: Mapping[str, Any]) -> str:
    """``"max_depth=6, learning_rate=0.03"``."""
    return ", ".join(f"{name}={value:.3g}" if isinstance(value, float) else f"{name}={value}"
                     for name, value in settings.items())  # fmt: skip
