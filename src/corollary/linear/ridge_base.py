"""What the two ridge estimators share."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.base import MultiOutputMixin

from corollary.core.design import as_design
from corollary.core.evidence import Evidence
from corollary.core.types import Array
from corollary.linear.predict import LinearRegressor
from corollary.solvers.least_squares.closed_form import solve
from corollary.solvers.least_squares.task import Task


class RidgeRegressor(MultiOutputMixin, LinearRegressor):
    """Least squares with an L2 penalty. ``effective_dof_`` is Σ d²/(d² + α) over the singular values d of X."""

    fit_intercept: bool
    effective_dof_: Any

    @abstractmethod
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> RidgeRegressor: ...

    def _task(self, X: Any, y: Array, sample_weight: Any, weights: Array, max_iter: int = 0) -> Task:
        Y = np.asarray(y, dtype=np.float64).reshape(len(y), -1)
        known = None if sample_weight is None else weights
        eps = float(np.finfo(X.dtype).eps)
        observe = self._observer(X, y, max_iter, lambda state: self._shaped(state.coef, state.intercept, y))
        return Task(as_design(X), Y, known, np.zeros(Y.shape[1]), self.fit_intercept, eps, observe=observe)

    def _fit_at(self, task: Task, y: Array, dtype: Any, alpha: Any, **options: Any) -> Evidence:
        """Solve at alpha (a number or one for each target) and keep coefficients and degrees of freedom."""
        answer, evidence = solve(task.at(alpha), **options)
        self._keep_shaped(answer.coef, answer.intercept, y, dtype)
        self.effective_dof_ = float(answer.dof[0]) if answer.dof.size == 1 else answer.dof
        return evidence

    def _keep_shaped(self, coef: Array, intercept: Array, y: Array, dtype: Any) -> None:
        shaped = self._shaped(coef, intercept, y)
        self._keep_coefficients(shaped["coef_"].T, shaped["intercept_"], dtype)

    def _shaped(self, coef: Array, intercept: Array, y: Array) -> dict[str, Any]:
        """One target gives a vector of coefficients even if y is a column, as in scikit-learn's ridge."""
        start: Any = (intercept[0] if y.ndim == 1 else intercept) if self.fit_intercept else 0.0
        return {"coef_": coef[:, 0] if coef.shape[1] == 1 else coef.T, "intercept_": start}
