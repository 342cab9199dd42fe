"""``corollary script.py``: a program that was written for scikit-learn, with our classes in the place of theirs."""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from corollary.cli import INTERRUPTED


@dataclass(frozen=True)
class Program:
    """A script, or a module as in ``python -m``, with its arguments."""

    name: str
    arguments: list[str]
    module: bool
    report: bool


def program(arguments: Sequence[str]) -> Program | None:
    """The program that a command line names, as in ``[--report] script.py …`` or ``[--report] -m module …``."""
    rest = list(arguments)
    report = rest[:1] == ["--report"]
    if report:
        rest = rest[1:]
    if rest[:1] == ["-m"] and len(rest) > 1:
        return Program(rest[1], rest[2:], True, report)
    if rest and rest[0].endswith(".py"):
        return Program(rest[0], rest[1:], False, report)
    return None


def run_program(asked: Program) -> int:
    """Run it as Python would and return its exit code; ``sys.exit`` in it passes through.

    The report goes to stderr, however the program ends, so that what it prints can be piped on.
    """
    from corollary.patch import patch_sklearn, report, unpatch_sklearn

    before = sys.argv[:], sys.path[:]
    sys.argv = [asked.name, *asked.arguments]
    sys.path[0] = os.getcwd() if asked.module else str(Path(asked.name).resolve().parent)
    patch_sklearn()
    try:
        if asked.module:
            runpy.run_module(asked.name, run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(asked.name, run_name="__main__")
    except (Exception, KeyboardInterrupt) as error:
        error.__traceback__ = _from_their_file(error.__traceback__)
        if isinstance(error, ImportError) and error.__traceback__ is None:
            print(f"corollary: {error}", file=sys.stderr)
        else:
            sys.excepthook(type(error), error, error.__traceback__)
        return INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1
    finally:
        if asked.report:
            sys.stdout.flush()
            print(report(), file=sys.stderr, flush=True)
        unpatch_sklearn()
        sys.argv, sys.path[:] = before
    return 0


def _from_their_file(at: TracebackType | None) -> TracebackType | None:
    """The traceback without the lines that lead to the program."""
    while at is not None and at.tb_frame.f_globals.get("__name__") in (__name__, "runpy"):
        at = at.tb_next
    return at
