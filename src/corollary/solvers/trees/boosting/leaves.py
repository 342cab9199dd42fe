"""What the leaves of a boosted tree answer, from sums that do not depend on the number of threads; the tree as arrays.

A leaf takes the Newton step of its rows. Where the loss has no reliable curvature it takes the number that is exactly
best for its rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corollary._compiled.trees.boosting import histogram
from corollary._compiled.trees.boosting.split import BIN, CATEGORICAL, FEATURE, GAIN, MISSING_LEFT, leaf_value
from corollary.core.binning import Binner
from corollary.core.parallel import each_block, together
from corollary.core.scaling import power_of_two
from corollary.core.trees import Trees
from corollary.core.types import Array
from corollary.solvers.trees.boosting.frontier import Node
from corollary.solvers.trees.boosting.objective import Objective
from corollary.solvers.trees.boosting.tree import Grower, GrownNodes, HistogramRules

_BLOCK = 1 << 16
_FIXED_BITS = 61  # sums of leaves are whole numbers of this many bits


@dataclass(frozen=True)
class Leaves:
    """How grown nodes become a tree that is added to the raw predictions."""

    objective: Objective
    rules: HistogramRules
    learning_rate: float
    binner: Binner

    def values(self, grower: Grower, leaves: list[Node], raw: Array, gradient: Array, hessian: Array) -> Array:
        """What each leaf adds to the raw predictions of one output."""
        if not self.objective.newton:
            return self.learning_rate * self._best(grower, leaves, raw)
        rules, (starts, stops) = self.rules, _segments(leaves)
        bits = _FIXED_BITS - max(1, int(np.ceil(np.log2(len(gradient) + 1))))
        g_scale, h_scale = scales = [float(np.ldexp(power_of_two(m), bits)) for m in grower.largest]
        sums = np.zeros((len(starts), 2, len(leaves)), dtype=np.int64)
        together(
            lambda s: histogram.leaf_sums(
                grower.rows, starts[s], stops[s], gradient, hessian, g_scale, h_scale, sums[s]
            ),
            len(starts),
        )
        g, h = sums.sum(axis=0) / np.array(scales)[:, None]
        found = (leaf_value(g[j], h[j], rules.l1, rules.l2, leaf.low, leaf.high) for j, leaf in enumerate(leaves))
        return _rounded(self._steps(np.fromiter(found, float, len(leaves))))

    def _best(self, grower: Grower, leaves: list[Node], raw: Array) -> Array:
        values = np.empty(len(leaves))

        def solve(start: int, stop: int) -> None:
            for j in range(start, stop):
                leaf = leaves[j]
                # in segments the rows ascend, whatever the number of threads
                rows = np.concatenate([grower.rows[a:b] for a, b in zip(leaf.starts, leaf.stops, strict=True)])
                v = self.objective.constant(rows, raw, self.rules.l1, self.rules.l2)
                values[j] = min(max(v, leaf.low), leaf.high)

        each_block(solve, len(leaves), 1)
        return values

    def _steps(self, newton: Array) -> Array:
        """Newton's steps times the learning rate, no longer than what surely lowers the loss.

        Where |ℓ‴| ≤ ℓ″, a step s lowers the loss of a leaf by at least |g| s − h (eˢ − s − 1), which is greatest at
        s = log(1 + |g| / h). Usual steps are far shorter; in a leaf of rows that are nearly certain, one of them wrong,
        h is so small that Newton's step would be far too long.
        """
        steps: Array = self.learning_rate * newton
        if not self.objective.loss.self_concordant:
            return steps
        return np.copysign(np.minimum(np.abs(steps), np.log1p(np.abs(newton))), newton)

    def add(self, grower: Grower, leaves: list[Node], values: Array, raw: Array) -> None:
        """Add the leaves' values to the raw predictions of the rows that the tree was grown on."""
        starts, stops = _segments(leaves)
        together(lambda s: histogram.add_to_leaves(grower.rows, starts[s], stops[s], values, raw), len(starts))

    def add_everywhere(self, codes: Array, grown: GrownNodes, tree: Trees, raw: Array) -> None:
        """Add a tree to all rows, those it was not grown on too, by walking their codes."""
        table = np.zeros((tree.node_count, self.binner.width), dtype=np.uint8)
        for node in grown.nodes:
            if node.left_codes is not None:
                table[node.number] = node.left_codes
        each_block(
            lambda a, b: histogram.walk_codes(codes[a:b], tree.feature, tree.left, table, tree.value[:, 0], raw[a:b]),
            len(raw),
            _BLOCK,
        )

    def as_trees(self, grown: GrownNodes, values: Array) -> Trees:
        """One tree with thresholds in place of bins."""
        nodes, rules = grown.nodes, self.rules
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
                threshold[i] = self.binner.thresholds[f, int(split[BIN])]
        newton = [leaf_value(node.g, node.h, rules.l1, rules.l2, node.low, node.high) for node in nodes]
        value = self._steps(np.array(newton))[:, None]
        value[[leaf.number for leaf in grown.leaves], 0] = values
        return Trees(
            roots=np.zeros(1, dtype=np.int32),
            feature=feature,
            threshold=threshold,
            left=left,
            missing_left=missing_left,
            category=category,
            bitsets=_padded(bitsets),
            value=value,
            weight=np.array([node.h for node in nodes]),
            count=np.array([node.count for node in nodes], dtype=np.int32),
            impurity=np.zeros(n),
            gain=gain,
        )


def _segments(leaves: list[Node]) -> tuple[Array, Array]:
    """(segments, leaves): where the rows of each leaf start and stop."""
    return np.array([leaf.starts for leaf in leaves]).T.copy(), np.array([leaf.stops for leaf in leaves]).T.copy()


def _rounded(values: Array) -> Array:
    """To 44 bits, so that leaves that should be equal (of classes that mirror each other, say) are equal."""
    mantissa, exponent = np.frexp(values)
    return np.ldexp(np.rint(np.ldexp(mantissa, 44)), exponent - 44)


def _bits(left_codes: Array) -> Array:
    """Flags as bits, 32 to a word, the first in the lowest bit."""
    padded = np.zeros(-(-len(left_codes) // 32) * 32, dtype=np.uint8)
    padded[: len(left_codes)] = left_codes
    return np.packbits(padded, bitorder="little").view("<u4").astype(np.uint32)


def _padded(bitsets: list[Array]) -> Array:
    """Sets of bits as rows of one table."""
    table = np.zeros((len(bitsets), max((len(row) for row in bitsets), default=1)), dtype=np.uint32)
    for row, bits in enumerate(bitsets):
        table[row, : len(bits)] = bits
    return table
