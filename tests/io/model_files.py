"""Helpers of the tests in this folder: deep comparison of models, and forging of files."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
import sklearn
from scipy.interpolate import BSpline
from sklearn.base import BaseEstimator

WITH_STATE = ("sklearn.compose", "sklearn.model_selection", "corollary.core")
RUNTIME_ONLY = {"_stop_words_id", "_metadata_request"}


def assert_same(a: Any, b: Any, place: str = "model") -> None:
    """Same types, same values bit for bit, same order of dictionaries, same memory order of arrays."""
    assert type(a) is type(b), place
    if isinstance(a, np.ndarray):
        assert (a.dtype, a.shape) == (b.dtype, b.shape), place
        if a.dtype == object:
            assert_same(a.ravel().tolist(), b.ravel().tolist(), place)
        else:
            assert a.tobytes() == b.tobytes(), place
            assert a.flags.f_contiguous == b.flags.f_contiguous or not a.flags.c_contiguous, place
    elif scipy.sparse.issparse(a):
        parts = ("data", "row", "col") if a.format == "coo" else ("data", "indices", "indptr")
        assert (a.format, a.shape) == (b.format, b.shape), place
        for part in parts:
            assert_same(getattr(a, part), getattr(b, part), f"{place}.{part}")
    elif isinstance(a, list | tuple):
        assert len(a) == len(b), place
        for index, (x, y) in enumerate(zip(a, b, strict=True)):
            assert_same(x, y, f"{place}[{index}]")
    elif isinstance(a, dict):
        assert len(a) == len(b), place
        for (key, x), (other, y) in zip(a.items(), b.items(), strict=True):
            assert_same(key, other, place)
            assert_same(x, y, f"{place}[{key!r}]")
    elif isinstance(a, np.random.RandomState):
        assert_same(a.get_state(legacy=False), b.get_state(legacy=False), place)
    elif isinstance(a, BSpline):
        assert_same([a.t, a.c, a.k, a.extrapolate, a.axis], [b.t, b.c, b.k, b.extrapolate, b.axis], place)
    elif isinstance(a, BaseEstimator) or type(a).__module__.startswith(WITH_STATE):
        kept = ({k: v for k, v in vars(m).items() if k not in RUNTIME_ONLY} for m in (a, b))
        assert_same(*kept, place)
    elif isinstance(a, complex | float):
        assert repr(a) == repr(b), place  # tells -0.0 from 0.0, and finds nan equal to itself
    else:
        assert a == b or a is b, place


def npy(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    return stream.getvalue()


def parts_of(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write_zip(path: Path, members: list[tuple[str, bytes]], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in members:
            archive.writestr(zipfile.ZipInfo(name), content, method)
    return path


def forge(path: Path, model: Any, data: Sequence[np.ndarray] = (), **header: Any) -> Path:
    """A file around any tree and its arrays; ``header`` replaces entries of the header (``...`` removes one)."""
    entries, members = [], []
    for number, array in enumerate(data):
        content = npy(array)
        entry = {"dtype": array.dtype.str, "shape": list(array.shape), "fortran": False}
        entries.append(entry | {"sha256": hashlib.sha256(content).hexdigest()})
        members.append((f"arrays/{number}.npy", content))
    content = {
        "format": "corollary-model",
        "format_version": 1,
        "created": "2025-01-01T00:00:00+00:00",
        "versions": {"corollary": "0.1.0", "scikit-learn": sklearn.__version__},
        "arrays": entries,
        "model": model,
    }
    content |= header
    text = json.dumps({key: value for key, value in content.items() if value is not ...})
    return write_zip(path, [("model.json", text.encode()), *members])


def scaler(**attributes: Any) -> dict[str, Any]:
    """The tree of a StandardScaler with further attributes."""
    return estimator("sklearn:StandardScaler", **attributes)


def estimator(class_id: Any, /, **attributes: Any) -> dict[str, Any]:
    return {"estimator": {"class": class_id, "attributes": attributes}}
