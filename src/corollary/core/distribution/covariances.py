"""Covariances of the four kinds, and their roots: upper triangular U with Σ⁻¹ = U Uᵀ.

Covariances and roots of K Gaussians have shape (K, d, d) if "full", (1, d, d) if "tied", else (K, d): the diagonals.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dtrtri

from corollary.core.types import Array

DENSE = ("full", "tied")
LOG_2_PI = float(np.log(2 * np.pi))


def roots_of(covariances: Array) -> Array:
    """The roots of whole covariances; LinAlgError if one of them is singular."""
    return np.array([dtrtri(lower.T)[0] for lower in np.linalg.cholesky(covariances)])


def from_roots(roots: Array) -> Array:
    """Σ = (U Uᵀ)⁻¹, of matrices or of numbers."""
    if roots.ndim == 2:
        inverse: Array = 1.0 / roots**2
        return inverse
    eye = np.eye(roots.shape[1])
    halves = [solve_triangular(root, eye) for root in roots]
    return np.array([half.T @ half for half in halves])


def log_determinants(roots: Array) -> Array:
    """log det U of each."""
    diagonals = np.diagonal(roots, axis1=1, axis2=2) if roots.ndim == 3 else roots
    logs: Array = np.log(np.abs(diagonals)).sum(axis=1)
    return logs


def penalty_of(roots: Array, regular: Array, k: int) -> Array:
    """tr(Σ⁻¹ E) of each of k Gaussians, E = diag(``regular``)."""
    squares = (roots**2).sum(axis=2) if roots.ndim == 3 else roots**2
    return np.broadcast_to(squares @ regular, (k,))


def squared_distance(kind: str, weights: Array, roots: Array, step: Array, change: Array, more: float = 0.0) -> float:
    r"""How far means and covariances are from others, squared, in units in which one row can tell them apart.

    .. math:: \sum_k \pi_k \lVert \Sigma_k^{-1/2} (\mu'_k - \mu_k) \rVert^2
              + \frac{1}{2} \sum_k \pi_k \lVert \Sigma_k^{-1/2} (\Sigma'_k - \Sigma_k) \Sigma_k^{-1/2} \rVert_F^2

    ``step`` is μ' − μ and ``change`` is Σ' − Σ; weights are positive; ``more`` is
    what comes before. This is the metric of Fisher's information.
    """
    shares = np.ones(1) if kind == "tied" else weights
    if kind in DENSE:
        moved = np.einsum("kj,kjl->kl", step, np.broadcast_to(roots, (len(step), *roots.shape[1:])))
        spread = ((roots.transpose(0, 2, 1) @ change @ roots) ** 2).sum(axis=(1, 2))
    else:
        moved, spread = step * roots, ((change * roots * roots) ** 2).sum(axis=1)
    return float(more + weights @ (moved**2).sum(axis=1) + 0.5 * (shares @ spread))


def sampled(kind: str, roots: Array, members: Array, rng: np.random.RandomState) -> Array:
    """A row of mean zero from the Gaussian number members[i], for each i."""
    noise = rng.standard_normal((len(members), roots.shape[-1]))
    if kind not in DENSE:
        return np.asarray(noise / roots[members])
    for k in np.unique(members):  # Uᵀ x = z has covariance (U Uᵀ)⁻¹
        own = members == k
        noise[own] = solve_triangular(roots[min(k, len(roots) - 1)], noise[own].T, trans="T").T
    return noise


def free_numbers(kind: str, k: int, d: int) -> int:
    """Of k means and covariances."""
    return {"full": k * d * (d + 1) // 2, "tied": d * (d + 1) // 2, "diag": k * d, "spherical": k}[kind] + k * d
