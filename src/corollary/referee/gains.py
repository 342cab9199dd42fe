"""Impurities and gains in extended precision, for the referee of trees: every cut of a column by brute force."""

from __future__ import annotations

from typing import Any

import numpy as np

from corollary.referee.rows import LONG

Array = Any


def absolute(y: Array, w: Array) -> Any:
    """Σ w |y − median|."""
    order = np.argsort(y, kind="stable")
    reach = np.cumsum(w[order])
    return w @ np.abs(y - y[order[np.searchsorted(reach, reach[-1] / 2)]])


def least_absolute(column: Array, y: Array, w: Array, min_rows: int, min_weight: Any) -> Any:
    """The least sum of both sides' absolute errors over all cuts of a column, each worked out by itself."""
    order = np.argsort(column, kind="stable")
    x, y, w = column[order], y[order], w[order]
    rows = np.arange(1, len(x))
    allowed = (x[1:] > x[:-1]) & (np.minimum(rows, len(x) - rows) >= min_rows)
    weight, behind = np.cumsum(w)[:-1], np.cumsum(w[::-1])[::-1][1:]
    cuts = rows[allowed & (np.minimum(weight, behind) >= min_weight)]
    return min((absolute(y[:cut], w[:cut]) + absolute(y[cut:], w[cut:]) for cut in cuts), default=LONG(np.inf))


def centred(y: Array, w: Array, criterion: str) -> Array:
    """Numbers less their mean, found in two passes; shares of classes as they are."""
    if criterion != "squared":
        return y
    away = y - (w @ y) / w.sum()
    return away - (w @ away) / w.sum()


def impurity(y: Array, w: Array, criterion: str) -> Any:
    """Weighted: Σ w times the variance (summed over outputs), Gini's index or the entropy in nats."""
    if criterion == "absolute":
        return absolute(y[:, 0], w)
    if criterion == "squared":
        away = centred(y, w, criterion)
        return (w @ (away * away)).sum()
    counts = (w @ y)[None]
    if criterion == "entropy":
        return entropy(counts)[0]
    return (counts * _others(counts)).sum() / w.sum()


def _others(counts: Array) -> Array:
    """What is beside each class. Beside the heaviest it is added up, where a difference could lose every digit."""
    rows, heaviest = np.arange(len(counts)), counts.argmax(axis=1)
    light = counts.copy()
    light[rows, heaviest] = 0
    others = counts.sum(axis=1, keepdims=True) - counts
    others[rows, heaviest] = light.sum(axis=1)
    return others


def entropy(counts: Array) -> Array:
    """Σ m ln(1 + others / m), W times the entropy, in which all terms are positive."""
    return (counts * np.log1p(_others(counts) / np.where(counts > 0, counts, 1))).sum(axis=1)


def gains(left: Array, a: Array, right: Array, b: Array, criterion: str) -> Array:
    """What cuts gain, from the sums (cuts, outputs) and weights a, b of both sides.

    Of squares and Gini's index that is a b / (a + b) ‖mean on the left − mean on the right‖². Shares add up to one, so
    the heaviest class differs by as much as all others do: 1 − small is never subtracted from another such.
    """
    if criterion == "entropy":
        return entropy(left + right) - entropy(left) - entropy(right)
    apart = left / a[:, None] - right / b[:, None]
    if criterion == "gini":
        heaviest = (left + right)[0].argmax()
        apart[:, heaviest] = 0
        apart[:, heaviest] = -apart.sum(axis=1)
    return a / (a + b) * b * (apart * apart).sum(axis=1)


def best_gain(column: Array, sums: Array, w: Array, criterion: str, min_rows: int, min_weight: Any) -> Any:
    """The largest gain of any cut between two different values of a column; −inf if none is allowed.

    Sums of the right side are added up from the right: weights may differ by more than any arithmetic has digits.
    """
    order = np.argsort(column, kind="stable")
    x, sums, w = column[order], sums[order], w[order]
    weight, behind = np.cumsum(w)[:-1], np.cumsum(w[::-1])[::-1][1:]
    left, right = np.cumsum(sums, axis=0)[:-1], np.cumsum(sums[::-1], axis=0)[::-1][1:]
    rows = np.arange(1, len(x))
    allowed = (x[1:] > x[:-1]) & (np.minimum(rows, len(x) - rows) >= min_rows)
    allowed &= np.minimum(weight, behind) >= min_weight
    if not allowed.any():
        return LONG(-np.inf)
    return gains(left[allowed], weight[allowed], right[allowed], behind[allowed], criterion).max()
