"""Numbers about a division of rows into clusters, and rules that choose the number of clusters from them."""

from __future__ import annotations

import numpy as np

from corollary.core.parallel import one_blas_thread
from corollary.core.types import Array


def within_dispersion(X: Array, labels: Array) -> tuple[float, Array]:
    r""":math:`W = \sum_c \sum_{i \in c} \|x_i - \bar x_c\|^2`, and the number of rows in each cluster that has any."""
    _, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    total = 0.0
    for code in range(len(counts)):
        members = X[codes == code]
        total += float(((members - members.mean(axis=0)) ** 2).sum())
    return total, counts


def distinct_rows(X: Array, enough: int) -> int:
    """The number of distinct rows; counting stops early once there are ``enough``."""
    for rows in (X[: max(1000, 4 * enough)], X):
        found = len(np.unique(rows, axis=0))
        if found >= enough:
            break
    return found


def spherical_bic(dispersion: float, counts: Array, d: int) -> float:
    r"""BIC of Gaussians with one common variance whose rows are known: k − 1 weights, k d means and the variance.

    .. math:: -2 \Big( \sum_c n_c \ln \frac{n_c}{n} - \frac{n d}{2} (\ln 2 \pi \sigma^2 + 1) \Big) + k (d + 1) \ln n,
              \qquad \sigma^2 = \frac{W}{n d}
    """
    n, k = int(counts.sum()), len(counts)
    variance = dispersion / (n * d)
    likelihood = float(counts @ np.log(counts / n)) - 0.5 * n * d * (np.log(2 * np.pi * variance) + 1)
    return float(-2 * likelihood + k * (d + 1) * np.log(n))


def chord_distances(ks: Array, dispersion: Array) -> Array:
    """How far each point of the curve lies below the chord from its first to its last; both axes run from 0 to 1."""
    ks, dispersion = np.asarray(ks, dtype=np.float64), np.asarray(dispersion, dtype=np.float64)
    if len(ks) < 3 or not dispersion[0] > dispersion[-1]:
        return np.full(len(ks), np.nan)
    along = (ks - ks[0]) / (ks[-1] - ks[0])
    down = (dispersion - dispersion[-1]) / (dispersion[0] - dispersion[-1])
    distances: Array = (1.0 - along - down) / np.sqrt(2.0)
    return distances


def box_around(X: Array) -> tuple[Array, Array, Array]:
    """The middle, the principal axes (rows) and the ranges along them: the smallest such box that holds X."""
    middle = X.mean(axis=0)
    with one_blas_thread():
        _, _, axes = np.linalg.svd(X - middle, full_matrices=False)
    turned = (X - middle) @ axes.T
    return middle, axes, np.stack([turned.min(axis=0), turned.max(axis=0)])


def rows_without_clusters(box: tuple[Array, Array, Array], n: int, random: np.random.RandomState) -> Array:
    """Rows drawn evenly from the box around the data: what the data would be if they had no clusters."""
    middle, axes, (low, high) = box
    drawn: Array = middle + random.uniform(low, high, size=(n, len(low))) @ axes
    return drawn


def gap_choice(gap: Array, error: Array) -> int | None:
    """The position of the first k whose gap is at least the next one less that one's standard error, if any."""
    enough = np.flatnonzero(gap[:-1] >= gap[1:] - error[1:])
    return int(enough[0]) if len(enough) else None
