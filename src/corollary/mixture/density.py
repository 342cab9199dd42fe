"""What a fitted mixture says: densities, probabilities of components, samples, information criteria."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import issparse
from sklearn.base import DensityMixin
from sklearn.utils import check_random_state

from corollary.base import Estimator, check_weights, predicting
from corollary.core.door.weights import within_reach
from corollary.core.fitted import Count, Fitted, Flag, Floats, Integers, ListOf, Number
from corollary.core.types import Array


class MixtureDensity(DensityMixin, Estimator, ABC):
    """The methods of a fitted mixture of any kind."""

    fitted: ClassVar[dict[str, Fitted]] = {
        "weights_": Floats("k", low=0, total=1),
        "component_labels_": Integers("k"),
        "converged_": Flag(),
        "n_iter_": Count(),
        "lower_bound_": Number(finite=False),
        "lower_bounds_": ListOf(Number(finite=False)),
    }
    random_state: Any
    weights_: Array

    @abstractmethod
    def _posteriors(self, X: Any) -> tuple[Array, Array]:
        """Probabilities and log densities, in the precision of X."""

    @abstractmethod
    def _n_parameters(self) -> int:
        """The number of free parameters."""

    @abstractmethod
    def _drawn(self, components: Array, rng: np.random.RandomState) -> Array:
        """A row of each of the components."""

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
        total = _total(X, sample_weight)
        return -2 * total * self.score(X, sample_weight=sample_weight) + self._n_parameters() * np.log(total)

    @predicting
    def aic(self, X: Any, sample_weight: Any = None) -> float:
        """Akaike's information criterion, −2 log-likelihood + 2 · parameters: lower is better."""
        total = _total(X, sample_weight)
        return -2 * total * self.score(X, sample_weight=sample_weight) + 2 * self._n_parameters()

    @predicting
    def sample(self, n_samples: int = 1, *, random_state: Any = None) -> tuple[Array, Array]:
        """Draw rows: (X, component of each), sorted by component. ``random_state`` stands in for the parameter."""
        if n_samples < 1:
            raise ValueError(f"Invalid value for 'n_samples': {n_samples!r}, but it must be a whole number ≥ 1.")
        rng = check_random_state(self.random_state if random_state is None else random_state)
        counts = rng.multinomial(n_samples, self.weights_ / self.weights_.sum())
        components = np.repeat(np.arange(len(counts)), counts)
        return self._drawn(components, rng), components


def _total(X: Any, sample_weight: Any) -> float:
    return float(check_weights(sample_weight, X if issparse(X) else np.asarray(X)).sum())
