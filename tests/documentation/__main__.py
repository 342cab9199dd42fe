"""Write what programs and commands print today into the pages: ``python -m tests.documentation docs/index.md …``.

Outputs that still agree stay as they are; those that leave something out (``…``) are named, to be done by hand.
"""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from pathlib import Path

import matplotlib
from tests.documentation.matching import difference
from tests.documentation.pages import steps
from tests.documentation.running import place, run


def renewed(path: Path) -> str:
    """The page with its outputs of today."""
    text = path.read_text(encoding="utf-8")
    changes = []
    with place(path.stem) as module:
        for step in steps(text):
            _, printed = run(step, module, str(path))
            wrong = difference(printed, step.shown) if step.shown is not None else ""
            if wrong:
                print(f"{path.name}, line {step.line}: {wrong}", file=sys.stderr)
                if "…" not in (step.shown or ""):
                    lines = [line.rstrip() for line in printed.rstrip().splitlines()]
                    changes.append((step.place, "\n".join(lines) + "\n"))
    for (start, end), printed in reversed(changes):
        text = text[:start] + printed + text[end:]
    return text


def main() -> None:
    matplotlib.use("Agg")
    warnings.simplefilter("error")
    for path in [Path(name).resolve() for name in sys.argv[1:]]:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            text = renewed(path)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
