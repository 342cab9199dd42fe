"""What follows from the tables of a network and is kept as long as they are: junction trees by what is observed."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection
from threading import Lock
from typing import Any

from corollary.core.derived import Derived
from corollary.core.graphical.tables import TableNetwork
from corollary.solvers.graphical.exact.junction_tree import JunctionTree

MOST_TREES = 64
MOST_NUMBERS = 2**22  # of all trees that are kept, together: 32 MiB


class CompiledNetwork:
    """A network of tables with the junction trees of earlier queries."""

    def __init__(self, network: TableNetwork) -> None:
        self.network = network
        self._trees: OrderedDict[Any, JunctionTree] = OrderedDict()
        self._lock = Lock()

    def tree(
        self, observed: Collection[int], wanted: Collection[int] | None = None, *, together: bool = False
    ) -> JunctionTree:
        """The tree for this query, as made earlier if there was one like it."""
        key = frozenset(observed), None if wanted is None else frozenset(wanted), together
        with self._lock:
            if key in self._trees:
                self._trees.move_to_end(key)
                return self._trees[key]
        tree = JunctionTree.of(self.network, sorted(observed), wanted, together=together)
        with self._lock:
            self._trees[key] = tree
            while len(self._trees) > MOST_TREES or sum(each.size for each in self._trees.values()) > MOST_NUMBERS:
                self._trees.popitem(last=False)
        return tree


COMPILED: Derived[CompiledNetwork] = Derived()
