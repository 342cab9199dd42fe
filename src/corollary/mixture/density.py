"""What a fitted mixture of Gaussians says: densities, probabilities of components, samples, information criteria."""

from __future__ import annotations

from abc import ABC
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import solve_triangular
from sklearn.base import DensityMixin
from sklearn.utils import check_random_state

from corollary.base import Estimator, check_weights, predicting
from corollary.core.door.weights import within_reach
from corollary.core.fitted import By, Fitted, Floats
from corollary.core.gaussian import DENSE, Gaussians, Units, from_attributes
from corollary.core.types import Array
from corollary.solvers.em.gaussian import posteriors

_SHAPES = {"full": ("k", "d", "d"), "tied": ("d", "d"), "diag": ("k", "d"), "spherical": ("k",)}
_ROOTS = By("covariance_type", **{kind: Floats(*shape) for kind, shape in _SHAPES.items()})
# of a component without rows they need not be numbers
_MATRICES = By("covariance_type", **{kind: Floats(*shape, finite=False) for kind, shape in _SHAPES.items()})


class MixtureDensity(DensityMixin, Estimator, ABC):
    """The methods of a fitted mixture; they need nothing but its attributes."""

    fitted: ClassVar[dict[str, Fitted]] = {
        "weights_": Floats("k", low=0, total=1),
        "means_": Floats("k", "d"),
        "precisions_cholesky_": _ROOTS,
        "covariances_": _MATRICES,
        "precisions_": _MATRICES,
    }
    covariance_type: str
    random_state: Any
    weights_: Array
    means_: Array
    covariances_: Array
    precisions_cholesky_: Array

    def _posteriors(self, X: Any) -> tuple[Array, Array]:
        """Probabilities and log densities, in the precision of X."""
        X = self._validate_predict(X, sparse=False)
        with np.errstate(over="ignore", invalid="ignore"):
            shares, logs = posteriors(X, *self._parts())
        return shares.astype(X.dtype, copy=False), logs.astype(X.dtype, copy=False)

    def _parts(self) -> tuple[Gaussians, Units]:
        units = Units(self.weights_ @ self.means_, np.ones(self.means_.shape[1]))
        parts = (self.weights_, self.means_, self.precisions_cholesky_)
        return from_attributes(self.covariance_type, *parts, units), units

    @predicting
    def predict_proba(self, X: Any) -> Array:
        """The probability of each component given the row, (n, k)."""
        return self._posteriors(X)[0]

    @predicting
    def predict(self, X: Any) -> Array:
        """The most likely component of each row."""
        winners: Array = self._posteriors(X)[0].argmax(axis=1)
        return winners

    @predicting
    def score_samples(self, X: Any) -> Array:
        """The log density of each row."""
        return self._posteriors(X)[1]

    @predicting
    def outlier_score(self, X: Any) -> Array:
        """Minus the log density of each row: the larger, the stranger."""
        return -self._posteriors(X)[1]

    @predicting
    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The mean log density of the rows (y is ignored)."""
        logs = self.score_samples(X).astype(np.float64)
        return float(np.average(logs, weights=within_reach(check_weights(sample_weight, logs))[0]))

    @predicting
    def bic(self, X: Any, sample_weight: Any = None) -> float:
        """Bayes' information criterion, −2 log-likelihood + parameters · log n: lower is better."""
        total = float(check_weights(sample_weight, np.asarray(X)).sum())
        return -2 * total * self.score(X, sample_weight=sample_weight) + self._n_parameters() * np.log(total)

    @predicting
    def aic(self, X: Any, sample_weight: Any = None) -> float:
        """Akaike's information criterion, −2 log-likelihood + 2 · parameters: lower is better."""
        total = float(check_weights(sample_weight, np.asarray(X)).sum())
        return -2 * total * self.score(X, sample_weight=sample_weight) + 2 * self._n_parameters()

    def _n_parameters(self) -> int:
        """The number of free parameters: weights, means and covariances."""
        k, d = self.means_.shape
        each = {"full": k * d * (d + 1) // 2, "tied": d * (d + 1) // 2, "diag": k * d, "spherical": k}
        return each[self.covariance_type] + k * d + k - 1

    @predicting
    def sample(self, n_samples: int = 1) -> tuple[Array, Array]:
        """Draw rows: (X, component of each), sorted by component."""
        if n_samples < 1:
            raise ValueError(f"Invalid value for 'n_samples': {n_samples!r}, but it must be a whole number ≥ 1.")
        rng = check_random_state(self.random_state)
        counts = rng.multinomial(n_samples, self.weights_ / self.weights_.sum())
        components = np.repeat(np.arange(len(counts)), counts)
        noise = rng.standard_normal((n_samples, self.means_.shape[1]))
        roots = self.precisions_cholesky_
        if self.covariance_type in DENSE:
            for k, count in enumerate(counts):
                if count:  # Uᵀ x = z has covariance (U Uᵀ)⁻¹
                    own, root = components == k, roots if self.covariance_type == "tied" else roots[k]
                    noise[own] = solve_triangular(root, noise[own].T, trans="T").T
        else:
            noise /= roots[components] if roots.ndim == 2 else roots[components, None]
        return self.means_[components] + noise, components

    def plot(self, X: Any, ax: Any = None, *, columns: tuple[int, int] = (0, 1)) -> Any:
        """Rows coloured by their probabilities, with an ellipse for each component; returns the matplotlib axes."""
        from corollary.mixture.plots import plot_mixture

        return plot_mixture(self, X, ax, columns)
