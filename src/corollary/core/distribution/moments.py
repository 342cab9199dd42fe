"""What rows contribute to Gaussians: counts, means and scatters about these means, in blocks that merge.

Scatters are about the means of each of the K, not about zero: neither far means nor means far apart cost digits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from corollary.core.by_class import class_moments, class_sums
from corollary.core.distribution.base import relative_error
from corollary.core.distribution.shares import Hard, Shares, counts_of, sums_of
from corollary.core.distribution.totals import filled
from corollary.core.types import Array


@dataclass(frozen=True)
class Moments:
    """Σ share, Σ share of rows in which the column is not missing, means, and Σ share (x − mean)(x − mean)ᵀ.

    ``present`` has shape (K, 1) where nothing is missing, else (K, d). ``scatter`` has shape (K, d), the diagonals
    alone; (K, d, d); or (1, d, d), the sum over all K.
    """

    counts: Array
    present: Array
    mean: Array
    scatter: Array

    def __add__(self, other: Moments) -> Moments:
        total = self.present + other.present
        some = np.where(total > 0, total, 1.0)
        step = other.mean - self.mean
        mean = np.where(self.present > 0, self.mean + step * (other.present / some), other.mean)
        both = self.present * (other.present / some)
        scatter = self.scatter + other.scatter
        if scatter.ndim == 2:
            scatter = scatter + both * step**2
        elif len(scatter) == len(step) > 1:
            scatter = scatter + both[:, :, None] * step[:, :, None] * step[:, None, :]
        else:
            scatter = scatter + ((both * step).T @ step)[None]
        return Moments(self.counts + other.counts, total, mean, scatter)

    @classmethod
    def of(cls, X: Any, shares: Shares, covariance: str) -> Moments:
        """Of rows X; ``covariance`` says which scatter is needed."""
        if isinstance(shares, Hard) and covariance not in ("full", "tied"):
            return cls.of_classes(np.asarray(X), shares)
        counts, (X, missing) = counts_of(shares), filled(X)
        present = counts[:, None]
        if missing is not None:
            present = present - sums_of(shares, missing.astype(np.float64))
            present[present < 1e-12 * counts[:, None]] = 0.0  # what is left of a difference of equal sums
        some = np.where(present > 0, present, 1.0)
        about = sums_of(shares, X) / some
        first, second = _about(X, missing, shares, about, covariance)
        step = first / some
        if covariance not in ("full", "tied"):
            scatter = np.maximum(second - present * step**2, 0.0)
        elif covariance == "full":
            scatter = second - present[:, :, None] * step[:, :, None] * step[:, None, :]
        else:
            scatter = second - ((present * step).T @ step)[None]
        return cls(counts, present, about + step, scatter)

    def moved(self, X: Any, shares: Hard) -> Moved:
        """Moments of some of the rows about the means of all: diagonals alone."""
        missing = self.present.shape[1] > 1 or self.mean.shape[1] == 1
        labels, counts = (shares.codes, shares.weights), shares.again().counts
        first, second, seen = class_moments(np.asarray(X), *labels, self.mean, missing=missing)
        return Moved(counts, counts[:, None] if seen is None else seen, first, second)

    def error(self, moved: Moved) -> float:
        """By how much counts, means and scatters (diagonals) are off, relative to the means and spreads themselves."""
        weights = relative_error(moved.counts - self.counts, self.counts)
        weights = max(weights, relative_error(moved.present - self.present, self.present))
        present = np.where(self.present > 0, self.present, 1.0)
        far = (2.0**-52 * self.mean) ** 2  # of a mean that is rounded
        mean = relative_error(moved.first / present, np.abs(self.mean) + np.sqrt(self.scatter / present))
        spread = (moved.second - self.scatter) / present
        return max(weights, mean, relative_error(spread, self.scatter / present + 1e10 * far))

    @classmethod
    def of_classes(cls, X: Array, shares: Hard) -> Moments:
        """Diagonals alone, of rows that belong to one of the K each: two passes, the second about the means."""
        counts, labels = shares.counts, (shares.codes, shares.weights)
        present, sums = counts[:, None], class_sums(X, *labels, shares.n)
        missing = bool(np.isnan(sums).any())
        if missing:
            sums, _, seen = class_moments(X, *labels, np.zeros_like(sums), missing=True)
            assert seen is not None
            present = seen
        some = np.where(present > 0, present, 1.0)
        about = sums / some
        first, second, _ = class_moments(X, *labels, about, missing=missing)
        step = first / some
        return cls(counts, present, about + step, np.maximum(second - present * step**2, 0.0))


@dataclass(frozen=True)
class Moved:
    """Σ share, Σ share of what is not missing, Σ share (x − mean) and (x − mean)² about the means of all rows."""

    counts: Array
    present: Array
    first: Array
    second: Array

    def __add__(self, other: Moved) -> Moved:
        present, first = self.present + other.present, self.first + other.first
        return Moved(self.counts + other.counts, present, first, self.second + other.second)


def _about(X: Array, missing: Array | None, shares: Shares, about: Array, covariance: str) -> tuple[Array, Array]:
    """First and second moments about the given points, one for each of the K."""
    (k, d), dense = about.shape, covariance in ("full", "tied")
    first, second = np.zeros((k, d)), np.zeros((1 if covariance == "tied" else k, d, d) if dense else (k, d))
    for each in range(k):
        own = shares.codes == each if isinstance(shares, Hard) else slice(None)
        weights = shares.weights[own] if isinstance(shares, Hard) else shares[:, each]
        moved = X[own] - about[each]
        if missing is not None:
            moved[missing[own]] = 0.0
        first[each] = weights @ moved
        if dense:
            second[0 if covariance == "tied" else each] += (moved * weights[:, None]).T @ moved
        else:
            second[each] = weights @ (moved * moved)
    return first, second
