"""Square roots of H = XᵀX + diag(penalty) and of its inverse: the one object from which least squares answers.

A root holds M with M Mᵀ = H⁻¹ (or the pseudo-inverse) and F with Fᵀ F = H. Columns are scaled by powers of two first,
which is exact, so that units of measurement (metres or parsecs) change neither the rank nor a single digit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import lapack

from corollary.core.problem import EPS
from corollary.core.scaling import powers_above
from corollary.core.summary import Triangle
from corollary.core.types import Array


@dataclass(frozen=True)
class Root:
    """``inverse`` is M (d × r), ``forward`` is F (r × d), F M = I; ``condition`` is that of X with scaled columns.

    ``null`` is an orthonormal basis of the directions that H cannot see, if there are any. ``doubtful`` has a column,
    as those of M, for each direction that counts as dependent in the precision of X, but is not in that of float64.
    ``hidden`` has one for each direction that even float64 cannot tell from a dependency, over the rounding error that
    hides it.
    """

    inverse: Array
    forward: Array
    condition: float
    null: Array | None = None
    doubtful: Array | None = None
    hidden: Array | None = None

    @property
    def rank(self) -> int:
        return self.inverse.shape[1]

    def solve(self, slope: Array) -> Array:
        """H⁻¹ slope; if H is singular, the solution of minimum norm."""
        step = self.inverse @ (self.inverse.T @ slope)
        # rounding errors of M are relative to the largest entries of a row: what is left of the null space goes here
        return step if self.null is None else step - self.null @ (self.null.T @ step)

    def whiten(self, slope: Array) -> Array:
        """‖Mᵀ slope‖², with what the doubtful directions might gain."""
        squares: Array = np.square(self.inverse.T @ slope).sum(axis=0)
        return squares if self.doubtful is None else squares + np.square(self.doubtful.T @ slope).sum(axis=0)

    def beyond(self, slope: Array) -> Array:
        """Times the norm of the residuals: how much half the objective may fall along the hidden directions.

        Along v of slope s it falls by at most t·s in a step t. Coefficients t·v are rounded, which moves predictions by
        ε t ‖X diag(v)‖: beyond the residuals themselves no step is of use. Of truly dependent columns s is zero.
        """
        return np.zeros(slope.shape[1]) if self.hidden is None else np.abs(self.hidden.T @ slope).sum(axis=0)

    def penalty_share(self, penalty: Array | float) -> float:
        """tr(diag(penalty) H⁻¹): the degrees of freedom that the penalty takes away."""
        return float(np.sum(np.einsum("ij,ij->i", self.inverse, self.inverse) * penalty))


def root_of_gram(H: Array) -> Root | None:
    """By Cholesky; None if H is not numerically positive definite. Cost d³ / 3, twice."""
    diagonal = np.diagonal(H)
    if not (np.isfinite(diagonal).all() and (diagonal > 0).all()):
        return None
    scale = powers_above(np.sqrt(diagonal))
    scaled = H / scale[:, None] / scale
    norm = float(np.abs(scaled).sum(axis=0).max())
    upper, failed = lapack.dpotrf(scaled, lower=0, clean=1)
    if failed:
        return None
    reciprocal, _ = lapack.dpocon(upper, norm, uplo="U")
    inverse, failed = lapack.dtrtri(upper, lower=0)
    if failed or not reciprocal > 0:
        return None
    return Root(inverse / scale[:, None], upper * scale, float(reciprocal**-0.5))


def root_of_spectrum(H: Array, cut: float) -> tuple[Root, Array]:
    """By eigenvectors, leaving out eigenvalues up to cut · largest; also the null vectors left out (d × (d − r)).

    X times a null vector is what tells whether X is truly deficient: the eigenvalues of H have half its digits.
    """
    scale = powers_above(np.sqrt(np.maximum(np.diagonal(H), 0.0)))
    values, vectors = np.linalg.eigh(H / scale[:, None] / scale)
    keep = values > cut * max(values[-1], 0.0)
    values = np.sqrt(np.maximum(values, 0.0))
    return _assemble(values, vectors, keep, scale), vectors[:, ~keep] / scale[:, None]


def root_of_triangle(R: Array, penalty: Array | None, noise: Array, precision: float) -> Root:
    """By the singular values of R, which squares nothing. Cost about 20 d³.

    ``noise`` is the rounding error in each column of X (its norm), in float64. A direction whose singular value is not
    above the rounding error, in the ``precision`` of X, of the columns that take part in it counts as dependent.
    """
    if penalty is not None:
        R = Triangle.of(np.concatenate([R, np.diag(np.sqrt(penalty))])).R
    scale = powers_above(np.sqrt(np.einsum("ij,ij->j", R, R)))
    _, values, right = np.linalg.svd(R / scale)
    values = np.concatenate([values, np.zeros(len(right) - len(values))])
    # a column of zeros has no rounding error, but what the decomposition makes of it has
    floor = 16 * np.sqrt(len(scale)) * np.finfo(float).eps
    blur = noise / scale
    keep = values > np.sqrt(right**2 @ np.maximum(precision / EPS * blur, floor) ** 2)
    root = _assemble(values, right.T, keep, scale)
    if keep.all():
        return root
    least = np.sqrt(right**2 @ np.maximum(blur, floor) ** 2)
    real = ~keep & (values > least)
    hidden = ~keep & ~real
    return replace(
        root,
        doubtful=right[real].T / values[real] / scale[:, None] if real.any() else None,
        hidden=right[hidden].T / least[hidden] / scale[:, None] if hidden.any() else None,
    )


def _assemble(values: Array, vectors: Array, keep: Array, scale: Array) -> Root:
    kept, directions = values[keep], vectors[:, keep]
    inverse, basis = directions / kept / scale[:, None], None
    if not keep.all():
        # minimum norm is meant in the user's units, so take out what the null space of X itself contributes
        null = vectors[:, ~keep] / scale[:, None]
        basis = np.linalg.qr(null / np.abs(null).max(axis=0))[0]
        inverse = inverse - basis @ (basis.T @ inverse)
    condition = float(kept.max() / kept.min()) if len(kept) else 1.0
    return Root(inverse, kept[:, None] * directions.T * scale, condition, basis)
