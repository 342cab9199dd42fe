"""Shapley values of sums of trees, whose threads take rows. ``_compiled/trees/shap.py`` has the mathematics."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
from scipy.special import betaln, roots_legendre

from corollary.core.parallel import each_block, n_threads, run_team
from corollary.core.trees import Trees
from corollary.core.trees.flat import flatten
from corollary.core.types import Array

ROWS = 64  # that a thread takes at a time, or fewer


def path_values(trees: Trees, X: Any, n_outputs: int, cover: Array) -> Array:
    """(rows, columns, outputs); a column that is not known follows the training rows, ``cover`` of them at each node.

    If there are several outputs and trees have one value, tree t belongs to output t mod outputs.
    """
    out = np.zeros((*X.shape, n_outputs))
    _fill(trees, X, cover, False, out)
    return out


def mean_values(trees: Trees, n_outputs: int, cover: Array) -> Array:
    """(outputs,): what ``path_values`` start from, the sum over trees of the mean over their training rows."""
    from corollary._compiled.trees.shap import expectation

    out = np.zeros(n_outputs)
    expectation(trees.roots, _stops(trees), trees.feature, trees.left, cover, trees.value, out)
    return out


def background_values(trees: Trees, X: Any, background: Any, n_outputs: int) -> Array:
    """(rows, columns, outputs); columns that are not known come from a row of ``background``, all of them in turn."""
    from corollary._compiled.trees.shap_background import background_block

    out = np.zeros((*X.shape, n_outputs))
    a = np.arange(trees.depth() + 2.0)
    chances = np.exp(betaln(a[:, None] + 1, a + 1))  # a! b! / (a + b + 1)!
    used, feature = _columns_used(trees)
    known = _of_columns(background, used)
    walk = (trees.roots, _stops(trees), feature, trees.threshold, trees.left, trees.missing_left, trees.category,
            trees.bitsets, trees.value, trees.weight)  # fmt: skip
    X = X.tocsr() if scipy.sparse.issparse(X) else X

    def run(start: int, stop: int) -> None:
        part = np.zeros((stop - start, len(used), n_outputs))
        background_block(_of_columns(X[start:stop], used), known, *walk, chances, part)
        out[start:stop, used] = part / background.shape[0]

    each_block(run, X.shape[0], _share(X.shape[0], 1))
    return out


def path_interactions(trees: Trees, X: Any, n_outputs: int, cover: Array) -> Array:
    """(rows, columns, columns, outputs); the diagonal is such that rows sum to ``path_values``."""
    n, d = X.shape
    out = np.zeros((n, d, d, n_outputs))
    _fill(trees, X, cover, True, out.reshape(n, d * d, n_outputs))
    diagonal = np.arange(d)
    out[:, diagonal, diagonal] = path_values(trees, X, n_outputs, cover) - out.sum(axis=2)
    return out


def tree_sums(trees: Trees, X: Any, n_outputs: int) -> Array:
    """(rows, outputs): the sum over trees of the value at each row's leaf."""
    return trees.predict_sum(X, np.zeros(n_outputs))


def _stops(trees: Trees) -> Array:
    return np.append(trees.roots[1:], trees.node_count).astype(np.int32)


def _rules(trees: Trees) -> Array:
    """Gauss's rules on [0, 1] with 1, 2, … points, as many as the longest path needs."""
    most = max(1, (min(trees.depth(), len(np.unique(trees.feature))) + 1) // 2)
    out = np.zeros((2, most, most))
    for p in range(1, most + 1):
        points, weights = roots_legendre(p)
        out[0, p - 1, :p], out[1, p - 1, :p] = (points + 1) / 2, weights / 2
    return out


def _fill(trees: Trees, X: Any, cover: Array, pairs: bool, out: Array) -> None:
    """Have a team of threads write the values, or those of pairs, to where they are not zero."""
    from corollary._compiled.trees.shap import LANES, all_paths, shap_rows

    used, feature = _columns_used(trees)
    stops, n = _stops(trees), X.shape[0]
    kinds = np.int32, np.int32, np.int32, np.float64, np.float64
    edges = tuple(np.empty(trees.node_count, kind) for kind in kinds)
    most = np.empty(trees.n_trees, dtype=np.int32)
    all_paths(trees.roots, stops, feature, trees.left, cover, edges, most)
    splits = feature, trees.threshold, trees.missing_left, trees.category, trees.bitsets
    walk = trees.roots, stops, splits, trees.left, trees.value, edges, most, _rules(trees), trees.depth()
    if not scipy.sparse.issparse(X):
        run_team(
            shap_rows, tuple(flatten(X)), used, _share(n, LANES), *walk, pairs, X.shape[1], out, most=-(-n // LANES)
        )
        return
    X, step = X.tocsr(), ROWS * n_threads()
    for start in range(0, n, step):  # rows of sparse data are written out a few at a time
        stop = min(n, start + step)
        source = tuple(flatten(_of_columns(X[start:stop], np.arange(X.shape[1]))))
        run_team(shap_rows, source, used, _share(stop - start, LANES), *walk, pairs, X.shape[1], out[start:stop])


def _share(n: int, least: int) -> int:
    """Rows that a thread takes at a time: a multiple of ``least``, such that all threads have some."""
    return max(1, min(ROWS, n // (4 * n_threads())) // least) * least


def _columns_used(trees: Trees) -> tuple[Array, Array]:
    """(the columns that the trees test, the number among these for each node, −1 at a leaf)."""
    used, codes = np.unique(trees.feature, return_inverse=True)
    codes = codes - int(used[0] < 0)
    return used[used >= 0].astype(np.int64), codes.astype(np.int32)


def _of_columns(X: Any, used: Array) -> Array:
    part = X[:, used].toarray() if scipy.sparse.issparse(X) else X[:, used]
    return np.array(part, dtype=np.float64, order="C")
