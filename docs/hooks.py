"""What the site has beyond the pages: the programs of the gallery in full, pictures that load when they are seen."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = re.compile(r"^\[The program\]\(\.\./(examples/\w+\.py)\)$", re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """A link to a program, which the site does not have as a file, becomes the program, folded."""
    return PROGRAM.sub(lambda link: _folded(link[1]), markdown)


def on_page_content(html: str, **_: Any) -> str:
    """Pictures are fetched when they come into sight."""
    return html.replace("<img ", '<img loading="lazy" ')


def _folded(name: str) -> str:
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    code = "\n".join(f"    {line}" if line else "" for line in lines)
    return f'??? example "The program: {name}, {len(lines)} lines"\n\n    ```python\n{code}\n    ```\n'
