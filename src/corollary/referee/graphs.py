"""The referee of spectral clustering: kernel, Laplacian and cut from the definitions, in extended precision."""

from __future__ import annotations

from typing import Any

import numpy as np

from corollary.referee.clusters import squared_distances
from corollary.referee.rows import LONG, ROUNDED, Array, dense
from corollary.referee.verdict import Verification, measured

MOST = 1500  # vertices beyond which a dense graph takes too long
LARGEST = 20_000_000  # numbers in all differences of rows
LARGE = Verification(None, "X has too many rows for this arithmetic")
UNTOLD = 1e-9  # relative difference of distances that the neighbours of a fit may mistake


def gaussian_kernel(X: Any, gamma: float, W: Any) -> Verification:
    """The largest error of affinities that are said to be exp(−γ ‖x − x'‖²)."""
    X, W = dense(X), dense(W)
    if X.size * len(X) > LARGEST:
        return LARGE
    with np.errstate(all="ignore"):
        own = np.exp(-LONG(gamma) * squared_distances(X, X))
    np.fill_diagonal(own, np.diag(W))
    return measured(float(np.abs(own - W).max()), 1e-9, "the largest error of an affinity")


def neighbour_graph(X: Any, W: Any, count: int | None = None, radius: float = 0.0) -> Verification:
    """Whether W = ½ (G + Gᵀ), where G joins each row by 1 to its ``count`` nearest, itself among them, or (without a
    count) to all others within ``radius``.

    Of rows whose distances float64 cannot tell apart, any may be the nearest.
    """
    X = dense(X)
    if X.size * len(X) > LARGEST:
        return LARGE
    W = dense(W)
    with np.errstate(all="ignore"):
        away = np.sqrt(squared_distances(X, X))
        reach = np.sort(away, axis=1)[:, count - 1 : count] if count is not None else LONG(radius)
        surely, maybe = away < reach * (1 - UNTOLD), away <= reach * (1 + UNTOLD)
    if count is None:
        np.fill_diagonal(surely, False)
        np.fill_diagonal(maybe, False)
    low, high = (0.5 * (edges.astype(float) + edges.T) for edges in (surely, maybe))
    wrong = np.argwhere((low > W) | (high < W) | np.mod(2 * W, 1).astype(bool))
    told = f"of rows within {radius:g}" if count is None else f"of the {count} nearest rows"
    if len(wrong):
        i, j = wrong[0]
        return Verification(False, f"rows {i} and {j} are joined by {float(W[i, j]):.3g}, not as in a graph {told}")
    if count is not None and W.sum() != len(X) * count:
        return Verification(False, f"the graph has {float(W.sum()):g} edges, and one {told} has {len(X) * count}")
    return Verification(True, f"the graph is that {told}")


def given_graph(X: Any, W: Any) -> Verification:
    """The largest difference of affinities from the mean of X and its transpose, over the largest."""
    if X.shape[0] > MOST:
        return LARGE
    X, W = dense(X), dense(W)
    size = max(float(np.abs(X).max()), np.finfo(np.float64).tiny)
    off = float(np.abs(W - (X / 2 + X.T / 2)).max()) / size if W.shape == X.shape else np.inf
    return measured(off, 1e-9, "the largest difference of an affinity from the one that was given")


def eigenvectors(W: Any, embedding: Array, values: Array, tolerance: float) -> Verification:
    """‖L u − λ u‖ of unit vectors u = D^½ z for the columns z of the embedding, L = I − D^(−½) W D^(−½) without loops;
    and whether the u are at right angles. A vertex without edges is an eigenvector of its own, of value zero.
    """
    if W.shape[0] > MOST:
        return Verification(None, "the graph has too many vertices for this arithmetic")
    W = dense(W)
    np.fill_diagonal(W, 0)
    degree = W.sum(axis=1)
    size = np.sqrt(np.where(degree > 0, degree, 1))
    U = np.asarray(embedding, dtype=LONG) * size[:, None]
    lengths = np.sqrt((U * U).sum(axis=0))
    if not (np.isfinite(U).all() and (lengths > 0).all()):
        return Verification(False, "an eigenvector is zero or not finite")
    skew = float(np.abs((U / lengths).T @ (U / lengths) - np.eye(len(lengths))).max())
    if skew > max(1e-6, 10 * tolerance):
        return Verification(False, f"eigenvectors are not at right angles, by {skew:.2g}", skew)
    image = U * (degree > 0)[:, None] - (W @ (U / size[:, None])) / size[:, None]
    off = float((np.sqrt(((image - U * np.asarray(values, dtype=LONG)) ** 2).sum(axis=0)) / lengths).max())
    return measured(off, tolerance * ROUNDED, "the largest residual of an eigenvector of the Laplacian", 1e-13)


def cut(W: Any, labels: Array, clusters: int, tolerance: float) -> Verification:
    """Whether the normalised cut of the labels is at most ``tolerance``."""
    if len(np.unique(labels)) != clusters:
        return Verification(False, f"there are {len(np.unique(labels))} clusters where {clusters} were asked for")
    return measured(_normalised_cut(W, labels), tolerance, "the normalised cut")


def told_cut(W: Any, labels: Array, told: float) -> Verification:
    """Whether the normalised cut of the labels is the one that is told."""
    off = abs(_normalised_cut(W, labels) - told) if np.isfinite(told) else np.nan
    return measured(off, 1e-6, "the difference of the labels' normalised cut from the one that is told")


def _normalised_cut(W: Any, labels: Array) -> float:
    """Σ over clusters of the weight of the edges that leave one, over the sum of its degrees."""
    W = W.tocoo() if hasattr(W, "tocoo") else np.asarray(W)
    rows, columns = (W.row, W.col) if hasattr(W, "row") else np.nonzero(W)
    weights = np.asarray(W.data if hasattr(W, "row") else W[rows, columns], dtype=LONG)
    weights = np.where(rows == columns, LONG(0), weights)
    volume, left = np.zeros(int(np.max(labels)) + 1, LONG), np.zeros(int(np.max(labels)) + 1, LONG)
    np.add.at(volume, labels[rows], weights)
    np.add.at(left, labels[rows], np.where(labels[rows] == labels[columns], LONG(0), weights))
    return float((left / np.where(volume > 0, volume, 1)).sum())
