"""One nearest neighbour against the best that can be had: the bounds of Cover and Hart, in both directions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from corollary.evaluate.calibration import wilson
from corollary.evaluate.scoring import check_rows
from corollary.evaluate.wording import between, number
from corollary.neighbors.nearest_neighbors import NearestNeighbors


def cover_hart_bounds(bayes_error: float, classes: int = 2) -> tuple[float, float]:
    r"""Between what the error of one nearest neighbour lies when there are very many rows.

    .. math:: R^* \le R \le R^* \Bigl(2 - \frac{K}{K - 1} R^*\Bigr)

    Parameters
    ----------
    bayes_error : float in [0, (K − 1) / K]
        R*, the least error that any classifier can have.
    classes : int ≥ 2
        K.

    References
    ----------
    Cover and Hart, Nearest neighbor pattern classification, IEEE Transactions on Information Theory 13, 1967.

    Examples
    --------
    >>> from corollary.evaluate.theory import cover_hart_bounds
    >>> low, high = cover_hart_bounds(0.1)
    >>> print(f"{low:.2f} to {high:.2f}")
    0.10 to 0.18
    """
    worst = _worst(classes)
    if not 0 <= bayes_error <= worst + 1e-12:
        raise ValueError(f"bayes_error must lie in [0, {worst:.4g}] for {classes} classes, but it is {bayes_error}.")
    return bayes_error, bayes_error * (2 - bayes_error / worst)


def bayes_error_bounds(error: float, classes: int = 2) -> tuple[float, float]:
    """Between what the least possible error lies, given the error of one nearest neighbour with very many rows.

    The bounds of :func:`cover_hart_bounds` solved for R*. A measured error above (K − 1) / K is taken for that.

    Parameters
    ----------
    error : float in [0, 1]
    classes : int ≥ 2

    Examples
    --------
    >>> from corollary.evaluate.theory import bayes_error_bounds
    >>> low, high = bayes_error_bounds(0.18)
    >>> print(f"{low:.2f} to {high:.2f}")
    0.10 to 0.18
    """
    worst = _worst(classes)
    if not 0 <= error <= 1:
        raise ValueError(f"error must lie in [0, 1], but it is {error}.")
    error = min(error, worst)
    return worst * (1 - float(np.sqrt(1 - error / worst))), error


@dataclass(frozen=True)
class NearestNeighbour:
    """The measured error of one nearest neighbour, and what it says about the least possible error.

    Attributes
    ----------
    error : float
        Each row is given the class of its nearest other row.
    interval : tuple of two floats
        95 % (Wilson).
    bayes : tuple of two floats
        Where the least possible error lies, as far as the bounds for very many rows hold for these: from the lower
        bound at the lower end of the interval to its upper end.
    classes, rows : int
    """

    error: float
    interval: tuple[float, float]
    bayes: tuple[float, float]
    classes: int
    rows: int

    def plot(self, ax: Any = None) -> Any:
        """The region that the bounds allow, and where this error cuts it; returns the matplotlib axes."""
        from corollary.core.drawing import BLUE, ORANGE, SOFT, axes

        ax = axes(ax, (5, 5))
        least = np.linspace(0, _worst(self.classes), 200)
        upper = [cover_hart_bounds(each, self.classes)[1] for each in least]
        ax.fill_between(least, least, upper, color=BLUE, alpha=0.2, lw=0, label="possible (Cover and Hart)")
        ax.axhspan(*self.interval, color=ORANGE, alpha=0.15, lw=0)
        ax.axhline(self.error, color=ORANGE, lw=1.2, label=f"measured, {self.error:.3g}")
        ax.plot(self.bayes, [self.error] * 2, color=ORANGE, lw=4, solid_capstyle="butt")
        ax.plot(least, least, color=SOFT, lw=1, ls="--")
        ax.set(xlabel="least possible error", ylabel="error of one nearest neighbour", xlim=(0, _worst(self.classes)),
               ylim=(0, _worst(self.classes)))  # fmt: skip
        ax.legend(frameon=False, fontsize="small", loc="upper left")
        return ax

    def __str__(self) -> str:
        return (
            f"One nearest neighbour errs on {number(self.error, 3)} of {self.rows:,} rows ({between(self.interval)}); "
            f"with rows without end, the least possible error would lie between {number(self.bayes[0], 3)} and "
            f"{number(self.bayes[1], 3)}."
        )


def nearest_neighbour_error(X: Any, y: Any, *, metric: str = "euclidean") -> NearestNeighbour:
    """Leave-one-out error of one nearest neighbour, and the bounds that it sets to the least possible error.

    Parameters
    ----------
    X : array of shape (n, d)
        Scale columns of different units first.
    y : array of n labels
    metric : str
        As of ``NearestNeighbors``.

    Returns
    -------
    NearestNeighbour

    Notes
    -----
    The bounds are for very many rows. In many dimensions n rows are few, the neighbour is far, and the error is above
    its limit; so the upper bound stands and the lower one is a guess.

    *Cost*: that of a search for two neighbours of each row.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from corollary.evaluate.theory import nearest_neighbour_error
    >>> print(nearest_neighbour_error(*load_iris(return_X_y=True)))
    One nearest neighbour errs on 0.040 of 150 rows (95 % interval 0.018 to 0.085); with rows without end, the
    least possible error would lie between 0.009 and 0.085.
    """
    rows, labels = check_rows(X, y), np.asarray(y)
    classes = len(np.unique(labels))
    if labels.ndim != 1 or classes < 2:
        raise ValueError(f"y must be labels of at least 2 classes, but it has {classes}.")
    nearest = NearestNeighbors(n_neighbors=1, metric=metric).fit(X).kneighbors(return_distance=False)[:, 0]
    error = float(np.mean(labels[nearest] != labels))
    low, high = (float(end) for end in wilson(error, rows))
    bayes = (bayes_error_bounds(low, classes)[0], min(high, _worst(classes)))
    return NearestNeighbour(error, (low, high), bayes, classes, rows)


def _worst(classes: int) -> float:
    if classes < 2:
        raise ValueError(f"classes must be at least 2, but it is {classes}.")
    return (classes - 1) / classes
