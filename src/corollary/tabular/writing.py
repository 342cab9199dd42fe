"""Writing a result so that a reader sees all of it or none of it."""

from __future__ import annotations

import os
import secrets
import tempfile
from pathlib import Path

from corollary.tabular.errors import InputError


def check_output(path: str | os.PathLike[str], option: str) -> Path:
    """Fail now, in one line, if ``path`` cannot be written later; ``option`` is the name to blame.

    A temporary file is created and removed: file permissions alone do not tell the truth on every file system.
    """
    target = Path(path)
    try:
        if target.is_dir():
            raise InputError(f"{option} {target}: is a folder; give the name of a file in it")
        if not target.parent.is_dir():
            raise InputError(f"{option} {target}: the folder {str(target.parent)!r} does not exist; create it first")
        tempfile.TemporaryFile(dir=target.parent).close()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InputError(f"{option} {target}: cannot write there ({reason}); choose another place") from None
    return target


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write ``text`` to a new file beside ``path`` and rename it: ``path`` is the old file or all of the new one."""
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.name[:100]}.{secrets.token_hex(4)}.tmp")
    try:
        with open(temporary, "x", encoding="utf-8", newline="") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
