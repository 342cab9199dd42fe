"""Neighbours' votes counted, and their numbers averaged. Every query's sums are in the order of its votes."""

from __future__ import annotations

import numpy as np

from corollary.core.types import Array


def count_votes(rows: Array, votes: Array, codes: Array, target: int, shares: Array) -> None:
    """Write the shares of the votes (m, k) of ``rows`` for the classes of one target to ``shares``."""
    m, classes = shares.shape
    chosen = _taken(codes[:, target], rows)
    if chosen.size and not 0 <= chosen.min() <= chosen.max() < classes:
        raise _misfit()
    places = chosen + np.arange(0, m * classes, classes)[:, None]
    shares[:] = np.bincount(places.ravel(), votes.ravel(), m * classes).reshape(m, classes)
    shares /= shares.sum(axis=1, keepdims=True)


def average(rows: Array, votes: Array, y: Array, means: Array) -> None:
    """Fill ``means`` (m, targets) with those of y over ``rows`` (m, k), weighted by their votes."""
    votes = votes / votes.sum(axis=1, keepdims=True)
    for o in range(y.shape[1]):
        means[:, o] = np.einsum("mk,mk->m", votes, _taken(y[:, o], rows))


def _taken(values: Array, rows: Array) -> Array:
    """values[rows]; models come from files, whose rows and targets need not fit together."""
    if rows.size and rows.min() < 0:
        raise _misfit()
    try:
        return np.asarray(values[rows])
    except IndexError:
        raise _misfit() from None


def _misfit() -> ValueError:
    return ValueError("The model's rows and its targets do not fit together.")
