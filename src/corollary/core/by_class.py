"""Sums and scores by class of rows that belong to one class each: compiled passes, on threads.

Rows are cut into blocks by their shape alone, and what blocks contribute is added in their order: the number of threads
changes no bit. Classes are numbers; a row of a negative one is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from corollary.core.parallel import add_blocks, block_rows, each_block, one_blas_thread, rows_per_part
from corollary.core.types import Array

PARTS = 16  # of sparse rows, each with sums of its own
SCORED = 8192  # sparse rows of a block that is scored


def _usual(part: Array) -> Array:
    """A block of an array in the layout that kernels are compiled for: any other would be compiled anew."""
    return np.require(part, requirements=["C", "W"])


def _labels(codes: Array, weights: Array) -> tuple[Array, Array]:
    return _usual(codes.astype(np.int64, copy=False)), _usual(weights.astype(np.float64, copy=False))


def _dense_size(X: Array, lines: int) -> int:
    """Rows of a block, whose sums are ``lines`` rows themselves."""
    n, d = X.shape
    return max(block_rows(n, d * X.itemsize), 2 * lines)


def class_sums(X: Any, codes: Array, weights: Array, k: int) -> Array:
    """Σ w x of each class, (k, d), of dense or compressed sparse rows."""
    from corollary._compiled.bayes import counts

    (n, d), (codes, weights) = X.shape, _labels(codes, weights)
    if not issparse(X):

        def dense(start: int, stop: int) -> Array:
            sums = np.zeros((k, d))
            counts.class_sums(_usual(X[start:stop]), codes[start:stop], weights[start:stop], sums)
            return sums

        return add_blocks(dense, n, _dense_size(X, k))
    X = X.tocsr()
    data, indices, indptr = _usual(X.data), _usual(X.indices), _usual(X.indptr)

    def sparse(start: int, stop: int) -> Array:
        sums, ends = np.zeros((k, d)), indptr[start : stop + 1]
        counts.sparse_class_sums(data, indices, ends, codes[start:stop], weights[start:stop], sums)
        return sums

    return add_blocks(sparse, n, rows_per_part(n, k * d, least=1024, most=PARTS, fewest=4))


def class_sums_again(X: Array, codes: Array, weights: Array, k: int) -> Array:
    """What ``class_sums`` finds of dense rows, by a matrix product."""
    codes, weights = _labels(np.maximum(codes, 0), np.where(codes < 0, 0.0, weights))

    def product(start: int, stop: int) -> Array:
        ends = np.arange(stop - start + 1)
        shares = csr_array((weights[start:stop], codes[start:stop], ends), shape=(stop - start, k))
        return np.asarray(shares.T @ X[start:stop], dtype=np.float64)

    return add_blocks(product, len(X), _dense_size(X, k))


def probe(d: int) -> Array:
    """Numbers between 1 and 2, one for each of d columns, that have nothing to do with any data."""
    return np.random.RandomState(0).uniform(1.0, 2.0, size=d)


def probed_class_sums(X: Any, codes: Array, weights: Array, k: int) -> Array:
    """``class_sums`` · ``probe``, (k,), of sparse rows that are multiplied by the probe first (Freivalds' check).

    It costs a fraction of the sums themselves, and a wrong one, or two in each other's place, shows all the same.
    """
    from corollary._compiled.bayes import counts

    X = X.tocsr()
    data, indices, indptr, numbers = _usual(X.data), _usual(X.indices), _usual(X.indptr), probe(X.shape[1])
    totals = np.empty(X.shape[0])

    def rows(start: int, stop: int) -> None:
        counts.sparse_products(data, indices, indptr[start : stop + 1], numbers, totals[start:stop])

    each_block(rows, X.shape[0], SCORED)
    known = codes >= 0
    return np.bincount(codes[known], weights=(weights * totals)[known], minlength=k)


def class_moments(
    X: Array, codes: Array, weights: Array, about: Array, *, missing: bool
) -> tuple[Array, Array, Array | None]:
    """Σ w (x − a), Σ w (x − a)² and, if numbers are ``missing``, Σ w of those that are there, each (k, d)."""
    from corollary._compiled.bayes import moments

    (k, d), (codes, weights), about = about.shape, _labels(codes, weights), _usual(about)

    def sums(start: int, stop: int) -> Array:
        found = np.zeros((3 if missing else 2, k, d))
        rows = _usual(X[start:stop]), codes[start:stop], weights[start:stop], about
        if missing:
            moments.class_moments_of_some(*rows, found[0], found[1], found[2])
        else:
            moments.class_moments(*rows, found[0], found[1])
        return found

    found = add_blocks(sums, len(X), _dense_size(X, 3 * k))
    return found[0], found[1], found[2] if missing else None


def category_counts(X: Array, codes: Array, weights: Array, sizes: Array, k: int) -> Array:
    """The weight of each category of each column, one column after the other, for each class: (k, Σ sizes)."""
    from corollary._compiled.bayes import categories

    (codes, weights), sizes = _labels(codes, weights), sizes.astype(np.int64)
    firsts, lines = np.cumsum(sizes) - sizes, int(sizes.sum())

    def counted(start: int, stop: int) -> Array:
        found = np.zeros((lines, k))
        categories.count_categories(_usual(X[start:stop]), codes[start:stop], weights[start:stop], firsts, sizes, found)
        return found

    return np.ascontiguousarray(add_blocks(counted, len(X), max(_dense_size(X, k), 2 * lines // X.shape[1])).T)


def category_counts_again(X: Array, codes: Array, weights: Array, sizes: Array, k: int) -> Array:
    """What ``category_counts`` finds, column by column."""
    found = []
    for j, size in enumerate(sizes.tolist()):
        there = (codes >= 0) & (X[:, j] >= 0) & (X[:, j] < size)  # not so for NaN
        places = codes[there] * size + X[there, j].astype(np.int64)
        found.append(np.bincount(places, weights=weights[there], minlength=k * size).reshape(k, size))
    return np.concatenate(found, axis=1)


def _scored(score: Callable[[int, int, Array], None], n: int, k: int, size: int) -> Array:
    out = np.zeros((n, k))
    each_block(lambda start, stop: score(start, stop, out[start:stop]), n, size)
    return out


def gaussian_scores(X: Array, means: Array, variances: Array, logs: Array) -> Array:
    """Σ (log − ½ (x − mean)² / variance) over the columns that are not missing, (n, k); all others are (k, d)."""
    from corollary._compiled.bayes import moments

    means, roots, logs = _usual(means), 1.0 / np.sqrt(variances), _usual(logs)
    whole, nothing = logs.sum(axis=1), np.zeros(len(means))

    def score(start: int, stop: int, out: Array) -> None:
        rows = _usual(X[start:stop])
        moments.gaussian_scores(rows, means, roots, whole, out)
        if np.isnan(out).any():
            moments.gaussian_scores_of_some(rows, means, roots, logs, nothing, out)

    return _scored(score, len(X), len(means), block_rows(len(X), X.shape[1] * X.itemsize))


def linear_scores(X: Any, coef: Array, offsets: Array) -> Array:
    """x · coef + offset, (n, k), for coefficients (k, d); zero times minus infinity is zero."""
    from corollary._compiled.bayes import counts

    n, k, never = X.shape[0], len(coef), np.isneginf(coef)
    some = bool(never.any())
    if not issparse(X):
        finite = np.where(never, 0.0, coef) if some else coef

        def dense(start: int, stop: int, out: Array) -> None:
            rows = X[start:stop]
            np.matmul(rows, finite.T, out=out)
            out += offsets
            if some:
                out[((rows != 0).astype(np.float64) @ never.T) > 0] = -np.inf

        with one_blas_thread():
            return _scored(dense, n, k, block_rows(n, X.shape[1] * X.itemsize))
    X = X.tocsr()
    data, indices, indptr, columns = _usual(X.data), _usual(X.indices), _usual(X.indptr), _usual(coef.T)
    kernel: Any = counts.sparse_scores_with_never if some else counts.sparse_scores
    offsets = _usual(offsets)

    def sparse(start: int, stop: int, out: Array) -> None:
        kernel(data, indices, indptr[start : stop + 1], columns, offsets, out)

    return _scored(sparse, n, k, SCORED)


def category_scores(X: Array, sizes: Array, logs: Array) -> Array:
    """Σ log of the categories of each row, (n, k), for ``logs`` (k, Σ sizes) of all columns one after the other."""
    from corollary._compiled.bayes import categories

    sizes, table = sizes.astype(np.int64), np.ascontiguousarray(logs.T)
    firsts = np.cumsum(sizes) - sizes

    def score(start: int, stop: int, out: Array) -> None:
        categories.add_category_scores(_usual(X[start:stop]), firsts, sizes, table, out)

    return _scored(score, len(X), len(logs), block_rows(len(X), X.shape[1] * X.itemsize))
