"""The referee of decisions by cost: every decision is tried again, and a temperature is held against its neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np

from corollary.referee.rows import LONG
from corollary.referee.verdict import Verification, measured

Array = Any


def cheapest(probabilities: Array, cost: Array, decided: Array, tolerance: float) -> Verification:
    """Whether no other decision is expected to cost less; ``decided`` are numbers of columns of ``cost``."""
    p, price = np.asarray(probabilities, dtype=LONG), np.asarray(cost, dtype=LONG)
    size = np.abs(price).max(initial=0) or LONG(1)
    expected = np.stack([np.sum(p * (column / size), axis=1) for column in price.T], axis=1)
    taken = expected[np.arange(len(expected)), np.asarray(decided)]
    excess = float((taken - expected.min(axis=1)).max(initial=0))
    rows = len(expected)
    what = f"of the decisions for {rows} row{'s' * (rows != 1)}, tried once more, the largest excess cost"
    return measured(excess, tolerance, what, slack=1e-15)


def tempered(before: Array, after: Array, temperature: float, least: float) -> Verification:
    """Whether ``after`` is before^(1/T), each row divided by its sum."""
    before = np.asarray(before)
    power = np.maximum(before.astype(LONG), least) ** (LONG(1) / LONG(temperature)) if temperature != 1 else before
    total = power.sum(axis=1, keepdims=True) if temperature != 1 else LONG(1)
    off = float(np.abs(power / total - np.asarray(after, dtype=LONG)).max(initial=0))
    if not off <= (1e-6 if before.dtype == np.float32 else 1e-9):
        return Verification(False, f"probabilities are not those of the classifier at T = {temperature:g}", off)
    return Verification(True, "probabilities are those of the classifier", off)


def likeliest_temperature(
    said: Array, truth: Array, weights: Array, temperature: float, least: float, ends: tuple[float, float]
) -> Verification:
    """Whether no temperature nearby makes the classes of these rows more likely; the log-loss is convex in 1/T."""
    logs = np.log(np.maximum(np.asarray(said, dtype=LONG), least))
    share = np.asarray(weights, dtype=LONG) / np.sum(np.asarray(weights, dtype=LONG))

    def loss(t: float) -> Any:
        scaled = logs / LONG(t)
        top = scaled.max(axis=1, keepdims=True)
        total = top[:, 0] + np.log(np.exp(scaled - top).sum(axis=1))
        return share @ (total - scaled[np.arange(len(truth)), truth])

    here = loss(temperature)
    for factor in (0.99, 1.01):
        other = min(max(temperature * factor, ends[0]), ends[1])
        if loss(other) < here - 1e-12 * max(abs(here), LONG(1)):
            return Verification(False, f"a temperature of {other:.4g} is more likely than {temperature:.4g}")
    return Verification(True, "no temperature nearby is more likely on held-out rows")
