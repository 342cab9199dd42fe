"""What a fitted mixture of Gaussians says."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from corollary.core.distribution.covariances import free_numbers, sampled
from corollary.core.distribution.weighted_gaussians import Gaussians, Units, from_attributes
from corollary.core.fitted import By, Fitted, Floats
from corollary.core.types import Array
from corollary.mixture.density import MixtureDensity
from corollary.solvers.em.gaussian import posteriors

_SHAPES = {"full": ("k", "d", "d"), "tied": ("d", "d"), "diag": ("k", "d"), "spherical": ("k",)}
_ROOTS = By("covariance_type", **{kind: Floats(*shape) for kind, shape in _SHAPES.items()})
# of a component without rows they need not be numbers
_MATRICES = By("covariance_type", **{kind: Floats(*shape, finite=False) for kind, shape in _SHAPES.items()})


class GaussianDensity(MixtureDensity):
    """The methods of a fitted mixture of Gaussians; they need nothing but its attributes."""

    fitted: ClassVar[dict[str, Fitted]] = {
        "means_": Floats("k", "d"),
        "precisions_cholesky_": _ROOTS,
        "covariances_": _MATRICES,
        "precisions_": _MATRICES,
    }
    covariance_type: str
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

    def _n_parameters(self) -> int:
        """The number of free parameters: weights, means and covariances."""
        k, d = self.means_.shape
        return free_numbers(self.covariance_type, k, d) + k - 1

    def _drawn(self, components: Array, rng: np.random.RandomState) -> Array:
        params, units = self._parts()
        drawn: Array = self.means_[components] + sampled(params.kind, params.roots, components, rng) * units.scale
        return drawn

    def plot(self, X: Any, ax: Any = None, *, columns: tuple[int, int] = (0, 1)) -> Any:
        """Rows coloured by their probabilities, with an ellipse for each component; returns the matplotlib axes."""
        from corollary.mixture.plots import plot_mixture

        return plot_mixture(self, X, ax, columns)
