"""Coefficients that nothing penalises: what a dual point that is not quite orthogonal to their columns still shows.

For slopes u and any coefficients, Σ w ℓ(y, f) ≥ D(u) + uᵀf, where f = Xβ + b and D(u) = −Σ w ℓ*(u/w). With uᵀX = 0 and
Σ u = 0 that is D(u), but in floating point it never is exactly so, and where columns are nearly collinear a tiny uᵀX
allows a large uᵀf. In the metric of weights c, with G = XᵀcX about the mean and g = Xᵀu,

    |uᵀf| ≤ √(gᵀG⁻¹g + (Σ u)²/Σ c) · √(Σ c f²),      Σ c f² ≤ max(c/w) Σ w f²:

that much is taken from D, for all predictions up to ``REACH`` times as long, in √Σ w f², as those of the fit and y
together. So what a dual point shows depends on the predictions that are delivered: a :class:`Bound`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, lapack, solve_triangular

from corollary.core.problem import EPS, Problem
from corollary.core.types import Array

COARSE = 1e-10  # times REACH, relative to Σ|u| and the length of predictions
REACH = 10.0  # how much longer than those at hand the predictions are for which the bound holds


@dataclass(frozen=True)
class Bound:
    """What a dual point shows: predictions up to ``REACH`` times as long as ``length`` have at least ``at(length)``."""

    height: float
    rate: float

    def at(self, length: float) -> float:
        return self.height - self.rate * length


@dataclass(frozen=True)
class FreeColumns:
    """G scaled to a unit diagonal and factorised, with the centre about which it was taken."""

    factor: Any
    scale: Array
    mean: Array
    total: float  # Σ c
    blur: float  # what rounding of Xᵀu, relative to Σ|u|, may add to the root above

    @classmethod
    def of(cls, factor: Any, scale: Array, removed: Array, mean: Array, total: float) -> FreeColumns:
        """From a Cholesky factor that is there already; ``removed`` is what centring took from the diagonal of G."""
        upper, lower = factor
        inverse, _ = lapack.dpocon(upper, 1.0, uplo="L" if lower else "U")  # 1 / ‖G⁻¹‖, as it was scaled
        ratio = 1.0 + float(removed @ scale**2) / max(len(scale), 1)
        blur = EPS * np.sqrt(len(scale) * ratio / max(total * inverse, 1e-300)) if inverse > 0 else np.inf
        return cls(factor, scale, mean, total, float(blur))

    @classmethod
    def of_problem(cls, problem: Problem) -> FreeColumns | None:
        """In the metric of the weights; None if the columns are too nearly collinear for a Cholesky factor."""
        w, design = problem.weights, problem.design
        if problem.fit_intercept:
            moments = design.moments(np.empty((len(w), 0)), w, design.middle(w))
            G, mean = moments.xx, moments.mean_x
        else:
            G, mean = design.gram(w), np.zeros(design.shape[1])
        total = float(w.sum())
        diagonal = np.diag(G)
        scale = 1.0 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
        unit = G * scale * scale[:, None]
        unit[np.diag_indices_from(unit)] = 1.0  # a column of zeros has no gradient either
        try:
            factor = cho_factor(unit, lower=True, check_finite=False)
        except LinAlgError:
            return None
        return cls.of(factor, scale, total * mean**2, mean, total)

    @property
    def coarse(self) -> bool:
        """Whether rounding hides too much for a proof, in Xᵀu and in G itself: another basis would do better."""
        return bool(self.blur * np.sqrt(self.total) > COARSE)

    def charge(self, problem: Problem, slope: Array, gradient: Array, length: float) -> float:
        """What must be taken from D(u), for gradient = Xᵀu and predictions of that length."""
        if self.coarse:
            return np.inf
        excess = slope.sum(axis=0) * float(problem.fit_intercept)
        about = gradient - np.multiply.outer(self.mean, excess)
        upper, lower = self.factor
        white = solve_triangular(upper, (about.T * self.scale).T, trans=0 if lower else 1, lower=lower)
        square = float(np.vdot(white, white)) + float(np.vdot(excess, excess)) / max(self.total, 1e-300)
        return REACH * length * (np.sqrt(square) + self.blur * float(np.abs(slope).sum()))


def length_of(problem: Problem, raw: Array, weights: Array) -> float:
    """√(Σ c f² + what ``scale_of_raw`` says)."""
    square = raw**2 if raw.ndim == 1 else (raw**2).sum(axis=1)
    return float(np.sqrt(weights @ square + scale_of_raw(problem, weights)))


def scale_of_raw(problem: Problem, weights: Array) -> float:
    """Σ c y² where predictions are in units of y, else Σ c: so large are predictions at least."""
    units = problem.loss.task == "regression" and problem.loss.link.in_units_of_y
    return float(weights @ problem.y**2 if units else weights.sum())
