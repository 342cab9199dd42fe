"""The command line. Importing it costs typer and rich; everything else waits for the command that needs it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

BAD_INPUT = 2
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``corollary`` and return its exit code: 0, 2 for anything wrong with the input, 130 after Ctrl-C.

    What is wrong is one line on stderr; a traceback would be a bug, but for that of a program that is run.
    """
    from corollary.cli.running import program, run_program

    asked = program(sys.argv[1:] if arguments is None else arguments)
    if asked is not None and (asked.module or os.path.isfile(asked.name)):
        return run_program(asked, own=arguments is None)
    if asked is not None:
        _complain(f"{asked.name}: there is no such file to run")
        return BAD_INPUT
    if (sys.argv[1:] if arguments is None else list(arguments))[:1] == ["--report"]:
        _complain("--report needs a program to run after it: corollary --report script.py, or --report -m module")
        return BAD_INPUT
    try:
        from corollary.cli.app import app

        code = app(args=None if arguments is None else list(arguments), prog_name="corollary", standalone_mode=False)
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = INTERRUPTED
    except BrokenPipeError:  # the reader of our output went away (`corollary models | head`); that is its right
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        code, message = _explained(error)
        if message:
            _complain(message)
    if code == INTERRUPTED:  # some versions of typer raise, others return this
        _complain("interrupted; nothing is left half-written")
    return code if isinstance(code, int) else 0


def _explained(error: Exception) -> tuple[int, str]:
    """Exit code and message of an error that a person can do something about; any other is raised again."""
    name = type(error).__name__
    if name == "Exit":  # typer's own: --help, --version
        return int(getattr(error, "exit_code", 0)), ""
    if name == "Abort":
        return INTERRUPTED, ""
    if hasattr(error, "format_message"):  # typer's usage errors
        command = getattr(getattr(error, "ctx", None), "command_path", "corollary")
        return BAD_INPUT, f"{error.format_message().rstrip('.')}; see {command} --help"
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return BAD_INPUT, f"{where}{error.strerror or error}"
    if name in ("InputError", "ModelFileError"):
        return BAD_INPUT, str(error)
    raise error


def _complain(message: str) -> None:
    from corollary.cli.say import safe

    print(f"corollary: {safe(' '.join(message.split()))}", file=sys.stderr)
