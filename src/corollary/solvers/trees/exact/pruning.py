"""Cost-complexity pruning: cut off the split that is least worth its leaves, again and again."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import fields, replace

import numpy as np

from corollary.core.trees import Trees
from corollary.core.types import Array


def pruning_path(trees: Trees) -> tuple[Array, Array]:
    r"""(alphas, impurity of the leaves that remain): the first is the whole tree, the last its root.

    A split is worth :math:`\alpha = (R(t) - R(T_t)) / (|T_t| - 1)`, with R the impurity times the share of the weight,
    T_t the leaves below it and \|T_t\| their number. Cost: O(nodes · depth · log nodes).
    """
    left = float((trees.impurity * trees.weight)[trees.is_leaf].sum() / trees.weight[0])
    alphas, impurities = [0.0], [left]
    for _, alpha, rise in _weakest(trees):
        left += rise
        alphas.append(alpha)
        impurities.append(left)
    return np.array(alphas), np.array(impurities)


def prune(trees: Trees, alpha: float) -> Trees:
    """The smallest subtree of a tree that minimises R + ``alpha`` · leaves."""
    cut = np.zeros(trees.node_count, dtype=bool)
    for node, worth, _ in _weakest(trees):
        if worth > alpha:
            break
        cut[node] = True
    return keep_above(trees, cut)


def _weakest(trees: Trees) -> Iterator[tuple[int, float, float]]:
    """Inner nodes in the order in which they become leaves, with their α and by how much R rises."""
    own = trees.impurity * trees.weight / trees.weight[0]
    below, leaves = own.copy(), np.ones(trees.node_count, dtype=np.int64)
    parent = np.full(trees.node_count, -1)
    inner = [int(t) for t in np.flatnonzero(~trees.is_leaf)]
    for t in reversed(inner):  # children come after their parents
        a = int(trees.left[t])
        below[t], leaves[t] = below[a] + below[a + 1], leaves[a] + leaves[a + 1]
        parent[a] = parent[a + 1] = t
    worth = np.zeros(trees.node_count)
    for t in inner:
        worth[t] = max((own[t] - below[t]) / (leaves[t] - 1), 0.0)
    heap = [(worth[t], t) for t in inner]
    heapq.heapify(heap)
    gone = np.zeros(trees.node_count, dtype=bool)
    while heap:
        alpha, t = heapq.heappop(heap)
        if gone[t] or alpha != worth[t]:  # cut off with an ancestor, or worth something else by now
            continue
        rise, fewer = own[t] - below[t], leaves[t] - 1
        yield t, float(alpha), float(rise)
        _mark_below(trees, t, gone)
        at = parent[t]
        while at >= 0:
            below[at] += rise
            leaves[at] -= fewer
            worth[at] = max((own[at] - below[at]) / (leaves[at] - 1), 0.0)
            heapq.heappush(heap, (worth[at], int(at)))
            at = parent[at]


def _mark_below(trees: Trees, node: int, gone: Array) -> None:
    """Mark a node and all inner nodes below it that are not marked yet."""
    stack = [node]
    while stack:
        t = stack.pop()
        if trees.feature[t] >= 0 and not gone[t]:
            gone[t] = True
            stack += [int(trees.left[t]), int(trees.left[t]) + 1]


def keep_above(trees: Trees, cut: Array) -> Trees:
    """The tree in which the nodes ``cut`` are leaves and nothing is below them."""
    kept = np.zeros(trees.node_count, dtype=bool)
    kept[0] = True
    inner = ~trees.is_leaf & ~cut
    for t in np.flatnonzero(inner):
        if kept[t]:
            kept[trees.left[t] : trees.left[t] + 2] = True
    inner &= kept
    number = np.cumsum(kept) - 1
    part = {f.name: getattr(trees, f.name)[kept].copy() for f in fields(trees) if f.name not in ("roots", "bitsets")}
    leaf = ~inner[kept]
    part["left"] = np.where(leaf, -1, number[part["left"]]).astype(np.int32)
    part["feature"][leaf], part["threshold"][leaf], part["gain"][leaf] = -1, np.nan, 0.0
    part["missing_left"][leaf] = False
    part["category"][leaf] = -1
    used = part["category"] >= 0
    bitsets = trees.bitsets[part["category"][used]]
    part["category"][used] = np.arange(int(used.sum()))
    return replace(trees, bitsets=bitsets, **part)
