"""Exact inference in a tree of cliques: all marginals in one calibration, many rows of findings with one tree.

The tree depends on which variables are observed, not on what was found: findings fix axes of the tables, so observed
variables are in no clique, and variables on which nothing asked for depends are left out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from math import prod

import numpy as np

from corollary._compiled.graphical.junction_tree import infer
from corollary.core.graphical.tables import TableNetwork
from corollary.core.parallel import each_block
from corollary.core.types import Array
from corollary.solvers.graphical.exact.cliques import CliqueTree, best_order, clique_tree
from corollary.solvers.graphical.exact.cost import BEYOND, SAMPLING, TOGETHER, Cost
from corollary.solvers.graphical.exact.ordering import bits, joined

ROWS = 2048  # of a block, which a thread works on with tables of its own
SHARED = 1 << 20  # entries of tables of which threads do not each get their own


def plan_tree(
    network: TableNetwork,
    observed: Collection[int] = (),
    wanted: Collection[int] | None = None,
    *,
    together: bool = False,
) -> tuple[CliqueTree, Cost, list[int]]:
    """(the tree of cliques, its cost, variables that matter); ``together`` keeps what is wanted in one clique."""
    size, seen = network.size, set(observed)
    kept = list(range(size)) if wanted is None else sorted(network.dag.ancestors([*wanted, *observed]))
    free = bits(v for v in kept if v not in seen)
    families = [bits(network.family(v)) & free for v in kept]
    asked = [v for v in (kept if wanted is None else wanted) if v not in seen] if together else []
    near = joined([*families, bits(asked)], size)
    for v in range(size):
        if not free >> v & 1:
            near[v] = -1
    tree = clique_tree(best_order(near, network.cards, asked, network.order), bits(asked))
    return tree, Cost.of(tree, network.cards), kept


def tree_cost(
    network: TableNetwork,
    observed: Collection[int] = (),
    wanted: Collection[int] | None = None,
    *,
    together: bool = False,
) -> Cost:
    """The cost of ``plan_tree``; if no machine holds what is wanted together, of that table alone, without a plan."""
    if together:
        asked = set(range(network.size) if wanted is None else wanted) - set(observed)
        answer = Cost.of_table(network.cards[v] for v in asked)
        if answer.entries > BEYOND:
            return answer
    return plan_tree(network, observed, wanted, together=together)[1]


@dataclass(frozen=True)
class JunctionTree:
    """A compiled tree: what ``_compiled/graphical/junction_tree.py`` reads, and which answers lie where."""

    tree: CliqueTree
    cost: Cost
    tables: Array  # of the network, which has them once for all of its trees
    cliques: Array
    factors: Array
    numbers: Array
    wanted: Array
    answers: dict[int, slice]  # variable -> its place among the answers
    calibrate: bool
    width: int  # numbers of an answer

    @classmethod
    def of(
        cls,
        network: TableNetwork,
        observed: Collection[int] = (),
        wanted: Collection[int] | None = None,
        *,
        together: bool = False,
    ) -> JunctionTree:
        """The tree for marginals of ``wanted`` variables (None: of all) given findings about the observed ones.

        With ``together`` the answer is their joint table, axes in increasing order, from one pass to the root.
        MemoryError if it would not fit into memory.
        """
        tree, cost, kept = plan_tree(network, observed, wanted, together=together)
        cost.check(TOGETHER if together else SAMPLING)
        numbers: list[int] = []
        rows = _clique_rows(tree, network.cards, numbers)
        factors = _factor_rows(network, tree, kept, set(observed), rows, numbers)
        asked = [v for v in (range(network.size) if wanted is None else sorted(set(wanted))) if v not in set(observed)]
        places = _joint_row(tree, asked, network.cards) if together else _marginal_rows(tree, asked, network.cards)
        width, answers = 0, {}
        for v, place in zip(asked if not together else asked[:1], places, strict=False):
            place.append(width)
            answers[v] = slice(width, width + place[2])
            width += place[2]
        return cls(
            tree, cost, network.flat, _matrix(rows, 8), _matrix(factors, 5), np.array(numbers, dtype=np.int64),
            _matrix(places, 5), answers, bool(asked) and not together, width,
        )  # fmt: skip

    @property
    def size(self) -> int:
        """Numbers that a tree is kept with, beside the tables of the network."""
        return int(self.cliques.size + self.factors.size + self.numbers.size + self.wanted.size)

    def run(self, codes: Array) -> tuple[Array, Array]:
        """(answers, log P(findings)) of rows of states, of which those of observed variables are read.

        Where findings are impossible the log is −∞ and the answers are zero.
        """
        codes = np.ascontiguousarray(codes, dtype=np.int64)
        rows = len(codes)
        answers, log_evidence = np.zeros((rows, max(self.width, 1))), np.empty(rows)
        entries = int(self.cliques[-1, 2] + self.cliques[-1, 3]) if len(self.cliques) else 0
        messages = int((self.cliques[:, 5] + self.cliques[:, 6]).max(initial=0))
        back, axes = int(self.cliques[:, 6].max(initial=1)), max(map(len, self.tree.cliques), default=1)

        def block(start: int, stop: int) -> None:
            infer(
                start, stop, self.calibrate, self.cliques, self.factors, self.wanted, self.numbers, self.tables, codes,
                np.empty(entries), np.empty(messages), np.empty(back), np.empty(axes, dtype=np.int64), answers,
                log_evidence,
            )  # fmt: skip

        if rows <= ROWS or entries > SHARED:
            block(0, rows)
        else:
            each_block(block, rows, ROWS)
        return answers[:, : self.width], log_evidence


def _matrix(rows: list[list[int]], width: int) -> Array:
    return np.array(rows, dtype=np.int64).reshape(len(rows), width)


def _strides(variables: Iterable[int], cards: tuple[int, ...]) -> dict[int, int]:
    """How far apart neighbouring states of each variable are in a table with these axes."""
    found, step = {}, 1
    for variable in reversed(tuple(variables)):
        found[variable] = step
        step *= cards[variable]
    return found


def _clique_rows(tree: CliqueTree, cards: tuple[int, ...], numbers: list[int]) -> list[list[int]]:
    rows, first, sent = [], 0, 0
    for clique, shared in zip(tree.cliques, tree.shared, strict=True):
        axis = len(numbers)
        numbers.extend(cards[v] for v in clique)
        size, common = prod([cards[v] for v in clique]), prod([cards[v] for v in clique[:shared]])
        rows.append([axis, len(clique), first, size, -1, sent, common, 0])
        first, sent = first + size, sent + common
    for c, parent in enumerate(tree.parent):
        if parent >= 0:
            strides = _strides(tree.cliques[c][: tree.shared[c]], cards)
            rows[c][4], rows[c][7] = parent, len(numbers)
            numbers.extend(strides.get(v, 0) for v in tree.cliques[parent])
    return rows


def _factor_rows(
    network: TableNetwork, tree: CliqueTree, kept: list[int], seen: set[int], rows: list[list[int]], numbers: list[int]
) -> list[list[int]]:
    """Each table goes to the clique from which the first of its variables is summed out: that holds them all."""
    begins = np.concatenate([[0], np.cumsum([table.size for table in network.tables])]).tolist()
    found = []
    for v in kept:
        strides = _strides(network.family(v), network.cards)
        homes = [tree.home[member] for member in strides if member not in seen]
        clique, stride = min(homes, default=-1), len(numbers)
        if clique >= 0:
            numbers.extend(strides.get(member, 0) for member in tree.cliques[clique])
        finding = len(numbers)
        for member, step in strides.items():
            if member in seen:
                numbers.extend((member, step))
        found.append([clique, begins[v], stride, finding, (len(numbers) - finding) // 2])
    return found


def _marginal_rows(tree: CliqueTree, asked: list[int], cards: tuple[int, ...]) -> list[list[int]]:
    """Where each variable is read off: in the smallest clique that has it."""
    sizes = [prod([cards[v] for v in clique]) for clique in tree.cliques]
    best: dict[int, int] = {}
    for c, clique in enumerate(tree.cliques):
        for v in clique:
            if v not in best or sizes[c] < sizes[best[v]]:
                best[v] = c
    rows = []
    for v in asked:
        clique = tree.cliques[best[v]]
        after = prod([cards[other] for other in clique[clique.index(v) + 1 :]])
        rows.append([best[v], sizes[best[v]] // (cards[v] * after), cards[v], after])
    return rows


def _joint_row(tree: CliqueTree, asked: list[int], cards: tuple[int, ...]) -> list[list[int]]:
    """The joint table of what is wanted: its variables are the first ones of a root."""
    if not asked:
        return []
    root = next(
        c for c, clique in enumerate(tree.cliques) if tree.parent[c] < 0 and list(clique[: len(asked)]) == asked
    )
    wanted = prod([cards[v] for v in asked])
    return [[root, 1, wanted, prod([cards[v] for v in tree.cliques[root]]) // wanted]]
