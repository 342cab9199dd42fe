"""Arrays of numbers, with the names of their dimensions and the range of their values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse

from corollary.core.door.sparse_input import sound
from corollary.core.fitted.base import Fitted, Known, require, shown


class Numbers(Fitted):
    """A NumPy array of named dimensions; a number, where no dimension is left."""

    kinds = "iuf"
    what = "numbers"

    def __init__(
        self, *dimensions: str | int, low: float = -math.inf, high: float = math.inf, above: bool = False,
        finite: bool = True, below: str | None = None, increasing: bool = False, total: float | None = None,
    ) -> None:  # fmt: skip
        self.dimensions, self.low, self.high, self.above = dimensions, low, high, above
        self.finite, self.below, self.increasing, self.total = finite, below, increasing, total

    def check(self, value: Any, known: Known) -> None:
        if isinstance(value, (int, float)):
            value = np.asarray(value)[()]
        if not isinstance(value, (np.ndarray, np.generic)) or (type(value) is np.ndarray and value.ndim == 0):
            raise ValueError(f"it is {shown(value)}")
        if value.dtype.kind not in self.kinds or not value.dtype.isnative or value.dtype == np.float16:
            raise ValueError(f"its type is {value.dtype}")
        try:
            known.bind_shape(self.dimensions, value.shape)
        except ValueError as error:
            raise ValueError(f"its shape is {value.shape} {error}".rstrip()) from None
        if value.size:
            self._check_values(value, known)

    def _check_values(self, value: Any, known: Known) -> None:
        lowest, highest = value.min(), value.max()  # NaN, if there is one
        if self.finite and not np.isfinite([lowest, highest]).all():
            raise ValueError("some are NaN or infinite")
        if lowest < self.low or highest > self.high or (self.above and lowest == self.low):
            raise ValueError(f"they lie between {lowest:.6g} and {highest:.6g}")
        if self.below is not None:
            known.indices.append((self.below, int(highest)))
        if self.increasing and not (value[1:] > value[:-1]).all():
            raise ValueError("they are not")
        if self.total is not None and not abs(float(value.sum()) - self.total) <= 1e-6:
            raise ValueError(f"their sum is {float(value.sum()):.6g}")

    def __str__(self) -> str:
        text = f"finite {self.what}" if self.finite and "f" in self.kinds else self.what
        text += f" {'>' if self.above else '≥'} {self.low:g}" * (self.low > -math.inf)
        text += f" below {self.below}" * (self.below is not None) + f" ≤ {self.high:g}" * (self.high < math.inf)
        text += " in increasing order" * self.increasing + f" with sum {self.total}" * (self.total is not None)
        shape = ", ".join(map(str, self.dimensions)) + "," * (len(self.dimensions) == 1)
        return f"{text} of shape ({shape})" if self.dimensions else f"one of {text}"


class Floats(Numbers):
    """Floating-point numbers, finite unless said otherwise."""

    kinds = "f"


class Integers(Numbers):
    """Whole numbers; ``below`` a dimension, they are indices into it."""

    kinds = "iu"
    what = "whole numbers"


class Booleans(Numbers):
    """True or false."""

    kinds = "b"
    what = "booleans"


class Number(Numbers):
    """One real number."""

    def __init__(
        self, low: float = -math.inf, high: float = math.inf, *, above: bool = False, finite: bool = True
    ) -> None:
        super().__init__(low=low, high=high, above=above, finite=finite)


Flag = Booleans  # of no dimension: one of them


class Matrix(Fitted):
    """A sparse matrix of numbers with named dimensions, whose indices lie within them."""

    def __init__(self, *dimensions: str, low: float = -math.inf) -> None:
        self.values = Floats("stored", low=low)
        self.dimensions = dimensions

    def check(self, value: Any, known: Known) -> None:
        require(scipy.sparse.issparse(value), value)
        known.bind_shape(self.dimensions, value.shape)
        sound(value, "it")
        self.values.check(value.data, Known({}))

    def __str__(self) -> str:
        return f"a sparse matrix of shape ({', '.join(self.dimensions)})"
