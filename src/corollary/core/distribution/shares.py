"""What part of each row belongs to each of K distributions, and sums over rows by it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from corollary.core.by_class import (
    category_counts,
    category_counts_again,
    class_sums,
    class_sums_again,
    probed_class_sums,
)
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

    def sums(self, values: Any) -> Array:
        """Σ weight × values of the rows of each, (n, columns)."""
        return class_sums(values, self.codes, self.weights, self.n)

    def states(self, X: Array, sizes: Array) -> Array:
        """Weights of the states of each column, one column after the other: (n, Σ sizes)."""
        return category_counts(X, self.codes, self.weights, sizes, self.n)

    def again(self) -> Hard:
        """The same, which adds everything up on another way: by other code, in another order.

        Sums of sparse values are (n,): columns have been added up too, after a multiplication by ``probe``.
        """
        return _Again(self.codes, self.weights, self.n)


class _Again(Hard):
    @property
    def counts(self) -> Array:
        return self.sums(np.ones((len(self.codes), 1)))[:, 0]

    def sums(self, values: Any) -> Array:
        sums = probed_class_sums if issparse(values) else class_sums_again
        return sums(values, self.codes, self.weights, self.n)

    def states(self, X: Array, sizes: Array) -> Array:
        return category_counts_again(X, self.codes, self.weights, sizes, self.n)


Shares = Array | Hard


def counts_of(shares: Shares) -> Array:
    """Σ shares, of shape (K,)."""
    return shares.counts if isinstance(shares, Hard) else shares.sum(axis=0)


def sums_of(shares: Shares, values: Any) -> Array:
    """Σ share × values of the row, of shape (K, columns), for values that are an array or sparse."""
    if isinstance(shares, Hard):
        return shares.sums(values)
    found = (values.T @ shares).T if issparse(values) else shares.T @ values
    return found.toarray() if issparse(found) else np.asarray(found, dtype=np.float64)
