"""Leaves split by several threads at once make the tree that one thread makes."""

from __future__ import annotations

import heapq
import time

import numpy as np
import pytest

from corollary.core.parallel import threads
from corollary.solvers.trees.boosting.frontier import Frontier, Node


def _gain(path):
    """A number that depends on the place in the tree alone; sometimes a child promises more than its parent."""
    return float(np.random.default_rng([ord(step) for step in path] or [7]).exponential())


def _node(path):
    node = Node(depth=len(path), starts=[0], stops=[0], g=0.0, h=0.0, count=1)
    node.rank, node.path = -_gain(path), path
    return node


def _one_by_one(max_leaves):
    """The rule itself: always split the leaf with the largest gain."""
    queue, order = [(-_gain(""), 0, "")], [""]
    while queue and len(order) < 2 * max_leaves - 1:
        path = heapq.heappop(queue)[-1]
        for child in (path + "l", path + "r"):
            if _gain(child) > 0.3:
                heapq.heappush(queue, (-_gain(child), len(order), child))
            order.append(child)
    return order


@pytest.mark.parametrize("workers", [1, 2, 5])
@pytest.mark.parametrize("max_leaves", [2, 3, 17, 60])
def test_splits_join_the_tree_in_the_order_of_one_thread(workers, max_leaves):
    rng = np.random.default_rng(workers)
    pauses = rng.exponential(5e-4, size=10_000).tolist()

    def split(node, worker):
        time.sleep(pauses.pop())  # nobody finishes in the order in which they began
        node.pair = [_node(node.path + side) for side in "lr"]
        return [_gain(child.path) > 0.3 for child in node.pair]

    root = _node("")
    frontier = Frontier(root, max_leaves)
    frontier.push(root)
    with threads(workers):
        frontier.split_apart(split, workers)
    expected = _one_by_one(max_leaves)
    assert [node.path for node in frontier.nodes] == expected
    assert [node.number for node in frontier.nodes] == list(range(len(expected)))


def test_an_error_on_one_thread_stops_all():
    def split(node, worker):
        if len(node.path) == 3:
            raise ArithmeticError("out of luck")
        node.pair = [_node(node.path + side) for side in "lr"]
        return [True, True]

    root = _node("")
    frontier = Frontier(root, 100)
    frontier.push(root)
    with threads(3), pytest.raises(ArithmeticError, match="out of luck"):
        frontier.split_apart(split, 3)
