"""What cannot be saved is refused by name and place, and nothing half-written is ever left behind."""

from __future__ import annotations

import errno
import functools
import os
import stat
import zipfile

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from corollary import AgglomerativeClustering, io


class Ours(StandardScaler):
    """A subclass of a known class is not that class."""


def double(X):
    return 2 * X


CYCLE: list = [1]
CYCLE.append(CYCLE)
SELF = StandardScaler()
SELF.copy = [SELF]
DEEP = functools.reduce(lambda inner, _: [inner], range(100), [])


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            make_pipeline(StandardScaler(), SGDClassifier()),
            r"step 'sgdclassifier': sklearn\.linear_model\._stoch.*SGDCl",
        ),
        (
            Pipeline([("a", ColumnTransformer([("b", Pipeline([("c", Ours())]), [0])]))]),
            r"step 'a' → transformer 'b' → step 'c': test_save_refusals\.Ours cannot be stored",
        ),
        (make_pipeline(FunctionTransformer(double)), r"step 'functiontransformer' → func: the function double cannot"),
        (FunctionTransformer(lambda X: X), r"func: the function .*lambda.* cannot be stored"),
        (FunctionTransformer(np.linalg.norm), r"func: the function norm cannot be stored"),
        (FunctionTransformer(functools.partial(np.log1p)), r"func: the function functools\.partial.* cannot"),
        (FunctionTransformer(np.char.upper), r"func: "),
        (StandardScaler(copy=SGDClassifier), r"copy: the class .*SGDClassifier cannot be stored as a value"),
        (StandardScaler(copy=object()), r"copy: a value of type builtins\.object"),
        (StandardScaler(copy={"x": [1, {2j: print}]}), r"copy → \['x'\] → \[1\] → \[2j\]: the function print"),
        (StandardScaler(copy=np.zeros(2, dtype=[("a", float)])), r"copy: arrays of dtype .* cannot be stored"),
        (StandardScaler(copy=np.zeros(2, dtype=np.longdouble)), r"copy: arrays of dtype .* cannot be stored"),
        (StandardScaler(copy=np.array([open], dtype=object)), r"copy → \[0\]: the function open"),
        (StandardScaler(copy=np.ma.masked_array([1.0])), r"copy: a value of type numpy\.ma\.MaskedArray"),
        (StandardScaler(copy=scipy.sparse.lil_array((2, 2))), r"copy: a value of type scipy\.sparse\._lil\.lil_array"),
        (StandardScaler(copy=np.random.default_rng(0)), r"copy: a value of type numpy\.random\._generator\.Generator"),
        (StandardScaler(copy=10**40), r"copy: an integer of 133 bits"),
        (StandardScaler(copy=CYCLE), r"copy → \[1\]: it contains itself"),
        (SELF, r"copy → \[0\]: it contains itself"),
        (StandardScaler(copy=DEEP), r"nested more than 64 levels"),
        (make_pipeline(StandardScaler(), memory="cache"), r"Pipeline\.memory is a folder of pickles"),
        (AgglomerativeClustering(memory="cache"), r"AgglomerativeClustering\.memory is a folder of pickles"),
        (StandardScaler, r"cannot save this type: the model: the class .*StandardScaler"),
        ({"model": 1}, r"cannot save this dict: it holds a dict where an estimator is expected"),
        (BaseEstimator(), r"the model: sklearn\.base\.BaseEstimator cannot be stored"),
    ],
)
def test_refusals_name_what_and_where(model, message, tmp_path):
    with pytest.raises(io.ModelFileError, match=message):
        io.save(model, tmp_path / "model.corollary")
    assert list(tmp_path.iterdir()) == []


def test_an_attribute_that_hides_a_method_is_refused(tmp_path):
    model = StandardScaler()
    model.transform = 1
    with pytest.raises(io.ModelFileError, match="'transform' would replace a part of the class StandardScaler"):
        io.save(model, tmp_path / "model.corollary")


def test_callbacks_are_left_out(tmp_path):
    model = StandardScaler()
    model._skl_callbacks = [print]
    io.save(model, tmp_path / "model.corollary")
    assert "_skl_callbacks" not in vars(io.load(tmp_path / "model.corollary"))


@pytest.mark.parametrize("failing", ["write", "fsync", "replace"])
def test_a_full_disk_leaves_the_old_file(failing, tmp_path, monkeypatch):
    path = tmp_path / "model.corollary"
    io.save(StandardScaler().fit([[1.0], [2.0]]), path)
    before = path.read_bytes()

    def full(*arguments, **options):
        raise OSError(errno.ENOSPC, "No space left on device")

    if failing == "write":
        monkeypatch.setattr(zipfile.ZipFile, "open", full)
    else:
        monkeypatch.setattr(os, failing, full)
    with pytest.raises(OSError, match="No space left"):
        io.save(StandardScaler().fit([[5.0], [2.0]]), path)
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_interruption_leaves_nothing(tmp_path, monkeypatch):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        io.save(StandardScaler(), tmp_path / "model.corollary")
    assert list(tmp_path.iterdir()) == []


def test_saving_over_a_file_replaces_it_and_keeps_links(tmp_path):
    path, link = tmp_path / "model.corollary", tmp_path / "link.corollary"
    io.save(StandardScaler(), path)
    link.symlink_to(path)
    io.save(StandardScaler(with_mean=False), str(link))
    assert link.is_symlink()
    assert io.load(path).with_mean is False


def test_new_files_have_the_usual_permissions(tmp_path):
    (tmp_path / "plain").touch()
    io.save(StandardScaler(), tmp_path / "model.corollary")
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("plain", "model.corollary")]
    assert modes[0] == modes[1]


def test_paths_that_cannot_be_written_to(tmp_path):
    with pytest.raises(IsADirectoryError, match="found a folder"):
        io.save(StandardScaler(), tmp_path)
    with pytest.raises(FileNotFoundError, match="the folder to save into does not exist"):
        io.save(StandardScaler(), tmp_path / "missing" / "model.corollary")


def test_paths_that_cannot_be_read(tmp_path):
    with pytest.raises(FileNotFoundError):
        io.load(tmp_path / "missing.corollary")
    with pytest.raises(IsADirectoryError, match="found a folder"):
        io.load(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(io.ModelFileError, match="not a regular file"):
        io.load(tmp_path / "pipe")
