"""Where EM starts: one survey of the rows; for Gaussians, then k-means, seeds or random shares on a sample of them.

The sample depends on the rows and the seed alone, not on how rows come in blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse, vstack

from corollary.core.distribution.covariances import DENSE
from corollary.core.distribution.weighted_gaussians import Gaussians
from corollary.core.parallel import map_blocks, sum_blocks
from corollary.core.types import Array
from corollary.solvers.em.gaussian import GaussianModel, LabelledRows
from corollary.solvers.kmeans.lloyd import lloyd
from corollary.solvers.kmeans.seeding import plus_plus

SAMPLE = 1 << 15  # rows for the start; EM itself sees all
TYPICAL = 4096  # rows for the medians


@dataclass(frozen=True)
class Survey:
    """What has to be known of the rows before the first iteration; the sample is a part of them, in order."""

    n_rows: int
    low: Array
    high: Array
    labels: Array  # those that occur, without −1
    sample: Any  # a block

    @property
    def typical(self) -> Array:
        """A point in the middle of the rows: their median."""
        rows = self.sample[0]
        return np.median(rows[:: max(1, len(rows) // TYPICAL)], axis=0).astype(np.float64)


def survey(blocks: Iterable[Any], size: int, rng: np.random.RandomState) -> Survey:
    """Range, labels and a random sample of ``size`` rows, in one pass over blocks (X, weights) or (X, weights, y)."""
    n, keys, kept, edges, labels = 0, np.empty(0), [], [], np.empty(0, dtype=np.int64)
    for block in blocks:
        X = block[0]
        n += X.shape[0]
        edges += _edges(X)
        if len(block) > 2:
            labels = np.union1d(labels, block[2][block[2] != -1])
        keys = np.concatenate([keys, rng.uniform(size=X.shape[0])])
        kept.append(block)
        if len(keys) > size:
            chosen = np.sort(np.argpartition(keys, size)[:size])
            keys, kept = keys[chosen], [tuple(part[chosen] for part in _joined(kept))]
    if not kept:
        raise ValueError("There are no rows to learn from: every block is empty, or has no weight.")
    low, high = np.fmin.reduce(edges), np.fmax.reduce(edges)  # NaN where a column has nothing but missing values
    return Survey(n, low.astype(np.float64), high.astype(np.float64), labels, _joined(kept))


def _edges(X: Array) -> list[Array]:
    """The smallest and the largest number of each column, of some rows at a time; missing ones are skipped."""
    if issparse(X):
        return [np.asarray(edge.toarray()).ravel() for edge in (X.min(axis=0), X.max(axis=0))]
    pairs = map_blocks(lambda start, stop: _range(X[start:stop]), len(X), _some(X))
    return [edge for pair in pairs for edge in pair]


def _range(X: Array) -> tuple[Array, Array]:
    low, high = X.min(axis=0), X.max(axis=0)
    return (np.fmin.reduce(X), np.fmax.reduce(X)) if np.isnan(low).any() else (low, high)


def _some(X: Array) -> int:
    """Rows of X for one thread at a time: a megabyte."""
    return max(64, (1 << 17) // X.shape[1])


def present(block: Any) -> Any:
    """The rows of a block (X, weights, …) that have a positive weight; the others are left out."""
    kept = block[1] > 0
    return block if kept.all() else tuple(part[kept] for part in block)


def _joined(blocks: list[Any]) -> Any:
    if len(blocks) == 1:
        return blocks[0]
    first, *others = zip(*blocks, strict=True)
    rows = vstack(first, format="csr") if issparse(first[0]) else np.concatenate(first)
    return (rows, *map(np.concatenate, others))


@dataclass(frozen=True)
class Start:
    """How to begin: ``how`` is scikit-learn's ``init_params``; weights, means and roots are given where not None."""

    model: GaussianModel
    kind: str
    n_components: int
    how: str
    weights: Array | None = None
    means: Array | None = None
    roots: Array | None = None

    @property
    def given(self) -> bool:
        """Whether weights, means and roots are all given."""
        return self.weights is not None and self.means is not None and self.roots is not None

    def draw(self, sample: LabelledRows, labels: Array, rng: np.random.RandomState) -> Gaussians:
        """Parameters at which to start, from rows in the units of the model and the components of labelled ones."""
        if self.weights is not None and self.means is not None and self.roots is not None:
            return Gaussians.at(self.kind, self.weights, self.means, self.roots).starting(self.model.regular)
        Z, weights, _ = sample
        if self.how == "random" and self.means is None:
            shares = rng.uniform(size=(len(Z), self.n_components))
            shares /= shares.sum(axis=1, keepdims=True)
            about = np.repeat(np.average(Z, axis=0, weights=weights)[None], self.n_components, axis=0)
            shares[labels >= 0] = 0.0
            shares[labels >= 0, labels[labels >= 0]] = 1.0
            return self._with_given(self.model.assigned(Z, shares * weights[:, None], about, self.kind))
        scaled, unit = _spread(Z, weights, common=self.kind == "spherical")
        codes, about = self._clusters(scaled, unit, weights, labels, rng)
        codes = np.where(labels >= 0, labels, codes)
        return self._with_given(self.model.divided(Z, weights, codes, about, self.kind))

    def _clusters(
        self, scaled: Array, unit: Array, weights: Array, labels: Array, rng: np.random.RandomState
    ) -> tuple[Array, Array]:
        """The cluster of each row and the centres, in the units of the model."""
        k, rounds = self.n_components, 0
        if k == 1:
            return np.zeros(len(scaled), dtype=np.int32), np.average(scaled, axis=0, weights=weights)[None] * unit
        if self.means is not None:
            centres = self.means / unit
        elif self.how == "random_from_data":
            centres = scaled[rng.choice(len(scaled), size=k, replace=False)]
        else:
            centres = plus_plus(scaled, weights, k, rng)
            rounds = 300 if self.how == "kmeans" else 0
        if self.means is None:
            centres = _beside_known(centres, scaled, weights, labels)
        if not rounds:
            return _nearest(scaled, centres), centres * unit
        found = lloyd(scaled, weights, centres, max_iter=rounds, tol=1e-4).uninterrupted()
        return found.state.labels, found.state.centres * unit

    def _with_given(self, found: Gaussians) -> Gaussians:
        if self.weights is None and self.means is None and self.roots is None:
            return found
        return Gaussians.at(
            self.kind,
            found.weights if self.weights is None else self.weights,
            found.means if self.means is None else self.means,
            found.roots if self.roots is None else self.roots,
        ).starting(self.model.regular)


def starts(begin: Start, seen: Survey, labels: Array, n_init: int, rng: np.random.RandomState) -> Iterator[Gaussians]:
    """``n_init`` starts, each drawn when it is asked for; ``labels`` are components of the sample's rows."""
    sample = seen.sample if begin.given else (begin.model.units.enter(seen.sample[0]), *seen.sample[1:])
    for _ in range(n_init):
        yield begin.draw(sample, labels, rng)


def _spread(Z: Array, weights: Array, *, common: bool) -> tuple[Array, Array]:
    """Rows scaled so that every column has standard deviation one, for k-means, and the deviations."""
    size, total = _some(Z), weights.sum()
    mean = sum_blocks(lambda i, j: weights[i:j] @ Z[i:j], len(Z), size) / total
    variance = sum_blocks(lambda i, j: weights[i:j] @ (Z[i:j] - mean) ** 2, len(Z), size) / total
    if common:
        variance = np.full_like(variance, variance.max())
    unit = np.sqrt(np.where(variance > 0, variance, 1.0))
    return Z / unit, unit


def _beside_known(centres: Array, Z: Array, weights: Array, labels: Array) -> Array:
    """Centres of components with labelled rows are their means; the seeds nearest to those are not needed."""
    known = np.unique(labels[labels >= 0])
    if not len(known):
        return centres
    seeds, result = centres, centres.copy()
    for label in known:
        own = labels == label
        result[label] = np.average(Z[own], axis=0, weights=weights[own])
        nearest = int(((seeds - result[label]) ** 2).sum(axis=1).argmin())
        seeds = np.delete(seeds, nearest, axis=0)
    result[np.setdiff1d(np.arange(len(centres)), known)] = seeds
    return result


def _nearest(Z: Array, centres: Array) -> Array:
    squares = (centres**2).sum(axis=1) - 2 * Z @ centres.T
    codes: Array = squares.argmin(axis=1)
    return codes


def revived(params: Gaussians, empty: Array, regular: Array) -> Gaussians:
    """Each empty component takes half of the heaviest one: both move a deviation apart along its longest axis."""
    weights, means, roots = params.weights.copy(), params.means.copy(), params.roots.copy()
    for k in np.flatnonzero(empty):
        parent = int(np.argmax(weights))
        covariance = params.covariances[0 if params.kind == "tied" else parent]
        values, vectors = np.linalg.eigh(covariance if params.kind in DENSE else np.diag(covariance))
        step = vectors[:, -1] * np.sqrt(values[-1])
        weights[k] = weights[parent] = weights[parent] / 2
        means[k], means[parent] = means[parent] + step, means[parent] - step
        if params.kind != "tied":
            roots[k] = roots[parent]
    return Gaussians.at(params.kind, weights / weights.sum(), means, roots).starting(regular)
