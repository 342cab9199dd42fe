"""The stages of a cascade as plain arrays, and their verdict on windows, in a stack or anywhere in an image."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from corollary._compiled.trees.haar import cascade_block
from corollary.core.parallel import each_block
from corollary.core.types import Array
from corollary.solvers.trees.cascade.features import Corners, check_features, is_array, require
from corollary.solvers.trees.cascade.integral import contrast_scales, integral_image, shrink

WINDOWS_IN_A_BLOCK = 4096


@dataclass(frozen=True)
class Stages:
    """Stumps in order; stage k is the stumps from ``ends[k - 1]`` to ``ends[k]`` and passes scores ≥ ``thresholds[k]``.

    A stump adds ``left`` to the score where its feature's response is ≤ ``cuts``, else ``right``.
    """

    window: tuple[int, int]
    normalize: bool
    features: Array  # int32 (m, 5)
    cuts: Array  # float64 (m,)
    left: Array
    right: Array
    ends: Array  # int32 (k,)
    thresholds: Array  # float64 (k,)

    @classmethod
    def none(cls, window: tuple[int, int], normalize: bool) -> Stages:
        """A cascade of no stages."""
        empty = np.empty(0)
        whole = np.empty((0, 5), dtype=np.int32)
        return cls(window, normalize, whole, empty, empty, empty, np.empty(0, dtype=np.int32), empty)

    def __len__(self) -> int:
        return len(self.ends)

    def __add__(self, other: Stages) -> Stages:
        """These stages, then those."""
        pairs = ((getattr(self, name), getattr(other, name)) for name in ("features", "cuts", "left", "right"))
        ends = np.concatenate([self.ends, other.ends + len(self.cuts)]).astype(np.int32)
        thresholds = np.concatenate([self.thresholds, other.thresholds])
        features, cuts, left, right = (np.concatenate(pair) for pair in pairs)
        return Stages(self.window, self.normalize, features, cuts, left, right, ends, thresholds)

    def check(self, n_pixels: Any) -> None:
        """Raise ValueError unless every number is one that the compiled code may be given."""
        check_features(self.features, self.window, n_pixels)
        m, k = len(self.features), len(self.ends)
        require(isinstance(self.normalize, bool), "whether windows are normalised must be true or false")
        require(all(is_array(part, "f", (m,)) for part in (self.cuts, self.left, self.right)), "a stump is incomplete")
        require(is_array(self.ends, "i", (k,)) and is_array(self.thresholds, "f", (k,)), "a stage is incomplete")
        sizes = np.diff(self.ends.astype(np.int64), prepend=0)
        require(k >= 1 and bool((sizes >= 1).all()) and int(self.ends[-1]) == m, "stages must follow each other")

    def judge(self, integrals: Array) -> Array:
        """Verdicts on windows from their (normalised) integral images (n, (h + 1)(w + 1)); positive is accepted."""
        n, size = integrals.shape
        table, bases, scales, out = integrals.ravel(), np.arange(n) * size, np.ones(n), np.empty(n)
        stumps = self._stumps(self.window[1] + 1)
        each_block(
            lambda start, stop: cascade_block(table, bases, scales, *stumps, start, stop, out), n, WINDOWS_IN_A_BLOCK
        )
        return out

    def scan(self, image: Array, step: int) -> Array:
        """Verdicts on every ``step``-th window of an image, (rows, columns) of places; memory: three such images."""
        sums = integral_image(image)
        squares = integral_image(image, squared=True) if self.normalize else sums
        rows, columns = ((side - part) // step + 1 for side, part in zip(image.shape, self.window, strict=True))
        stumps, table, out = self._stumps(sums.shape[1]), sums.ravel(), np.empty((rows, columns))

        def judge(start: int, stop: int) -> None:
            band = slice(start * step, (stop - 1) * step + self.window[0] + 1)
            scales = np.ones((stop - start, columns))
            if self.normalize:
                scales = contrast_scales(sums[band], squares[band], self.window, step)
            bases = (np.arange(start, stop)[:, None] * sums.shape[1] + np.arange(columns)) * step
            verdicts = out[start:stop].reshape(-1)  # a view: rows of places lie one after the other
            cascade_block(table, bases.ravel(), scales.ravel(), *stumps, 0, bases.size, verdicts)

        each_block(judge, rows, max(1, WINDOWS_IN_A_BLOCK // columns))
        return out

    def _stumps(self, row_length: int) -> tuple[Array, Array, Array, Array, Array, Array, Array, Array]:
        """What the compiled cascade takes, for integral images whose rows have that length."""
        corners = Corners.of(self.features, row_length)
        stumps = (corners.places, corners.coefficients, corners.counts, self.cuts, self.left, self.right)
        return (*stumps, self.ends, self.thresholds)


def pyramid(
    image: Array, window: tuple[int, int], scale_factor: float, smallest: float = 1.0, largest: float = np.inf
) -> Iterator[tuple[float, Array]]:
    """(scale, image made that many times smaller) while the window fits; scales grow by ``scale_factor``."""
    table: Any = integral_image(image)
    limit = min(largest, image.shape[0] / window[0], image.shape[1] / window[1])
    scale = smallest
    while scale <= limit * (1 + 1e-12):
        yield scale, image if scale == 1 else shrink(table, scale)
        scale *= scale_factor


def check_fits(image: Array, window: tuple[int, int], name: str = "image") -> None:
    """Raise ValueError if the window does not fit into the image."""
    if image.shape[0] < window[0] or image.shape[1] < window[1]:
        raise ValueError(
            f"{name} of {image.shape[0]} × {image.shape[1]} pixels is smaller than the window of {window[0]} × "
            f"{window[1]}: enlarge it, or train on smaller windows."
        )
