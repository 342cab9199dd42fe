"""Pictures without the object, from which a growing cascade takes the windows that it still mistakes for one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from corollary.core.types import Array
from corollary.solvers.trees.cascade.integral import as_grey
from corollary.solvers.trees.cascade.stages import Stages, check_fits, pyramid

SCALE_FACTOR = 1.25
STEP = 2
POOL = 4  # stop looking once there are this many times more windows than needed, and draw from them
MAX_WINDOWS = 50_000_000  # looked at for one stage, after which a source without end counts as exhausted


class Scenes:
    """A list of pictures, gone through in turn as often as needed, or an iterator that gives each picture once."""

    def __init__(self, negatives: Any, window: tuple[int, int]) -> None:
        self.window = window
        self.scanned = 0  # windows looked at so far
        self.rate = np.nan  # the part of them that passed the cascade, at the last harvest
        self._next = 0
        self._stream: Iterator[Any] | None = None
        self._pictures: list[Any] = []
        if negatives is None:
            return
        if not hasattr(negatives, "__len__"):
            if not hasattr(negatives, "__iter__"):
                raise ValueError(f"negatives must be a list or iterator of pictures, but it is {negatives!r}.")
            self._stream = iter(negatives)
            return
        self._pictures = [negatives] if isinstance(negatives, np.ndarray) and negatives.ndim == 2 else list(negatives)
        for number, picture in enumerate(self._pictures):  # a bad one is reported before the training, not after
            self._read(picture, number)

    def harvest(self, stages: Stages, needed: int, rng: Any) -> Array:
        """At most ``needed`` windows (rows of pixels) that the stages accept, from as many pictures as it takes."""
        found: list[Array] = [np.empty((0, self.window[0] * self.window[1]))]
        scanned = accepted = 0
        for picture in self._round() if needed > 0 else ():
            for _, level in pyramid(picture, stages.window, SCALE_FACTOR):
                verdicts = stages.scan(level, STEP)
                hits = np.flatnonzero(verdicts > 0)
                scanned, accepted = scanned + verdicts.size, accepted + len(hits)
                rows, columns = np.divmod(_some(hits, needed, rng), verdicts.shape[1])
                views = np.lib.stride_tricks.sliding_window_view(level, self.window)
                found.append(views[rows * STEP, columns * STEP].reshape(len(rows), found[0].shape[1]))
            if sum(map(len, found)) >= POOL * needed or scanned >= MAX_WINDOWS:
                break
        self.scanned += scanned
        self.rate = accepted / scanned if scanned else self.rate
        return _some(np.concatenate(found), needed, rng)

    def _round(self) -> Iterator[Array]:
        """Each picture of the list once, from where the last round stopped; or what the iterator still has."""
        if self._stream is not None:
            for picture in self._stream:
                yield self._read(picture, self._next)
                self._next += 1
        for _ in range(len(self._pictures)):
            number = self._next % len(self._pictures)
            self._next += 1
            yield self._read(self._pictures[number], number)

    def _read(self, picture: Any, number: int) -> Array:
        grey = as_grey(picture, f"negatives[{number}]")
        check_fits(grey, self.window, f"negatives[{number}]")
        return grey


def _some(rows: Array, limit: int, rng: Any) -> Array:
    """At most ``limit`` rows, drawn at random, in their order."""
    return rows if len(rows) <= limit else rows[np.sort(rng.permutation(len(rows))[:limit])]
