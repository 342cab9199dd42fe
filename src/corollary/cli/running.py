"""``corollary script.py``: a program that was written for scikit-learn, with our classes in the place of theirs."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import io
import os
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, ModuleType, TracebackType
from typing import Any

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


def run_program(asked: Program, *, own: bool = False) -> int:
    """Run it as Python would and return its exit code; ``sys.exit`` in it passes through.

    The report goes to stderr, however the program ends, so that what it prints can be piped on. If it is the process's
    ``own`` program, its threads and what it leaves to the end of the process still find all as it was: the report waits
    for the threads, and nothing is put back.
    """
    from corollary.patch import patch_sklearn, report, unpatch_sklearn

    before = sys.argv[:], sys.path[:], sys.modules["__main__"]
    sys.argv = [asked.name, *asked.arguments]
    sys.path[0] = os.getcwd() if asked.module else str(Path(asked.name).resolve().parent)
    patch_sklearn()
    try:
        code, main = _module(asked.name) if asked.module else _script(asked.name)
        sys.argv[0], sys.modules["__main__"] = str(main.__file__), main
        exec(code, vars(main))
    except (Exception, KeyboardInterrupt) as error:
        error.__traceback__ = _from_their_file(error.__traceback__)
        if isinstance(error, ImportError) and error.__traceback__ is None:
            print(f"corollary: {error}", file=sys.stderr)
        else:
            sys.excepthook(type(error), error, error.__traceback__)
        return INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1
    finally:
        if own:
            _wait_for_threads()
        if asked.report:
            _tell(report())
        if not own:
            unpatch_sklearn()
            sys.argv, sys.path[:], sys.modules["__main__"] = before
    return 0


def _script(path: str) -> tuple[CodeType, ModuleType]:
    """The code of a file, and the module ``__main__`` to run it in."""
    with io.open_code(os.path.abspath(path)) as file:
        code = compile(file.read(), path, "exec")
    return code, _main(path, importlib.machinery.SourceFileLoader("__main__", path), None, None)


def _module(name: str) -> tuple[CodeType, ModuleType]:
    """The same for a module or for the ``__main__`` of a package."""
    parent = name.rpartition(".")[0]
    spec = importlib.util.find_spec(name) if not parent or importlib.util.find_spec(parent) else None
    if spec is not None and spec.submodule_search_locations is not None:
        name = f"{name}.__main__"
        spec = importlib.util.find_spec(name)
    code = getattr(spec.loader, "get_code", lambda name: None)(name) if spec is not None else None
    if spec is None or code is None:
        raise ImportError(f"No module named {name}")
    return code, _main(spec.origin, spec.loader, spec, spec.parent)


def _main(file: str | None, loader: Any, spec: Any, package: str | None) -> ModuleType:
    main = ModuleType("__main__")
    vars(main).update(
        __file__=file, __loader__=loader, __spec__=spec, __package__=package, __cached__=None, __doc__=None
    )
    return main


def _wait_for_threads() -> None:
    """As Python does at its end: for all that are not daemons, and those that they start."""
    with suppress(KeyboardInterrupt):
        while others := [
            each for each in threading.enumerate() if each is not threading.current_thread() and not each.daemon
        ]:
            others[0].join()


def _tell(report: str) -> None:
    """Print it after all that the program has printed, where there is anyone to read either."""
    for stream, text in ((sys.stdout, ""), (sys.stderr, f"{report}\n")):
        if stream is not None:
            with suppress(OSError, ValueError):  # closed, by the program or at the other end
                stream.write(text)
                stream.flush()


def _from_their_file(at: TracebackType | None) -> TracebackType | None:
    """The traceback without the lines that lead to the program."""
    while at is not None and at.tb_frame.f_globals.get("__name__") == __name__:
        at = at.tb_next
    return at
