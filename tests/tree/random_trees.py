"""Small random trees, and Shapley values by their definition: a sum over all sets of columns."""

from __future__ import annotations

from itertools import combinations
from math import factorial
from typing import Any

import numpy as np

from corollary.core.trees import Trees


def random_tree(
    rng: Any, n_columns: int, n_splits: int, n_outputs: int = 1, categorical: tuple[int, ...] = ()
) -> Trees:
    """A tree grown at random; columns in ``categorical`` split by sets of the codes 0 to 4."""
    feature, threshold, left, category, cover = [-1], [np.nan], [-1], [-1], [int(rng.integers(500, 1000))]
    bitsets = [np.zeros(1, dtype=np.uint32)]
    for _ in range(n_splits):
        node = int(rng.choice(np.flatnonzero(np.array(feature) < 0)))
        f = int(rng.integers(n_columns))
        feature[node], left[node] = f, len(feature)
        if f in categorical:
            category[node] = len(bitsets)
            bitsets.append(rng.integers(1, 31, size=1, dtype=np.uint32))
        else:
            threshold[node] = float(rng.normal())
        first = int(cover[node] * rng.uniform(0.1, 0.9))
        for rows in (first, cover[node] - first):
            feature.append(-1), threshold.append(np.nan), left.append(-1), category.append(-1), cover.append(rows)
    n = len(feature)
    return Trees(
        roots=np.zeros(1, dtype=np.int32),
        feature=np.array(feature, dtype=np.int32),
        threshold=np.array(threshold),
        left=np.array(left, dtype=np.int32),
        missing_left=rng.random(n) < 0.5,
        category=np.array(category, dtype=np.int32),
        bitsets=np.array(bitsets),
        value=rng.normal(size=(n, n_outputs)),
        weight=np.array(cover, dtype=np.float64),
        count=np.array(cover, dtype=np.int32),
        impurity=np.zeros(n),
        gain=np.where(np.array(feature) >= 0, rng.random(n), 0.0),
    )


def random_rows(rng: Any, n: int, n_columns: int, categorical: tuple[int, ...] = (), missing: float = 0.2) -> Any:
    X = rng.normal(size=(n, n_columns))
    for f in categorical:
        X[:, f] = rng.integers(0, 6, size=n)  # code 5 is in no bitset, code 40 below has no bit at all
        X[0, f] = 40.0
    X[rng.random(X.shape) < missing] = np.nan
    return X


def answer(trees: Trees, x: Any, known: set[int], node: int = 0) -> Any:
    """The tree's answer when only the columns in ``known`` are: the rest is averaged over the training rows."""
    f = int(trees.feature[node])
    if f < 0:
        return trees.value[node]
    left = int(trees.left[node])
    if f not in known:
        share = trees.weight[left] / trees.weight[node]
        return share * answer(trees, x, known, left) + (1 - share) * answer(trees, x, known, left + 1)
    return answer(trees, x, known, left + (not goes_left(trees, x, node)))


def goes_left(trees: Trees, x: Any, node: int) -> bool:
    value = x[trees.feature[node]]
    if np.isnan(value):
        return bool(trees.missing_left[node])
    if trees.category[node] < 0:
        return bool(value <= trees.threshold[node])
    if value >= 32:
        return bool(trees.missing_left[node])
    return bool(int(trees.bitsets[trees.category[node], 0]) >> int(value) & 1)


def shapley(game: Any, n_columns: int) -> Any:
    """Shapley values of ``game(set of columns)``, by their definition."""
    values = {S: game(set(S)) for size in range(n_columns + 1) for S in combinations(range(n_columns), size)}
    out = []
    for j in range(n_columns):
        total = 0.0
        for S, value in values.items():
            if j not in S:
                chance = factorial(len(S)) * factorial(n_columns - len(S) - 1) / factorial(n_columns)
                total = total + chance * (values[tuple(sorted((*S, j)))] - value)
        out.append(total)
    return np.array(out)


def interactions(game: Any, n_columns: int) -> Any:
    """Halves of the Shapley interactions off the diagonal, and zeros on it."""
    out = np.zeros((n_columns, n_columns))
    for i, j in combinations(range(n_columns), 2):
        others = [k for k in range(n_columns) if k not in (i, j)]
        for size in range(n_columns - 1):
            chance = factorial(size) * factorial(n_columns - size - 2) / factorial(n_columns - 1)
            for S in map(set, combinations(others, size)):
                gain = game(S | {i, j}) - game(S | {i}) - game(S | {j}) + game(S)
                out[i, j] += 0.5 * chance * float(gain[0])
        out[j, i] = out[i, j]
    return out
