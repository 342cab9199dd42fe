"""What the estimators of least squares share: the task, the shape of the answer, rows that are added later."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import MultiOutputMixin

from corollary.core.design import as_design
from corollary.core.evidence import Evidence
from corollary.core.fitted import Count, Fitted, Floats, Maybe
from corollary.core.summary import Triangle, weighted_mean
from corollary.core.types import Array
from corollary.linear.predict import LinearRegressor
from corollary.linear.rounding import least_squares_in_type_of
from corollary.solvers.least_squares.rows_so_far import RowsSoFar
from corollary.solvers.least_squares.task import Task

KEPT = ("_shift", "_triangle", "_parts")  # of rows that were added
FORGOTTEN = "The rows of the earlier fit are not part of this: only partial_fit keeps what can be added to."


class LeastSquaresRegressor(MultiOutputMixin, LinearRegressor):
    """Σ w (y − xᵀβ − b)² with or without an L2 penalty, for one target or several."""

    flat: ClassVar[bool]  # whether the coefficients of one target are a vector even if y is a column
    fit_intercept: bool

    @abstractmethod
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> LeastSquaresRegressor: ...

    def _task(self, X: Any, y: Array, weights: Array, max_iter: int = 0) -> Task:
        observe = self._observer(X, y, max_iter, lambda state: self._shaped(state.coef, state.intercept, y))
        return Task.of(X, y, weights, self.fit_intercept, observe)

    def _keep_shaped(
        self, task: Task, found: tuple[Array, Array, Evidence], y: Array, dtype: Any, so_far: RowsSoFar | None = None
    ) -> Evidence:
        """Keep coefficients (d, k) and intercepts (k,), in the type of X if their evidence allows it, and return that.

        ``so_far`` are the rows that the task stands for, if not its own.
        """
        coef, intercept, evidence = found
        if so_far is not None:
            evidence = self._charged(evidence, so_far, task, coef)
        if so_far is not None:
            intercept, so_far = (so_far.intercept(coef), so_far) if self.fit_intercept else (intercept, None)
        dtype, evidence = least_squares_in_type_of(dtype, task, coef, intercept, so_far, evidence)
        shaped = self._shaped(coef, intercept, y)
        self._keep_coefficients(shaped["coef_"].T, shaped["intercept_"], dtype)
        return evidence

    def _charged(self, evidence: Evidence, so_far: RowsSoFar, task: Task, coef: Array) -> Evidence:
        """The evidence of rows that are gone: their own rounding, which the task does not show, is added."""
        condition = evidence.facts.get("condition number", 1.0)  # not of conjugate gradients
        certificate = evidence.certificate
        value = certificate.value + so_far.rounding(task, coef, condition, fit_intercept=self.fit_intercept)
        return replace(evidence, certificate=replace(certificate, value=value))

    def _shaped(self, coef: Array, intercept: Array, y: Array) -> dict[str, Any]:
        vector = y.ndim == 1 or (self.flat and coef.shape[1] == 1)
        start: Any = (intercept[0] if y.ndim == 1 else intercept) if self.fit_intercept else 0.0
        return {"coef_": coef[:, 0] if vector else coef.T, "intercept_": start}


class UpdatableRegressor(LeastSquaresRegressor):
    """Least squares that can learn from rows a few at a time: what is kept of them is their triangular factor."""

    _shift: Array
    _triangle: Array
    _parts: int
    fitted: ClassVar[dict[str, Fitted]] = {
        "_shift": Maybe(Floats("?")),
        "_triangle": Maybe(Floats("?", "p")),
        "_parts": Maybe(Count(low=1)),
    }

    def _check_state(self) -> None:
        kept = set(KEPT) & set(vars(self))
        columns = self._triangle.shape[1] if kept == set(KEPT) else 0
        if kept and (columns < self.n_features_in_ + 2 or len(self._shift) != columns - 1):
            raise ValueError("what is kept of earlier rows does not fit the columns.")

    @abstractmethod
    def _learn(self, task: Task, y: Array, dtype: Any, so_far: RowsSoFar | None = None) -> Evidence:
        """Solve and keep the answer; ``so_far`` are the rows that the task stands for, if not its own."""

    def _fit(self, X: Any, y: Any, sample_weight: Any, max_iter: int = 0) -> None:
        X, y, weights = self._validate_fit(X, y, sample_weight, multi_output=True, blocks=True)
        for name in KEPT:
            self.__dict__.pop(name, None)
        self._keep_evidence(self._learn(self._task(X, y, weights, max_iter), y, X.dtype))

    def _add(self, X: Any, y: Any, sample_weight: Any) -> None:
        first = not hasattr(self, "_triangle")
        X, y, weights = self._validate_fit(X, y, sample_weight, multi_output=True, reset=first)
        self._observer(X, y, 0, lambda state: None)
        design, Y = as_design(X), np.asarray(y, dtype=np.float64).reshape(len(y), -1)
        if first:
            shift = np.concatenate([design.column_means(weights), weighted_mean(Y, weights)])
            forgotten, so_far = hasattr(self, "coef_"), RowsSoFar.of(design, Y, weights, shift)
        else:
            columns = self._triangle.shape[1] - design.shape[1] - 1
            if Y.shape[1] != columns:
                raise ValueError(f"y must have {columns} columns, as in the rows so far, but it has {Y.shape[1]}.")
            before = RowsSoFar(self._shift, Triangle(self._triangle), self._parts)
            forgotten, so_far = False, before + RowsSoFar.of(design, Y, weights, self._shift)
        task = so_far.task(design.shape[1], self.fit_intercept, float(np.finfo(X.dtype).eps))
        evidence = self._learn(task, y, X.dtype, so_far)
        self._shift, self._triangle, self._parts = so_far.shift, so_far.triangle.R, so_far.parts
        self._keep_evidence(replace(evidence, notes=(*evidence.notes, *(FORGOTTEN,) * forgotten)))


def one_or_each(values: Array) -> Any:
    """A number for one target, an array for several."""
    return float(values[0]) if values.size == 1 else values
