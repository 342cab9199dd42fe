"""What every linear model shares once it is fitted: raw predictions X β + b from ``coef_`` and ``intercept_``."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import RegressorMixin

from corollary.base import Estimator, check_weights, predicting
from corollary.core.design import BlockDesign, as_design
from corollary.core.door.reach import largest_seen, refuse_columns, refuse_targets
from corollary.core.fitted import Fitted, Floats, Number
from corollary.core.types import Array
from corollary.linear.claims import verify_linear
from corollary.referee.verdict import Verification


def dense(coef: Any) -> Array:
    """Coefficients as an array, whichever of ``sparsify`` and ``densify`` was called last."""
    return np.asarray(coef.toarray() if sparse.issparse(coef) else coef)


class LinearPredictor(Estimator):
    """An estimator with ``coef_`` (d,) or (k, d) and ``intercept_`` (a number or (k,)); dense and sparse X.

    Sums are taken in float64. The result is float32 if X and the coefficients are, which are float64 where that
    is what their evidence speaks of (see ``rounding.py``).
    """

    coef_: Array
    intercept_: Any
    _known_as: ClassVar[str] = ""  # what scikit-learn says of columns out of reach, for those who look for that
    fitted: ClassVar[dict[str, Fitted]] = {
        "coef_": Floats("*t", "d"),
        "intercept_": Floats("*t") | Floats(1) | Number(),
    }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @property
    def _scales_columns(self) -> bool:
        """Whether the solver brings columns of any size within reach by itself."""
        return False

    def _validate_fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, **options: Any
    ) -> tuple[Any, Array, Array]:
        """As for every estimator; columns and targets whose squares are not numbers are refused besides."""
        X, y, weights = super()._validate_fit(X, y, sample_weight, **options)
        if "reset" in options or not self._scales_columns:  # what is kept of rows that come in parts is not rescaled
            refuse_columns(X.largest if isinstance(X, BlockDesign) else largest_seen(X), self._known_as)
        if options.get("y_numeric", True):
            refuse_targets(y, weights)
        return X, y, weights

    def _keep_coefficients(self, coef: Array, intercept: Any, dtype: Any) -> None:
        """Store the result of a solver (coef of shape (d,) or (d, k)) as scikit-learn does, in that type."""
        largest = np.finfo(dtype).max
        if not (np.abs(coef).max(initial=0.0) <= largest and np.abs(intercept).max(initial=0.0) <= largest):
            raise ValueError(
                f"The coefficients leave the range of {np.dtype(dtype)} ({largest:.1g}): columns of X, or y, are too "
                "large or too small. Rescale them (StandardScaler does)."
            )
        self.coef_ = np.ascontiguousarray(np.transpose(coef), dtype=dtype)
        self.intercept_ = np.asarray(intercept, dtype=dtype) if np.ndim(intercept) else np.dtype(dtype).type(intercept)

    def _referee(self, X: Any, y: Any, sample_weight: Any) -> Verification:
        X = self._validate_predict(X)
        return verify_linear(self, X, y, check_weights(sample_weight, X))

    def _linear_terms(self) -> tuple[Array, Array, str]:
        """(coefficients (k, d), intercepts (k,), what the raw prediction is), for explanations."""
        coef = np.atleast_2d(dense(self.coef_)).astype(np.float64)
        return coef, np.broadcast_to(np.asarray(self.intercept_, dtype=np.float64), len(coef)), self._raw_meaning

    @property
    def _raw_meaning(self) -> str:
        """What the raw prediction is, in words."""
        return "prediction"

    def _raw_prediction(self, X: Any) -> Array:
        """X β + b, of shape (n,) or (n, k). Cost: one threaded pass over X, no copy of it."""
        X = self._validate_predict(X)
        raw = as_design(X).matvec(np.transpose(dense(self.coef_)).astype(np.float64))
        raw += self.intercept_
        return raw.astype(np.result_type(X.dtype, self.coef_.dtype), copy=False)


class LinearRegressor(RegressorMixin, LinearPredictor):
    """A linear model whose prediction is the raw prediction itself."""

    @predicting
    def predict(self, X: Any) -> Array:
        """Predict X β + b: one number a row, or one row of k numbers for k targets."""
        return self._raw_prediction(X)
