"""The command ``python -m benchmarks``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from benchmarks import FAMILIES, curves, entries, harness, machine, results
from benchmarks.page import page, show
from benchmarks.table import candidates, tables
from benchmarks.workload import Check, Workload

WIDTH = 150  # of tables in a file, where there is no terminal to ask
Chosen = list[tuple[str, Workload | Check]]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="corollary side by side with its peers")
    parser.add_argument("family", nargs="*", help=f"any of: {', '.join(FAMILIES)} (default: all)")
    parser.add_argument("--only", action="append", metavar="NAME", help="this workload only; may be repeated")
    parser.add_argument(
        "--quick", action="store_true", help="small sizes: checks the harness, says nothing about speed"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write this run's figures")
    parser.add_argument(
        "--write", type=Path, metavar="FILE", help="write the page; figures are merged into FILE's .json"
    )
    parser.add_argument("--repeats", type=int, default=harness.Settings.repeats, help="rounds (default %(default)s)")
    parser.add_argument("--cap", type=float, default=harness.Settings.cap, help="seconds of timing per candidate")
    parser.add_argument("--no-memory", action="store_true", help="skip the memory measurements")
    parser.add_argument("--no-growth", action="store_true", help="skip the growth measurements")
    parser.add_argument("--list", action="store_true", help="list the workloads and stop")
    return parser


def choose(families: Sequence[str], only: Sequence[str] | None) -> Chosen:
    """The entries that were asked for; an unknown name is an error that lists the known ones."""
    for family in families:
        if family not in FAMILIES:
            raise ValueError(f"unknown family {family!r}; there are {', '.join(FAMILIES)}")
    found = [(family, entry) for family in families or FAMILIES for entry in entries(family)]
    names = [entry.name for _, entry in found]
    for name in only or ():
        if name not in names:
            raise ValueError(f"--only: unknown workload {name!r}; there are {', '.join(names)}")
    return [(family, entry) for family, entry in found if not only or entry.name in only]


def _measure(chosen: Chosen, settings: harness.Settings, console: Console) -> list[results.Record]:
    found: list[results.Record] = []
    for family, entry in chosen:
        console.print(f"[bold]{family} / {entry.name}[/bold]: {entry.title}")
        with console.status("…") as status:
            if isinstance(entry, Workload):
                race = harness.run(family, entry, settings, status.update if console.is_terminal else console.print)
                found.append(race)
                show(console, [candidates(race)])
            else:
                found.append(harness.read(family, entry, settings))
    return found


def _write(path: Path, found: list[results.Record]) -> None:
    here = machine.describe()
    store = path.with_suffix(".json")
    there, old = results.read(store)
    if not machine.same_hardware(here, there):
        old = []  # figures of two machines do not belong in one table
    order = [(family, entry.name) for family in FAMILIES for entry in entries(family)]
    merged = results.merge(old, found, order)
    results.write(store, here, merged)
    path.write_text(page(here, merged, curves.read(path.with_name(curves.STORE.name))), encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what was asked for and print it; returns the exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.quick and options.write:
        parser.error("--quick measures nothing worth keeping; leave out --write, or use --json")
    try:
        chosen = choose(options.family, options.only)
    except ValueError as error:
        parser.error(str(error))
    console = Console(width=None if sys.stdout.isatty() else WIDTH)
    if options.list:
        for family, entry in chosen:
            console.print(f"{family:10} {entry.name:20} {entry.title}")
        return 0
    repeats, cap = (2, 5.0) if options.quick else (options.repeats, options.cap)
    settings = harness.Settings(options.quick, repeats, cap, not options.no_memory, not options.no_growth)
    found = _measure(chosen, settings, console)
    show(console, tables(found, terminal=True))
    if options.json:
        results.write(options.json, machine.describe(), found)
    if options.write:
        _write(options.write, found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
