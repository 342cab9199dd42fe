"""Linear Gaussian distributions from rows: least squares for each setting of the parents with states."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from corollary.core.graphical.cpd import LinearGaussian
from corollary.core.types import Array

LARGEST = 1e140  # whose squares, and sums of them, float64 holds
LEAST = 1e-12  # of the variance of all rows: no variance is below it


def fit_linear_gaussian(
    cpd: LinearGaussian, codes: Array, numbers: Array, child: Array, weights: Array, cards: tuple[int, ...]
) -> tuple[LinearGaussian, float, tuple[str, ...]]:
    """Least squares, or ridge regression, of the child on its numeric parents, for each setting of the others.

    Variances are means of squared residuals (maximum likelihood). A setting with too few rows to say (fewer that differ
    than coefficients and two more) gets what all rows together say; the notes count them. The number is how far from
    zero the slope of an objective is at its answer, at most: the largest correlation of what is left with a column.
    """
    d = numbers.shape[1]
    q = int(np.prod(cards, dtype=np.int64))
    group = np.ravel_multi_index(tuple(codes.T), cards) if cards else np.zeros(len(child), dtype=np.int64)
    used = weights > 0
    if max(np.abs(numbers).max(initial=0.0), np.abs(child).max(initial=0.0)) > LARGEST:
        raise ValueError(f"its numbers, or those of a parent, are beyond {LARGEST:g}: squares overflow. Rescale them.")
    everything = _least_squares(numbers[used], child[used], weights[used], cpd.alpha)
    floor = max(LEAST * float(np.average((child - np.average(child, weights=weights)) ** 2, weights=weights)), 1e-290)
    intercept, coef, variance = np.empty(q), np.empty((q, d)), np.empty(q)
    few, worst = 0, 0.0
    for k in range(q):
        rows = np.flatnonzero(used & (group == k))
        enough = len(rows) >= d + 2
        few += not enough
        found = _least_squares(numbers[rows], child[rows], weights[rows], cpd.alpha) if enough and cards else everything
        intercept[k], coef[k], variance[k], slope = found
        worst = max(worst, slope)
    notes = []
    if few and cards:
        notes.append(f"{few} of {q} settings of the parents have too few rows: they got what all rows together say.")
    if (variance < floor).any():
        notes.append("The parents determine the number exactly in some setting; its variance was kept just above zero.")
    variance = np.maximum(variance, floor)
    shape = cards
    fitted = LinearGaussian(intercept.reshape(shape), coef.reshape(*shape, d), variance.reshape(shape), cpd.alpha)
    return fitted, worst, tuple(notes)


def _least_squares(X: Array, y: Array, weights: Array, alpha: float) -> tuple[float, Array, float, float]:
    """Intercept, coefficients (the shortest, if several are best), mean squared residual, and the slope there."""
    total = weights.sum()
    centre, level = weights @ X / total, float(weights @ y / total)
    root = np.sqrt(weights / total)
    centred, target = (X - centre) * root[:, None], (y - level) * root
    scale = np.sqrt((centred**2).sum(axis=0))
    scale[scale == 0] = 1.0
    if alpha > 0:
        centred = np.concatenate([centred, np.sqrt(alpha / total) * np.eye(X.shape[1])])
        target = np.concatenate([target, np.zeros(X.shape[1])])
    coef = np.zeros(X.shape[1])
    if X.shape[1]:
        coef = scipy.linalg.lstsq(centred / scale, target, cond=1e-13)[0] / scale
    away = y - level - (X - centre) @ coef
    left = target - centred @ coef
    lengths = np.sqrt((centred**2).sum(axis=0)) * np.sqrt(target @ target)
    slope = float((np.abs(centred.T @ left) / np.where(lengths > 0, lengths, 1.0)).max(initial=0.0))
    return level - float(centre @ coef), coef, float(weights @ away**2 / total), slope
