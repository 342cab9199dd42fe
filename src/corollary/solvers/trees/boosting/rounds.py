"""Gradient boosting: add, one after another, trees that each take a Newton step on the loss.

With raw predictions F, a tree is grown on the gradients ∂ℓ/∂F and curvatures ∂²ℓ/∂F² of the rows, and each leaf then
gets the step that is best for its own rows, from sums that do not depend on the number of threads. Losses whose
curvature is zero or unreliable are grown with curvature one, and their leaves are set by exact minimisation.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any

import numpy as np

from corollary._compiled.trees.boosting import histogram
from corollary._compiled.trees.boosting.split import CATEGORICAL, FEATURE, GAIN, MISSING_LEFT, leaf_value
from corollary.core.binning import Binner
from corollary.core.evidence import Status
from corollary.core.parallel import each_block, map_blocks, n_threads, together
from corollary.core.trees import Trees
from corollary.core.types import Array
from corollary.solvers.trees.boosting.frontier import Node
from corollary.solvers.trees.boosting.objective import Objective
from corollary.solvers.trees.boosting.tree import Grower, Grown, Rules

_BLOCK = 1 << 16
_FIXED_BITS = 61  # sums of leaves are whole numbers of this many bits


@dataclass(frozen=True)
class Plan:
    """How to boost."""

    learning_rate: float = 0.1
    n_trees: int = 100
    rules: Rules = field(default_factory=Rules)
    subsample: float = 1.0
    columns_per_tree: float = 1.0
    columns_per_node: float = 1.0
    top_rate: float | None = None  # gradient-based one-sided sampling: keep these, draw ``other_rate`` of the rest
    other_rate: float = 0.1
    patience: int | None = None
    tol: float = 1e-7


@dataclass
class Boosted:
    """Trees (output k of round r is tree r · outputs + k) and how the losses went."""

    start: Array
    trees: list[Trees]
    history: dict[str, list[float]]
    status: Status
    best_round: int
    seconds: float


class Booster:
    """The loop. ``validation`` is (X, objective) of rows that only judge."""

    def __init__(
        self,
        codes: Array,
        binner: Binner,
        objective: Objective,
        plan: Plan,
        random: np.random.RandomState,
        validation: tuple[Any, Objective] | None = None,
    ) -> None:
        self.codes, self.binner, self.objective, self.plan = codes, binner, objective, plan
        self.random, self.validation = random, validation
        side_by_side = min(n_threads(), objective.n_outputs)
        self._idle: SimpleQueue[Grower] = SimpleQueue()
        for _ in range(side_by_side):
            self._idle.put(Grower(codes, binner, plan.rules, threads=1 if side_by_side > 1 else n_threads()))
        self.rows = np.flatnonzero(objective.weights > 0).astype(np.int32)
        self.columns = np.arange(codes.shape[1])

    def run(
        self,
        start: Array,
        earlier: list[Trees],
        raw: Array | None = None,
        observe: Callable[[dict[str, float], Callable[[], list[Trees]]], bool] | None = None,
    ) -> Boosted:
        """Boost from ``start`` and the trees there are already, whose predictions on the training rows are ``raw``."""
        began = time.perf_counter()
        objective, plan = self.objective, self.plan
        n, k = len(objective.y), objective.n_outputs
        raw = np.repeat(start[:, None], n, axis=1) if raw is None else raw
        raw_val = None
        if self.validation is not None:
            raw_val = np.repeat(start[:, None], self.validation[0].shape[0], axis=1)
            for i, tree in enumerate(earlier):
                raw_val[i % k] += tree.predict_sum(self.validation[0])[:, 0]
        gradient, hessian = np.empty((k, n)), np.empty((k, n))
        trees, status = list(earlier), Status.CONVERGED
        history: dict[str, list[float]] = {"iteration": [], "objective": [], "seconds": []}
        if raw_val is not None:
            history["validation loss"] = []
        best, best_round = np.inf, len(earlier) // k
        try:
            for iteration in range(len(earlier) // k, plan.n_trees + 1):
                record = {"iteration": float(iteration), "objective": objective.derivatives(raw, gradient, hessian)}
                if raw_val is not None:
                    record["validation loss"] = self._judge(raw_val)
                record["seconds"] = time.perf_counter() - began
                for name, value in record.items():
                    history[name].append(value)
                if not np.isfinite(record["objective"]):
                    trees, status = trees[: max(len(trees) - k, 0)], Status.RISING
                    best_round = min(best_round, len(trees) // k)
                    break
                watched = record.get("validation loss", record["objective"])
                if watched < best - plan.tol or plan.patience is None:
                    best, best_round = watched, iteration
                elif iteration - best_round >= plan.patience:
                    break
                if iteration == plan.n_trees:
                    break
                if observe is not None and observe(record, trees.copy):
                    status = Status.BUDGET
                    break
                trees += self._round(iteration, raw, raw_val, gradient, hessian)
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
            trees = trees[: len(trees) // k * k]
            best_round = min(best_round, len(trees) // k)
        if plan.patience is None:
            best_round = len(trees) // k
        return Boosted(start, trees[: best_round * k], history, status, best_round, time.perf_counter() - began)

    def _judge(self, raw_val: Array) -> float:
        assert self.validation is not None
        return self.validation[1].mean_loss(raw_val)

    def _round(self, iteration: int, raw: Array, raw_val: Array | None, gradient: Array, hessian: Array) -> list[Trees]:
        """One tree per output. Several outputs are grown side by side, one thread each, else threads share a tree."""
        rows, sampled = self._sample(iteration, gradient, hessian)
        columns = self._draw(self.columns, self.plan.columns_per_tree, self.random)
        seeds = self.random.randint(2**31 - 1, size=self.objective.n_outputs)  # chance is dealt before work is

        def one(start: int, stop: int) -> list[Trees]:
            return [
                self._grow(k, iteration, rows, columns, int(seeds[k]), sampled, raw, gradient, hessian)
                for k in range(start, stop)
            ]

        new = [tree for part in map_blocks(one, self.objective.n_outputs, 1) for tree in part]
        if raw_val is not None:
            assert self.validation is not None
            for k, tree in enumerate(new):
                raw_val[k] += tree.predict_sum(self.validation[0])[:, 0]
        return new

    def _grow(
        self,
        k: int,
        iteration: int,
        rows: Array,
        columns: Array,
        seed: int,
        sampled: bool,
        raw: Array,
        gradient: Array,
        hessian: Array,
    ) -> Trees:
        """Grow the tree of output k and add it to the raw predictions."""
        grower = self._idle.get()
        try:
            share, random = self.plan.columns_per_node, np.random.RandomState(seed)
            chooser = None if share >= 1.0 else lambda among: self._draw(among, share, random)
            # rounding depends on the number of the round, not on chance: two fits of the same data agree
            dither = iteration * self.objective.n_outputs + k
            grown = grower.grow(gradient[k], hessian[k], rows, columns, chooser, dither)
            values = self._leaf_values(grower, grown, k, raw, gradient, hessian)
            tree = self._as_trees(grown, values)
            if sampled:
                self._add_everywhere(grown, tree, raw[k])
            else:
                self._add(grower, grown, values, raw[k])
            return tree
        finally:
            self._idle.put(grower)

    def _sample(self, iteration: int, gradient: Array, hessian: Array) -> tuple[Array, bool]:
        """The rows of this round; with one-sided sampling, drawn rows stand for those left out."""
        plan, rows = self.plan, self.rows
        if plan.top_rate is not None and iteration * plan.learning_rate >= 1.0:
            size = np.abs(gradient[:, rows]).sum(axis=0)
            top = max(1, int(plan.top_rate * len(rows)))
            order = np.argpartition(-size, top - 1)
            rest = order[top:]
            drawn = self.random.choice(rest, min(len(rest), int(plan.other_rate * len(rows))), replace=False)
            if len(drawn):
                gradient[:, rows[drawn]] *= len(rest) / len(drawn)
                hessian[:, rows[drawn]] *= len(rest) / len(drawn)
            return rows[np.sort(np.concatenate([order[:top], drawn]))], True
        if plan.subsample < 1.0:
            size = max(1, int(plan.subsample * len(rows)))
            return rows[np.sort(self.random.choice(len(rows), size, replace=False))], True
        return rows, len(rows) < len(self.objective.y)

    def _draw(self, columns: Array, share: float, random: np.random.RandomState) -> Array:
        if share >= 1.0 or len(columns) < 2:
            return columns
        return np.sort(random.choice(columns, max(1, round(share * len(columns))), replace=False))

    def _leaf_values(self, grower: Grower, grown: Grown, k: int, raw: Array, gradient: Array, hessian: Array) -> Array:
        rules, leaves = self.plan.rules, grown.leaves
        if not self.objective.newton:
            values = np.empty(len(leaves))

            def solve(start: int, stop: int) -> None:
                for j in range(start, stop):
                    leaf = leaves[j]
                    v = self.objective.constant(_leaf_rows(grower, leaf), raw[k], rules.l1, rules.l2)
                    values[j] = min(max(v, leaf.low), leaf.high)

            each_block(solve, len(leaves), 1)
            return self.plan.learning_rate * values
        starts, stops = self._segments(leaves)
        bits = _FIXED_BITS - max(1, int(np.ceil(np.log2(len(gradient[k]) + 1))))
        scales = [float(np.ldexp(1.0, bits - int(np.frexp(m)[1]))) if m > 0 else 1.0 for m in grower.largest]
        sums = np.zeros((len(starts), 2, len(leaves)), dtype=np.int64)
        together(
            lambda s: histogram.leaf_sums(
                grower.rows, starts[s], stops[s], gradient[k], hessian[k], scales[0], scales[1], sums[s]
            ),
            len(starts),
        )
        g, h = sums.sum(axis=0) / np.array(scales)[:, None]
        found = (leaf_value(g[j], h[j], rules.l1, rules.l2, leaf.low, leaf.high) for j, leaf in enumerate(leaves))
        return _rounded(self._steps(np.fromiter(found, float, len(leaves))))

    def _steps(self, newton: Array) -> Array:
        """Newton's steps times the learning rate, no longer than what surely lowers the loss.

        Where |ℓ‴| ≤ ℓ″, a step s lowers the loss of a leaf by at least |g| s − h (eˢ − s − 1), which is greatest at
        s = log(1 + |g| / h). Usual steps are far shorter; in a leaf of rows that are nearly certain, one of them wrong,
        h is so small that Newton's would be absurd.
        """
        steps: Array = self.plan.learning_rate * newton
        if not self.objective.loss.self_concordant:
            return steps
        return np.copysign(np.minimum(np.abs(steps), np.log1p(np.abs(newton))), newton)

    def _segments(self, leaves: list[Node]) -> tuple[Array, Array]:
        return np.array([leaf.starts for leaf in leaves]).T.copy(), np.array([leaf.stops for leaf in leaves]).T.copy()

    def _add(self, grower: Grower, grown: Grown, values: Array, raw: Array) -> None:
        starts, stops = self._segments(grown.leaves)
        together(lambda s: histogram.add_to_leaves(grower.rows, starts[s], stops[s], values, raw), len(starts))

    def _add_everywhere(self, grown: Grown, tree: Trees, raw: Array) -> None:
        """Add a tree to all rows, those it was not grown on too, by walking their codes."""
        table = np.zeros((tree.node_count, self.binner.width), dtype=np.uint8)
        for node in grown.nodes:
            if node.left_codes is not None:
                table[node.number] = node.left_codes
        each_block(
            lambda a, b: histogram.walk_codes(
                self.codes[a:b], tree.feature, tree.left, table, tree.value[:, 0], raw[a:b]
            ),
            len(raw),
            _BLOCK,
        )

    def _as_trees(self, grown: Grown, values: Array) -> Trees:
        nodes, rules = grown.nodes, self.plan.rules
        n = len(nodes)
        feature, left = np.full(n, -1, dtype=np.int32), np.full(n, -1, dtype=np.int32)
        threshold, category = np.full(n, np.nan), np.full(n, -1, dtype=np.int32)
        missing_left, gain = np.zeros(n, dtype=bool), np.zeros(n)
        bitsets: list[Array] = []
        for i, node in enumerate(nodes):
            if node.children is None:
                continue
            split = node.split
            assert split is not None
            assert node.left_codes is not None
            f = int(split[FEATURE])
            feature[i], left[i], gain[i] = f, node.children[0], split[GAIN]
            missing_left[i] = bool(split[MISSING_LEFT])
            if split[CATEGORICAL]:
                category[i] = len(bitsets)
                bitsets.append(_bits(node.left_codes[: int(self.binner.n_bins[f])]))
            else:
                threshold[i] = self.binner.thresholds[f, int(split[2])]
        newton = [leaf_value(node.g, node.h, rules.l1, rules.l2, node.low, node.high) for node in nodes]
        value = self._steps(np.array(newton))[:, None]
        value[[leaf.number for leaf in grown.leaves], 0] = values
        words = max((len(row) for row in bitsets), default=1)
        packed = np.zeros((len(bitsets), words), dtype=np.uint32)
        for row, bits in enumerate(bitsets):
            packed[row, : len(bits)] = bits
        return Trees(
            roots=np.zeros(1, dtype=np.int32),
            feature=feature,
            threshold=threshold,
            left=left,
            missing_left=missing_left,
            category=category,
            bitsets=packed,
            value=value,
            weight=np.array([node.h for node in nodes]),
            count=np.array([node.count for node in nodes], dtype=np.int32),
            impurity=np.zeros(n),
            gain=gain,
        )


def _rounded(values: Array) -> Array:
    """To 44 bits, so that leaves that should be equal (of classes that mirror each other, say) are equal."""
    mantissa, exponent = np.frexp(values)
    return np.ldexp(np.rint(np.ldexp(mantissa, 44)), exponent - 44)


def _leaf_rows(grower: Grower, leaf: Node) -> Array:
    """A leaf's rows, ascending whatever the number of threads."""
    return np.concatenate([grower.rows[a:b] for a, b in zip(leaf.starts, leaf.stops, strict=True)])


def _bits(left_codes: Array) -> Array:
    """Flags as bits, 32 to a word, the first in the lowest bit."""
    padded = np.zeros(-(-len(left_codes) // 32) * 32, dtype=np.uint8)
    padded[: len(left_codes)] = left_codes
    return np.packbits(padded, bitorder="little").view("<u4").astype(np.uint32)
