"""The referee of trees: rows are sent down by its own code, and every node's split is searched for again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from corollary.referee.verdict import Verification

Array = Any
LONG = np.longdouble
MOST = 3_000_000  # node rows × columns that are searched


@dataclass(frozen=True)
class Nodes:
    """A tree as arrays: a row goes left where x[feature] ≤ threshold, −1 is a leaf, right children follow left ones."""

    feature: Array
    threshold: Array
    left: Array
    value: Array


@dataclass(frozen=True)
class Rules:
    """What a split must leave on each side, and by which impurity it is judged."""

    criterion: str  # "squared", "gini" or "entropy"
    min_rows: int = 1
    min_weight: float = 0.0
    searched: bool = True  # whether every column and every cut was to be tried


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

    Refuted where a node's value is not the mean of its rows, or where another split of a node gains more than its own
    by more than ``tolerance`` of the root's impurity.
    """
    X = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    if np.isnan(X).any():
        return Verification(None, "the referee does not judge trees of rows with gaps")
    live = np.asarray(weights) > 0
    X, Y, w = X[live].astype(np.float64), np.asarray(Y, dtype=LONG)[live], np.asarray(weights, dtype=LONG)[live]
    w = w / w.max()
    middle = np.median(Y, axis=0) if rules.criterion == "squared" else np.zeros(Y.shape[1], LONG)
    Y = Y - middle
    found = rows_of_nodes(X, nodes)
    root = _impurity(Y, w, rules.criterion)
    size = max(root, np.finfo(LONG).tiny)
    spread = max(np.ptp(Y, axis=0).max(initial=0), np.finfo(LONG).tiny)
    worst, off, spent = 0.0, 0.0, 0
    for node, here in enumerate(found):
        if len(here) == 0:
            return Verification(False, f"node {node} has no rows")
        y, own = Y[here], w[here]
        said = np.asarray(nodes.value[node], dtype=LONG)
        away = np.abs(said - middle - (own @ y) / own.sum()) - 4 * np.finfo(np.float64).eps * np.abs(said)
        off = max(off, float(away.max(initial=0) / spread))
        spent += here.size * X.shape[1]
        if nodes.feature[node] < 0 or not rules.searched or spent > MOST:
            continue
        inner = X[here, nodes.feature[node]] <= nodes.threshold[node]
        if not inner.any() or inner.all():
            return Verification(False, f"the split of node {node} leaves nothing on one side")
        split = _impurity(y[inner], own[inner], rules.criterion) + _impurity(y[~inner], own[~inner], rules.criterion)
        best = min(_best_split(X[here, j], y, own, rules) for j in range(X.shape[1]))
        worst = max(worst, float((split - best) / size))
    if off > 1e-9:
        return Verification(False, f"the value of a node is off by {off:.2g} of the spread of y", off)
    limit = tolerance * 1.01 + 1e-12
    if not rules.searched:
        return Verification(None, "columns or cuts were drawn by chance, so that other splits may well gain more")
    if worst > limit:
        return Verification(False, f"a split exists that gains {worst:.3g} of the root's impurity more", worst)
    return Verification(True, f"no node has a split that gains more, by {worst:.2g} of the root's impurity", worst)


def _impurity(y: Array, w: Array, criterion: str) -> Any:
    """Weighted: Σ w times the variance (summed over outputs), Gini's index or the entropy in nats."""
    total = w.sum()
    sums = w @ y
    if criterion == "squared":
        away = y - sums / total
        return (w @ (away * away)).sum()
    return _of_counts(sums[None], np.array([total]), criterion)[0]


def _of_counts(counts: Array, totals: Array, criterion: str) -> Array:
    share = counts / np.where(totals > 0, totals, 1)[:, None]
    if criterion == "gini":
        return totals * (1 - (share * share).sum(axis=1))
    logs = np.where(share > 0, np.log(np.where(share > 0, share, 1)), 0)
    return -totals * (share * logs).sum(axis=1)


def _best_split(column: Array, y: Array, w: Array, rules: Rules) -> Any:
    """The least impurity that is left by any cut between two different values of a column."""
    order = np.argsort(column, kind="stable")
    x, y, w = column[order], y[order], w[order]
    weight = np.cumsum(w)
    left = np.cumsum(w[:, None] * y, axis=0)
    rows, total, whole = np.arange(1, len(x) + 1), weight[-1], left[-1]
    allowed = np.zeros(len(x), bool)
    allowed[:-1] = x[1:] > x[:-1]
    allowed &= (rows >= rules.min_rows) & (len(x) - rows >= rules.min_rows)
    allowed &= (weight >= rules.min_weight) & (total - weight >= rules.min_weight)
    if not allowed.any():
        return LONG(np.inf)
    a, b = weight[allowed], total - weight[allowed]
    if rules.criterion == "squared":
        squares = (w @ (y * y)).sum()
        left, right = left[allowed], whole - left[allowed]
        return (squares - (left * left).sum(axis=1) / a - (right * right).sum(axis=1) / b).min()
    sides = _of_counts(left[allowed], a, rules.criterion) + _of_counts(whole - left[allowed], b, rules.criterion)
    return sides.min()
