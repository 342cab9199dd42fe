"""Weighted Gaussians: their parameters, and the units in which they are kept.

Inside, rows are counted from a centre in units of a scale, column by column: neither large means nor small scales
cost digits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from corollary.core.distribution.covariances import (
    DENSE,
    LOG_2_PI,
    from_roots,
    log_determinants,
    penalty_of,
    squared_distance,
)
from corollary.core.scaling import exponents_of
from corollary.core.types import Array

FAINT, NEVER = -46.0, -745.0  # logarithms of shares too small to change a sum in float64, and of shares that are zero


@dataclass(frozen=True)
class Units:
    """Coordinates (x − centre) / scale. Scales are powers of two, so only the centre costs a rounding."""

    centre: Array
    scale: Array

    @classmethod
    def spanning(cls, centre: Array, low: Array, high: Array, least: float, *, common: bool) -> Units:
        """Units in which columns from ``low`` to ``high`` are of size one; ``common`` gives them all the same."""
        reach = np.maximum(high / 2 - centre / 2, centre / 2 - low / 2)
        reach = np.maximum(np.full_like(reach, reach.max()) if common else reach, least / 2)
        return cls(centre, np.ldexp(1.0, exponents_of(reach) + (reach > 0)))

    @property
    def log_scale(self) -> float:
        return float(np.log(self.scale).sum())

    @property
    def inside(self) -> tuple[Array, Array]:
        """What rows are moved by, and multiplied by, to be in these units."""
        return self.centre, 1.0 / self.scale

    def enter(self, X: Array, out: Array | None = None) -> Array:
        """Rows in these units, as float64."""
        out = np.empty(X.shape) if out is None else out
        np.subtract(X, self.centre, out=out, dtype=np.float64)
        out *= 1.0 / self.scale
        return out

    def leave(self, Z: Array) -> Array:
        """Rows in these units in those of the data again."""
        left: Array = self.centre + self.scale * Z
        return left


@dataclass(frozen=True)
class Gaussians:
    """k weighted Gaussians with covariances Σ of one kind, and U with Σ⁻¹ = U Uᵀ (``roots``).

    Covariances and roots have shape (k, d, d) if "full", (1, d, d) if "tied", else (k, d). ``penalty`` is tr(Σ⁻¹ E)
    with E the regularisation that was added to Σ. ``floor`` bounds Σ from below and never rises; ``widened`` says where
    it did. Shares whose logarithm is not above ``cut`` are taken to be zero.
    """

    kind: str
    weights: Array
    means: Array
    covariances: Array
    roots: Array
    penalty: Array
    floor: Array
    cut: Array
    widened: Array

    @classmethod
    def at(cls, kind: str, weights: Array, means: Array, roots: Array) -> Gaussians:
        """With given roots, not regularised."""
        k, d = means.shape
        return cls(
            kind, weights, means, from_roots(roots), roots, np.zeros(k), np.full(d, np.inf), np.full(k, NEVER),
            np.zeros(k, dtype=bool),
        )  # fmt: skip

    def starting(self, regular: Array) -> Gaussians:
        """As a start for EM: with its penalty, and a floor that is not above these covariances."""
        dense = self.kind in DENSE
        diagonals = np.diagonal(self.covariances, axis1=1, axis2=2) if dense else self.covariances
        size = np.sqrt(self.weights @ diagonals if len(diagonals) > 1 else diagonals[0])
        relative = self.covariances / (np.outer(size, size) if dense else size**2)
        least = max(float(np.linalg.eigvalsh(relative).min() if dense else relative.min()), 1e-14)
        return replace(self, penalty=penalty_of(self.roots, regular, len(self.weights)), floor=0.99 * least * size**2)

    @classmethod
    def blank(cls, kind: str, means: Array) -> Gaussians:
        """Equal weights and Σ = I: something to take moments about."""
        k, d = means.shape
        one = np.ones((k, d))
        roots = np.repeat(np.eye(d)[None], 1 if kind == "tied" else k, axis=0) if kind in DENSE else one
        return cls.at(kind, np.full(k, 1.0 / k), means, roots)

    def offsets(self, log_scale: float) -> Array:
        """What is added to −½‖U(x − μ)‖² to give log(weight × density) in the units of the data, less ½ penalty."""
        with np.errstate(divide="ignore"):
            logs = np.log(self.weights)
        constant = self.means.shape[1] * LOG_2_PI + self.penalty
        result: Array = logs + log_determinants(self.roots) - 0.5 * constant - log_scale
        return result

    def distance(self, after: Gaussians) -> float:
        r"""How far other parameters are from these, in units in which one row of data can tell them apart.

        :math:`d^2 = \sum_k (\pi'_k - \pi_k)^2 / \pi_k` and that of means and covariances (``squared_distance``): the
        metric of Fisher's information on rows with known components. The distance from parameters to what one EM step
        makes of them is, to first order, the norm in it of the gradient of the mean log-likelihood.
        """
        used, change = self.weights > 0, after.covariances - self.covariances
        weights, step = self.weights[used], (after.means - self.means)[used]
        roots, change = (self.roots, change) if self.kind == "tied" else (self.roots[used], change[used])
        share = ((after.weights[used] - weights) ** 2 / weights).sum()
        return float(np.sqrt(squared_distance(self.kind, weights, roots, step, change, share)))

    @property
    def blur(self) -> float:
        """How far, in the same units, means can be from those of the rows as given: each was rounded in these units."""
        off = 0.5 * np.finfo(np.float64).eps * np.abs(self.means)
        sizes = np.abs(self.roots)
        sizes = np.broadcast_to(sizes, (len(off), *sizes.shape[1:]))
        moved = np.einsum("kj,kjl->kl", off, sizes) if self.kind in DENSE else off * sizes
        return float(np.sqrt(self.weights @ (moved**2).sum(axis=1)))


def attributes(params: Gaussians, units: Units) -> dict[str, Any]:
    """Weights, means, covariances and precisions in the units of the data, shaped as in scikit-learn."""
    scale = units.scale
    if params.kind in DENSE:
        covariances = params.covariances * np.outer(scale, scale)
        roots = params.roots / scale[:, None]
        precisions = roots @ roots.transpose(0, 2, 1)
    else:
        covariances, roots = params.covariances * scale**2, params.roots / scale
        precisions = roots**2
    shown: list[Array] = [covariances, precisions, roots]
    if params.kind == "tied":
        shown = [each[0] for each in shown]
    elif params.kind == "spherical":
        shown = [each[:, 0].copy() for each in shown]
    names = ("covariances_", "precisions_", "precisions_cholesky_")
    return {
        "weights_": params.weights,
        "means_": units.leave(params.means),
        **dict(zip(names, shown, strict=True)),
    }


def from_attributes(kind: str, weights: Array, means: Array, roots: Array, units: Units) -> Gaussians:
    """The other way round, from weights, means and Cholesky factors of precisions."""
    roots = np.asarray(roots, dtype=np.float64)
    if kind in DENSE:
        inside = (roots[None] if kind == "tied" else roots) * units.scale[:, None]
    else:
        inside = (roots[:, None] if kind == "spherical" else roots) * units.scale
    return Gaussians.at(kind, np.asarray(weights, dtype=np.float64), units.enter(np.asarray(means)), inside)
