"""``python -m benchmarks.automl --data FOLDER``: the race of the searches, one tool after the other on each table.

The peers need not live in this environment: ``--peers PYTHON`` names the interpreter of another that has them
(``pip install "corollary-learn[automl]"`` makes one). Every run is a process of its own with the whole machine to
itself. A tool that fails is a line with its last words. Figures of earlier runs are kept in the file, so a race can be
run in parts.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.automl.page import text
from benchmarks.automl.tables import TABLES, Table

TOOL = Path(__file__).with_name("tool.py")
OURS = "corollary"
PEERS = ("FLAML", "AutoGluon")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.automl", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder of shared data")
    parser.add_argument("--minutes", type=float, default=2.0)
    parser.add_argument("--only", action="append", help="this table only; may be repeated")
    parser.add_argument("--tool", action="append", choices=(OURS, *PEERS), help="this tool only; may be repeated")
    parser.add_argument("--peers", default=sys.executable, help="the Python that has FLAML and AutoGluon")
    parser.add_argument("--json", type=Path, default=Path("docs/automl.json"), help="where figures are kept")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the table to this page")
    return parser


def run(table: Table, tool: str, python: str, folder: Path, minutes: float) -> dict[str, Any]:
    """The figures of one tool on one table, or ``{"failed": its last words}``."""
    command = [python, str(TOOL), tool, str(folder), table.target, table.task, str(minutes)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        return {"failed": (done.stderr.strip().splitlines() or ["no answer"])[-1][:200]}
    return json.loads(lines[-1])


def race(options: argparse.Namespace) -> dict[str, Any]:
    """Every tool on every table that was asked for; figures are written as they come."""
    found = json.loads(options.json.read_text(encoding="utf-8")) if options.json.exists() else {}
    for table in TABLES:
        if options.only and table.name not in options.only:
            continue
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            parts = table.parts(options.data)
            for part, frame in zip(("train", "test"), parts, strict=True):
                frame.to_csv(folder / f"{part}.csv", index=False)
            line = found.setdefault(table.name, {})
            line["rows"], line["columns"], line["task"] = len(parts[0]), parts[0].shape[1] - 1, table.task
            for tool in options.tool or (OURS, *PEERS):
                python = sys.executable if tool == OURS else options.peers
                line[tool] = run(table, tool, python, folder, options.minutes) | {"minutes": options.minutes}
                print(table.name, tool, line[tool], flush=True)
                options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    page = text(race(options))
    print(page)
    if options.write:
        options.write.write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
