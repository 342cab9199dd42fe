"""Tables on the terminal (rich) and as a page of the documentation (Markdown)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from rich.console import Console
from rich.table import Table as RichTable

from benchmarks.curves import Curve, overview, times
from benchmarks.results import Record
from benchmarks.table import Table, tables

HEADINGS = {
    "linear": "Linear models",
    "accuracy": "Accuracy: right digits of least squares",
    "startup": "Start-up",
    "memory": "Memory beyond X, and what is promised",
}

HEAD = """# Benchmarks

Written by `make bench` (`python -m benchmarks --write docs/benchmarks.md`); do not edit. One workload is measured again
with `python -m benchmarks FAMILY --only NAME --write docs/benchmarks.md`; the other figures stay, in `benchmarks.json`
beside this page. The peers come with `pip install -e '.[bench]'`; one that is not installed is listed as such.

- **Equal quality.** Every answer is put into the same objective (or duality gap) by the benchmark. Each candidate runs
  at the loosest tolerance that satisfies the rule of the workload; one that cannot satisfy it "did not reach" and does
  not count as best peer, however fast. *Quality* is the excess over the best value known, or the gap itself.
- **Time.** All candidates run in one process on the same arrays with their default number of threads, in turn, after a
  warm-up; the least time counts. *Ratio* is the best peer's time over ours: above 1 we are faster.
- **Memory.** The peak of one fit beyond the data, in a process of its own, after a warm-up on small data; in brackets
  as a share of X. [The last table](#memory-beyond-x-and-what-is-promised) has it for every estimator, on float32 and
  float64 rows, with the promise of its docstring in words and in MB beside it ("a few" is a number there, and 12 MB are
  added for the blocks of threads and the interpreter). Rows called *wide* are so large that neither those nor vectors
  would hide another copy of X.
- A bar that is not met says **LOSS**. Losses are not left out.
"""


THREADS = """## Threads

Written by `make bench-threads` (`python -m benchmarks.curves --write docs/curves.json`) on a machine of its own. Each
number of threads has processes that see as many cores, so that everybody's default is that number; quality is equal as
above. With few threads several workloads run at once, on half of the cores together. *Slower* means by more than a
tenth.

![Time against threads, ours and the peers'](images/threads.svg)
"""


def show(console: Console, found: Sequence[Table]) -> None:
    """Print tables on the terminal."""
    for table in found:
        drawn = RichTable(title=table.title or None, title_justify="left", header_style="bold")
        for number, heading in enumerate(table.header):
            drawn.add_column(heading, overflow="fold", no_wrap=number == 0)
        for row in table.rows:
            lost = any(cell.startswith("LOSS") for cell in row)
            drawn.add_row(*row, style="red" if lost else None)
        console.print(drawn)


def _markdown(table: Table) -> str:
    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    def emphasised(cell: str) -> str:
        return f"**{cell}**" if cell.startswith("LOSS") else cell

    rule = "|" + "---|" * len(table.header)
    rows = [line([emphasised(cell) for cell in row]) for row in table.rows]
    return "\n".join([f"### {table.title}", "", line(table.header), rule, *rows, ""])


def _facts(machine: Mapping[str, str], records: Sequence[Record | Curve]) -> list[str]:
    latest = max((record.date for record in records), default="never")
    facts = [f"| {name} | {value} |" for name, value in machine.items()]
    return ["| | |", "|---|---|", f"| latest measurement | {latest} |", *facts, ""]


def _threads(machine: Mapping[str, str], curves: Sequence[Curve]) -> list[str]:
    """What was measured with several numbers of threads."""
    return [THREADS, *_facts(machine, curves), _markdown(overview(curves)), _markdown(times(curves))] if curves else []


def page(
    machine: Mapping[str, str],
    records: Sequence[Record],
    threads: tuple[Mapping[str, str], Sequence[Curve]] = ({}, ()),
) -> str:
    """The whole page: how it was measured, on what, and the tables of every family."""
    parts = [HEAD, "## Machine", "", *_facts(machine, records)]
    for family, group in groupby(records, key=lambda record: record.family):
        parts += [f"## {HEADINGS.get(family, family.capitalize())}", ""]
        parts += [_markdown(table) for table in tables(list(group))]
    parts += _threads(*threads)
    return "\n".join(parts).rstrip() + "\n"
