"""Where EM starts in a mixture of any distributions: near single rows that are unlike each other, or at random.

Nothing is asked of the distributions but what they learn from rows, and what is ``near`` a row. Rows that are unlikely
near the seeds so far are likelier to be the next, the best of a few of them: for Gaussians this is k-means++. Each row
of the sample then belongs to the seed near which it is likeliest, but for a little.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse, vstack

from corollary.core.distribution import Hard, Params
from corollary.core.types import Array
from corollary.solvers.em.mixture import MixtureModel, Weighted, block_size

LITTLE = 0.01  # of every row belongs to all components alike at the start: what is zero there would stay zero


@dataclass(frozen=True)
class Seeds:
    """How to begin: ``how`` is "seeds", "random" or rows, one for each component."""

    model: MixtureModel
    n_components: int
    how: Any

    def draw(self, sample: Any, rng: np.random.RandomState) -> Weighted:
        """Parameters at which to start, from a sample (rows, weights, components of labelled rows)."""
        X, weights, labels = sample
        k = self.n_components
        if isinstance(self.how, str) and (self.how == "random" or k == 1):
            shares = rng.uniform(size=(X.shape[0], k))
            shares /= shares.sum(axis=1, keepdims=True)
            known = labels >= 0
            shares[known] = np.eye(k)[labels[known]]
            return self._learned(X, shares * weights[:, None])
        rows, codes = self._seeds(X, weights, labels, rng)
        near = self.model.distribution.near(X, weights, rows, _alike(codes, k))
        nearest = np.where(labels >= 0, labels, self._likely(X, near).argmax(axis=1))
        shares = np.full((X.shape[0], k), LITTLE / k)
        shares[np.arange(len(nearest)), nearest] += 1.0 - LITTLE
        return self._learned(X, shares * weights[:, None])

    def _likely(self, X: Any, params: Params) -> Array:
        """How likely rows are near each seed, some rows at a time."""
        k = len(next(iter(params.values())))
        part, size = self.model.distribution, block_size(X.shape[1], k)
        with np.errstate(over="ignore", invalid="ignore"):
            return np.concatenate([part.log_fit(X[at : at + size], params) for at in range(0, X.shape[0], size)])

    def _learned(self, X: Any, shares: Array) -> Weighted:
        """The best parameters for shares of rows, but none in which a row that the sample lacks cannot be."""
        counts = shares.sum(axis=0)
        part = self.model.distribution.softened(1e-3 * float(counts.mean()))
        return Weighted(counts / counts.sum(), part.finish(part.summarize(X, shares)))

    def _seeds(self, X: Any, weights: Array, labels: Array, rng: np.random.RandomState) -> tuple[Any, Array]:
        """Rows, and the component that each is a seed of: labelled ones, given ones, or ones that are drawn."""
        known = np.flatnonzero(labels >= 0)
        free = np.setdiff1d(np.arange(self.n_components), labels[known])
        if isinstance(self.how, str):
            chosen = self._drawn(X, weights, known, len(free), rng)
            return X[np.concatenate([known, chosen]).astype(np.int64)], np.concatenate([labels[known], free])
        rows = (
            vstack([X[known], self.how[free]], format="csr") if issparse(X) else np.vstack([X[known], self.how[free]])
        )
        return rows, np.concatenate([labels[known], free])

    def _drawn(self, X: Any, weights: Array, known: Array, count: int, rng: np.random.RandomState) -> list[int]:
        chosen, tries = list[int](), 2 + int(np.log(self.n_components))
        best = np.full(X.shape[0], -np.inf)
        if len(known):
            near = self.model.distribution.near(X, weights, X[known], _alike(np.zeros(len(known), dtype=np.int64), 1))
            best = self._likely(X, near)[:, 0]
        for _ in range(count):
            lack = np.where(np.isfinite(best), best.max(initial=-np.inf) - best, 1.0) * weights
            lack = lack if np.isfinite(lack).all() and lack.sum() > 0 else weights
            tried = rng.choice(len(lack), size=tries, p=lack / lack.sum())
            near = self.model.distribution.near(X, weights, X[tried], _alike(np.arange(tries), tries))
            after = np.maximum(best[:, None], self._likely(X, near))
            winner = int(np.argmax(weights @ np.maximum(after, -1e300)))
            chosen.append(int(tried[winner]))
            best = after[:, winner]
        return chosen


def _alike(codes: Array, k: int) -> Hard:
    """Rows of k seeds, which count as one row of each seed."""
    return Hard(codes, 1.0 / np.bincount(codes, minlength=k)[codes], k)
