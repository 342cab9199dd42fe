"""Run a page in a folder of its own: its programs in one module, its commands in the same folder, in order."""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import shutil
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path

from tests.documentation.pages import DOCS, Step

from corollary.cli import main

COLUMNS = "80"  # of the terminal that the pages show
SHELL = set("|&;<>")


@contextlib.contextmanager
def place(name: str) -> Iterator[types.ModuleType]:
    """The module that a page's programs run in; the programs of docs/data lie in the working folder."""
    for program in (DOCS / "data").glob("*.py"):
        shutil.copy(program, ".")
    module = types.ModuleType(f"docs_{name.replace('-', '_')}")
    sys.modules[module.__name__] = module  # so that classes of the page can be pickled
    try:
        yield module
    finally:
        del sys.modules[module.__name__]
        if plt := sys.modules.get("matplotlib.pyplot"):
            plt.close("all")


def run(step: Step, module: types.ModuleType, file: str) -> tuple[int, str]:
    """Exit code and what is printed, on both streams."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        code = _command(step.code) if step.kind == "console" else _program(step, module, file)
    return code, printed.getvalue()


def _program(step: Step, module: types.ModuleType, file: str) -> int:
    session = step.code.count("\n") <= 1 and step.shown is not None and "print(" not in step.code
    if session:  # a line at the prompt shows its value
        with contextlib.suppress(SyntaxError):
            value = eval(step.code.strip(), module.__dict__)
            if value is not None:
                print(repr(value))
            return 0
    exec(compile("\n" * (step.line - 1) + step.code, file, "exec"), module.__dict__)
    return 0


def _command(line: str) -> int:
    """Our own commands run in this process, which saves the imports; everything else in a shell."""
    words = shlex.split(line, comments=True)
    ours = words[0] == "corollary" and not SHELL & set(line.partition(" #")[0])
    if ours and words[1:2] != ["--report"] and not any(word.endswith(".py") for word in words):
        before = os.environ.get("COLUMNS")
        os.environ["COLUMNS"] = COLUMNS
        try:
            return main(words[1:])
        finally:
            os.environ.pop("COLUMNS") if before is None else os.environ.update(COLUMNS=before)
    tools = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    settings = os.environ | {"COLUMNS": COLUMNS, "PATH": tools, "PYTHONIOENCODING": "utf-8"}
    shell = subprocess.run(
        line, shell=True, env=settings, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", check=False
    )
    print(shell.stdout, end="")
    return shell.returncode
