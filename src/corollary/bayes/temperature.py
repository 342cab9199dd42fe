"""One number that makes probabilities bolder or humbler, so that they are as likely as can be on held-out rows."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq
from scipy.special import softmax

from corollary.core.types import Array

# scikit-learn's CalibratedClassifierCV(method="temperature") fits and keeps models of its own; here one number is
# wanted for probabilities that are there already.
COLDEST, HOTTEST = 1e-2, 1e2
LEAST = 1e-12  # a probability that counts as none: no single row may decide alone


def at_temperature(probabilities: Array, temperature: float) -> Array:
    """p^(1/T), divided by its sum: the same order of classes, more certain below T = 1 and less above."""
    if temperature == 1.0:
        return probabilities
    made: Array = softmax(_logs(probabilities) / temperature, axis=1)
    return made.astype(probabilities.dtype, copy=False)


def best_temperature(probabilities: Array, truth: Array, weights: Array) -> float:
    """The temperature of least log-loss on rows of known class.

    In 1/T the log-loss is convex, so the point where its derivative changes sign is the minimum; it is looked for
    between 1/100 and 100.
    """
    logs = _logs(probabilities)
    share = weights / weights.sum()
    right = share @ logs[np.arange(len(truth)), truth]

    def slope(inverse: float) -> float:
        return float(share @ (softmax(inverse * logs, axis=1) * logs).sum(axis=1) - right)

    low, high = 1 / HOTTEST, 1 / COLDEST
    if slope(low) >= 0:
        return HOTTEST
    if slope(high) <= 0:
        return COLDEST
    return float(1 / brentq(slope, low, high, xtol=1e-14, rtol=1e-13))


def _logs(probabilities: Array) -> Array:
    return np.log(np.maximum(probabilities.astype(np.float64), LEAST))
