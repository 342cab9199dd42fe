"""Integral images: any sum over a rectangle, and any average over a fractional one, from four look-ups."""

from __future__ import annotations

from typing import Any

import numpy as np

from corollary._compiled.trees.haar import integral_block
from corollary.core.parallel import block_rows, each_block
from corollary.core.types import Array

FLAT = 1e-10  # variance below this part of the mean square is rounding: the window has no contrast
_LUMINANCE = np.array([0.299, 0.587, 0.114])


def as_grey(image: Any, name: str = "image") -> Array:
    """An image as a float64 matrix: (height, width) as it is, colours (height, width, 3 or 4) as their luminance."""
    pixels = np.asarray(image)
    if pixels.dtype.kind not in "biuf":
        raise ValueError(f"{name} must be an array of real numbers, but its dtype is {pixels.dtype}.")
    if pixels.ndim == 3 and pixels.shape[2] in (3, 4):
        pixels = pixels[..., :3] @ _LUMINANCE
    if pixels.ndim != 2:
        raise ValueError(
            f"{name} must have shape (height, width), or (height, width, 3) if it is in colour, "
            f"but its shape is {pixels.shape}."
        )
    pixels = np.ascontiguousarray(pixels, dtype=np.float64)
    if not np.isfinite(pixels).all():
        raise ValueError(f"{name} contains NaN or infinity; every pixel must be a finite number.")
    return pixels


def integral_image(image: Any, *, squared: bool = False) -> Array:
    """The (height + 1, width + 1) table of sums over all rectangles that start at the top left.

    The sum over rows a to b and columns c to d, ends excluded, is ``I[b, d] - I[a, d] - I[b, c] + I[a, c]``.

    Parameters
    ----------
    image : array of shape (height, width), or (height, width, 3) for colour
    squared : bool, default False
        Sum the squares of the pixels instead.

    Notes
    -----
    Cost: one pass. Exact for whole numbers whose total is below 2⁵³.

    Examples
    --------
    >>> import numpy as np
    >>> from corollary.ensemble.cascade import integral_image
    >>> table = integral_image(np.arange(12).reshape(3, 4))
    >>> table[3, 4] - table[1, 4] - table[3, 2] + table[1, 2]  # rows 1 and 2, columns 2 and 3
    np.float64(34.0)
    """
    pixels = as_grey(image)
    table = np.empty((1, pixels.shape[0] + 1, pixels.shape[1] + 1))
    integral_block(pixels[None], squared, 0, 1, table)
    return table[0]


def window_integrals(X: Array, window: tuple[int, int], normalize: bool) -> Array:
    """The integral images (n, (h + 1)(w + 1)) of n flattened windows, brought to mean 0 and variance 1 if asked.

    A window without contrast becomes all zeros. Memory: the result, and blocks of a few megabytes.
    """
    n, (height, width) = len(X), window
    table = np.empty((n, height + 1, width + 1))

    def fill(start: int, stop: int) -> None:
        block = np.ascontiguousarray(X[start:stop], dtype=np.float64)
        pixels = (normalized(block) if normalize else block).reshape(-1, height, width)
        integral_block(pixels, False, 0, len(pixels), table[start:stop])

    each_block(fill, n, block_rows(n, 32 * height * width))
    if not np.isfinite(table[:, -1, -1]).all():
        raise ValueError("Sums over the windows in X overflow float64: rescale X to magnitudes below 1e300.")
    return table.reshape(n, -1)


def normalized(block: Array) -> Array:
    """Windows (n, pixels) brought to mean 0 and variance 1; those without contrast become zeros."""
    largest = np.abs(block).max(axis=1, keepdims=True)
    block = block / np.where(largest > 0, largest, 1.0)  # so that squares neither overflow nor vanish
    square = (block**2).mean(axis=1, keepdims=True)
    block -= block.mean(axis=1, keepdims=True)
    variance = (block**2).mean(axis=1, keepdims=True)
    flat = variance <= FLAT * square
    return np.where(flat, 0.0, block / np.sqrt(np.where(flat, 1.0, variance)))


def contrast_scales(sums: Array, squares: Array, window: tuple[int, int], step: int) -> Array:
    """1 / standard deviation of every ``step``-th window of an image, from its two integral images; 0 without contrast.

    Shape: (rows, columns) of window positions.
    """
    height, width = window
    mean, square = (_box_sums(table, height, width, step) / (height * width) for table in (sums, squares))
    variance = square - mean**2
    flat = variance <= FLAT * square
    return np.where(flat, 0.0, 1.0 / np.sqrt(np.where(flat, 1.0, variance)))


def _box_sums(table: Array, height: int, width: int, step: int) -> Array:
    top, bottom = table[:-height:step], table[height::step]
    return bottom[:, width::step] - top[:, width::step] - bottom[:, :-width:step] + top[:, :-width:step]


def shrink(table: Array, scale: float) -> Array:
    """The image of this integral image made ``scale`` ≥ 1 times smaller; each new pixel is the mean of what it covers.

    Averages over fractional rectangles come from the integral image interpolated between its corners, which is exact
    for an image of square pixels; so nothing is aliased, whatever the scale.
    """
    rows, columns = (int((size - 1) / scale + 1e-9) for size in table.shape)
    across = _between(table, np.arange(columns + 1) * scale, axis=1)
    corners = _between(across, np.arange(rows + 1) * scale, axis=0)
    return np.ascontiguousarray(np.diff(np.diff(corners, axis=0), axis=1) / scale**2)


def _between(table: Array, places: Array, axis: int) -> Array:
    """Rows or columns of a table at fractional places."""
    last = table.shape[axis] - 1
    places = np.minimum(places, last)
    below = np.minimum(places.astype(np.intp), last - 1)
    part = np.expand_dims(places - below, 1 - axis)
    low, high = np.take(table, below, axis=axis), np.take(table, below + 1, axis=axis)
    return low + part * (high - low)
