"""The curse of dimensionality in two formulas: neighbourhoods must be wide, and points are far from the centre."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]


def edge_length(fraction: Any, dimensions: Any) -> Any:
    r"""The edge of a cube that holds a fraction of the unit cube's volume: :math:`e_d(f) = f^{1/d}`.

    Parameters
    ----------
    fraction : float in (0, 1], or array
    dimensions : int ≥ 1, or array

    References
    ----------
    Hastie, Tibshirani, Friedman, The Elements of Statistical Learning, section 2.5.

    Examples
    --------
    >>> from corollary.evaluate.theory import edge_length
    >>> print(f"{edge_length(0.01, 10):.2f} {edge_length(0.1, 10):.2f}")
    0.63 0.79
    """
    f, d = np.asarray(fraction, dtype=np.float64), np.asarray(dimensions, dtype=np.float64)
    if not ((f > 0) & (f <= 1)).all():
        raise ValueError(f"fraction must lie in (0, 1], but it is {fraction}.")
    _check_dimensions(d)
    return _plain(f ** (1 / d))


def median_nearest_distance(dimensions: Any, points: Any) -> Any:
    r"""Median distance from the centre of the unit ball to the nearest of N points that are spread evenly in it.

    .. math:: d(p, N) = \bigl(1 - (1/2)^{1/N}\bigr)^{1/p}

    Parameters
    ----------
    dimensions : int ≥ 1, or array
    points : int ≥ 1, or array

    Examples
    --------
    >>> from corollary.evaluate.theory import median_nearest_distance
    >>> print(f"{median_nearest_distance(10, 500):.2f}")  # more than half of the way to the edge
    0.52
    """
    p, n = np.asarray(dimensions, dtype=np.float64), np.asarray(points, dtype=np.float64)
    _check_dimensions(p)
    if not (n >= 1).all():
        raise ValueError(f"points must be at least 1, but they are {points}.")
    return _plain((-np.expm1(-np.log(2) / n)) ** (1 / p))


@dataclass(frozen=True)
class ManyDimensions:
    """Both figures for several numbers of dimensions; prints as a sentence about the last.

    Attributes
    ----------
    dimensions : tuple of int
    fractions : tuple of float
    points : int
    edges : array of shape (fractions, dimensions)
    distances : array of shape (dimensions,)
    """

    dimensions: tuple[int, ...]
    fractions: tuple[float, ...]
    points: int
    edges: Values
    distances: Values

    def to_frame(self) -> Any:
        """One row for each number of dimensions."""
        import pandas as pd

        columns = {f"edge for {fraction:g}": edges for fraction, edges in zip(self.fractions, self.edges, strict=True)}
        columns[f"nearest of {self.points}"] = self.distances
        return pd.DataFrame(columns, index=pd.Index(self.dimensions, name="dimensions"))

    def plot(self, ax: Any = None) -> Any:
        """Edges and the distance against the number of dimensions; returns the matplotlib axes."""
        from corollary.core.drawing import axes

        ax = axes(ax)
        for fraction, edges in zip(self.fractions, self.edges, strict=True):
            ax.plot(self.dimensions, edges, lw=1.8, label=f"edge that holds {fraction:.3g} of the volume")
        label = f"median distance to the nearest of {self.points:,} points"
        ax.plot(self.dimensions, self.distances, color="black", lw=1.4, ls="--", label=label)
        ax.set(xlabel="dimensions", ylabel="share of the whole range", ylim=(0, 1.02), xlim=(0, max(self.dimensions)))
        ax.legend(frameon=False, fontsize="small", loc="lower right")
        return ax

    def __str__(self) -> str:
        return (
            f"In {self.dimensions[-1]} dimensions a cube with {self.fractions[0]:.3g} of the volume is "
            f"{self.edges[0, -1]:.2f} of the range wide, and the nearest of {self.points:,} points is "
            f"{self.distances[-1]:.2f} of the radius away from the centre (median)."
        )


def curse_of_dimensionality(
    dimensions: Sequence[int] = tuple(range(1, 51)), fractions: Sequence[float] = (0.01, 0.1), points: int = 500
) -> ManyDimensions:
    """Edges of neighbourhoods and distances to the nearest point, as the dimensions grow.

    Parameters
    ----------
    dimensions : sequence of int ≥ 1
    fractions : sequence of float in (0, 1]
        Of the volume that neighbourhoods are to hold.
    points : int ≥ 1
        In the unit ball.

    Returns
    -------
    ManyDimensions

    Examples
    --------
    >>> from corollary.evaluate.theory import curse_of_dimensionality
    >>> print(curse_of_dimensionality([1, 2, 10]))
    In 10 dimensions a cube with 0.01 of the volume is 0.63 of the range wide, and the nearest of 500 points is 0.52 of
    the radius away from the centre (median).
    """
    if not len(dimensions) or not len(fractions):
        raise ValueError("dimensions and fractions must have at least one entry each.")
    edges = np.atleast_2d(edge_length(np.asarray(fractions)[:, None], np.asarray(dimensions)[None, :]))
    distances = np.atleast_1d(median_nearest_distance(np.asarray(dimensions), points))
    return ManyDimensions(tuple(dimensions), tuple(fractions), points, edges, distances)


def _check_dimensions(d: Values) -> None:
    if not (d >= 1).all():
        raise ValueError(f"dimensions must be at least 1, but they are {d.tolist()}.")


def _plain(values: Any) -> Any:
    return float(values) if np.ndim(values) == 0 else values
