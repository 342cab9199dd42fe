"""Rounds of boosting on one table: what the kernel of a round is given, and its answers."""

from __future__ import annotations

from typing import Any

import numpy as np

from corollary._compiled.codes import SOFTMAX
from corollary._compiled.trees.boosting.books import HIGH, L1, L2, LEFT, LINES, LOW, RATE, ROWS, START, STOP
from corollary._compiled.trees.boosting.gradients import BLOCK
from corollary._compiled.trees.boosting.round import ADD, DERIVE, GROW, boost_round
from corollary.core.parallel import each_block, n_threads, run_team
from corollary.core.trees.binning import Binner
from corollary.core.types import Array
from corollary.solvers.trees.boosting.grown import Grown
from corollary.solvers.trees.boosting.memory import RoundMemory, Shape
from corollary.solvers.trees.boosting.objective import Objective
from corollary.solvers.trees.boosting.rules import HistogramRules

_FINE_ROWS = 8192  # up to here gradients keep 20 bits, beyond 12 bits and a dither


class Growth:
    """Grows the trees of a round for an objective, whose gradients and raw predictions it holds.

    ``sampled``: rounds may be given some of the rows only.
    """

    def __init__(
        self,
        words: Array,
        binner: Binner,
        objective: Objective,
        raw: Array,
        rules: HistogramRules,
        learning_rate: float,
        columns_per_node: float = 1.0,
        sampled: bool = False,
    ) -> None:
        (k, n), d = raw.shape, len(binner.n_bins)
        self.objective, self.raw = objective, raw
        self.gradient, self.hessian = np.empty((k, n)), np.empty((k, n))
        self.table = words, _layout(binner, rules.monotone), binner.groups
        groups = rules.interactions or ()
        starts = np.cumsum([0] + [len(group) for group in groups])
        self.members = starts, np.array([f for group in groups for f in sorted(group)], dtype=np.int64)
        fine, leaves = n <= _FINE_ROWS, _most_leaves(rules, n)
        bits = int(n).bit_length()
        chunk, shifts = (256, (35, 9)) if fine else (8192, (38, 14))
        levels = (2.0**20 - 1, 2.0**18 - 1) if fine else (4095.0, min(2047.0, 2.0 ** (62 - 2 * bits)))
        self.coding = np.array([*shifts, bits, chunk, not fine, binner.step, binner.width], dtype=np.int64)
        limits = (rules.min_rows, rules.min_hessian, rules.l1, rules.l2, rules.leaf_cost, rules.best_first)
        split = max(rules.min_split, 2 * rules.min_rows)
        further = (rules.smoothing, columns_per_node, learning_rate, objective.loss.self_concordant, *levels, split)
        self.rules = np.array([leaves, rules.max_depth, *limits, *further], dtype=np.float64)
        bound = rules.monotone is not None or rules.l1 > 0 or bool(groups) or columns_per_node < 1
        some_rows = sampled or not (objective.weights > 0).all()
        self.general = bound or some_rows or bool(binner.categorical.any())
        set_bits = int(binner.n_bins[binner.categorical].max(initial=1))
        shape = Shape(
            n=n, d=d, outputs=k, leaves=leaves, width=binner.width, lanes=64 // binner.step,
            set_words=-(-set_bits // 32), interactions=len(groups),
        )  # fmt: skip
        self.workers = shape.workers(n_threads())
        self.memory = RoundMemory.of(shape, self.workers)
        self.target = self._target(objective, raw, self.gradient, self.hessian)

    @staticmethod
    def _target(objective: Objective, raw: Array, gradient: Array, hessian: Array) -> tuple[Any, ...]:
        losses = np.zeros(-(-len(objective.y) // BLOCK))
        y = np.ascontiguousarray(objective.y, dtype=np.float64)
        return objective.code, y, objective.weights, raw, gradient, hessian, losses

    def derive(self) -> float:
        """Gradients and curvatures at the raw predictions; returns the mean loss."""
        return self._derive(self.objective, self.target)

    def loss_of(self, objective: Objective, raw: Array) -> float:
        """The mean loss of other rows."""
        return self._derive(objective, self._target(objective, raw, np.empty_like(raw), np.empty_like(raw)))

    def _derive(self, objective: Objective, target: tuple[Any, ...]) -> float:
        if objective.code < 0:
            return objective.derivatives(*target[3:6])
        nothing = np.empty(0, dtype=np.int32)
        self._run(DERIVE, target, nothing, np.empty(0, dtype=np.uint8), np.empty((0, 2), dtype=np.uint64))
        return objective.mean(target[6])

    def round(self, given: Array, used: Array, seeds: Array) -> tuple[Grown, float]:
        """The trees of a round, grown on the rows given, and the mean loss after it."""
        objective = self.objective
        whole_round = objective.newton and objective.code >= 0
        what = GROW | (ADD if objective.newton else 0) | (DERIVE if whole_round else 0)
        self._run(what, self.target, given, used, seeds)
        if not objective.newton:
            self._best_values()
            self._run(ADD, self.target, given, used, seeds)
        grown = Grown.of_round(*self.memory.trees)
        return grown, objective.mean(self.target[6]) if whole_round else self.derive()

    def _best_values(self) -> None:
        """What is exactly best for the rows of each leaf, where the loss has no reliable curvature."""
        (whole, sums, _, _, values, counts), rows = self.memory.trees, self.memory.of_sides[LINES][0, ROWS]
        nodes, (l1, l2, rate) = whole[0, : counts[0]], self.rules[[L1, L2, RATE]].tolist()
        leaves = np.flatnonzero(nodes[:, LEFT] < 0)

        def solve(first: int, end: int) -> None:
            for i in leaves[first:end]:
                best = self.objective.constant(rows[nodes[i, START] : nodes[i, STOP]], self.raw[0], l1, l2)
                values[0, i] = rate * min(max(best, sums[0, i, LOW]), sums[0, i, HIGH])

        each_block(solve, len(leaves), 1)

    def _run(self, what: int, target: tuple[Any, ...], given: Array, used: Array, seeds: Array) -> None:
        memory = self.memory
        # what is None is left out when the kernel is compiled, see ``_compiled/trees/boosting/books.py``
        some_rows = bool(what & GROW) and len(given) < self.raw.shape[1]
        general = True if self.general or some_rows else None
        several = True if target[0] == SOFTMAX else None
        shared = (self.table, self.members, self.coding, self.rules, used, given, seeds, target)
        trees = memory.of_sides, memory.of_threads, memory.trees
        run_team(boost_round, what, general, several, memory.sides, *shared, *trees, most=self.workers)


def _most_leaves(rules: HistogramRules, n: int) -> int:
    """Leaves that a tree can have at most."""
    return max(1, min(rules.max_leaves, n // max(1, rules.min_rows) + 1, 2 ** min(rules.max_depth, 31)))


def _layout(binner: Binner, monotone: Array | None) -> Array:
    """A row for each column, as in ``_compiled/trees/boosting/histogram.py``."""
    d = len(binner.n_bins)
    group = np.repeat(np.arange(len(binner.groups) - 1), np.diff(binner.groups))
    direction = np.zeros(d, dtype=np.int64) if monotone is None else monotone
    columns = (binner.n_bins, direction, binner.categorical, group, np.arange(d) - binner.groups[group])
    return np.column_stack(columns).astype(np.int64)
