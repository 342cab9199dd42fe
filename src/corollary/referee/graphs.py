"""The referee of spectral clustering: kernel, Laplacian and cut from the definitions, in extended precision."""

from __future__ import annotations

from typing import Any

import numpy as np

from corollary.referee.clusters import squared_distances
from corollary.referee.rows import LONG, ROUNDED, Array, dense
from corollary.referee.verdict import Verification, measured

MOST = 1500  # vertices beyond which a dense graph takes too long


def gaussian_kernel(X: Any, gamma: float, W: Any) -> Verification:
    """The largest error of affinities that are said to be exp(−γ ‖x − x'‖²)."""
    X, W = dense(X), dense(W)
    if X.size * len(X) > 20_000_000:
        return Verification(None, "X has too many rows for this arithmetic")
    with np.errstate(all="ignore"):
        own = np.exp(-LONG(gamma) * squared_distances(X, X))
    np.fill_diagonal(own, np.diag(W))
    return measured(float(np.abs(own - W).max()), 1e-9, "the largest error of an affinity")


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
