"""Tables for a terminal that never cut a number: what does not fit is left out whole, the least important first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rich.cells import cell_len
from rich.text import Text

from corollary.cli.say import safe
from corollary.tabular.messages import shortened

_BETWEEN = 2
_LEAST_TEXT = 16  # what may be shortened keeps so many characters


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Attributes
    ----------
    title, cells
        What stands above and in it.
    left : bool
        Text begins on the left; numbers end on the right.
    goes : int
        0: always shown. Of the others the one with the greatest number is left out first.
    styles : sequence of str
        Of each cell; empty for that of the row.
    may_shrink : bool
        A name, which an ellipsis may end if there is no other way; a number never is one.
    instead : Column, optional
        What stands in its place when it goes, with less in it.
    called : str
        What is then missing, in a word; by default its title.
    """

    title: str
    cells: Sequence[str]
    left: bool = False
    goes: int = 0
    styles: Sequence[str] = ()
    may_shrink: bool = False
    instead: Column | None = None
    called: str = ""

    @property
    def width(self) -> int:
        return max(map(cell_len, (self.title, *self.cells)))


def table_width(columns: Sequence[Column]) -> int:
    """Columns of the terminal that the table takes."""
    return sum(column.width for column in columns) + _BETWEEN * (len(columns) - 1)


def fitted(columns: Sequence[Column], width: int) -> tuple[list[Column], list[str]]:
    """The columns for which there is room, and what those that were left out are called."""
    kept, gone = list(columns), []
    while table_width(kept) > width and any(column.goes for column in kept):
        place = max(range(len(kept)), key=lambda at: kept[at].goes)
        least = kept[place]
        kept[place : place + 1] = [] if least.instead is None else [least.instead]
        gone.append(least.called or least.title)
    for place, column in enumerate(kept):
        too_much = table_width(kept) - width
        if too_much > 0 and column.may_shrink:
            room = max(_LEAST_TEXT, column.width - too_much)
            kept[place] = replace(column, cells=[shortened(cell, room) for cell in column.cells])
    return kept, gone[::-1]


def drawn(columns: Sequence[Column], row_styles: Sequence[str] = ()) -> Text:
    """The table as text: titles, a line under them, the rows. Print it with ``soft_wrap=True``."""
    columns = [
        replace(each, title=safe(each.title), cells=[safe(cell).replace("\n", " ") for cell in each.cells])
        for each in columns
    ]
    widths = [column.width for column in columns]
    text = _line([(column.title, "") for column in columns], columns, widths, "dim")
    text.append("\n" + "─" * table_width(columns), "dim")
    for row in range(len(columns[0].cells)):
        cells = [(column.cells[row], column.styles[row] if column.styles else "") for column in columns]
        text.append("\n")
        text.append_text(_line(cells, columns, widths, row_styles[row] if row_styles else ""))
    return text


def _line(cells: Sequence[tuple[str, str]], columns: Sequence[Column], widths: Sequence[int], style: str) -> Text:
    line = Text(style=style)
    for place, ((cell, own), column, width) in enumerate(zip(cells, columns, widths, strict=True)):
        gap = " " * (width - cell_len(cell))
        last = place == len(columns) - 1
        line.append("" if column.left else gap)
        line.append(cell, own)
        line.append("" if last else (gap if column.left else "") + " " * _BETWEEN)
    return line


def plain(titles: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[int] = (0,)) -> list[Column]:
    """Columns that are all shown; those in ``left`` begin on the left."""
    cells = list(zip(*rows, strict=True)) or [()] * len(titles)
    return [Column(title, each, at in left) for at, (title, each) in enumerate(zip(titles, cells, strict=True))]
