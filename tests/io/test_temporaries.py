"""Processes that are killed while saving leave a file behind; the next save to the same place deletes it."""

from __future__ import annotations

import errno
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from corollary import io

WRITER = """
    import sys
    from corollary.io.replacing import replacing

    with replacing(sys.argv[1]) as stream:
        stream.write(b"x" * 1000)
        stream.flush()
        print("writing", flush=True)
        sys.stdin.readline()
"""


@pytest.fixture
def writers(tmp_path):
    started = []

    def start(path):
        arguments = [sys.executable, "-c", textwrap.dedent(WRITER), str(path)]
        process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout.readline() == "writing\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_what_a_killed_process_left_is_deleted(tmp_path, writers):
    path = tmp_path / "model.corollary"
    for _ in range(3):
        process = writers(path)
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert len(list(tmp_path.iterdir())) == 1  # each writer deletes what the one before left
    io.save(StandardScaler(), path)
    assert list(tmp_path.iterdir()) == [path]


def test_what_a_live_process_writes_is_left_alone(tmp_path, writers):
    path = tmp_path / "model.corollary"
    process = writers(path)
    io.save(StandardScaler(), path)
    assert len(list(tmp_path.iterdir())) == 2
    process.communicate("go on\n")
    assert process.returncode == 0
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_bytes() == b"x" * 1000


def test_files_of_others_are_left_alone(tmp_path):
    names = [".other.corollary.0123abcd.saving", ".model.corollary.saving", "model.corollary.0123abcd.saving"]
    for name in names:
        (tmp_path / name).touch()
    io.save(StandardScaler(), tmp_path / "model.corollary")
    assert {path.name for path in tmp_path.iterdir()} == {*names, "model.corollary"}


def test_no_room_is_told_and_leaves_nothing(tmp_path):
    resource = pytest.importorskip("resource")
    path = tmp_path / "model.corollary"
    io.save(StandardScaler(), path)
    before = path.read_bytes()
    large = StandardScaler().fit(np.random.default_rng(0).normal(size=(2, 200_000)))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        with pytest.raises(OSError, match="nothing was saved, and what was there before is as it was") as caught:
            io.save(large, path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert caught.value.errno == errno.EFBIG
    assert caught.value.filename == str(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
