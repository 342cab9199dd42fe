"""What part of each row belongs to each of K distributions, and sums over rows by it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from corollary.core.by_class import class_sums
from corollary.core.types import Array


@dataclass(frozen=True)
class Hard:
    """Every row belongs to one of ``n`` distributions: its number and its weight, in place of shares (n_rows, n).

    >>> Hard(np.array([0, 2, 2]), np.array([1.0, 1.0, 3.0]), 3).counts
    array([1., 0., 4.])
    """

    codes: Array
    weights: Array
    n: int

    @property
    def counts(self) -> Array:
        return np.bincount(self.codes, weights=self.weights, minlength=self.n)

    def matrix(self) -> Any:
        """Shares (n_rows, n), of which only what is not zero is kept."""
        rows = len(self.codes)
        return csr_array((self.weights, self.codes, np.arange(rows + 1)), shape=(rows, self.n))


Shares = Array | Hard


def counts_of(shares: Shares) -> Array:
    """Σ shares, of shape (K,)."""
    return shares.counts if isinstance(shares, Hard) else shares.sum(axis=0)


def sums_of(shares: Shares, values: Any) -> Array:
    """Σ share × values of the row, of shape (K, columns), for values that are an array or sparse."""
    if isinstance(shares, Hard):
        return class_sums(values, shares.codes, shares.weights, shares.n)
    found = (values.T @ shares).T if issparse(values) else shares.T @ values
    return found.toarray() if issparse(found) else np.asarray(found, dtype=np.float64)
