"""The folds of a table, with its rows prepared by what each fold's training part alone has shown."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from corollary.core.parallel import one_blas_thread
from corollary.evaluate.scoring import held_out_share
from corollary.tabular.messages import sentences

_CACHE_BYTES = 2 * 1024**3


@dataclass(frozen=True)
class Part:
    """One fold as a model sees it: prepared training rows, their target and weights, and prepared test rows."""

    train: Any
    y: NDArray[Any]
    test: Any
    weights: NDArray[np.float64] | None
    prepare: Any  # the preparation that the training rows have fitted


class PreparedFolds:
    """The folds of a table with a preparation fitted on each training part.

    Every model sees the same prepared rows, so they are kept (up to 2 GB in all) rather than prepared once per model.
    There are several kinds of preparation, by name; each is made when the first model asks for it.
    """

    def __init__(
        self, kinds: Mapping[str, Callable[[], Any]], X: Any, y: NDArray[Any], splits: list[Any],
        weights: NDArray[np.float64] | None = None,
    ) -> None:  # fmt: skip
        self._kinds, self._X, self._y, self._splits, self._weights = kinds, X, y, splits, weights
        self._kept: dict[tuple[str, int], Part] = {}
        self._bytes = 0
        self.notes: tuple[str, ...] = ()
        self._seconds: dict[str, list[float]] = {}

    def __len__(self) -> int:
        return len(self._splits)

    def held_out(self, fold: int) -> NDArray[np.intp]:
        """The rows of the test part."""
        rows: NDArray[np.intp] = self._splits[fold][1]
        return rows

    @property
    def judged(self) -> NDArray[np.intp]:
        """The rows that some fold holds out, in the order of the table."""
        return np.sort(np.concatenate([test for _, test in self._splits]))

    @property
    def test_share(self) -> float:
        """Rows in a test part for each row in its training part, on average over the folds."""
        return held_out_share(self._splits)

    @property
    def grown(self) -> float:
        """Rows of the whole table for each row of a training part."""
        return float(np.mean([len(self._X) / len(train) for train, _ in self._splits]))

    @property
    def sizes(self) -> tuple[int, int]:
        """How many rows the last training and test part have."""
        return len(self._splits[-1][0]), len(self._splits[-1][1])

    def make(self, kind: str) -> Any:
        """The preparation of this kind, not fitted."""
        return self._kinds[kind]()

    def seconds(self, kind: str, fold: int | None = None) -> float:
        """What preparing a fold is expected to take (nothing if it is kept already)."""
        known = self._seconds.get(kind, [])
        return 0.0 if (kind, fold) in self._kept or not known else float(np.mean(known))

    def part(self, kind: str, fold: int) -> Part:
        """The rows of a fold, prepared."""
        if (kind, fold) in self._kept:
            return self._kept[kind, fold]
        began = time.perf_counter()
        train, test = self._splits[fold]
        # threads of BLAS for so small a work wait for each other longer than they help
        with warnings.catch_warnings(record=True) as caught, one_blas_thread():
            warnings.simplefilter("always")
            prepare = clone(self.make(kind))
            if isinstance(prepare, Pipeline):  # components of rows that are prepared already
                plain, last = self.part("plain", fold), prepare[-1]
                rows, judged = last.fit_transform(plain.train), last.transform(plain.test)
                prepare = Pipeline([(prepare.steps[0][0], plain.prepare), (prepare.steps[-1][0], last)])
            else:
                rows, judged = prepare.fit_transform(self._X.iloc[train]), prepare.transform(self._X.iloc[test])
            weights = None if self._weights is None else self._weights[train]
            part = Part(rows, self._y[train], judged, weights, prepare)
        known = "Found unknown categories"  # a rare yes/no value outside a training part is no news
        new = [text for text in sentences(caught) if not text.startswith(known)]
        self.notes = tuple(dict.fromkeys((*self.notes, *new)))
        self._bytes += _bytes(part.train) + _bytes(part.test)
        if self._bytes <= _CACHE_BYTES:
            self._kept[kind, fold] = part
        self._seconds.setdefault(kind, []).append(time.perf_counter() - began)
        return part


def _bytes(matrix: Any) -> int:
    stored = getattr(matrix, "data", matrix)  # the values of a sparse matrix
    return int(getattr(stored, "nbytes", 0))
