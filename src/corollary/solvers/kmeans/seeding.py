"""Where k-means starts: greedy k-means++, or rows drawn at random.

Rows are drawn at a level of the cumulative weight in an order that depends on their values alone. So a row of weight
w is drawn exactly as w rows would be, and shuffling X changes nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from corollary.core.parallel import block_rows, map_blocks, one_blas_thread
from corollary.core.types import Array
from corollary.solvers.draws import places

TYPICAL = 256  # rows whose medians are a place in the middle
FAR = 1e4  # rows are moved there, which costs a copy of each block, if it is so much (squared) further than they spread
COINCIDE = 1e-14  # squared distances below this share of the squared norms are rounding


def plus_plus(X: Any, weights: Array, n_clusters: int, rng: Any, n_trials: int | None = None) -> Array:
    """Rows of X (dense or CSR) as starting centres: each new one is drawn with probability ∝ weight × squared distance.

    ``n_trials`` rows (2 + ln k if None) are drawn for each centre and the one that lowers the cost most is kept.
    """
    trials = 2 + int(np.log(n_clusters)) if n_trials is None else n_trials
    with one_blas_thread():
        points, lottery = _Points(X, weights), Lottery(X, weights)
        chosen = [int(lottery.draw(rng.uniform(size=1))[0])]
        nearest, _ = points.improve(np.array(chosen), np.full(points.n, np.inf))
        while len(chosen) < n_clusters:
            levels = rng.uniform(size=trials)
            lottery.reweight(weights * nearest)
            candidates = lottery.draw(levels)
            if len(candidates) == 0:  # every row coincides with a centre
                lottery.reweight(weights)
                candidates = lottery.draw(levels[:1])
            nearest, best = points.improve(candidates, nearest)
            chosen.append(int(candidates[best]))
        return rows_of(X, np.array(chosen))


def random_rows(X: Any, weights: Array, n_clusters: int, rng: Any) -> Array:
    """Different rows of X, drawn with probability ∝ weight; equal ones only if there are too few that differ."""
    lottery = Lottery(X, weights)
    order, key = lottery.order, lottery.key
    chosen: list[int] = []
    taken: set[float] = set()
    for row in lottery.draw(rng.uniform(size=16 * n_clusters + 64)):
        if float(key[row]) not in taken and len(chosen) < n_clusters:
            taken.add(float(key[row]))
            chosen.append(int(row))
    if len(chosen) < n_clusters:  # few values, or rare ones: take what differs, heaviest first, then anything
        rest = order[np.argsort(-weights[order], kind="stable")]
        _, firsts = np.unique(key[rest], return_index=True)
        different = [int(row) for row in rest[np.sort(firsts)] if float(key[row]) not in taken and weights[row] > 0]
        chosen += (different + [chosen[0]] * n_clusters)[: n_clusters - len(chosen)]
    return rows_of(X, np.array(chosen))


def rows_of(X: Any, rows: Array) -> Array:
    """Some rows, dense."""
    taken = X[rows]
    return np.asarray(taken.toarray() if sparse.issparse(taken) else taken)


class Lottery:
    """Draws rows with probability ∝ mass, in an order of the rows that depends on their values alone."""

    def __init__(self, X: Any, mass: Array) -> None:
        factors = np.random.RandomState(0).uniform(0.5, 1.0, size=X.shape[1])
        self.key = np.asarray(X @ factors.astype(X.dtype))
        self.order = np.argsort(self.key, kind="stable")
        self.reweight(mass)

    def reweight(self, mass: Array) -> None:
        """Draw by other masses from now on."""
        self.ends = np.cumsum(mass[self.order])

    def draw(self, levels: Array) -> Array:
        """Rows at these levels (in [0, 1)) of the cumulative mass; none if there is no mass."""
        if not 0 < self.ends[-1] < np.inf:
            return np.empty(0, dtype=np.int64)
        return np.asarray(self.order[places(self.ends, levels)])


class _Points:
    """Squared distances from all rows to some of them, by one matrix product."""

    def __init__(self, X: Any, weights: Array) -> None:
        self.X, self.weights, self.n, self.far = X, weights, X.shape[0], False
        if sparse.issparse(X):
            self.middle = np.zeros(X.shape[1])
            self.squares = np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()
        else:
            # far from zero there would be no digits left for the distances, nor far from a mean that one row has moved
            self.middle = np.median(X[:: max(1, self.n // TYPICAL)], axis=0).astype(np.float64)
            self.squares = np.concatenate(list(self._each(self._square)))
            self.far = bool(self.middle @ self.middle > FAR * np.median(self.squares[:: max(1, self.n // TYPICAL)]))

    def _each(self, task: Any) -> Any:
        return map_blocks(task, self.n, block_rows(self.n, self.X.shape[1] * 8))

    def _square(self, start: int, stop: int) -> Array:
        moved = self.X[start:stop] - self.middle
        return np.einsum("ij,ij->i", moved, moved)

    def improve(self, candidates: Array, nearest: Array) -> tuple[Array, int]:
        """The candidate that lowers the cost most, and every row's distance to its nearest centre with it."""
        moved = rows_of(self.X, candidates).astype(np.float64) - self.middle
        own = np.einsum("ij,ij->i", moved, moved)
        base = own if self.far else own + 2 * (moved @ self.middle)
        factors = -2 * moved.T if self.far else (-2 * moved.T).astype(self.X.dtype)

        def task(start: int, stop: int) -> tuple[Array, Array]:
            rows = self.X[start:stop] - self.middle if self.far else self.X[start:stop]
            distances = np.asarray(rows @ factors, dtype=np.float64).T
            distances += base[:, None] + self.squares[start:stop]
            np.clip(distances, 0.0, nearest[start:stop], out=distances)
            return distances, distances @ self.weights[start:stop]

        parts = list(self._each(task))
        best = int(np.argmin(sum(part[1] for part in parts)))
        found = np.concatenate([part[0][best] for part in parts])
        found[found <= COINCIDE * (self.squares + own[best])] = 0.0  # rounding must not be drawn as if it were distance
        return found, best
