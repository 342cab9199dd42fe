"""The growth of a forest, tree by tree: threads, callbacks, out-of-bag votes, and the evidence of it all."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from corollary.core.evidence import Certificate, Evidence, Kind, Status
from corollary.core.parallel import map_blocks
from corollary.core.types import Array
from corollary.solvers.trees.forest.growth import Grown, grow_tree
from corollary.solvers.trees.forest.limits import Limits
from corollary.solvers.trees.forest.out_of_bag import OutOfBag, leaf_votes
from corollary.solvers.trees.forest.rows import Rows
from corollary.solvers.trees.forest.storage import pack

TOLERANCE = 1e-8


class Run:
    """The trees of one fit, as they come."""

    def __init__(
        self, model: Any, rows: Rows, limits: Limits, seeds: Array, bag: OutOfBag | None,
        earlier: dict[str, Array] | None, began: float,
    ) -> None:  # fmt: skip
        self.model, self.rows, self.limits, self.seeds, self.bag = model, rows, limits, seeds, bag
        self.earlier, self.began = earlier, began
        self.first = 0 if earlier is None else len(earlier["sizes"])
        self.parts: list[Grown] = []
        self.status = Status.CONVERGED
        self.history: dict[str, list[float]] = {"iteration": [], "seconds": []}
        if bag is not None:
            self.history["OOB error"] = []

    def packed(self) -> dict[str, Array]:
        return pack(self.parts, self.seeds[: len(self.parts)], self.rows.binner, self.earlier)

    def watch(self, X: Any, answers: Array) -> None:
        """Grow all trees on threads, and tell callbacks after each."""
        model, rows = self.model, self.rows
        observe = model._observer(X, answers, model.n_estimators, lambda nodes: {"nodes_": nodes})

        def one(start: int, stop: int) -> Grown:
            seed, members = int(self.seeds[start]), model._needs_members
            with np.errstate(over="ignore", invalid="ignore"):  # squares of enormous targets
                return grow_tree(rows, self.limits, seed, outside=self.bag is not None, inside=members)

        try:
            for grown in map_blocks(one, len(self.seeds), 1):
                record = self._add(grown)
                if observe is not None and observe(record, self.packed) and len(self.parts) < len(self.seeds):
                    self.status = Status.BUDGET
                    break
        except KeyboardInterrupt:
            if not self.parts:
                raise
            self.status = Status.INTERRUPTED

    def _add(self, grown: Grown) -> dict[str, float]:
        nothing = np.empty(0, dtype=np.int32)
        self.parts.append(replace(grown, outside=nothing, outside_leaf=nothing))  # votes are counted at once
        record = {"iteration": float(self.first + len(self.parts)), "seconds": time.perf_counter() - self.began}
        if self.bag is not None:
            self.bag.add(grown.outside, grown.outside_leaf, leaf_votes(self.rows, grown))
            record["OOB error"] = self.bag.error()[0]
        for name, value in record.items():
            self.history[name].append(value)
        missing = 1.0 - (self.first + len(self.parts)) / self.model.n_estimators
        return record | {"objective": record.get("OOB error", float("nan")), "gap": missing}

    def evidence(self) -> Evidence:
        """The impurity of every root is accounted for by its splits and leaves, and all trees are there."""
        parts, n_trees = self.parts, self.first + len(self.parts)
        missing = 1.0 - n_trees / self.model.n_estimators
        imbalance = max((part.imbalance for part in parts), default=0.0)
        if imbalance > TOLERANCE and self.status is Status.CONVERGED:
            self.status = Status.STALLED
        facts = {"trees": float(n_trees)}
        if parts:
            facts["leaves per tree"] = float(np.mean([len(part.mass) for part in parts]))
            facts["depth"] = float(max(part.depth for part in parts))
            facts["share of rows in a tree's sample"] = float(np.mean([part.coverage for part in parts]))
        notes: tuple[str, ...] = ()
        if self.bag is not None:
            facts["OOB error"], facts["standard error"] = self.bag.error()
            without = int((~self.bag.judged & (self.rows.weights > 0)).sum())
            facts["rows without an OOB vote"] = float(without)
            if without:
                notes = (f"{without} rows are in the sample of every tree, so they have no out-of-bag prediction.",)
        return Evidence(
            status=self.status,
            certificate=Certificate(
                Kind.CHECKED, "impurity out of balance or trees missing", max(imbalance, missing), TOLERANCE
            ),
            solver="forest of binned trees",
            n_iter=len(parts),
            seconds=time.perf_counter() - self.began,
            history=self.history,
            facts=facts,
            notes=notes,
        )
