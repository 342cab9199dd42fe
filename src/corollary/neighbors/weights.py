"""How much a neighbour's vote counts, by its distance."""

from __future__ import annotations

from typing import Any

import numpy as np

from corollary.core.types import Array

NAMES = ("uniform", "distance", "inverse", "gaussian")


def vote_weights(
    weights: Any, distances: Array, copies: Array, offset: float, power: float, bandwidth: float | None
) -> Array:
    """Weights (m, k) of neighbours at these distances, each counted ``copies`` times; rows are scaled, not normalised.

    The nearest neighbour of every query comes first, and entries without copies do not count.
    """
    if weights is None or (isinstance(weights, str) and weights == "uniform"):
        return copies
    if not isinstance(weights, str):
        return copies * _checked(weights(distances), distances, copies)
    if np.isinf(np.where(copies > 0, distances, 0.0)).any():
        raise ValueError(
            f"weights={weights!r} needs distances below 1.8e308, the largest number of float64, but some are larger. "
            "Divide X by a constant."
        )
    if weights == "gaussian":
        return copies * _gaussian(distances, copies, bandwidth)
    if weights == "distance":
        offset, power = 0.0, 1.0
    return copies * _inverse(distances, offset, power)


def _inverse(distances: Array, offset: float, power: float) -> Array:
    """1/(c + dⁿ) over its value at the nearest; without c, exact matches outvote everything else."""
    exact = distances == 0
    if offset == 0:
        values = (distances[:, :1] / np.where(exact, 1.0, distances)) ** power
        return np.where(exact[:, :1], exact, values)
    with np.errstate(divide="ignore"):
        logs = -np.logaddexp(np.log(offset), power * np.log(distances))
    scaled: Array = np.exp(logs - logs[:, :1])
    return scaled


def _gaussian(distances: Array, copies: Array, bandwidth: float | None) -> Array:
    """exp(−½ (d/h)²) over its value at the nearest; h is the distance of the farthest neighbour if not given."""
    if bandwidth is None:
        width = np.where(copies > 0, distances, 0.0).max(axis=1, keepdims=True)
        width = np.where(width > 0, width, 1.0)
    else:
        width = np.full((len(distances), 1), float(bandwidth))
    first = distances[:, :1]
    with np.errstate(over="ignore", invalid="ignore"):  # far beyond h only the nearest has a weight
        exponent = 0.5 * ((distances - first) / width) * ((distances + first) / width)
    scaled: Array = np.exp(-np.where(distances > first, exponent, 0.0))
    return scaled


def _checked(values: Any, distances: Array, copies: Array) -> Array:
    values = np.asarray(values, dtype=np.float64)
    if values.shape != distances.shape:
        raise ValueError(
            f"The function given as weights must return an array of the shape of its argument, {distances.shape}, "
            f"but it returned {values.shape}."
        )
    counted = np.where(copies > 0, values, 0.0)
    if not ((counted >= 0).all() and np.isfinite(counted).all()):
        raise ValueError("The function given as weights must return finite numbers ≥ 0.")
    if not counted.any(axis=1).all():
        raise ValueError(
            "All neighbors of some sample is getting zero weights. Please modify 'weights' to avoid this case if you "
            "are using a user-defined function. It must not return 0 for all neighbours of a row."
        )
    return counted
