"""Shapley values of sums of trees, on threads over blocks of rows. ``_compiled/trees/shap.py`` has the mathematics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse
from scipy.special import betaln, roots_legendre

from corollary.core.parallel import each_block
from corollary.core.trees import Trees
from corollary.core.types import Array

Walk = tuple[Array, Array, Array, Array, Array, Array, Array, Array, Array, Array]
_BLOCK_ROWS = 64  # enough to share what is computed once for each tree


def path_values(trees: Trees, X: Any, n_outputs: int, cover: Array) -> Array:
    """(rows, columns, outputs); a column that is not known follows the training rows, ``cover`` of them at each node.

    If there are several outputs and trees have one value, tree t belongs to output t mod outputs.
    """
    from corollary._compiled.trees.shap import shap_block

    out = np.zeros((*X.shape, n_outputs))
    rules, depth = _rules(trees), trees.depth()

    def run(block: Array, walk: Walk, used: Array, at: slice) -> None:
        part = np.zeros((len(block), len(used), n_outputs))
        shap_block(block, *walk, rules, depth, False, part)
        out[at, used] = part

    _each_block(trees, X, cover, run)
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

    def run(block: Array, walk: Walk, used: Array, at: slice) -> None:
        part = np.zeros((len(block), len(used), n_outputs))
        background_block(block, _columns(background, used), *walk, chances, part)
        out[at, used] = part / background.shape[0]

    _each_block(trees, X, trees.weight, run)
    return out


def path_interactions(trees: Trees, X: Any, n_outputs: int, cover: Array) -> Array:
    """(rows, columns, columns, outputs); the diagonal is such that rows sum to ``path_values``."""
    from corollary._compiled.trees.shap import shap_block

    n, d = X.shape
    out = np.zeros((n, d, d, n_outputs))
    rules, depth = _rules(trees), trees.depth()

    def run(block: Array, walk: Walk, used: Array, at: slice) -> None:
        part = np.zeros((len(block), len(used) ** 2, n_outputs))
        shap_block(block, *walk, rules, depth, True, part)
        out[at][:, used[:, None], used] = part.reshape(len(block), len(used), len(used), n_outputs)

    _each_block(trees, X, cover, run)
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


def _each_block(trees: Trees, X: Any, cover: Array, task: Callable[[Array, Walk, Array, slice], None]) -> None:
    """Run ``task(rows, walk, used, place)`` on blocks of rows; only the columns that the trees test are copied."""
    X = X.tocsr() if scipy.sparse.issparse(X) else X
    used, codes = np.unique(trees.feature, return_inverse=True)
    codes = codes - int(used[0] < 0)  # leaves have −1
    used = used[used >= 0]
    walk = (trees.roots, _stops(trees), codes.astype(np.int32), trees.threshold, trees.left, trees.missing_left,
            trees.category, trees.bitsets, trees.value, cover)  # fmt: skip

    def run(start: int, stop: int) -> None:
        task(_columns(X[start:stop], used), walk, used, slice(start, stop))

    each_block(run, X.shape[0], _BLOCK_ROWS)


def _columns(X: Any, used: Array) -> Array:
    part = X[:, used].toarray() if scipy.sparse.issparse(X) else X[:, used]
    return np.array(part, dtype=np.float64, order="C")
