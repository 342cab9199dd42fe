"""The referee of Haar features: rectangles of pixels added up one by one, in extended precision, without integrals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from corollary.referee.verdict import Verification, measured

Array = Any
LONG = np.longdouble
EPS = float(np.finfo(np.float64).eps)
FLAT = 1e-10  # a window whose variance is at most this part of its mean square has no contrast, and becomes all zeros

# the weights of the cells of each shape, as documented: two, three and four rectangles
SHAPES: tuple[Array, ...] = (
    np.array([[1, -1]]),
    np.array([[1], [-1]]),
    np.array([[1, -2, 1]]),
    np.array([[1], [-2], [1]]),
    np.array([[1, -1], [-1, 1]]),
)


@dataclass(frozen=True)
class Pixels:
    """Windows (n, h, w), of mean 0 and variance 1 where they are normalised.

    ``sure`` says of which it is clear whether they have contrast; ``blur`` is what rounding to float64, before the
    mean is taken away and σ is divided by, does to a pixel.
    """

    values: Array
    sure: Array
    blur: Array

    @staticmethod
    def of(X: Any, window: tuple[int, int], normalize: bool) -> Pixels:
        rows = np.asarray(X).reshape(-1, window[0] * window[1]).astype(LONG)
        sure, blur = np.ones(len(rows), bool), np.zeros(len(rows))
        if normalize:
            largest = np.abs(rows).max(axis=1)
            rows = rows / np.where(largest > 0, largest, 1)[:, None]
            square = (rows * rows).mean(axis=1)
            rows = rows - rows.mean(axis=1)[:, None]
            variance = (rows * rows).mean(axis=1)
            flat = variance <= FLAT * square
            sure = ~(np.abs(variance - FLAT * square) <= 1e-6 * FLAT * square) | (square == 0)
            sigma = np.sqrt(np.where(flat, 1, variance))
            rows = np.where(flat[:, None], 0, rows / sigma[:, None])
            blur = np.where(flat, 0, 4 * EPS / sigma).astype(np.float64)
        return Pixels(rows.reshape(-1, *window), sure, blur)

    def responses(self, features: Array) -> Array:
        """(n, m): the weighted sums over cells, by the pixels of a cell."""
        out = np.zeros((len(self.values), len(features)), LONG)
        for column, (shape, top, left, height, width) in enumerate(features.tolist()):
            for (row, place), weight in np.ndenumerate(SHAPES[shape]):
                y, x = top + row * height, left + place * width
                cell = self.values[:, y : y + height, x : x + width]
                out[:, column] += int(weight) * cell.sum(axis=(1, 2))
            out[:, column] /= height * width
        return out

    def brightness(self, features: Array) -> Array:
        """(n, m): the sum of |pixels| of the window over the pixels of a cell, which errors are relative to."""
        total = np.abs(self.values).sum(axis=(1, 2))
        return total[:, None] / (features[:, 3] * features[:, 4]).astype(LONG)[None, :]

    def rounding(self, features: Array, responses: Array) -> Array:
        """(n, m): what float64 may do to responses from sums over whole rectangles that begin at the corner."""
        _, height, width = self.values.shape
        sums = 16 * (height + width + 4) * EPS * self.brightness(features)
        return sums + 16 * self.blur[:, None] * (1 + np.abs(responses))


def misplaced(features: Any, window: tuple[int, int]) -> Verification | None:
    """Refuted where features are not rows of five whole numbers that lie inside the window."""
    features = np.asarray(features)
    if features.ndim != 2 or features.shape[1] != 5 or features.dtype.kind not in "iu":
        return Verification(False, "features_ are not rows of five whole numbers")
    shape, top, left, height, width = features.astype(np.int64).T
    known = (shape >= 0) & (shape < len(SHAPES))
    cells = np.array([weights.shape for weights in SHAPES])[np.where(known, shape, 0)]
    inside = known & (top >= 0) & (left >= 0) & (height >= 1) & (width >= 1)
    inside &= (top + cells[:, 0] * height <= window[0]) & (left + cells[:, 1] * width <= window[1])
    bad = int((~inside).sum())
    return Verification(False, f"{bad} features are unknown or reach outside the window") if bad else None


def count(window: tuple[int, int], stride: int) -> int:
    """How many features a window has: for every shape and size of a cell, the places where it fits."""
    total = 0
    for weights in SHAPES:
        ways = 1
        for side, cells in zip(window, weights.shape, strict=True):
            ways *= sum((side - cells * size) // stride + 1 for size in range(1, side // cells + 1, stride))
        total += ways
    return total


def features_and_responses(
    X: Any, window: tuple[int, int], normalize: bool, features: Array, told: Array, tolerance: float
) -> Verification:
    """Whether ``told`` (n, m) are the responses of windows to features, relative to the brightness of the window."""
    wrong = misplaced(features, window)
    if wrong is not None:
        return wrong
    pixels = Pixels.of(X, window, normalize)
    mine, told = pixels.responses(features), np.asarray(told)
    if told.shape != mine.shape or not np.isfinite(told).all():
        return Verification(False, "there is not a finite response of every window to every feature")
    bright = pixels.brightness(features)
    kept = float(np.finfo(told.dtype).eps) * np.abs(mine) + float(np.finfo(told.dtype).tiny)  # of the type of X
    off = np.abs(told.astype(LONG) - mine) - kept - 16 * pixels.blur[:, None] * (1 + np.abs(mine))
    off = np.maximum(off, 0) / np.where(bright > 0, bright, 1)
    if not pixels.sure.any():
        return Verification(None, "whether these windows have contrast hangs on rounding")
    return measured(float(off[pixels.sure].max()), tolerance, "the error of responses, added up pixel by pixel,")
