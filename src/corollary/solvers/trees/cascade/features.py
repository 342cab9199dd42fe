"""The space of Haar features of a window: enumerated by shape, place and size, and evaluated from integral images."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from corollary._compiled.trees.haar import responses_block
from corollary.core.types import Array

# A shape is a grid of equal cells with a weight each. Weights sum to zero, so a response ignores overall brightness.
SHAPES: dict[str, Array] = {
    "two across": np.array([[1.0, -1.0]]),
    "two down": np.array([[1.0], [-1.0]]),
    "three across": np.array([[1.0, -2.0, 1.0]]),
    "three down": np.array([[1.0], [-2.0], [1.0]]),
    "four": np.array([[1.0, -1.0], [-1.0, 1.0]]),
}
CELLS: tuple[tuple[int, int], ...] = tuple((weights.shape[0], weights.shape[1]) for weights in SHAPES.values())
CORNERS = 9  # of the shape that has most
PAIRS_LIMIT = 20_000_000
MAX_SIDE = 2**20
BLOCK = 64  # features whose responses are in work at once: fixed, so that the order of sums never depends on threads


@dataclass(frozen=True)
class FeatureSpace:
    """All Haar features of a window, numbered; ``rows(numbers)`` describes some as (shape, top, left, height, width).

    Height and width are those of one cell. With a ``stride``, places and sizes go up in steps of that many pixels. The
    features of a shape are all pairs of a vertical and a horizontal extent, so a number is decoded without a list.
    """

    window: tuple[int, int]
    stride: int = 1

    @cached_property
    def extents(self) -> list[tuple[Array, Array]]:
        """For each shape its (start, size) pairs down and across."""
        return [(self._along(0, down), self._along(1, across)) for down, across in CELLS]

    @cached_property
    def counts(self) -> Array:
        """Features of each shape."""
        return np.array([len(down) * len(across) for down, across in self.extents])

    def __len__(self) -> int:
        return int(self.counts.sum())

    def rows(self, numbers: Array) -> Array:
        """The features of these numbers as int32 rows."""
        rows = np.empty((len(numbers), 5), dtype=np.int32)
        ends = np.cumsum(self.counts)
        shapes = np.searchsorted(ends, numbers, side="right")
        for shape, (down, across) in enumerate(self.extents):
            mine = np.flatnonzero(shapes == shape)
            if mine.size:
                high, low = np.divmod(np.asarray(numbers)[mine] - (ends[shape] - self.counts[shape]), len(across))
                rows[mine, 0] = shape
                rows[mine, 1::2] = down[high]
                rows[mine, 2::2] = across[low]
        return rows

    def sample(self, limit: int | None, rng: Any) -> Array:
        """The numbers of all features, or of ``limit`` drawn at random, in increasing order."""
        if limit is None or limit >= len(self):
            return np.arange(len(self))
        if len(self) <= 20 * limit:
            return np.sort(rng.permutation(len(self))[:limit])
        drawn = np.unique(rng.randint(0, len(self), size=2 * limit, dtype=np.int64))  # few repeat, so enough are left
        return np.sort(rng.permutation(drawn)[:limit])

    def _along(self, axis: int, cells: int) -> Array:
        length = self.window[axis]
        sizes = np.arange(1, length // cells + 1, self.stride)
        places = (length - sizes * cells) // self.stride + 1
        if places.sum() > PAIRS_LIMIT:
            raise ValueError(
                f"A window with a side of {length} pixels has too many features to number; use smaller windows, or a "
                f"stride above {self.stride}."
            )
        starts = np.arange(places.sum()) - np.repeat(np.cumsum(places) - places, places)
        return np.column_stack([starts * self.stride, np.repeat(sizes, places)]).astype(np.int32)


@dataclass(frozen=True)
class Corners:
    """Features as linear combinations of the corners of an integral image whose rows have a given length."""

    places: Array  # int64 (m, 9), offsets into the flattened integral image
    coefficients: Array  # float64 (m, 9)
    counts: Array  # int64 (m,)

    @classmethod
    def of(cls, features: Array, row_length: int) -> Corners:
        """The corners of features (m, 5)."""
        m = len(features)
        places, coefficients = np.zeros((m, CORNERS), dtype=np.int64), np.zeros((m, CORNERS))
        counts = np.zeros(m, dtype=np.int64)
        shape, top, left, height, width = features.T.astype(np.int64)
        for number, weights in enumerate(SHAPES.values()):
            mine = np.flatnonzero(shape == number)
            table = _at_corners(weights)
            down, across = (part.ravel() for part in np.indices(table.shape))
            y = top[mine, None] + down * height[mine, None]
            x = left[mine, None] + across * width[mine, None]
            places[mine, : table.size] = y * row_length + x
            coefficients[mine, : table.size] = table.ravel() / (height * width)[mine, None]
            counts[mine] = table.size
        return cls(places, coefficients, counts)

    def responses(self, columns: Array, start: int, stop: int) -> Array:
        """Responses of features ``start`` to ``stop`` (rows) to every window; ``columns`` are transposed integrals."""
        out = np.empty((stop - start, columns.shape[1]))
        responses_block(columns, self.places, self.coefficients, self.counts, start, stop, out)
        return out


def check_features(features: Any, window: Any, n_pixels: Any) -> None:
    """Raise ValueError unless the features lie inside a window of that many pixels: compiled code trusts them."""
    sides = window if isinstance(window, tuple) and len(window) == 2 else (0, 0)
    require(all(isinstance(side, int) and 1 <= side <= MAX_SIDE for side in sides), "the window must be two sizes")
    height, width = sides
    require(isinstance(n_pixels, int) and n_pixels == height * width, "the window must have a pixel for each column")
    require(is_array(features, "i", (len(features), 5)), "features must be rows of five integers")
    shape, top, left, cell_height, cell_width = features.astype(np.int64).T
    require(bool(((shape >= 0) & (shape < len(CELLS))).all()), "a feature has an unknown shape")
    down, across = np.array(CELLS)[shape].T
    inside = (top >= 0) & (left >= 0) & (cell_height >= 1) & (cell_width >= 1)
    inside &= (top <= height) & (left <= width) & (cell_height <= height) & (cell_width <= width)
    inside &= (top + down * cell_height <= height) & (left + across * cell_width <= width)
    require(bool(inside.all()), "a feature reaches outside the window")


def is_array(array: Any, kind: str, shape: tuple[int, ...]) -> bool:
    """Whether this is a NumPy array of that kind and shape."""
    return isinstance(array, np.ndarray) and array.dtype.kind == kind and array.shape == shape


def require(holds: bool, otherwise: str) -> None:
    """Raise ValueError if something does not hold of a stored model."""
    if not holds:
        raise ValueError(f"The stored features or stages are not valid: {otherwise}.")


def _at_corners(weights: Array) -> Array:
    """Weights of cells as coefficients of the corners between them: each cell is the sum of four signed corners."""
    padded = np.pad(weights, 1)
    return padded[:-1, :-1] - padded[1:, :-1] - padded[:-1, 1:] + padded[1:, 1:]


def brute_response(image: Array, feature: Array) -> float:
    """The response of one feature to one (normalised) window, by its definition."""
    shape, top, left, height, width = map(int, feature)
    weights = list(SHAPES.values())[shape]
    total = 0.0
    for (row, column), weight in np.ndenumerate(weights):
        y, x = top + row * height, left + column * width
        total += weight * float(image[y : y + height, x : x + width].sum())
    return total / (height * width)
