"""Distances of chosen pairs of rows as they are, where squares would overflow, vanish or cancel.

Powers are taken of differences over the largest of them, so no term leaves the range of float64. For cosine, with
x = c q + w and w ⟂ q, the distance is 1 − cos θ = sin² θ / (1 + cos θ) with sin θ = ‖w‖/‖x‖: nothing cancels but in w,
which is worked out with numbers of twice the length. Angles below about d·2⁻⁹⁸ are zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from corollary._compiled.codes import CHEBYSHEV, MANHATTAN
from corollary.core.double_double import two_sum
from corollary.core.scaling import magnitude
from corollary.core.types import Array
from corollary.solvers.neighbors.long import add, dot, ratio, times, unit_peak
from corollary.solvers.neighbors.metric import Metric

VALUES = 1 << 20  # that are held at once
_SPARSE_PAIRS = 256
_TURN = np.array(2 * np.pi), np.array(2.4492935982947064e-16)  # 2π to twice the digits
_ANGLE = 2.0**-98  # what is left of nothing by rounding, for each column


def distances_of(metric: Metric, Q: Any, X: Any, query: Array, row: Array, shrink: float) -> Array:
    """Distances of the pairs (Q[query[i]], X[row[i]]), times ``shrink``: those beyond float64 keep their order."""
    sparse = scipy.sparse.issparse(X)
    step = _SPARSE_PAIRS if sparse else max(1, VALUES // max(1, X.shape[1]))
    out = np.empty(len(query))
    with np.errstate(over="ignore", under="ignore"):
        for a in range(0, len(query), step):
            left, right = Q[query[a : a + step]], X[row[a : a + step]]
            if sparse:
                left, right = _common_columns(left, right)
            out[a : a + step] = _measured(metric, left, right, shrink)
    return out


def shrink_for(metric: Metric, *parts: Any) -> float:
    """A power of two by which distances stay finite; 1 but for numbers near the end of float64."""
    size = max((magnitude(part) for part in parts if part.shape[0]), default=0.0)
    if metric.unit or size < 2.0**990:
        return 1.0
    return float(2.0 ** -(36 + 2 * np.log2(parts[0].shape[1] + 1.0)).round())


def differ(Q: Any, X: Any, query: Array, row: Array) -> Array:
    """Whether the rows of each pair differ at all."""
    out, step = np.empty(len(query), dtype=bool), max(1, VALUES // max(1, X.shape[1]))
    for a in range(0, len(query), step):
        left, right = Q[query[a : a + step]], X[row[a : a + step]]
        if scipy.sparse.issparse(X):
            out[a : a + step] = np.diff(scipy.sparse.csr_array(left != right).indptr) > 0
        else:
            out[a : a + step] = (left != right).any(axis=1)
    return out


def _common_columns(left: Any, right: Any) -> tuple[Array, Array]:
    """Sparse rows as dense ones, without the columns that are zero in all of them."""
    both = scipy.sparse.vstack([left, right], format="csr")
    columns, places = np.unique(both.indices, return_inverse=True)
    short = scipy.sparse.csr_array((both.data, places, both.indptr), shape=(both.shape[0], max(1, len(columns))))
    dense = short.toarray()
    return dense[: left.shape[0]], dense[left.shape[0] :]


def _measured(metric: Metric, left: Array, right: Array, shrink: float) -> Array:
    if metric.sphere:
        return _angles_on_sphere(left, right)
    return _cosine(metric, left, right) if metric.cosine else _powers(metric, left, right, shrink)


def _angles_on_sphere(left: Array, right: Array) -> Array:
    """Angles between points given by latitude and longitude, by half chords to one point and to the one opposite."""
    (u, v), (x, y) = (np.asarray(side, dtype=np.float64).T for side in (left, right))
    both, turn = np.cos(u) * np.cos(x), 0.5 * _part_of_turn(v, y)
    near = np.sin(0.5 * (u - x)) ** 2 + both * np.sin(turn) ** 2
    far = np.sin(0.5 * (u + x)) ** 2 + both * np.cos(turn) ** 2
    return np.asarray(2.0 * np.arctan2(np.sqrt(np.maximum(near, 0.0)), np.sqrt(np.maximum(far, 0.0))))


def _part_of_turn(v: Array, y: Array) -> Array:
    """v − y less whole turns, rounded once: across the antimeridian the plain difference would lose its digits."""
    gap = two_sum(v, -y)
    turns = -np.rint(gap[0] / _TURN[0])
    return add(gap, times((turns, np.zeros_like(turns)), _TURN))[0]


def _powers(metric: Metric, left: Array, right: Array, shrink: float) -> Array:
    """(Σ |t|^p)^(1/p) as the largest |t| times a number that is neither tiny nor huge."""
    gap = np.abs(left.astype(np.float64) * shrink - right.astype(np.float64) * shrink)
    peak = gap.max(axis=1, initial=0.0)
    if metric.code == CHEBYSHEV:
        return peak
    exponent = np.frexp(peak)[1]
    gap = np.ldexp(gap, -exponent[:, None])
    if metric.code == MANHATTAN:
        total = gap.sum(axis=1)
    else:
        top = np.maximum(gap.max(axis=1, initial=0.0), 0.5)  # in [½, 1), or of equal rows
        total = top * ((gap / top[:, None]) ** metric.p).sum(axis=1) ** (1.0 / metric.p)
    return np.ldexp(total, exponent)


def _cosine(metric: Metric, left: Array, right: Array) -> Array:
    q, x = (unit_peak(side, metric.centred) for side in (left, right))
    square, own, product = dot(q, q), dot(x, x)[0], dot(q, x)
    flat = (square[0] == 0) | (own == 0)
    safe = np.where(flat, 1.0, square[0]), np.where(flat, 0.0, square[1])
    c = ratio(product, safe)
    w = add(x, times((-c[0][:, None], -c[1][:, None]), q))[0]
    sine = np.einsum("ij,ij->i", w, w) / np.where(flat, 1.0, own)
    sine[sine <= (left.shape[1] * _ANGLE) ** 2] = 0.0
    cosine = product[0] / np.sqrt(np.where(flat, 1.0, safe[0] * own))
    found = np.where(cosine > 0, sine / (1.0 + np.maximum(cosine, 0.0)), 1.0 - cosine)
    return np.where(flat, 1.0, found)
