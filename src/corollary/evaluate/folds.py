"""The folds of a table: which rows each holds out, and its rows prepared by what its training part alone has shown."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold

from corollary.tabular.messages import InputError, count, sentences, shown
from corollary.tabular.target import Target

_CACHE_BYTES = 2 * 1024**3
DEFAULT_FOLDS = 5


def make_splits(target: Target, folds: int | None, seed: int, source: str) -> tuple[list[Any], str]:
    """Row numbers of each fold, and a note if fewer folds than usual had to do."""
    rows = len(target.values)
    counts = target.class_counts
    smallest = min(counts.values()) if counts else rows // 2
    wanted = DEFAULT_FOLDS if folds is None else folds
    if wanted < 2:
        raise InputError(f"--folds {wanted}: expected 2 or more")
    note = ""
    if wanted > smallest:
        what = f"{source}: target {shown(target.name)}"
        rarest = min(counts, key=lambda name: counts[name]) if counts else ""
        why = f"class {shown(rarest)} has only {count(smallest, 'row')}" if counts else f"there are only {rows} rows"
        if folds is not None:
            raise InputError(f"{what}: {why}, too few for {wanted} folds; use --folds {smallest}")
        wanted, note = smallest, f"{smallest} folds instead of {wanted}, because {why}"
    splitter = StratifiedKFold if counts else KFold
    splits = splitter(wanted, shuffle=True, random_state=seed).split(np.zeros((rows, 1)), target.values)
    # files are often sorted, and models that cross-validate inside their fit do not all shuffle: mix the training rows
    mix = np.random.default_rng(seed)
    return [(mix.permutation(train), test) for train, test in splits], note


class PreparedFolds:
    """The folds of a table with the preparation fitted on each training part.

    Every model sees the same prepared rows, so they are kept (up to 2 GB) rather than prepared once per model.
    """

    def __init__(self, preparation: Any, X: Any, y: NDArray[Any], splits: list[Any]) -> None:
        self._preparation, self._X, self._y, self._splits = preparation, X, y, splits
        self._kept: dict[int, tuple[Any, NDArray[Any], Any]] = {}
        self._bytes = 0
        self.notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self._splits)

    def held_out(self, fold: int) -> NDArray[np.intp]:
        """The rows of the test part."""
        rows: NDArray[np.intp] = self._splits[fold][1]
        return rows

    @property
    def test_share(self) -> float:
        """Rows in a test part for each row in its training part."""
        train, test = self._splits[0]
        return len(test) / len(train)

    def __getitem__(self, fold: int) -> tuple[Any, NDArray[Any], Any]:
        if fold in self._kept:
            return self._kept[fold]
        train, test = self._splits[fold]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            preparation = clone(self._preparation)
            parts = (preparation.fit_transform(self._X.iloc[train]), self._y[train],
                     preparation.transform(self._X.iloc[test]))  # fmt: skip
        known = "Found unknown categories"  # a rare yes/no value outside a training part is no news
        new = [text for text in sentences(caught) if not text.startswith(known)]
        self.notes = tuple(dict.fromkeys((*self.notes, *new)))
        self._bytes += sum(_bytes(part) for part in parts)
        if self._bytes <= _CACHE_BYTES:
            self._kept[fold] = parts
        return parts


def _bytes(matrix: Any) -> int:
    stored = getattr(matrix, "data", matrix)  # the values of a sparse matrix
    return int(getattr(stored, "nbytes", 0))
