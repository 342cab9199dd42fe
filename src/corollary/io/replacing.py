"""Files that are written completely or not at all."""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

fcntl: Any
try:
    import fcntl
except ImportError:  # pragma: no cover - where an open file can neither be renamed nor deleted, so needs no lock
    fcntl = None

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A new file beside ``path``, renamed at the end: whatever happens, ``path`` is the old file or all of the new.

    While it is written it is locked. What a process that was killed has left behind is not, and is deleted by the next
    one that writes to the same ``path``. Who may read the old file may read the new one, and nobody else.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():  # a pipe or a device, which must not become a file
        raise FileExistsError(errno.EEXIST, "expected the path of a file, found what is no regular file", str(path))
    _tidy(target)
    temporary, stream = _begun(target)
    try:
        with stream:
            with suppress(OSError):  # there is no old file, or the file system has no modes
                os.chmod(temporary, stat.S_IMODE(os.stat(target).st_mode))
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
            if fcntl is not None:
                os.replace(temporary, target)  # still locked, so that nobody takes it for something left behind
        if fcntl is None:  # pragma: no cover
            os.replace(temporary, target)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError) and error.errno in _NO_ROOM:
            said = f"{os.strerror(error.errno)}: nothing was saved, and what was there before is as it was"
            raise OSError(error.errno, said, str(target)) from error
        raise


def _begun(target: Path) -> tuple[Path, IO[bytes]]:
    """A new file beside the target, locked where that is possible."""
    while True:
        temporary = target.with_name(f"{_prefix(target)}{secrets.token_hex(4)}.saving")
        stream = open(temporary, "xb")  # noqa: SIM115 - closed by the caller
        with suppress(OSError):  # some file systems have no locks: nothing is deleted there either
            if fcntl is not None:
                fcntl.flock(stream, fcntl.LOCK_EX)
        if os.fstat(stream.fileno()).st_nlink:
            return temporary, stream
        stream.close()  # another process took it for left behind before it was locked


def _prefix(target: Path) -> str:
    return f".{target.name[:100]}."


def _tidy(target: Path) -> None:
    """Delete what dead processes have left beside the target; a file that a live one writes is locked."""
    pattern = re.compile(re.escape(_prefix(target)) + r"[0-9a-f]{8}\.saving")
    with suppress(OSError):
        for name in os.listdir(target.parent):
            if pattern.fullmatch(name):
                _delete_unlocked(target.with_name(name))


def _delete_unlocked(path: Path) -> None:
    with suppress(OSError):  # BlockingIOError if it is locked
        if fcntl is None:  # pragma: no cover
            path.unlink()
            return
        with open(path, "rb") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()
