"""Saving and loading models as data.

A model file is a zip of one JSON document and plain ``.npy`` arrays. Loading one executes nothing: classes come from a
closed table in this package, attributes are set as data, sizes are checked before memory is allocated, and there is no
pickle anywhere, not even as a fallback. ``docs/saving.md`` describes the format and its promise.
"""

from __future__ import annotations

import os
import platform
import warnings
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy
import scipy
import sklearn

from corollary.io.archive import describe_array, opened, write
from corollary.io.card import ColumnOfCard, ModelCard
from corollary.io.classes import register_part
from corollary.io.decode import decode_model
from corollary.io.encode import Encoder
from corollary.io.errors import ModelFileError, ModelVersionWarning
from corollary.io.header import FORMAT_VERSION, Header, parse_header
from corollary.io.summary import ArraySummary, EstimatorSummary, ModelSummary, summarize

__all__ = [
    "ArraySummary",
    "ColumnOfCard",
    "EstimatorSummary",
    "ModelCard",
    "ModelFileError",
    "ModelSummary",
    "ModelVersionWarning",
    "inspect",
    "load",
    "register_part",
    "save",
]

_MAX_BYTES = 4 * 2**30


def save(model: Any, path: str | os.PathLike[str], *, card: ModelCard | None = None) -> None:
    """Write an estimator, fitted or not, or a pipeline of them to one file that can be loaded without trusting it.

    The file appears complete or not at all; an existing file is replaced only by a complete one, which keeps its
    permissions. Through a symbolic link the file that it points to is written. What exists and is no regular file (a
    pipe, a device) is refused.

    Parameters
    ----------
    model : estimator
        One of corollary's estimators, or one of scikit-learn's pipelines, transformers and encoders around them.
        Anything that could only be stored as code is refused with its place in the model.
    path : path
        Where to write; by convention the name ends in ``.corollary``.
    card : ModelCard, optional
        What ``inspect`` says of it: target, columns, score, data (``corollary.evaluate.card.model_card(comparison)``).

    Notes
    -----
    Cost: two passes over the arrays (one hashes, one writes); no copy of any array that is contiguous.

    Examples
    --------
    >>> import os, tempfile, corollary
    >>> from sklearn.preprocessing import StandardScaler
    >>> path = os.path.join(tempfile.mkdtemp(), "scaler.corollary")
    >>> corollary.save(StandardScaler().fit([[1.0], [3.0]]), path)
    >>> corollary.load(path).transform([[4.0]])
    array([[2.]])
    >>> corollary.inspect(path).class_id
    'sklearn:StandardScaler'
    """

    encoder = Encoder()
    try:
        tree = encoder.encode(model)
        entries = tuple(describe_array(array) for array in encoder.arrays)
        created = datetime.now(UTC).isoformat(timespec="seconds")
        version = FORMAT_VERSION if card is not None else 1
        content = Header(version, created, _versions(), entries, tree, card).to_bytes()
        # what cannot be loaded must not be saved: the very checks of `load` run on what is about to be written
        decode_model(parse_header(content), encoder.arrays.__getitem__)
    except ModelFileError as error:
        raise ModelFileError(f"cannot save this {type(model).__name__}: {error}") from error.__cause__
    write(Path(path), content, encoder.arrays)


def load(path: str | os.PathLike[str], *, max_bytes: int = _MAX_BYTES) -> Any:
    """Read an estimator from a file that ``save`` wrote, without executing anything that is in the file.

    Parameters
    ----------
    path : path
        The file.
    max_bytes : int, default 4 GiB
        Refuse files that would unpack to more than this.

    Returns
    -------
    estimator
        As it was when it was saved: parameters, fitted attributes, and the dtype and memory order of every array.

    Raises
    ------
    ModelFileError
        If the file is damaged, forged, or from a newer corollary; the message says which.
    FileNotFoundError
        If there is no such file.

    Warns
    -----
    ModelVersionWarning
        If the file holds scikit-learn objects of another minor version of scikit-learn.

    Notes
    -----
    Cost: one pass over the file; memory for the arrays once.
    """

    with opened(Path(path), _checked(max_bytes)) as archive:
        model, class_ids = decode_model(archive.header, archive.array)
        written = archive.header.versions["scikit-learn"]
    if any(class_id.startswith("sklearn:") for class_id in class_ids):
        _compare_versions(path, written)
    return model


def inspect(path: str | os.PathLike[str], *, max_bytes: int = _MAX_BYTES) -> ModelSummary:
    """Describe a model file without constructing the model; ``str()`` of the answer is for reading.

    Every array is read and its SHA-256 checked, so a file that can be inspected is not damaged. What it holds may still
    be refused by ``load``. Parameters and errors are those of ``load``.
    """
    with opened(Path(path), _checked(max_bytes)) as archive:
        return summarize(Path(path), archive)


def _checked(max_bytes: int) -> int:
    if not isinstance(max_bytes, int) or max_bytes < 1:
        raise ValueError(f"max_bytes must be a positive integer, but it is {max_bytes!r}")
    return max_bytes


def _versions() -> dict[str, str]:
    from corollary import __version__

    return {
        "corollary": __version__,
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }


def _compare_versions(path: str | os.PathLike[str], written: str) -> None:
    if written.split(".")[:2] != sklearn.__version__.split(".")[:2]:
        warnings.warn(
            f"{os.fspath(path)} holds scikit-learn objects written with scikit-learn {written}, and this is "
            f"{sklearn.__version__}. Compare a few predictions with known ones; if they differ, install "
            f"scikit-learn {written} or fit the model again.",
            ModelVersionWarning,
            stacklevel=3,
        )
