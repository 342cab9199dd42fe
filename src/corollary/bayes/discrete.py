"""What naive Bayes models of counts share: smoothing, and probabilities of the classes as scikit-learn spells them."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import issparse

from corollary.base import caller_level, predicting
from corollary.bayes.base import SHARED, NaiveBayes
from corollary.bayes.claims import judge
from corollary.bayes.training import learnt_or_given
from corollary.core.distribution import Distribution
from corollary.core.fitted import Fitted, Floats
from corollary.core.limits import ArrayLike, Boolean, Choice, Limit, Real
from corollary.core.types import Array
from corollary.referee.verdict import Verification
from corollary.solvers.em.mixture import MixtureSummary, Weighted

LEAST_ALPHA = 1e-10
DISCRETE: dict[str, Limit] = {
    "alpha": Real(0, finite=True) | ArrayLike(),
    "force_alpha": Boolean(),
    "fit_prior": Boolean(),
    "class_prior": Choice(None) | ArrayLike(),
    **SHARED,
}


def refuse_negative(X: Any, who: str) -> None:
    """ValueError in scikit-learn's words if a number of X is below zero."""
    values = X.data if issparse(X) else X
    if values.size and np.nanmin(values) < 0:
        raise ValueError(f"Negative values in data passed to {who} (input X): counts cannot be below zero.")


def linear_form(distribution: Distribution, params: Any) -> tuple[Array, Array]:
    """Coefficients and offsets of a distribution whose log probability is linear in the row."""
    form = distribution.linear_form(params)
    assert form is not None
    return form


class DiscreteNB(NaiveBayes, ABC):
    """Counts with Lidstone smoothing."""

    fitted: ClassVar[dict[str, Fitted]] = {"class_log_prior_": Floats("k", high=1e-9, finite=False)}
    alpha: Any
    force_alpha: bool
    fit_prior: bool
    class_prior: Any
    class_log_prior_: Array

    def _check_alpha(self) -> Any:
        """The smoothing to use: a number, or one for each column."""
        alpha = self.alpha if isinstance(self.alpha, float | int | np.number) else np.asarray(self.alpha, dtype=float)
        if isinstance(alpha, np.ndarray):
            if alpha.shape != (self.n_features_in_,):
                raise ValueError(
                    "When alpha is an array, it should contains `n_features`. "
                    f"Got {alpha.shape[0] if alpha.ndim else 'no'} elements instead of {self.n_features_in_}."
                )
            if not (alpha >= 0).all() or not np.isfinite(alpha).all():
                raise ValueError("All values in alpha must be greater than 0. Some are negative, NaN or infinite.")
        if np.min(alpha) < LEAST_ALPHA and not self.force_alpha:
            warnings.warn(
                f"alpha too small will result in numeric errors, setting alpha = {LEAST_ALPHA:.1e}. Use "
                "`force_alpha=True` to keep alpha unchanged.",
                stacklevel=caller_level(),
            )
            return np.maximum(alpha, LEAST_ALPHA)
        return alpha

    def _smoothing(self) -> Any:
        """Counts to add, in the unit of weights."""
        alpha = self._check_alpha()
        return (
            (alpha * self._weight_unit).tolist() if isinstance(alpha, np.ndarray) else float(alpha) * self._weight_unit
        )

    def _fixed_prior(self, k: int) -> Array | None:
        return learnt_or_given(self.class_prior, self.fit_prior, k)

    def _keep(self, distribution: Distribution, summary: MixtureSummary, found: Weighted) -> None:
        self.class_count_, self.class_log_prior_ = summary.counts, found.log_weights
        self._keep_counts(distribution, summary.statistics, found.params)

    @abstractmethod
    def _keep_counts(self, distribution: Distribution, statistics: Any, params: Any) -> None:
        """Make attributes of what was counted and what it says."""

    @property
    def _log_prior(self) -> Array:
        return self.class_log_prior_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags

    @abstractmethod
    def _linear(self) -> tuple[Array, Array]:
        """Coefficients (k, d) and intercepts (k,) of log probabilities of classes, up to what is the same for all."""

    @predicting
    def log_odds(self) -> tuple[Array, Array]:
        """(coef, intercept): scores x · coef + intercept, whose largest is the predicted class.

        Of two classes it is the logarithm of the odds of the second, zero at the boundary: arrays of shapes (d,) and
        (). Of k classes they have a row each; the softmax of the scores are the probabilities.
        """
        coef, intercept = self._linear()
        if len(self.classes_) == 2:
            return coef[1] - coef[0], np.asarray(intercept[1] - intercept[0])
        return coef, intercept

    def _referee(self, X: Any, y: Any, sample_weight: Any) -> Verification:
        return judge(self, X, y, sample_weight)
