"""Lines for a terminal: labelled, wrapped, and unable to steer it."""

from __future__ import annotations

import sys
import textwrap

from rich.console import Console
from rich.text import Text

_INDENT = 11


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


def note(text: str) -> None:
    """A remark on stderr, where it cannot mix with results."""
    print(f"corollary: note: {safe(text)}", file=sys.stderr)
