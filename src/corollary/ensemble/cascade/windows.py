"""What windows of pixels are: how many high and wide, and whether they are brought to equal contrast."""

from __future__ import annotations

import math
from numbers import Integral
from typing import Any

import numpy as np


def read_windows(X: Any, window: Any) -> tuple[Any, tuple[int, int] | None]:
    """X as rows of pixels, and the window that X or the parameter ``window`` says they are, if either does."""
    if isinstance(X, list | tuple) and len(X) and np.ndim(X[0]) == 2:
        X = np.asarray(X)
    declared = None if window is None else _pair(window)
    if getattr(X, "ndim", 2) != 3:
        return X, declared
    seen = (int(X.shape[1]), int(X.shape[2]))
    if declared is not None and seen != declared:
        raise ValueError(f"X holds windows of {_times(seen)} pixels, but window is {_times(declared)}.")
    return np.asarray(X).reshape(len(X), -1), seen


def window_of(n_pixels: int, declared: tuple[int, int] | None) -> tuple[int, int]:
    """(height, width) of windows of that many pixels: as declared, else a square, else a strip of one row."""
    if declared is None:
        side = math.isqrt(n_pixels)
        declared = (side, side) if side * side == n_pixels else (1, n_pixels)
    if declared[0] * declared[1] != n_pixels:
        raise ValueError(
            f"window is {_times(declared)}, which is {declared[0] * declared[1]} pixels, but X has {n_pixels} columns."
        )
    if n_pixels == 1:
        raise ValueError(
            "X has 1 feature(s) (n_features=1), but a Haar feature is a difference between pixels: a window needs at "
            "least 2."
        )
    return declared


def is_normalized(normalize: Any, window: tuple[int, int]) -> bool:
    """Whether windows are brought to equal contrast: "auto" is yes for pictures and no for strips of one row."""
    return bool(min(window) > 1 if isinstance(normalize, str) else normalize)


def _pair(window: Any) -> tuple[int, int]:
    sides = list(window)
    if len(sides) != 2 or not all(isinstance(side, Integral) and int(side) >= 1 for side in sides):
        raise ValueError(f"window must be (height, width), two whole numbers ≥ 1, or None, but it is {window!r}.")
    return int(sides[0]), int(sides[1])


def _times(window: tuple[int, int]) -> str:
    return f"{window[0]} × {window[1]}"
