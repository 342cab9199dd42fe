"""What an exact query would cost, known before it runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod

from corollary.core.memory import check_memory, counted, in_bytes
from corollary.solvers.graphical.exact.cliques import CliqueTree, entries

SAMPLING = (
    "ask query(…, method='likelihood_weighting', n_samples=100_000), which takes little memory and has standard errors "
    "of at most 0.0016 unless findings are unusual (the answer says), or query(…, method='gibbs'); give more findings; "
    "or use a graph with fewer parents"
)
LIKELIEST = (
    "give more findings; ask for other variables together (for all of them it is often easier, since then nothing has "
    "to be summed out first); or ask for each by itself: query(…).most_likely()"
)
TOGETHER = "ask for fewer variables together, or without joint=True for each by itself"
BEYOND = 2**48  # entries of a table that no machine holds


@dataclass(frozen=True)
class Cost:
    """Of calibrating a tree of cliques: the largest clique has ``treewidth`` + 1 variables."""

    treewidth: int
    largest_clique: int  # entries of its table
    entries: int  # of all tables together
    bytes: int

    @classmethod
    def of(cls, tree: CliqueTree, cards: tuple[int, ...]) -> Cost:
        largest = max((prod([cards[v] for v in clique]) for clique in tree.cliques), default=1)
        total = entries(tree, cards)
        return cls(tree.width, largest, total, 8 * total)

    @classmethod
    def of_table(cls, sizes: Iterable[int]) -> Cost:
        """Of one table by itself, with these numbers of states: what a joint answer takes at least."""
        sizes = list(sizes)
        size = prod(sizes)
        return cls(max(len(sizes), 1) - 1, size, size, 8 * size)

    def check(self, instead: str = SAMPLING) -> None:
        """MemoryError, with the numbers, if the machine does not have as many bytes."""
        check_memory(
            self.bytes,
            f"An exact answer needs tables of {counted(self.entries)} entries (treewidth {self.treewidth}) and",
            instead,
        )

    def __str__(self) -> str:
        size = f"{self.bytes / 1e6:.3g} MB" if self.bytes < 1e9 else in_bytes(self.bytes)
        return f"treewidth {self.treewidth}, {counted(self.entries)} table entries, {size}"
