"""The referee of trees: rows are sent down by its own code, and every node's split is searched for again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from corollary.referee.gains import absolute, best_gain, centred, gains, impurity, least_absolute
from corollary.referee.rows import LONG
from corollary.referee.verdict import Verification

Array = Any
MOST = 3_000_000  # node rows × columns that are searched
BITS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Nodes:
    """A tree as arrays: a row goes left where x[feature] ≤ threshold, −1 is a leaf, right children follow left ones.

    Children come after their parent. What is told of each node besides its value is judged where it is given.
    """

    feature: Array
    threshold: Array
    left: Array
    value: Array
    weight: Array | None = None
    count: Array | None = None
    impurity: Array | None = None  # entropy in bits
    gain: Array | None = None  # weighted


@dataclass(frozen=True)
class Rules:
    """When a node may be split, by which impurity, and what is claimed."""

    criterion: str  # "squared", "absolute", "gini" or "entropy"
    min_rows: int = 1
    min_split: int = 2
    max_depth: float = np.inf
    max_leaves: float = np.inf
    min_share: float = 0.0  # of the weight of all rows, on each side
    min_gain: float = 0.0  # over the weight of all rows
    pruned: bool = False  # splits were taken back, so leaves need not be the end
    monotone: Array | None = None  # by column: the last value falls (−1) or rises (1) with it
    searched: bool = True  # whether every column and every cut was to be tried
    claimed: bool = True  # whether the claim is that no other split gains more, or of values and gains alone
    tried: Mapping[int, Array] | None = None  # the columns that each node drew, at least ``draws``; None is all
    draws: int = 0


def misshapen(nodes: Nodes, columns: int) -> Verification | None:
    """Refuted if the arrays are no tree: then a walk down might never end."""
    inner = np.flatnonzero(nodes.feature >= 0)
    left = nodes.left[inner]
    children = np.sort(np.concatenate([left, left + 1]))
    shaped = np.array_equal(children, np.arange(1, len(nodes.feature))) and (left > inner).all()
    if not shaped or (nodes.feature[inner] >= columns).any() or np.isnan(nodes.threshold[inner]).any():
        return Verification(False, "the nodes are no tree")
    return None if np.isfinite(nodes.value).all() else Verification(False, "the value of a node is no number")


def rows_of_nodes(X: Array, nodes: Nodes) -> list[Array]:
    """The rows that pass each node, by walking down."""
    found: list[Array] = [np.empty(0, np.intp)] * len(nodes.feature)
    found[0] = np.arange(len(X))
    for node, feature in enumerate(nodes.feature):
        if feature < 0:
            continue
        here = found[node]
        goes = X[here, feature] <= nodes.threshold[node]
        found[nodes.left[node]], found[nodes.left[node] + 1] = here[goes], here[~goes]
    return found


def judge(X: Any, Y: Array, weights: Array, nodes: Nodes, rules: Rules, tolerance: float) -> Verification:
    """Values of nodes and gains of splits, from the rows. Y is (n, outputs): numbers, or class shares (one-hot).

    Refuted where a node's value is not the mean (or median) of its rows, kept within what monotone columns leave it;
    where its count, weight, impurity or gain is another one; or where some other split of a node, or any of a leaf
    that the rules let be split, gains more by more than ``tolerance`` of the root's impurity.
    """
    X = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    if np.isnan(X).any() or not np.isfinite(Y).all():
        return Verification(None, "the referee does not judge trees of rows with gaps")
    wrong = misshapen(nodes, X.shape[1])
    if wrong is not None:
        return wrong
    if rules.monotone is not None and rules.criterion == "absolute":
        return Verification(None, "the referee does not judge medians under monotone constraints")
    live = np.asarray(weights) > 0
    unit = np.max(weights)
    w = np.asarray(weights, dtype=LONG)[live] / unit
    return _Bench(X[live].astype(np.float64), np.asarray(Y, dtype=LONG)[live], w, unit, nodes, rules).judge(tolerance)


class _Bench:
    """One tree with its rows: what is off, and by how much, in parts of the root's impurity or spread."""

    def __init__(self, X: Array, Y: Array, w: Array, unit: Any, nodes: Nodes, rules: Rules) -> None:
        self.X, self.w, self.unit, self.nodes, self.rules = X, w, LONG(unit), nodes, rules
        self.middle = np.median(Y, axis=0) if rules.criterion == "squared" else np.zeros(Y.shape[1], LONG)
        self.Y = Y - self.middle
        self.found = rows_of_nodes(X, nodes)
        self.size = max(impurity(self.Y, w, rules.criterion), np.finfo(LONG).tiny)
        self.spread = max(np.ptp(self.Y, axis=0).max(initial=0), np.finfo(LONG).tiny)
        self.bits = np.log(LONG(2)) if rules.criterion == "entropy" else LONG(1)  # what is told is in bits
        # no difference is what the last bits b of y, which values of nodes are rounded to, make of an impurity, which
        # is (a + b)² − a² = b (2 a + b) at a distance a; of classes, whose shares add up to one, the last bits of that
        bits = 4 * BITS * np.abs(Y).max(initial=0)
        squared = rules.criterion == "squared"
        away = 2 * np.abs(self.Y - self._mean(np.arange(len(w)))) + bits if squared else np.ones_like(Y)
        self.rounding = bits * (w @ away).sum()
        self.depth = np.zeros(len(nodes.feature), np.intp)
        for node in np.flatnonzero(nodes.feature >= 0):
            self.depth[nodes.left[node] : nodes.left[node] + 2] = self.depth[node] + 1

    def judge(self, tolerance: float) -> Verification:
        nodes, n = self.nodes, len(self.nodes.feature)
        empty = [node for node, here in enumerate(self.found) if not len(here)]
        if empty:
            return Verification(False, f"node {empty[0]} has no rows")
        off = self._values()
        if not off <= 1e-9:
            return Verification(False, f"the value of a node is off by {off:.2g} of the spread of y", off)
        # a gain is told in parts of the root's impurity, both sums over n rows in float64: n last bits each
        limit = tolerance + 2 * len(self.w) * BITS
        untold = self._told(max(limit, 1e-9))
        if untold is not None:
            return untold
        what = "values" if nodes.gain is None else "values and gains"
        confirmed = f"{what} of all {n} nodes are those of their rows (off by {off:.2g})"
        if not self.rules.claimed:
            return Verification(True, confirmed, off)
        if not self.rules.searched:
            return Verification(
                None, f"{confirmed}; which splits nodes tried is not known here, so none was sought", off
            )
        worst, searched, left_out = self._search()
        if not worst <= limit:
            return Verification(False, f"a split exists that gains {worst:.3g} of the root's impurity more", worst)
        drawn = " of the columns that it drew" * (self.rules.tried is not None)
        none = f"no node has a split{drawn} that gains more, by {worst:.2g} of the root's impurity"
        if left_out:
            return Verification(
                None, f"{confirmed}; only {searched} of {searched + left_out} nodes were searched: {none}", worst
            )
        if self.rules.pruned and (nodes.feature < 0).any():
            return Verification(None, f"{none}; whether what was pruned had to be is not judged", worst)
        return Verification(True, f"{none}; {confirmed}", worst)

    def _values(self) -> float:
        """The largest error of a value, of the spread of y; of medians, by how much a side outweighs half."""
        nodes, rules, worst = self.nodes, self.rules, 0.0
        bounds = np.repeat(np.array([[-np.inf, np.inf]], LONG), len(nodes.feature), axis=0)
        for node, here in enumerate(self.found):
            y, w, said = self.Y[here], self.w[here], np.asarray(nodes.value[node], dtype=LONG)
            bits = 4 * BITS * np.abs(said)
            if rules.criterion == "absolute":
                sides = (w[y[:, 0] < (said - bits)[0]].sum(), w[y[:, 0] > (said + bits)[0]].sum())
                worst = max(worst, float(max(max(sides) / w.sum() - LONG(0.5), 0)))
                continue
            mean = self._mean(here)
            if rules.monotone is not None:
                mean[-1] = np.clip(mean[-1], *bounds[node])
                mean[:-1] = 1 - mean[-1] if len(mean) == 2 else mean[:-1]
                self._bound(node, bounds)
            away = np.abs(said - self.middle - mean) - bits
            worst = max(worst, float(away.max(initial=0) / self.spread))
        return worst

    def _mean(self, here: Array) -> Array:
        return (self.w[here] @ self.Y[here]) / self.w[here].sum()

    def _bound(self, node: int, bounds: Array) -> None:
        """Children of a monotone split keep to their sides of the middle of their means, as the rule of the fit is."""
        feature, left = self.nodes.feature[node], self.nodes.left[node]
        if feature < 0:
            return
        low, high = bounds[node]
        bounds[left] = bounds[left + 1] = low, high
        direction = self.rules.monotone[feature]  # type: ignore[index]
        if direction:
            middle = np.clip(sum(self._mean(self.found[left + side])[-1] for side in (0, 1)) / 2, low, high)
            bounds[left if direction > 0 else left + 1, 1] = middle
            bounds[left + 1 if direction > 0 else left, 0] = middle

    def _told(self, limit: float) -> Verification | None:
        """Refuted if a count, a weight, an impurity or a gain is not that of the rows.

        What is told in float64 may be off by the smallest such number: weighted impurities of tiny targets vanish.
        """
        nodes, least = self.nodes, LONG(np.finfo(np.float64).tiny)
        for node, here in enumerate(self.found):
            total = self.w[here].sum()
            if nodes.count is not None and nodes.count[node] != len(here):
                return Verification(False, f"node {node} has {len(here)} rows, not {nodes.count[node]}")
            if nodes.weight is not None and not abs(nodes.weight[node] / self.unit - total) <= 1e-9 * total:
                return Verification(False, f"node {node} has another weight than it says")
            if nodes.impurity is not None:
                own = impurity(self.Y[here], self.w[here], self.rules.criterion)
                away = abs(LONG(nodes.impurity[node]) * total * self.bits - own)
                if not away <= limit * self.size + self.rounding + least * total:
                    return Verification(False, f"the impurity of node {node} is another one than it says")
            if nodes.gain is not None:
                own = self._taken(node) if nodes.feature[node] >= 0 else LONG(0)
                away = abs(LONG(nodes.gain[node]) / self.unit * self.bits - own)
                if not away <= limit * self.size + self.rounding + least / self.unit:
                    return Verification(False, f"the gain of node {node} is another one than it says")
        return None

    def _search(self) -> tuple[float, int, int]:
        """(the largest excess, nodes searched, nodes left out) over inner nodes, and leaves that might be split."""
        nodes, rules, total = self.nodes, self.rules, self.w.sum()
        worst, searched, left_out, spent = 0.0, 0, 0, 0
        full = (nodes.feature < 0).sum() >= rules.max_leaves
        least = rules.min_gain * total * self.bits
        for node, here in enumerate(self.found):
            leaf = nodes.feature[node] < 0
            may = len(here) >= max(rules.min_split, 2 * rules.min_rows) and self.depth[node] < rules.max_depth
            if not leaf and not may:
                return np.inf, searched, left_out  # the rules forbid this split
            light = self.w[here].sum() < 2 * rules.min_share * total
            if leaf and (full or rules.pruned or not may or light or (self.Y[here] == self.Y[here[0]]).all()):
                continue
            columns = self._columns(node)
            if columns is not None and not leaf and nodes.feature[node] not in columns:
                return np.inf, searched, left_out  # the split is of a column that was not drawn
            cost = 0 if columns is None else here.size * len(columns)
            cost *= here.size if rules.criterion == "absolute" else 1
            if columns is None or spent + cost > MOST:
                left_out += 1
                continue
            spent, searched = spent + cost, searched + 1
            taken = least if leaf else self._taken(node)
            worst = max(
                worst, float((self._best(here, columns) - taken) / self.size), float((least - taken) / self.size)
            )
        return worst, searched, left_out

    def _taken(self, node: int) -> Any:
        """What the split of a node gains."""
        criterion, here = self.rules.criterion, self.found[node]
        sides = [self.found[self.nodes.left[node] + side] for side in (0, 1)]
        if criterion == "absolute":
            parts = [absolute(self.Y[rows, 0], self.w[rows]) for rows in (here, *sides)]
            return parts[0] - parts[1] - parts[2]
        mean = self._mean(here) if criterion == "squared" else 0
        (a, on_a), (b, on_b) = (
            ((self.w[rows] @ (self.Y[rows] - mean))[None], self.w[rows].sum()[None]) for rows in sides
        )
        return gains(a, on_a, b, on_b, criterion)[0]

    def _columns(self, node: int) -> Array | None:
        """The columns that a node was to try; None if they are not known, or too few are told."""
        d, tried = self.X.shape[1], self.rules.tried
        if tried is None:
            return np.arange(d)
        columns = np.unique(tried.get(node, ()))
        return columns if len(columns) >= min(max(self.rules.draws, 1), d) else None

    def _best(self, here: Array, columns: Array) -> Any:
        """The largest gain of any split, of one of these columns, that the rules allow; −inf if there is none."""
        X, y, w, rules = self.X[np.ix_(here, columns)], self.Y[here], self.w[here], self.rules
        limits = rules.min_rows, rules.min_share * self.w.sum() * (1 + 1e-9)
        if rules.criterion == "absolute":
            return absolute(y[:, 0], w) - min(least_absolute(column, y[:, 0], w, *limits) for column in X.T)
        sums = w[:, None] * centred(y, w, rules.criterion)
        return max(best_gain(column, sums, w, rules.criterion, *limits) for column in X.T)
