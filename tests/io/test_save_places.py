"""What may be at the path that a model is saved to: nothing, or a regular file, whose permissions stay."""

from __future__ import annotations

import os
import stat

import pytest
from sklearn.preprocessing import StandardScaler

from corollary import io
from corollary.tabular.messages import InputError
from corollary.tabular.writing import check_output

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with names and modes are POSIX's")


@pytest.fixture
def scaler():
    return StandardScaler().fit([[1.0], [3.0]])


@pytest.mark.parametrize("linked", [False, True])
def test_a_pipe_is_refused_and_stays_a_pipe(tmp_path, scaler, linked):
    path = pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    if linked:
        path = tmp_path / "link"
        path.symlink_to(pipe)
    with pytest.raises(FileExistsError, match="no regular file"):
        io.save(scaler, path)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    with pytest.raises(InputError, match="no regular file"):
        check_output(path, "--out")


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444])
def test_an_existing_file_keeps_its_mode(tmp_path, scaler, mode):
    path = tmp_path / "model"
    path.write_bytes(b"old")
    path.chmod(mode)
    (tmp_path / "link").symlink_to(path)
    io.save(scaler, tmp_path / "link")
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert (tmp_path / "link").is_symlink()
    assert io.load(path).mean_ == 2.0


def test_a_new_file_has_the_mode_that_any_new_file_has(tmp_path, scaler):
    io.save(scaler, tmp_path / "model")
    (tmp_path / "plain").touch()
    assert (tmp_path / "model").stat().st_mode == (tmp_path / "plain").stat().st_mode
