"""Where EM starts in a mixture of any distributions: near single rows that are unlike each other, or at random.

Nothing is asked of the distributions but what they learn from rows. A component that is to be near a row learns from
all rows and, with half of the weight, from that one. Rows that are unlikely under the components so far are likelier to
be the next: for Gaussians this is k-means++.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse, vstack

from corollary.core.distribution import Distribution, Hard, Params
from corollary.core.types import Array
from corollary.solvers.em.mixture import MixtureModel, Weighted, block_size

PULL = 0.5  # the part of the weight that a row has in the component near it


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
        near = Weighted(np.full(k, 1.0 / k), _pulled(self.model.distribution, X, weights, rows, codes, k))
        size = block_size(X.shape[1], k)
        parts = [slice(start, start + size) for start in range(0, X.shape[0], size)]
        found = [self.model.e_step((X[own], weights[own], labels[own]), near) for own in parts]
        return self.model.m_step(sum(found[1:], found[0]))

    def _learned(self, X: Any, shares: Array) -> Weighted:
        part, counts = self.model.distribution, shares.sum(axis=0)
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
        part, chosen = self.model.distribution, list[int]()
        all_rows = part.summarize(X, ((1 - PULL) / weights.sum() * weights)[:, None])
        best = np.full(X.shape[0], -np.inf)

        def admit(rows: Array) -> None:
            alone = Hard(np.zeros(len(rows), dtype=np.int64), PULL * weights[rows] / weights[rows].sum(), 1)
            near = part.finish(all_rows + part.summarize(X[rows], alone))
            np.maximum(best, part.log_fit(X, near)[:, 0], out=best)

        if len(known):
            admit(known)
        for _ in range(count):
            lack = np.where(np.isfinite(best), best.max(initial=-np.inf) - best, 1.0) * weights
            lack = lack if np.isfinite(lack).all() and lack.sum() > 0 else weights
            chosen.append(int(rng.choice(len(lack), p=lack / lack.sum())))
            admit(np.array(chosen[-1:]))
        return chosen


def _pulled(part: Distribution, X: Any, weights: Array, rows: Any, codes: Array, k: int) -> Params:
    """k distributions, each learned from all rows and, with ``PULL`` of the weight, from those that are its own."""
    shares = np.repeat(((1 - PULL) / weights.sum() * weights)[:, None], k, axis=1)
    own = PULL / np.bincount(codes, minlength=k)[codes]
    return part.finish(part.summarize(X, shares) + part.summarize(rows, Hard(codes, own, k)))
