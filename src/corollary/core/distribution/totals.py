"""What rows contribute to distributions that need no more than totals of columns, and sums of logarithms of zero."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from corollary.core.distribution.shares import Hard, Shares, counts_of, sums_of
from corollary.core.limits import ArrayLike, Real
from corollary.core.types import Array

PRIOR = Real(0, finite=True) | ArrayLike()  # one number, or one for each column


@dataclass(frozen=True)
class Totals:
    """Σ share, Σ share of rows in which the column is not missing, and Σ share × x.

    ``present`` has shape (K, 1) where nothing is missing, else (K, d).
    """

    counts: Array
    present: Array
    totals: Array

    def __add__(self, other: Totals) -> Totals:
        return Totals(self.counts + other.counts, self.present + other.present, self.totals + other.totals)


def summed(X: Any, shares: Shares) -> Totals:
    """Totals of columns; NaN is skipped."""
    if isinstance(shares, Hard) and not issparse(X) and X.dtype.kind == "f" and not np.isnan(X.min(initial=0.0)):
        return Totals(shares.counts, shares.counts[:, None], sums_of(shares, X))  # nothing is copied
    counts, (X, missing) = counts_of(shares), filled(X)
    present = counts[:, None]
    if missing is not None:
        present = sums_of(shares, (~missing).astype(np.float64))
    return Totals(counts, present, sums_of(shares, X))


def filled(X: Any) -> tuple[Any, Array | None]:
    """X as float64 with zeros in the place of what is missing, and where that was (None: nowhere)."""
    if issparse(X):
        return X.astype(np.float64, copy=False), None
    X = np.asarray(X, dtype=np.float64)
    missing = np.isnan(X)
    return (np.where(missing, 0.0, X), missing) if missing.any() else (X, None)


def log(values: Array) -> Array:
    """The logarithm, −∞ of zero."""
    with np.errstate(divide="ignore"):
        logs: Array = np.log(values)
    return logs


def ratio(change: Array, size: Array) -> Array:
    """change² / size, where nothing by nothing is nothing."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        found: Array = np.where(change == 0, 0.0, np.square(change) / size)
    return found


def prior_of(name: str, value: Any, d: int) -> Array:
    """A prior's number for each of d columns."""
    numbers = np.asarray(value, dtype=np.float64)
    if numbers.ndim and numbers.shape != (d,):
        raise ValueError(
            f"{name} should be a scalar or a 1d array with shape [n_features], one number for each of the {d} columns, "
            f"but its shape is {numbers.shape}."
        )
    if not (np.isfinite(numbers).all() and (numbers >= 0).all()):
        raise ValueError(f"{name} must be finite and ≥ 0, but the least of it is {numbers.min()}.")
    return np.broadcast_to(numbers, (d,))


def added(value: Any, more: float) -> Any:
    """A prior's number, or its numbers, and ``more``."""
    return value + more if np.ndim(value) == 0 else (np.asarray(value, dtype=np.float64) + more).tolist()


def scaled(value: Any, unit: float) -> Any:
    """A prior's number, or its numbers, times ``unit``."""
    return value * unit if np.ndim(value) == 0 else (np.asarray(value, dtype=np.float64) * unit).tolist()


def weighed(alpha: Any, logs: Array) -> float:
    """Σ alpha × logs (K, d), where nothing times the logarithm of zero is nothing."""
    weights = np.broadcast_to(np.asarray(alpha, dtype=np.float64), logs.shape)
    return float((weights[weights > 0] * logs[weights > 0]).sum())


def refuse(X: Any, wrong: Any, who: str, wanted: str) -> None:
    """ValueError with the first column and value for which ``wrong(values)`` holds; missing values are never wrong."""
    values = X.data if issparse(X) else np.asarray(X)
    bad = wrong(values)
    if not bad.any():
        return
    where = np.flatnonzero(bad.ravel())[0]
    value = values.ravel()[where]
    column = X.tocsr().indices[where] if issparse(X) else where % X.shape[1]
    raise ValueError(f"{who} needs {wanted}, but column {int(column)} of X has {value:g}.")


def not_counts(values: Array) -> Array:
    """Where values are neither missing nor whole numbers ≥ 0."""
    with np.errstate(invalid="ignore"):
        wrong: Array = ~np.isnan(values) & ((values < 0) | (values != np.rint(values)) | np.isinf(values))
    return wrong


def check_arrays(who: str, params: Any, shapes: dict[str, tuple[int, ...]], *, low: float = -np.inf) -> None:
    """ValueError unless ``params`` holds float64 arrays of these names and shapes, finite and not below ``low``."""
    if not isinstance(params, dict) or set(params) != set(shapes):
        raise ValueError(f"{who} has parameters {', '.join(shapes)}, and these are others")
    for name, shape in shapes.items():
        value = params[name]
        if not (isinstance(value, np.ndarray) and value.dtype == np.float64 and value.shape == shape):
            raise ValueError(f"{name} of {who} must be float64 of shape {shape}")
        if not (np.isfinite(value).all() and (value >= low).all()):
            raise ValueError(f"{name} of {who} must be finite numbers ≥ {low:g}")


def check_logs(who: str, params: Any, shapes: dict[str, tuple[int, ...]]) -> None:
    """The same for logarithms of probabilities: at most zero, −∞ included."""
    check_arrays(who, {k: np.maximum(v, -1e300) if _real(v) else v for k, v in dict(params).items()}, shapes)
    for name in shapes:
        if (params[name] > 1e-9).any():
            raise ValueError(f"{name} of {who} must be logarithms of probabilities, and some are above zero")


def _real(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype == np.float64
