"""Writing a result so that a reader sees all of it or none of it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from corollary.io.replacing import replacing
from corollary.tabular.messages import InputError


def check_output(path: str | os.PathLike[str], option: str, *reads: str | os.PathLike[str]) -> Path:
    """Fail now, in one line, if ``path`` cannot be written later, or is one of the files that are read.

    ``option`` is the name to blame.

    A temporary file is created and removed: file permissions alone do not tell the truth on every file system.
    """
    target = Path(path)
    try:
        if target.is_dir():
            raise InputError(f"{option} {target}: is a folder; give the name of a file in it")
        if target.exists() and not target.is_file():
            raise InputError(f"{option} {target}: is no regular file; give the name of one, or a new name")
        if not target.parent.is_dir():
            raise InputError(f"{option} {target}: the folder {str(target.parent)!r} does not exist; create it first")
        for source in map(Path, reads):
            if target.exists() and source.exists() and target.samefile(source):
                raise InputError(f"{option} {target}: is the file that is read; choose another name")
        tempfile.TemporaryFile(dir=target.parent).close()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InputError(f"{option} {target}: cannot write there ({reason}); choose another place") from None
    return target


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write ``text``, all of it or nothing."""
    with replacing(path) as stream:
        stream.write(text.encode("utf-8"))
