"""Which leaf of a growing tree is split next, and how several threads split several leaves at once.

Threads that share every node wait for each other at every split. Here each takes a whole node: the most promising that
no other thread has taken, before it is known whether that node will be split at all. Splits join the tree in the order
in which one thread would make them, so the tree is the same; a split that never joins has only cost time.
"""

from __future__ import annotations

import heapq
import threading
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from corollary.core.parallel import together
from corollary.core.types import Array


@dataclass
class Node:
    """A node while it grows. Segment s of its rows is ``rows[starts[s]:stops[s]]``, for each thread s."""

    depth: int
    starts: list[int]
    stops: list[int]
    g: float
    h: float
    count: int
    low: float = -np.inf
    high: float = np.inf
    groups: tuple[frozenset[int], ...] | None = None
    number: int = 0  # in the tree
    histogram: Array | None = None
    split: Array | None = None
    left_codes: Array | None = None
    children: tuple[int, int] | None = None
    rank: float = 0.0  # the least is split first
    pair: list[Node] | None = None  # its children, from when they are known, though they may never join the tree


class Frontier:
    """The nodes of a tree so far, and the queue of leaves that are worth splitting."""

    def __init__(self, root: Node, max_leaves: int) -> None:
        self.nodes = [root]
        self.queue: list[tuple[float, int, Node]] = []
        self.splits_left = max_leaves - 1

    def push(self, node: Node) -> None:
        """Queue a leaf that is worth splitting; equal ones in the order of their numbers."""
        heapq.heappush(self.queue, (node.rank, node.number, node))

    def pop(self) -> Node | None:
        """The next leaf to split, or None when the tree is finished."""
        return heapq.heappop(self.queue)[-1] if self.queue and self.splits_left > 0 else None

    def accept(self, node: Node, worth: list[bool]) -> None:
        """The children of a node join the tree."""
        assert node.pair is not None
        first = len(self.nodes)
        node.children = (first, first + 1)
        self.splits_left -= 1
        for child, splits in zip(node.pair, worth, strict=True):
            child.number = len(self.nodes)
            self.nodes.append(child)
            if splits:
                self.push(child)

    def split_apart(self, split: Callable[[Node, int], list[bool]], workers: int) -> None:
        """Finish the tree: ``split(node, worker)`` sets ``node.pair`` and says which of the two are worth splitting."""
        race = _Race(self, split)
        together(race.work, workers)


class _Race:
    """Threads over a frontier. Everything but ``split`` happens under one lock."""

    def __init__(self, frontier: Frontier, split: Callable[[Node, int], list[bool]]) -> None:
        self.frontier, self.split = frontier, split
        self.changed = threading.Condition()
        self.open = [(rank, i, node) for i, (rank, _, node) in enumerate(sorted(frontier.queue))]
        self.pushed = len(self.open)
        self.begun: set[int] = set()
        self.worth: dict[int, list[bool]] = {}  # of the splits that are done, by node
        self.ahead = 0  # splits begun that have not joined the tree
        self.failed = False

    def work(self, worker: int) -> None:
        try:
            while (node := self._take()) is not None:
                self._put(node, self.split(node, worker))
        except BaseException:
            with self.changed:
                self.failed = True
                self.changed.notify_all()
            raise

    def _take(self) -> Node | None:
        """A leaf that no thread has taken: the next to be split, else the most promising, if more may be needed."""
        frontier = self.frontier
        with self.changed:
            while not self.failed and frontier.splits_left > 0 and frontier.queue:
                node = frontier.queue[0][-1]
                if id(node) in self.begun:  # another thread works on it: look ahead
                    while self.open and id(self.open[0][-1]) in self.begun:
                        heapq.heappop(self.open)
                    if not self.open or self.ahead >= frontier.splits_left:
                        self.changed.wait()
                        continue
                    node = heapq.heappop(self.open)[-1]
                self.begun.add(id(node))
                self.ahead += 1
                return node
            return None

    def _put(self, node: Node, worth: list[bool]) -> None:
        """A split is done: open its children, and let all splits whose turn has come join the tree."""
        frontier = self.frontier
        with self.changed:
            assert node.pair is not None
            self.worth[id(node)] = worth
            for child, splits in zip(node.pair, worth, strict=True):
                if splits:
                    heapq.heappush(self.open, (child.rank, self.pushed, child))
                    self.pushed += 1
            while frontier.splits_left > 0 and frontier.queue and id(frontier.queue[0][-1]) in self.worth:
                first = heapq.heappop(frontier.queue)[-1]
                frontier.accept(first, self.worth[id(first)])
                self.ahead -= 1
            self.changed.notify_all()
