"""The zip around a model: written completely or not at all, and read with every size known beforehand."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import numpy as np

from corollary.core.types import Array
from corollary.io.errors import ModelFileError, short
from corollary.io.header import ARRAY_COUNT_LIMIT, HEADER_LIMIT, ArrayEntry, Header, npy_prefix, parse_header
from corollary.io.replacing import replacing

HEADER_NAME = "model.json"
_CHUNK = 2**20
_END_OF_ZIP = 22  # bytes in the record that ends a zip file without a comment
_DIRECTORY_ENTRY = 100  # bytes for each of our members in the directory of a zip file, at most
_DEFLATE_RATIO = 1032  # no deflated stream expands by more


def array_name(number: int) -> str:
    return f"arrays/{number}.npy"


def _npy_chunks(array: Array) -> Iterator[bytes]:
    yield npy_prefix(array.dtype.str, array.shape, _is_fortran(array))
    flat = array.ravel(order="K").view(np.uint8)
    for start in range(0, flat.size, _CHUNK):
        yield flat[start : start + _CHUNK].tobytes()


def _is_fortran(array: Array) -> bool:
    return bool(array.flags.f_contiguous and not array.flags.c_contiguous)


def describe_array(array: Array) -> ArrayEntry:
    """The header's entry for an array."""
    digest = hashlib.sha256()
    for chunk in _npy_chunks(array):
        digest.update(chunk)
    return ArrayEntry(array.dtype.str, array.shape, _is_fortran(array), digest.hexdigest())


def write(path: Path, header: bytes, arrays: list[Array]) -> None:
    """Write the file, all of it or nothing."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "expected the path of a model file, found a folder", str(path))
    folder = Path(os.path.realpath(path)).parent
    if not folder.is_dir():
        raise FileNotFoundError(errno.ENOENT, "the folder to save into does not exist", str(folder))
    with replacing(path) as file:
        _write_zip(file, header, arrays)


def _write_zip(file: IO[bytes], header: bytes, arrays: list[Array]) -> None:
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(zipfile.ZipInfo(HEADER_NAME), header, zipfile.ZIP_DEFLATED)
        for number, array in enumerate(arrays):
            member = zipfile.ZipInfo(array_name(number))
            member.file_size = array.nbytes  # above 2 GB, zipfile needs to know
            member.compress_type = _compression(array)
            with archive.open(member, "w") as stream:
                for chunk in _npy_chunks(array):
                    stream.write(chunk)


def _compression(array: Array) -> int:
    """Deflate only what shrinks by a fifth or more, judged by its beginning; random mantissas do not."""
    sample = array.ravel(order="K")[: 2**14].view(np.uint8)[: 2**16].tobytes()
    return zipfile.ZIP_DEFLATED if len(zlib.compress(sample, 1)) < 0.8 * len(sample) else zipfile.ZIP_STORED


class Archive:
    """A model file opened for reading: its header, and its arrays on demand."""

    def __init__(self, archive: zipfile.ZipFile, max_bytes: int) -> None:
        self._archive = archive
        self._members = _members(archive)
        self._arrays: dict[int, Array] = {}
        self.header = self._read_header(max_bytes)

    def _read_header(self, max_bytes: int) -> Header:
        member = self._members.get(HEADER_NAME)
        if member is None:
            raise ModelFileError(f"it is a zip file without {HEADER_NAME}, so not one that corollary wrote")
        if member.file_size > HEADER_LIMIT:
            raise ModelFileError(f"its {HEADER_NAME} takes {member.file_size:,} bytes; the limit is {HEADER_LIMIT:,}")
        with self._archive.open(member) as stream:
            header = parse_header(stream.read(member.file_size))
        expected = {HEADER_NAME, *(array_name(number) for number in range(len(header.arrays)))}
        if set(self._members) != expected:
            odd = sorted(set(self._members) ^ expected)
            raise ModelFileError(f"members are missing or were added: {', '.join(map(short, odd[:5]))}")
        for number, entry in enumerate(header.arrays):
            size = self._members[array_name(number)].file_size
            if size != len(entry.prefix) + entry.nbytes:
                raise ModelFileError(
                    f"{array_name(number)} takes {size:,} bytes, which is not {entry.dtype} of shape {entry.shape}"
                )
        total = sum(member.file_size for member in self._members.values())
        if total > max_bytes:
            raise ModelFileError(f"it unpacks to {total:,} bytes; if you trust it, load it with max_bytes={total}")
        return header

    def array(self, number: int) -> Array:
        """The array of that number; the same object each time."""
        if number not in self._arrays:
            self._arrays[number] = self.read(number)
        return self._arrays[number]

    def read(self, number: int) -> Array:
        """The array of that number, read and checked anew."""
        if number >= len(self.header.arrays):
            raise ModelFileError(f"it refers to array {number} of {len(self.header.arrays)}")
        with self._archive.open(self._members[array_name(number)]) as stream:
            return _read_array(stream, self.header.arrays[number], array_name(number))


def _read_array(stream: IO[bytes], entry: ArrayEntry, name: str) -> Array:
    if stream.read(len(entry.prefix)) != entry.prefix:
        raise ModelFileError(f"{name} is not the {entry.dtype} array of shape {entry.shape} that the header declares")
    digest = hashlib.sha256(entry.prefix)
    array = np.empty(entry.shape, dtype=entry.dtype, order="F" if entry.fortran else "C")
    flat = array.ravel(order="K").view(np.uint8)
    for start in range(0, flat.size, _CHUNK):
        chunk = stream.read(min(_CHUNK, flat.size - start))
        digest.update(chunk)
        flat[start : start + _CHUNK] = np.frombuffer(chunk, dtype=np.uint8)
    if stream.read(1):
        raise ModelFileError(f"{name} is longer than the header declares")
    if digest.hexdigest() != entry.sha256:
        raise ModelFileError(f"{name} is damaged: its SHA-256 is not the one in the header")
    if array.dtype == bool and flat.max(initial=0) > 1:  # NumPy's own code trusts booleans to be 0 or 1
        raise ModelFileError(f"{name} holds booleans that are neither true nor false")
    return array


def _members(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    found = {member.filename: member for member in archive.infolist()}
    if len(found) != len(archive.infolist()):
        raise ModelFileError("it has two members of the same name")
    for member in found.values():
        if member.orig_filename != member.filename:
            raise ModelFileError(f"it has a member with the odd name {short(member.orig_filename)}")
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or member.flag_bits & 1:
            raise ModelFileError(f"its member {short(member.filename)} is encrypted or packed in an unknown way")
        if member.file_size > _DEFLATE_RATIO * member.compress_size + _CHUNK:
            raise ModelFileError(f"its member {short(member.filename)} declares more bytes than it can hold")
    return found


def _check_ends(file: IO[bytes], size: int) -> None:
    """Refuse what is not exactly one zip file of a sensible number of members, before reading its directory."""
    if file.read(4) != b"PK\x03\x04":
        raise ModelFileError("it is not a model file (not a zip archive)")
    file.seek(max(0, size - _END_OF_ZIP))
    end = file.read(_END_OF_ZIP)
    if not end.startswith(b"PK\x05\x06"):
        raise ModelFileError("it is truncated, or something was appended to it")
    count, directory = int.from_bytes(end[10:12], "little"), int.from_bytes(end[12:16], "little")
    if count > ARRAY_COUNT_LIMIT + 1 or directory > _DIRECTORY_ENTRY * count:
        raise ModelFileError(f"its directory of {count} members takes {directory:,} bytes, which is too much")
    file.seek(max(0, size - _END_OF_ZIP - 20))
    if size < 2**31 and file.read(4) == b"PK\x06\x07":
        raise ModelFileError("it claims to be larger than it is")


@contextmanager
def opened(path: Path, max_bytes: int) -> Iterator[Archive]:
    """Open a model file; whatever is wrong with it, before or inside the block, is a ModelFileError."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "expected a model file, found a folder", str(path))
    status = os.stat(path)
    if not stat.S_ISREG(status.st_mode):
        raise ModelFileError(f"cannot read {path}: it is not a regular file")
    with open(path, "rb") as file:
        try:
            _check_ends(file, status.st_size)
            with zipfile.ZipFile(file) as archive:
                yield Archive(archive, max_bytes)
        except ModelFileError as error:
            raise ModelFileError(f"cannot read {path}: {error}") from error.__cause__
        except MemoryError:
            raise
        except Exception as error:  # the only promise about a hostile file is that it is refused
            reason = f"{type(error).__name__}: {short(str(error))}"
            raise ModelFileError(f"cannot read {path}: it is damaged ({reason})") from error
