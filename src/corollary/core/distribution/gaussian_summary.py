"""What rows contribute to weighted Gaussians, and the best parameters for it.

Moments are about the present means, so that components far apart keep the digits of their covariances.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg.lapack import dtrtri

from corollary.core.distribution.covariances import DENSE, penalty_of, roots_of
from corollary.core.distribution.weighted_gaussians import FAINT, NEVER, Gaussians
from corollary.core.types import Array

NARROWEST = 1e-10  # the least variance in any direction, relative to the pooled variance within components
RESOLUTION = 1e-30  # the same when everything within components is constant, relative to the units of the data
SURE = 1e-6  # a component with this share of the rows is not changed by leaving out faint shares


@dataclass(frozen=True)
class GaussianSummary:
    """Σ share, Σ share (x − μ) and Σ share (x − μ)(x − μ)ᵀ of each component, about the means μ of ``at``.

    ``second`` has the shape of the covariances; only the diagonal is kept where nothing else is needed.
    """

    at: Gaussians
    log_likelihood: float
    weight: float
    counts: Array
    first: Array
    second: Array

    def __add__(self, other: GaussianSummary) -> GaussianSummary:
        return replace(
            self,
            log_likelihood=self.log_likelihood + other.log_likelihood,
            weight=self.weight + other.weight,
            counts=self.counts + other.counts,
            first=self.first + other.first,
            second=self.second + other.second,
        )

    def finish(self, regular: Array) -> Gaussians:
        r"""The parameters with the largest expected log-likelihood less ½ Σ share · tr(Σ⁻¹ E), E = diag(``regular``).

        That is the scatter about the *new* mean, plus E; where it is narrower than the floor, its eigenvalues (in units
        of the floor) are raised to it, which is the best of all Σ that are not narrower. A component without any share
        keeps its place, with weight zero.
        """
        alive = self.counts > 0
        counts = np.where(alive, self.counts, 1.0)
        step = np.where(alive[:, None], self.first / counts[:, None], 0.0)
        scatter = self._scatter(counts, step)
        floor = self._floor(scatter, regular)
        covariances, roots, widened = _factor(self.at.kind, scatter, regular, floor)
        if self.at.kind != "tied" and not alive.all():
            shape = (-1,) + (1,) * (covariances.ndim - 1)
            covariances = np.where(alive.reshape(shape), covariances, self.at.covariances)
            roots = np.where(alive.reshape(shape), roots, self.at.roots)
        total = float(self.counts.sum())
        return Gaussians(
            self.at.kind,
            self.counts / total,
            self.at.means + step,
            covariances,
            roots,
            penalty_of(roots, regular, len(counts)),
            floor,
            np.where(self.counts >= SURE * total, FAINT, NEVER),
            widened & alive,
        )

    def _scatter(self, counts: Array, step: Array) -> Array:
        """About the new means, per unit of share."""
        if self.at.kind == "full":
            return self.second / counts[:, None, None] - step[:, :, None] * step[:, None, :]
        if self.at.kind == "tied":
            between = (step * self.counts[:, None]).T @ step
            return ((self.second[0] - between) / self.counts.sum())[None]
        squares = np.maximum(self.second / counts[:, None] - step**2, 0.0)
        if self.at.kind == "spherical":
            squares = np.broadcast_to(squares.mean(axis=1, keepdims=True), squares.shape)
        return squares

    def _floor(self, scatter: Array, regular: Array) -> Array:
        diagonals = np.diagonal(scatter, axis1=1, axis2=2) if scatter.ndim == 3 else scatter
        shares = self.counts / self.counts.sum() if len(diagonals) > 1 else np.ones(1)
        pooled = np.maximum(shares @ diagonals, 0.0) + regular
        floor = np.maximum(NARROWEST * pooled, RESOLUTION)
        if self.at.kind == "spherical":
            floor = np.full_like(floor, floor.max())
        lowest: Array = np.minimum(self.at.floor, floor)
        return lowest


def _factor(kind: str, scatter: Array, regular: Array, floor: Array) -> tuple[Array, Array, Array]:
    """Covariances not below the floor, their roots, and which were."""
    if kind not in DENSE:
        variances = scatter + regular
        widened: Array = np.any(variances < floor, axis=1)
        variances = np.maximum(variances, floor)
        return variances, 1.0 / np.sqrt(variances), widened
    covariances = scatter + np.diag(regular)
    covariances = (covariances + covariances.transpose(0, 2, 1)) / 2
    try:
        roots = roots_of(covariances)
        if (np.square(roots).sum(axis=2) @ floor <= 0.5).all():  # tr(Σ⁻¹ F) < 1: no direction is narrower than F
            return covariances, roots, np.zeros(len(roots), dtype=bool)
    except np.linalg.LinAlgError:
        pass
    parts = [_widen(each, floor) for each in covariances]
    roots = np.array([dtrtri(lower.T)[0] for _, lower, _ in parts])
    return np.array([part[0] for part in parts]), roots, np.array([part[2] for part in parts])


def _widen(covariance: Array, floor: Array) -> tuple[Array, Array, bool]:
    """(Σ, L, whether Σ was widened), Σ = L Lᵀ, for the Σ ⪰ diag(floor) nearest to ``covariance`` in likelihood."""
    try:
        np.linalg.cholesky(covariance - np.diag(floor))
        return covariance, np.linalg.cholesky(covariance), False
    except np.linalg.LinAlgError:
        unit = np.sqrt(floor)
        values, vectors = np.linalg.eigh(covariance / np.outer(unit, unit))
        half = unit[:, None] * vectors * np.sqrt(np.maximum(values, 1.0))
        lower = np.asarray(np.linalg.qr(half.T, mode="r")).T  # of the half, so that nothing is squared
        return half @ half.T, lower * np.sign(np.diagonal(lower)), True
