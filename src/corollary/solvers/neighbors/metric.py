"""Metrics that compiled code knows, and how rows become the points that it compares."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from corollary._compiled.codes import CHEBYSHEV, EUCLIDEAN, MANHATTAN, MINKOWSKI
from corollary.core.scaling import magnitude, power_of_two
from corollary.core.types import Array
from corollary.solvers.neighbors.long import centred_rows

# metrics that kernels know, by what they take of the differences of two rows; "cosine" is half of it for unit vectors
COMPILED = {
    "euclidean": EUCLIDEAN,
    "l2": EUCLIDEAN,
    "manhattan": MANHATTAN,
    "l1": MANHATTAN,
    "cityblock": MANHATTAN,
    "chebyshev": CHEBYSHEV,
    "infinity": CHEBYSHEV,
    "cosine": EUCLIDEAN,
}
_POWERS = {EUCLIDEAN: 2.0, MANHATTAN: 1.0, CHEBYSHEV: math.inf}
_LARGEST = 600.0  # between 2 to this and its inverse, powers and their sums stay in range
_MOST = 2.0**900  # sums of so large numbers are finite
_SAMPLE = 4096  # values that show how large most are


@dataclass(frozen=True)
class Metric:
    """A metric by its code and power; ``cosine`` is half the squared Euclidean distance of unit vectors.

    ``centred`` makes a correlation of it: rows are taken about their own means. ``sphere`` is the angle between points
    of a sphere, given by latitude and longitude in radians (haversine): points are searched in space, by their chords.
    """

    code: int
    p: float
    cosine: bool = False
    centred: bool = False
    sphere: bool = False

    @property
    def unit(self) -> bool:
        """Whether points are vectors of length one."""
        return self.cosine or self.sphere

    @property
    def dense(self) -> bool:
        """Whether sparse rows would become dense points."""
        return self.centred or self.sphere

    @staticmethod
    def of(name: Any, p: float, parameters: dict[str, Any] | None) -> Metric | None:
        """The compiled metric of that name, or None."""
        if name == "minkowski" and not (parameters or {}).keys() - {"p"}:
            p = float((parameters or {}).get("p", p))
            name = {1.0: "l1", 2.0: "l2", math.inf: "chebyshev"}.get(p, name)
            if name == "minkowski":
                return Metric(MINKOWSKI, p)
        if not isinstance(name, str) or parameters:
            return None
        if name == "correlation":
            return Metric(EUCLIDEAN, 2.0, cosine=True, centred=True)
        if name == "haversine":
            return Metric(EUCLIDEAN, 2.0, sphere=True)
        name = "l2" if name == "nan_euclidean" else name  # rows have no gaps here
        if name not in COMPILED:
            return None
        return Metric(COMPILED[name], _POWERS[COMPILED[name]], name == "cosine")

    def distance(self, reduced: Array, scale: float) -> Array:
        """Distances from the reduced ones of points that were multiplied by ``scale``."""
        if self.cosine:
            return reduced * 0.5
        if self.sphere:
            return np.asarray(2.0 * np.arcsin(np.minimum(0.5 * np.sqrt(reduced), 1.0)))
        with np.errstate(over="ignore"):  # what is beyond float64 is ∞
            if self.code == EUCLIDEAN:
                reduced = np.sqrt(reduced)
            elif self.code == MINKOWSKI:
                reduced = reduced ** (1.0 / self.p)
            return reduced / scale if scale != 1.0 else reduced

    def reduced(self, radius: Array, scale: float) -> Array:
        """The largest reduced distance that does not come out beyond ``radius``."""
        if self.cosine:
            return radius * 2.0
        if self.code in (MANHATTAN, CHEBYSHEV):
            return radius.copy()
        reduced: Array = (radius * scale) ** self.p
        if self.sphere:
            reduced = np.where(radius < np.pi, (2.0 * np.sin(0.5 * np.minimum(radius, np.pi))) ** 2, np.inf)
        for _ in range(4):  # roots round: the power may be off by a unit or two in the last place
            reduced = np.where(self.distance(reduced, scale) > radius, np.nextafter(reduced, 0.0), reduced)
        for _ in range(8):
            above = np.nextafter(reduced, np.inf)
            reduced = np.where(self.distance(above, scale) <= radius, above, reduced)
        return reduced


def scale_for(metric: Metric, X: Any) -> float:
    """A power of two that brings most values where powers neither overflow nor vanish; mostly 1.

    Rows out of all proportion to the others may still do so: :mod:`corollary.solvers.neighbors.doubt` sees to them.
    """
    size, largest = magnitude(X), 2.0 ** (_LARGEST / max(metric.p, 2.0))
    if metric.unit or metric.code in (MANHATTAN, CHEBYSHEV) or size == 0 or 1 / largest < size < largest:
        return 1.0
    values = X.data if scipy.sparse.issparse(X) else X
    sample = np.abs(values.reshape(-1)[:: max(1, values.size // _SAMPLE)] if values.flags.c_contiguous else values)
    typical = float(np.median(sample[sample > 0])) if (sample > 0).any() else size
    scale = 1.0 if 1 / largest < typical < largest else power_of_two(typical)
    return scale if size * scale < _MOST else power_of_two(size) * _MOST


def points(metric: Metric, X: Any, scale: float, *, queries: bool) -> Any:
    """Rows as float64 in C order (training rows may stay float32), or CSR with sorted columns; unit length for cosine.

    Cosine distance from a row of zeros is 1 to everything. Two more columns see to that: such rows point along the
    first of them, such queries along the second.
    """
    if scipy.sparse.issparse(X):
        X = scipy.sparse.csr_array(X, dtype=np.float64, copy=True)
        X.sum_duplicates()
    elif queries or metric.cosine or scale != 1.0:
        X = np.ascontiguousarray(X, dtype=np.float64)
    else:
        X = np.ascontiguousarray(X)
    if scale != 1.0:
        with np.errstate(over="ignore"):  # queries may be out of all proportion
            X = X * scale
    if metric.sphere:
        return _on_sphere(X)
    if metric.centred:
        X = _varying(centred_rows(X))
    return _unit_rows(X, queries) if metric.cosine else X


def _on_sphere(X: Array) -> Array:
    latitude, longitude = np.asarray(X, dtype=np.float64).T
    level = np.cos(latitude)
    return np.column_stack([level * np.cos(longitude), level * np.sin(longitude), np.sin(latitude)])


def _varying(X: Array) -> Array:
    flat = ~X.any(axis=1)
    if flat.any():
        raise ValueError(
            f"metric='correlation' needs rows that vary, but row {int(np.argmax(flat))} has the same value in every "
            "column."
        )
    return X


def _unit_rows(X: Any, queries: bool) -> Any:
    slots = np.zeros((X.shape[0], 2))
    if scipy.sparse.issparse(X):
        counts = np.diff(X.indptr)
        row = np.repeat(np.arange(X.shape[0]), counts)
        peak = np.zeros(X.shape[0])
        np.maximum.at(peak, row, np.abs(X.data))
        safe = np.where(peak > 0, peak, 1.0)
        data = X.data / safe[row]
        length = np.sqrt(np.bincount(row, weights=data * data, minlength=X.shape[0]))
        data /= np.where(peak > 0, length, 1.0)[row]
        slots[peak == 0, int(queries)] = 1.0
        unit = scipy.sparse.csr_array((data, X.indices, X.indptr), shape=X.shape)
        return scipy.sparse.hstack([unit, scipy.sparse.csr_array(slots)], format="csr")
    peak = np.abs(X).max(axis=1, initial=0.0)
    unit = X / np.where(peak > 0, peak, 1.0)[:, None]
    unit /= np.where(peak > 0, np.sqrt(np.einsum("ij,ij->i", unit, unit)), 1.0)[:, None]
    slots[peak == 0, int(queries)] = 1.0
    return np.hstack([unit, slots])
