"""What an exact query would cost, known before it runs."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from corollary.core.memory import check_memory
from corollary.solvers.graphical.exact.cliques import CliqueTree, entries

SAMPLING = (
    "ask with method='likelihood_weighting' and n_samples=100_000, which takes little memory and has standard errors "
    "of at most 0.0016 unless findings are unusual (the answer says), or with method='gibbs'; give more findings; or "
    "use a graph with fewer parents"
)


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

    def check(self) -> None:
        """MemoryError, with the numbers, if the machine does not have as many bytes."""
        check_memory(
            self.bytes,
            f"An exact answer needs tables of {self.entries:.3g} entries (treewidth {self.treewidth}) and",
            SAMPLING,
        )

    def __str__(self) -> str:
        return f"treewidth {self.treewidth}, {self.entries} table entries, {self.bytes / 1e6:.3g} MB"
