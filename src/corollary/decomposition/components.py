"""What a fitted PCA can say about rows: coordinates, reconstruction, and a Gaussian density."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_array

from corollary.base import Estimator, check_weights, predicting
from corollary.core.door.weights import within_reach
from corollary.core.fitted import Count, Fitted, Floats, Number
from corollary.core.scaling import answer_type, magnitude
from corollary.core.types import Array
from corollary.solvers.pca.centred import StoredRows, centred


class ComponentModel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """A mean, orthonormal components with their variances, and one variance for all other directions.

    The density is Gaussian with covariance V diag(λ) Vᵀ + σ²(I − VVᵀ), the maximum-likelihood probabilistic PCA.
    """

    fitted: ClassVar[dict[str, Fitted]] = {
        "n_components_": Count("k"),
        "components_": Floats("k", "d"),
        "explained_variance_": Floats("k", low=0),
        "explained_variance_ratio_": Floats("k", low=0),
        "singular_values_": Floats("k", low=0),
        "mean_": Floats("d"),
        "noise_variance_": Number(low=0),
        "n_samples_": Count(low=1),
    }
    whiten: bool
    mean_: Array
    components_: Array
    explained_variance_: Array
    explained_variance_ratio_: Array
    noise_variance_: float

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def _rows(self, X: Any) -> tuple[StoredRows, Array, Any]:
        X = self._validate_predict(X)
        rows = centred(X)
        rows.centre = self.mean_
        return rows, self.components_.T.astype(np.float64, copy=False), X.dtype

    def _scale(self) -> Array:
        """What whitening divides by; 0 stands for a direction without variance, whose coordinate is 0."""
        return np.sqrt(self.explained_variance_.astype(np.float64))

    @predicting
    def transform(self, X: Any) -> Array:
        """Coordinates of rows along the components (n × k), of unit variance with ``whiten``."""
        rows, V, dtype = self._rows(X)
        scores = rows.forth(V)
        if self.whiten:
            scale = self._scale()
            scores = np.divide(scores, scale, out=np.zeros_like(scores), where=scale > 0)
        return scores.astype(answer_type(dtype, magnitude(scores)), copy=False)

    @predicting
    def inverse_transform(self, X: Any) -> Array:
        """Rows (n × d) from coordinates (n × k): the nearest points of the plane to what was transformed."""
        least = min(1, len(self.components_))
        scores = check_array(X, dtype=(np.float64, np.float32), input_name="X", ensure_min_features=least)
        if scores.shape[1] != len(self.components_):
            raise ValueError(
                f"X must have one column for each of the {len(self.components_)} components, but it has "
                f"{scores.shape[1]} columns."
            )
        wide = scores * self._scale() if self.whiten else scores.astype(np.float64, copy=False)
        points: Array = wide @ self.components_ + self.mean_
        return points.astype(scores.dtype, copy=False)

    @predicting
    def reconstruction_error(self, X: Any) -> Array:
        """Squared distance of each row from the plane through the mean that the components span."""
        rows, V, dtype = self._rows(X)
        return rows.distances(V)[1].astype(dtype, copy=False)

    @predicting
    def outlier_score(self, X: Any) -> Array:
        """Squared Mahalanobis distance of each row from the mean: Σ zᵢ²/λᵢ in the plane plus ‖rest‖²/σ² off it.

        For Gaussian data its mean is d, and 95 % of rows are below the χ² quantile with d degrees of freedom. Where the
        model has no variance at all, a row that differs from the mean there is infinitely far.
        """
        return self._distance(X)[0]

    def _distance(self, X: Any) -> tuple[Array, Array]:
        """Squared Mahalanobis distances, and the variances that they were divided by (those that are not zero)."""
        rows, V, dtype = self._rows(X)
        along, away = rows.distances(V)
        squares = np.column_stack([along**2, away])
        # what rounding leaves of a direction without variance is not a distance
        squares[squares < 1e-20 * (squares.sum(axis=1, keepdims=True) + float(self.mean_ @ self.mean_))] = 0.0
        left = len(self.mean_) - len(self.components_)
        variance = np.append(self.explained_variance_, self.noise_variance_).astype(np.float64)
        out = np.where(squares > 0, np.inf, 0.0)
        np.divide(squares, variance, out=out, where=variance > 0)
        spread = np.repeat(variance, [1] * len(self.components_) + [left])
        return out.sum(axis=1).astype(dtype, copy=False), spread[spread > 0]

    @predicting
    def score_samples(self, X: Any) -> Array:
        """Log-density of each row. Where directions have no variance it is the density on the plane of the others,
        and −∞ off that plane."""
        distance, spread = self._distance(X)
        constant = np.log(spread).sum() + len(spread) * np.log(2 * np.pi)
        return np.asarray(-0.5 * (distance + constant)).astype(distance.dtype, copy=False)

    @predicting
    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Mean log-density of the rows."""
        scores = self.score_samples(X)
        return float(np.average(scores, weights=within_reach(check_weights(sample_weight, scores))[0]))

    @predicting
    def get_covariance(self) -> Array:
        """The covariance of the model, V diag(λ) Vᵀ + σ²(I − VVᵀ) (d × d)."""
        excess = np.maximum(self.explained_variance_ - self.noise_variance_, 0.0)
        covariance: Array = (self.components_.T * excess) @ self.components_
        covariance.flat[:: len(covariance) + 1] += self.noise_variance_
        return covariance

    @predicting
    def get_precision(self) -> Array:
        """The inverse of ``get_covariance()``, from the components (d × d)."""
        left = self.components_.shape[1] - len(self.components_)
        lam, noise = self.explained_variance_, float(self.noise_variance_)
        if not (lam > 0).all() or (left > 0 and noise <= 0):
            raise ValueError(
                "A direction has no variance, so the covariance has no inverse. Keep fewer components than the rank of "
                "the data (n_components), so that noise_variance_ > 0."
            )
        rest = 1 / noise if left else 0.0
        precision: Array = (self.components_.T * (1 / lam - rest)) @ self.components_
        precision.flat[:: len(precision) + 1] += rest
        return precision

    @predicting
    def plot(self, ax: Any = None) -> Any:
        """Scree plot: the share of variance of each component, and their running sum; returns the axes."""
        from corollary.decomposition.plots import plot_scree

        return plot_scree(self.explained_variance_ratio_, ax)

    @predicting
    def plot_biplot(self, X: Any, y: Any = None, components: tuple[int, int] = (0, 1), ax: Any = None) -> Any:
        """Rows in the plane of two components, coloured by y if given, with the columns as arrows; returns the axes."""
        from corollary.decomposition.plots import plot_biplot

        if max(components) >= len(self.components_) or min(components) < 0:
            raise ValueError(f"components must be two of the {len(self.components_)} there are, not {components!r}.")
        both, ratio = list(components), self.explained_variance_ratio_
        scores = np.asarray(self.transform(X))[:, both]
        names = getattr(self, "feature_names_in_", None)
        return plot_biplot(scores, self.components_[both], ratio[both], both, names, y, ax)
