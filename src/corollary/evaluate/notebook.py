"""In a notebook: a bar that follows a comparison, and the head of its result. IPython is used where it runs already."""

from __future__ import annotations

import html
import sys
import time
from typing import TYPE_CHECKING, Any

from corollary.core.evidence import TONES

if TYPE_CHECKING:
    from corollary.evaluate.comparison import Comparison

_EVERY = 0.1  # seconds between two pictures of the bar
_CELL = "padding:3px 12px 3px 0;text-align:{side};white-space:nowrap"


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook; a terminal is none, even that of IPython."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell is not None and getattr(shell, "kernel", None) is not None


def notebook_progress() -> NotebookProgress | None:
    """A bar below the cell that is running, or None outside notebooks."""
    return NotebookProgress() if in_notebook() else None


class NotebookProgress:
    """Called with (fits done, fits in all, what is being done), it shows how far that is, in place."""

    def __init__(self) -> None:
        self.done, self.total, self.what = 0, 0, ""
        self._began, self._shown = time.monotonic(), -float("inf")
        self._handle: Any = None

    def __call__(self, done: int, total: int, what: str) -> None:
        self.done, self.total, self.what = done, total, what
        now = time.monotonic()
        if done < total and now - self._shown < _EVERY:
            return
        self._shown = now
        if self._handle is None:
            self._handle = sys.modules["IPython"].display.display(self, display_id=True)
        else:
            self._handle.update(self)

    def __repr__(self) -> str:
        doing = f": {self.what}" if self.what else ""
        return f"{self.done} of {self.total} fits{doing} ({time.monotonic() - self._began:.0f} s)"

    def _repr_html_(self) -> str:
        bar = f'<progress value="{self.done}" max="{max(self.total, 1)}" style="width:240px"></progress>'
        return f'<div style="font:14px system-ui,sans-serif">{bar} {html.escape(repr(self))}</div>'


def head_of(comparison: Comparison) -> str:
    """The head of the report for a notebook: the best model, what that means, the leaderboard, evidence."""
    head, *lines = comparison.table()
    sides = ["left" if at in (1, len(head) - 1) else "right" for at in range(len(head))]
    rows = "".join(
        _line("td", line, sides, TONES[row.tone], row.model == comparison.best)
        for line, row in zip(lines, comparison.rows, strict=True)
    )
    failed = "".join(
        f"<p>{html.escape(row.model)}: {html.escape(row.error)}</p>" for row in comparison.rows if row.error
    )
    kinds = "; ".join(f"<b>{kind.name.lower()}</b>: {html.escape(kind.value)}" for kind in comparison.kinds)
    return (
        '<div style="font:14px/1.5 system-ui,sans-serif;max-width:60em">'
        f'<p style="font-size:17px;margin:4px 0"><b>{html.escape(comparison.best)}</b> predicts '
        f"<b>{html.escape(comparison.target.name)}</b></p><p>{html.escape(comparison.summary())}</p>"
        '<div style="overflow-x:auto"><table style="border-collapse:collapse">'
        f"<thead>{_line('th', head, sides)}</thead><tbody>{rows}</tbody></table></div>{failed}"
        f'<p style="opacity:0.75">{f"Evidence: {kinds}." if kinds else ""} '
        "corollary.write_report(result, path) writes the whole report.</p></div>"
    )


def _line(tag: str, cells: list[str], sides: list[str], colour: str = "inherit", bold: bool = False) -> str:
    """A line of the leaderboard; its last cell is the evidence, in the colour of that."""
    styles = [_CELL.format(side=side) for side in sides]
    styles[-1] += f";color:{colour}"
    inside = "".join(
        f'<{tag} style="{style}">{html.escape(cell)}</{tag}>' for style, cell in zip(styles, cells, strict=True)
    )
    return f'<tr style="font-weight:{600 if bold or tag == "th" else 400}">{inside}</tr>'
