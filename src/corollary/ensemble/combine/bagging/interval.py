"""The error of a bag on rows that its voters had not seen, with an interval that says how well it is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corollary.core.types import Array

_Z = 1.959963984540054  # 95 % of a normal distribution are within so many standard deviations


@dataclass(frozen=True)
class ErrorInterval:
    """A mean error and its 95 % interval. Rows are taken as independent; that members overlap is left aside."""

    what: str
    rows: int
    error: float
    low: float
    high: float

    @staticmethod
    def of_shares(wrong: Array, weights: Array) -> ErrorInterval:
        """Wilson's interval for the share of rows that are wrong; n is (Σ w)² / Σ w² where weights differ."""
        w = weights / weights.max()
        share, n = float(np.average(wrong, weights=w)), float(w.sum() ** 2 / np.square(w).sum())
        middle, half = share + _Z**2 / (2 * n), _Z * np.sqrt(share * (1 - share) / n + (_Z / (2 * n)) ** 2)
        low, high = ((middle + side * half) / (1 + _Z**2 / n) for side in (-1, 1))
        return ErrorInterval("share of wrong labels", len(w), share, max(0.0, float(low)), min(1.0, float(high)))

    @staticmethod
    def of_squares(squares: Array, weights: Array) -> ErrorInterval:
        """The normal interval of a weighted mean of squared errors, which is not below 0."""
        w = weights / weights.max()
        share = w / w.sum()
        mean = float(share @ squares)
        half = _Z * float(np.sqrt(np.square(share * (squares - mean)).sum()))
        return ErrorInterval("mean squared error", len(w), mean, max(0.0, mean - half), mean + half)

    @property
    def facts(self) -> dict[str, float]:
        name = f"out-of-bag {self.what}"
        return {name: self.error, f"{name}, low end": self.low, f"{name}, high end": self.high}

    @property
    def sentence(self) -> str:
        return (
            f"Out of the bag the {self.what} is {self.error:.3g}, 95 % interval {self.low:.3g} to {self.high:.3g} "
            f"({self.rows} rows)."
        )
