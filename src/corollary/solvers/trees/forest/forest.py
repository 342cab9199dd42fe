"""The growth of a forest in the common loop: threads grow trees, out-of-bag rows judge them, evidence of it all."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import replace
from typing import Any

import numpy as np

from corollary.core.evidence import Certificate, Evidence, Kind, carried_over
from corollary.core.membership import is_member
from corollary.core.parallel import map_blocks, stop_if_ended
from corollary.core.types import Array
from corollary.solvers.loop import Algorithm, Measure, Observer, Rules, run
from corollary.solvers.trees.check.exact import BOOKS, certificate
from corollary.solvers.trees.check.forest import GivenTree, search_forest
from corollary.solvers.trees.check.search import Findings
from corollary.solvers.trees.forest.beyond_sums import grow_exactly, needs_more_than_sums
from corollary.solvers.trees.forest.growth import ForestRules, grow_tree
from corollary.solvers.trees.forest.nodes import GrownTree
from corollary.solvers.trees.forest.out_of_bag import OutOfBag, coded_trees
from corollary.solvers.trees.forest.rows import BinnedRows
from corollary.solvers.trees.forest.storage import expand, pack

TOLERANCE = 1e-8
NEW_BOOKS = f"{BOOKS} of new trees"
_INLINE = 1 << 14  # rows · columns tried · depth of a tree below which a thread costs more than it saves


class ForestGrowth(Algorithm[int]):
    """Trees, one a step, while threads are a few trees ahead. The state is their number.

    The objective is what every tree lowers: the impurity of its leaves, in the mean over trees. ``seeds`` has one
    number for each tree, those of ``earlier`` (an earlier fit that this one goes on from) too; ``judged`` asks for
    out-of-bag votes, to which the first ``others`` trees, which drew from other rows, have none; ``members`` asks for
    the rows of each leaf.
    """

    name = "binned trees"
    kind = Kind.CHECKED

    def __init__(
        self, rows: BinnedRows, rules: ForestRules, seeds: Array, *, earlier: dict[str, Array] | None, others: int,
        judged: bool, members: bool,
    ) -> None:  # fmt: skip
        self.rows, self.rules, self.seeds, self.earlier, self.members = rows, rules, seeds, earlier, members
        self.bag = OutOfBag(rows) if judged else None
        self.exactly = not rows.n_classes and needs_more_than_sums(rules.criterion, rows.y.shape[1])
        self.begun, self.impurity, self.imbalance = 0, 0.0, 0.0
        self.found: Findings | None = None
        self.parts: list[GrownTree] = []
        self.rooms: list[Any] = []  # memory of trees that are grown, for those to come
        if earlier is not None:
            trees = expand(earlier, rules.criterion, classes=rows.n_classes > 0)
            self.begun = trees.n_trees
            kept = np.add.reduceat(np.where(trees.is_leaf, trees.impurity * trees.weight, 0.0), trees.roots)
            self.impurity = float((kept / trees.weight[trees.roots]).sum())
            if self.bag is not None:
                self.bag.add_stored(earlier, trees, others)
        n, wanted = rows.n, len(seeds) - self.begun
        if self.exactly:
            _ = rows.numbers  # before threads ask for it at once
        inline = n * min(rules.max_features, len(rows.codes)) * math.log2(n + 1) < _INLINE
        self.coming: Any = self._one_by_one(wanted) if inline else map_blocks(self._grow, wanted, 1)

    def _one_by_one(self, count: int) -> Iterator[GrownTree]:
        for t in range(count):
            stop_if_ended()
            yield self._grow(t, t + 1)

    def _grow(self, start: int, stop: int) -> GrownTree:
        from corollary.solvers.trees.forest.room import Room

        if self.exactly:
            seed, wanted = (
                int(self.seeds[self.begun + start]),
                {"outside": self.bag is not None, "inside": self.members},
            )
            return grow_exactly(self.rows, self.rules, seed, **wanted).packed
        seed, room = int(self.seeds[self.begun + start]), None
        with suppress(IndexError):
            room = self.rooms.pop()
        room = Room(self.rows) if room is None else room
        with np.errstate(over="ignore", invalid="ignore"):  # squares of enormous targets
            wanted = {"outside": self.bag is not None, "inside": self.members}
            grown = grow_tree(self.rows, self.rules, seed, room=room, **wanted).packed
        self.rooms.append(room)
        return grown

    def init(self) -> int:
        return self.begun

    def step(self, state: int) -> int:
        grown = next(self.coming)
        if self.bag is not None:
            self.bag.add_grown(grown)
        self.impurity += grown.impurity
        self.imbalance = max(self.imbalance, grown.imbalance)
        nothing = np.empty(0, dtype=np.int32)
        self.parts.append(replace(grown, outside=nothing, outside_leaf=nothing))  # votes are counted at once
        return state + 1

    def measure(self, state: int) -> Measure | None:
        if state == 0:
            return None
        more = {} if self.bag is None else {"OOB error": self.bag.error()[0]}
        return Measure(self.impurity / state, done=state >= len(self.seeds), more=more)

    def snapshot(self, state: int) -> dict[str, Array]:
        """The trees as they are stored."""
        parts = self.parts[: state - self.begun]
        if not parts:
            assert self.earlier is not None
            return self.earlier
        return pack(parts, self.seeds[self.begun : state], self.rows.binner, self.earlier)

    def settle(self, state: int) -> int:
        return self.begun + len(self.parts)

    def finish(self, state: int, measure: Measure) -> tuple[int, Measure]:
        """Nodes of a few of the trees are searched again."""
        parts = self.parts[: state - self.begun]
        if parts and not is_member():
            self.found = search_forest(self.rows, self.rules, len(parts), self._given)
        return state, measure

    def _given(self, chosen: list[int]) -> list[GivenTree]:
        """Some of the new trees as they will predict, with the rows that they drew."""
        rows, seeds = self.rows, self.seeds[self.begun :][chosen]
        kept = pack([self.parts[t] for t in chosen], seeds, rows.binner, None)
        with np.errstate(over="ignore", invalid="ignore"):  # impurities of enormous targets, which are not read
            trees = expand(kept, self.rules.criterion, classes=rows.n_classes > 0)
        given = []
        for t, (coded, seed) in enumerate(zip(coded_trees(trees, kept), map(int, seeds), strict=True)):
            mass = rows.mass(rows.drawn(seed) if rows.draws else None)
            inside = np.flatnonzero(mass > 0).astype(np.int32)
            leaves = coded.walk(rows.codes, inside, rows.binner.n_bins, rows.binner.categorical)
            given.append(GivenTree(trees.tree(t), seed, mass, inside, leaves))
        return given

    def certify(self, measure: Measure, tol: float) -> Certificate:
        """In trees that were searched no node has a better split; in every tree gains and what is left add up."""
        if self.found is None:  # no tree was grown, or this is one of many forests
            return Certificate(self.kind, NEW_BOOKS, self.imbalance, TOLERANCE)
        return certificate(self.found, self.imbalance, greedy=False, tolerance=TOLERANCE)


def grow_forest(growth: ForestGrowth, observe: Observer | None) -> tuple[dict[str, Array], Evidence]:
    """The trees as they are stored, and the evidence."""
    with closing(growth.coming):  # threads must not go on with further trees when the fit was stopped
        found = run(growth, Rules(len(growth.seeds), observe=observe))
    facts, parts = {"trees": float(found.state)}, growth.parts
    if parts:
        facts["leaves per tree"] = float(np.mean([len(part.mass) for part in parts]))
        facts["depth"] = float(max(part.depth for part in parts))
        facts["share of rows in a tree's sample"] = float(np.mean([part.coverage for part in parts]))
    notes = carried_over(growth.begun, found.state, "trees")
    notes += () if growth.found is None else (growth.found.brief,)
    if growth.found is not None:
        facts["nodes searched again"] = float(growth.found.drawn)
        facts["nodes that could be searched over all columns that they tried"] = float(growth.found.small)
        if growth.found.searched:
            facts["share of such nodes that may have a better split (95 %)"] = growth.found.share
    if growth.bag is not None:
        facts["OOB error"], facts["standard error"] = growth.bag.error()
        without = int((~growth.bag.judged & (growth.rows.weights > 0)).sum())
        facts["rows without an OOB vote"] = float(without)
        if without:
            notes += (f"{without} rows are in the sample of every tree, so they have no out-of-bag prediction.",)
    return growth.snapshot(found.state), found.evidence(facts=facts, notes=notes)


def nothing_grown(before: Evidence, n_trees: int) -> Evidence:
    """The evidence of a fit that went on from ``before`` and had no tree to add."""
    nothing = Certificate(Kind.CHECKED, NEW_BOOKS, 0.0, TOLERANCE)
    return replace(before, certificate=nothing, notes=carried_over(n_trees, n_trees, "trees"))
