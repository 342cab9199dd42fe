"""Distributions of networks that are no tables, judged from rows in long doubles: is there anything to be gained?"""

from __future__ import annotations

from typing import Any

import numpy as np

from corollary.referee.rows import LONG
from corollary.referee.verdict import Verification

SLACK = 1e-8  # of a correlation, or of a relative variance: what float64 and a floor leave open


def least_squares(
    setting: Any, numbers: Any, child: Any, weights: Any, intercept: Any, coef: Any, variance: Any, alpha: float
) -> Verification:
    """Whether what is left is uncorrelated with every column, and its mean square is the variance, in each setting.

    ``setting`` numbers the states of the other parents. A setting with too few rows (fewer than columns and two more)
    is to have what all rows together say.
    """
    X, y, w = (np.asarray(part, dtype=LONG) for part in (numbers, child, weights))
    used, worst = w > 0, LONG(0)
    spread = (w * (y - (w @ y) / w.sum()) ** 2).sum() / w.sum()
    for k in range(len(intercept)):
        own = used & (setting == k)
        if own.sum() < X.shape[1] + 2 or len(intercept) == 1:
            own = used
        A, b, v = X[own], y[own], w[own] / w[own].sum()
        slopes = np.asarray(coef[k], dtype=LONG)
        left = b - LONG(intercept[k]) - A @ slopes
        away = b - v @ b
        centred = A - v @ A
        scale = np.sqrt((v[:, None] * centred**2).sum(axis=0)) * np.sqrt((v * away**2).sum())
        slope = np.abs((v[:, None] * centred).T @ left - alpha / w[own].sum() * slopes)
        worst = max(worst, (slope / np.where(scale > 0, scale, 1)).max(initial=LONG(0)))
        size = np.sqrt((v * away**2).sum())
        worst = max(worst, np.abs(v @ left) / (size if size > 0 else LONG(1)))
        mean_square = max((v * left**2).sum(), LONG(1e-12) * spread, LONG(1e-290))
        worst = max(worst, np.abs(mean_square - LONG(variance[k])) / max(mean_square, LONG(1e-3) * spread))
    words = f"least squares are missed by {float(worst):.2g}, as a correlation or a share of the variance"
    return Verification(bool(worst <= SLACK), words, float(worst))


def noisy_or(
    causes: Any, effect: Any, weights: Any, leak: float, strengths: Any, alpha: float, tolerance: float
) -> Verification:
    """Whether no other leak and strengths have a mean log-likelihood that is higher by more than the tolerance.

    It is concave in −log(1 − share), so a tangent bounds it: from the point itself to the best corner of the box.
    """
    shares = np.minimum(np.asarray([leak, *np.asarray(strengths)], dtype=LONG), 1 - LONG(np.finfo(float).eps))
    theta, sure = -np.log1p(-shares), -np.log(LONG(np.finfo(float).eps))
    k = len(shares) - 1
    rows = np.concatenate([np.asarray(causes), np.zeros((2, k)), np.repeat(np.eye(k), 2, axis=0)]).astype(LONG)
    there = np.concatenate([np.asarray(effect) != 0, np.tile([False, True], k + 1)])
    w = np.concatenate([np.asarray(weights), np.full(2 * k + 2, 0.5 * alpha)]).astype(LONG)
    design = np.concatenate([np.ones((len(rows), 1), dtype=LONG), rows], axis=1)
    level = design @ theta
    if (w[there & (level <= 0)] > 0).any():
        return Verification(False, "an effect is there that the numbers call impossible")
    pull = np.where(there, -1 / np.expm1(np.where(level > 0, level, 1)), LONG(1))
    slope = design.T @ (w * pull) / w.sum()
    gap = float(np.maximum(slope * theta, slope * (theta - sure)).sum())
    words = f"a tangent leaves {gap:.2g} of mean log-likelihood to be gained"
    return Verification(bool(gap <= 2 * tolerance + 1e-12), words, gap)


def together(parts: list[Verification]) -> Verification:
    """One verdict of several: refuted if one is, not decided if one is not, else standing, with the first words."""
    for stands in (False, None):
        for part in parts:
            if part.stands is stands:
                return part
    return parts[0]
