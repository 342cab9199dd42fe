"""What rows that end in the same leaves tell: how alike they are, and the spread of their targets."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from corollary.core.memory import check_memory
from corollary.core.parallel import each_block
from corollary.core.trees import Trees
from corollary.core.types import Array
from corollary.solvers.trees.forest.nodes import small

_BLOCK, _QUANTILE_BLOCK = 64, 256


def proximities(first: Array, second: Array, top: int | None) -> Any:
    """Share of the trees in which two rows end in the same leaf, from their leaves (rows, trees).

    float32 (rows of ``first``, rows of ``second``), or a CSR array with the ``top`` largest entries of each row. The
    memory is checked before anything is allocated. Cost: O(pairs of rows · trees), threads over rows.
    """
    first, second = np.ascontiguousarray(first.T), np.ascontiguousarray(second.T)
    n, m = first.shape[1], second.shape[1]
    if top is not None:
        return _nearest(first, second, min(top, m))
    check_memory(4 * n * m, f"The proximities of {n} × {m} rows", "use top= to keep only the nearest rows")
    return _whole(first, second)


def _shares(first: Array, second: Array) -> Array:
    from corollary._compiled.trees.forest.nodes import same_leaves

    counts = np.zeros((first.shape[1], second.shape[1]), dtype=np.float32)
    same_leaves(np.ascontiguousarray(first), second, counts)
    counts /= np.float32(len(first))
    return counts


def _whole(first: Array, second: Array) -> Array:
    out = np.empty((first.shape[1], second.shape[1]), dtype=np.float32)

    def run(start: int, stop: int) -> None:
        out[start:stop] = _shares(first[:, start:stop], second)

    each_block(run, len(out), _BLOCK)
    return out


def _nearest(first: Array, second: Array, top: int) -> Any:
    n = first.shape[1]
    columns, shares = np.empty((n, top), dtype=np.int32), np.empty((n, top), dtype=np.float32)

    def run(start: int, stop: int) -> None:
        block = _shares(first[:, start:stop], second)
        best = np.argsort(-block, axis=1, kind="stable")[:, :top]
        columns[start:stop] = np.sort(best, axis=1)
        shares[start:stop] = np.take_along_axis(block, columns[start:stop], axis=1)

    each_block(run, n, _BLOCK)
    starts = np.arange(0, n * top + 1, top)
    found = scipy.sparse.csr_array((shares.ravel(), columns.ravel(), starts), shape=(n, second.shape[1]))
    found.eliminate_zeros()
    return found


def keep_targets(y: Array, members: Array, mass: Array) -> dict[str, Array]:
    """The targets of the training rows leaf by leaf, in a few bytes each: ``members`` are rows, with their mass."""
    values, ranks = np.unique(y, return_inverse=True)
    return {"values": values, "ranks": small(ranks[members]), "mass": small(mass)}


def leaf_quantiles(trees: Trees, kept: dict[str, Array], X: Any, levels: Array) -> Array:
    """(rows, levels): quantiles of the targets ``kept`` of the leaves that each row reaches.

    A target counts as much as it does in the mean over trees. Cost: O(rows · trees · rows of a leaf), threads over
    rows.
    """
    from corollary._compiled.trees.forest.nodes import weighted_quantiles

    ascending = np.argsort(levels, kind="stable")
    out = np.empty((X.shape[0], len(levels)))
    rows = np.where(trees.is_leaf, trees.count, 0)
    stops = np.cumsum(rows)
    fits = stops[-1] == len(kept["ranks"]) == len(kept["mass"]) and kept["ranks"].dtype.kind == "u"
    if not fits or int(kept["ranks"].max(initial=0)) >= len(kept["values"]):
        raise ValueError("forest: the targets of leaves do not fit the leaves.")
    masses = kept["mass"].astype(np.float64)

    def run(start: int, stop: int) -> None:
        found = np.empty((stop - start, len(levels)))
        weighted_quantiles(
            trees.apply(X[start:stop]), stops - rows, stops, kept["ranks"].astype(np.int64, copy=False), masses,
            trees.weight, levels[ascending], kept["values"], found,
        )  # fmt: skip
        out[start:stop, ascending] = found

    each_block(run, X.shape[0], _QUANTILE_BLOCK)
    return out
