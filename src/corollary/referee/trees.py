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

    criterion: str  # "squared", "absolute", "gini" or "entropy"
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

    Refuted where a node's value is not the mean (or median) of its rows, or where another split of a node gains more
    than its own by more than ``tolerance`` of the root's impurity.
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
    size = max(_impurity(Y, w, rules.criterion), np.finfo(LONG).tiny)
    spread = max(np.ptp(Y, axis=0).max(initial=0), np.finfo(LONG).tiny)
    worst, off, spent = 0.0, 0.0, 0
    for node, here in enumerate(found):
        if len(here) == 0:
            return Verification(False, f"node {node} has no rows")
        y, own = Y[here], w[here]
        off = max(off, _value_error(np.asarray(nodes.value[node], dtype=LONG), middle, y, own, rules.criterion, spread))
        spent += here.size * X.shape[1] * (here.size if rules.criterion == "absolute" else 1)
        if nodes.feature[node] < 0 or not rules.searched or spent > MOST:
            continue
        inner = X[here, nodes.feature[node]] <= nodes.threshold[node]
        if not inner.any() or inner.all():
            return Verification(False, f"the split of node {node} leaves nothing on one side")
        worst = max(worst, float(_excess(X[here], y, own, inner, rules) / size))
    if off > 1e-9:
        return Verification(False, f"the value of a node is off by {off:.2g} of the spread of y", off)
    limit = tolerance * 1.01 + 1e-12
    if not rules.searched:
        words = f"the value of every node is the mean of its rows, but for {off:.2g} of their spread"
        return Verification(True, f"{words}; columns or cuts that nodes tried were drawn, so others are not", off)
    if worst > limit:
        return Verification(False, f"a split exists that gains {worst:.3g} of the root's impurity more", worst)
    return Verification(True, f"no node has a split that gains more, by {worst:.2g} of the root's impurity", worst)


def _value_error(said: Array, middle: Array, y: Array, w: Array, criterion: str, spread: Any) -> float:
    """How far a value is from the mean of its rows over ``spread``; of medians, by how much a side outweighs half."""
    bits = 4 * np.finfo(np.float64).eps * np.abs(said)
    if criterion == "absolute":
        sides = (w[y[:, 0] < (said - bits)[0]].sum(), w[y[:, 0] > (said + bits)[0]].sum())
        return float(max(max(sides) / w.sum() - LONG(0.5), 0))
    away = np.abs(said - middle - (w @ y) / w.sum()) - bits
    return float(away.max(initial=0) / spread)


def _excess(X: Array, y: Array, w: Array, left: Array, rules: Rules) -> Any:
    """By how much the best split of a node gains more than sending these rows left does."""
    if rules.criterion == "absolute":
        taken = _absolute(y[left, 0], w[left]) + _absolute(y[~left, 0], w[~left])
        return taken - min(_least_absolute(X[:, j], y[:, 0], w, rules) for j in range(X.shape[1]))
    sums = w[:, None] * _centred(y, w, rules.criterion)
    (a, on_a), (b, on_b) = ((sums[side].sum(axis=0)[None], w[side].sum()[None]) for side in (left, ~left))
    best = max(_best_gain(X[:, j], sums, w, rules) for j in range(X.shape[1]))
    return best - _gains(a, on_a, b, on_b, rules.criterion)[0]


def _absolute(y: Array, w: Array) -> Any:
    """Σ w |y − median|."""
    order = np.argsort(y, kind="stable")
    reach = np.cumsum(w[order])
    return w @ np.abs(y - y[order[np.searchsorted(reach, reach[-1] / 2)]])


def _least_absolute(column: Array, y: Array, w: Array, rules: Rules) -> Any:
    """The least sum of both sides' absolute errors over all cuts of a column, each worked out by itself."""
    order = np.argsort(column, kind="stable")
    x, y, w = column[order], y[order], w[order]
    rows = np.arange(1, len(x))
    allowed = (x[1:] > x[:-1]) & (np.minimum(rows, len(x) - rows) >= rules.min_rows)
    cuts = rows[allowed]
    return min((_absolute(y[:cut], w[:cut]) + _absolute(y[cut:], w[cut:]) for cut in cuts), default=LONG(np.inf))


def _centred(y: Array, w: Array, criterion: str) -> Array:
    """Numbers less their mean, found in two passes; shares of classes as they are."""
    if criterion != "squared":
        return y
    away = y - (w @ y) / w.sum()
    return away - (w @ away) / w.sum()


def _impurity(y: Array, w: Array, criterion: str) -> Any:
    """Weighted: Σ w times the variance (summed over outputs), Gini's index or the entropy in nats."""
    if criterion == "absolute":
        return _absolute(y[:, 0], w)
    if criterion == "squared":
        away = _centred(y, w, criterion)
        return (w @ (away * away)).sum()
    counts = (w @ y)[None]
    if criterion == "entropy":
        return _entropy(counts)[0]
    return (counts * _others(counts)).sum() / w.sum()


def _others(counts: Array) -> Array:
    """What is beside each class. Beside the heaviest it is added up, where a difference could lose every digit."""
    rows, heaviest = np.arange(len(counts)), counts.argmax(axis=1)
    light = counts.copy()
    light[rows, heaviest] = 0
    others = counts.sum(axis=1, keepdims=True) - counts
    others[rows, heaviest] = light.sum(axis=1)
    return others


def _entropy(counts: Array) -> Array:
    """Σ m ln(1 + others / m), W times the entropy, in which all terms are positive."""
    return (counts * np.log1p(_others(counts) / np.where(counts > 0, counts, 1))).sum(axis=1)


def _gains(left: Array, a: Array, right: Array, b: Array, criterion: str) -> Array:
    """What cuts gain, from the sums (cuts, outputs) and weights a, b of both sides.

    Of squares and Gini's index that is a b / (a + b) ‖mean on the left − mean on the right‖². Shares add up to one, so
    the heaviest class differs by as much as all others do: 1 − small is never subtracted from another such.
    """
    if criterion == "entropy":
        return _entropy(left + right) - _entropy(left) - _entropy(right)
    apart = left / a[:, None] - right / b[:, None]
    if criterion == "gini":
        heaviest = (left + right)[0].argmax()
        apart[:, heaviest] = 0
        apart[:, heaviest] = -apart.sum(axis=1)
    return a / (a + b) * b * (apart * apart).sum(axis=1)


def _best_gain(column: Array, sums: Array, w: Array, rules: Rules) -> Any:
    """The largest gain of any cut between two different values of a column; −inf if none is allowed.

    Sums of the right side are added up from the right: weights may differ by more than any arithmetic has digits.
    """
    order = np.argsort(column, kind="stable")
    x, sums, w = column[order], sums[order], w[order]
    weight, behind = np.cumsum(w)[:-1], np.cumsum(w[::-1])[::-1][1:]
    left, right = np.cumsum(sums, axis=0)[:-1], np.cumsum(sums[::-1], axis=0)[::-1][1:]
    rows = np.arange(1, len(x))
    allowed = (x[1:] > x[:-1]) & (np.minimum(rows, len(x) - rows) >= rules.min_rows)
    allowed &= np.minimum(weight, behind) >= rules.min_weight
    if not allowed.any():
        return LONG(-np.inf)
    return _gains(left[allowed], weight[allowed], right[allowed], behind[allowed], rules.criterion).max()
