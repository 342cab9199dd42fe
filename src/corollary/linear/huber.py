"""Huber regression: squared loss near the line, absolute loss far from it, with the scale learnt from the data."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from corollary.base import assigning, fitting
from corollary.core.design import as_design
from corollary.core.evidence import Evidence, Status
from corollary.core.fitted import Booleans, Count, Fitted, Number
from corollary.core.limits import Boolean, Integer, Limit, Real
from corollary.core.loss import Huber
from corollary.core.penalty import L2
from corollary.core.problem import Problem, relative_gap
from corollary.core.types import Array
from corollary.linear.predict import LinearRegressor
from corollary.linear.rounding import blur, narrowest, relative, rounded, still
from corollary.solvers.linear.driver import Solution, State, solve
from corollary.solvers.linear.smooth.huber_newton import HuberNewton
from corollary.solvers.linear.smooth.huber_scale import joint_value

NEGLIGIBLE = 1e-6  # in units of the spread of y
NO_SCALE = (
    "The best scale is zero: so many rows lie on the plane, or epsilon is so near 1, that the fit is that of least "
    "absolute deviations."
)


class HuberRegressor(LinearRegressor):
    r"""Linear regression that is not thrown off by outliers.

    .. math:: \min_{w, b, \sigma > 0} \sum_i s_i \Big(\sigma + \sigma H_\epsilon\big(\tfrac{y_i - x_i^\top w - b}
              {\sigma}\big)\Big) + \alpha \|w\|^2, \quad
              H_\epsilon(z) = z^2 \text{ if } |z| \le \epsilon \text{ else } 2 \epsilon |z| - \epsilon^2

    The scale σ is estimated with the coefficients, so scaling y by 10 scales the answer by 10.

    Parameters
    ----------
    epsilon : float ≥ 1, default 1.35
        Residuals beyond ``epsilon · scale_`` count as outliers. 1.35 is 95 % as efficient as least squares on
        Gaussian noise.
    max_iter : int ≥ 0, default 100
    alpha : float ≥ 0, default 1e-4
        Strength of the L2 penalty.
    warm_start : bool, default False
    fit_intercept : bool, default True
    tol : float ≥ 0, default 1e-8
        Relative duality gap to reach.

    Attributes
    ----------
    coef_, intercept_, n_iter_
    scale_ : float ≥ 0
        σ; 0 if the best scale is none at all, as for ``epsilon=1`` or if a share of 1 − 1/ε² of the rows lies on one
        plane. The objective is its limit for σ → 0, least absolute deviations, and ``evidence_`` says so.
    outliers_ : bool array of shape (n,)
        Rows beyond ``epsilon · scale_``.
    evidence_ : Evidence

    Notes
    -----
    *Cost.* O(n d²) per iteration, commonly 3 to 10 iterations; 20 to 35 if few rows are inliers (ε near 1, heavy
    tails), which the interior point finishes. Memory d² and a dozen vectors of length n.

    *Evidence.* The duality gap of the joint problem in (w, b, σ) (kind *optimal*).

    Examples
    --------
    >>> import numpy as np
    >>> from corollary import HuberRegressor
    >>> x = np.arange(20.0)
    >>> y = 2 * x + 1
    >>> y[3] = 500
    >>> model = HuberRegressor(alpha=0.0).fit(x[:, None], y + 0.01 * np.sin(7 * x))
    >>> model.coef_.round(2), bool(model.outliers_[3]), model.evidence_.holds
    (array([2.]), True, True)
    """

    fitted: ClassVar[dict[str, Fitted]] = {
        "scale_": Number(low=0),
        "outliers_": Booleans("?"),
        "n_iter_": Count(),
    }
    _penalty_beside_sum = True
    limits: ClassVar[dict[str, Limit]] = {
        "epsilon": Real(low=1),
        "max_iter": Integer(0),
        "alpha": Real(low=0),
        "warm_start": Boolean(),
        "fit_intercept": Boolean(),
        "tol": Real(low=0),
    }

    @assigning
    def __init__(
        self,
        *,
        epsilon: float = 1.35,
        max_iter: int = 100,
        alpha: float = 1e-4,
        warm_start: bool = False,
        fit_intercept: bool = True,
        tol: float = 1e-8,
    ) -> None: ...

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> HuberRegressor:
        """Fit coefficients and scale to X (n × d, dense or sparse) and y, or to blocks of (X, y)."""
        X, y, weights = self._validate_fit(X, y, sample_weight, blocks=True)
        y = y.astype(np.float64, copy=False)
        problem = Problem(
            as_design(X), y, weights, Huber(self.epsilon), L2(2 * self.alpha * self._weight_unit), self.fit_intercept
        )
        found = solve(
            HuberNewton(),
            problem,
            tol=self.tol,
            max_iter=self.max_iter,
            start=self._previous(X.shape[1]),
            observe=self._observer(X, y, self.max_iter, _attributes),
        )
        self.n_iter_ = found.evidence.n_iter
        scale, residual = float(found.state.memory["scale"]), y - problem.raw(found.coef, found.intercept)
        delivered, evidence = _zero_if_optimal(problem, found, residual, scale)
        self.scale_ = np.float64(delivered)
        # a row on the plane is not an outlier, even if its residual is not exactly zero because of rounding
        rounding = 1e-6 * float(np.abs(residual).mean()) if self.scale_ == 0.0 else 0.0
        self.outliers_ = np.abs(residual) > max(self.epsilon * scale, rounding)
        dtype, evidence = _in_type_of(X.dtype, problem, replace(found, evidence=evidence), self.scale_)
        self._keep_coefficients(found.coef, found.intercept, dtype)
        self._keep_evidence(evidence)
        return self

    def _previous(self, n_columns: int) -> State | None:
        if not (self.warm_start and hasattr(self, "coef_")) or len(self.coef_) != n_columns:
            return None
        return State(self.coef_.astype(np.float64), float(self.intercept_), memory={"scale": self.scale_})


def _zero_if_optimal(problem: Problem, found: Solution, residual: Array, scale: float) -> tuple[float, Evidence]:
    """Zero instead of a negligible scale, with evidence for that, if the certificate holds there as well."""
    evidence = found.evidence
    dual, tol = evidence.facts["dual objective"], evidence.certificate.tolerance
    limit = joint_value(problem, found.coef, residual, 0.0)
    gap = relative_gap(limit, dual, HuberNewton().yardstick(problem)) if limit > 0 else 0.0  # none is below zero
    level = np.median(problem.y) if problem.fit_intercept else 0.0
    small = scale <= NEGLIGIBLE * float(np.median(np.abs(problem.y - level)))
    if limit > 0 and (gap > tol or not small):
        return scale, evidence
    return 0.0, replace(
        evidence,
        status=evidence.status if evidence.holds or evidence.status.cut_short else Status.CONVERGED,
        certificate=replace(evidence.certificate, value=gap),
        facts={**evidence.facts, "objective": limit},
        notes=(*evidence.notes, NO_SCALE),
    )


def _in_type_of(dtype: Any, problem: Problem, found: Solution, scale: float) -> tuple[Any, Evidence]:
    """The type to keep coefficients in, and the evidence of what is kept (see ``rounding.py``). One pass if float32."""
    if np.dtype(dtype) == np.float64:
        return dtype, found.evidence
    coef, raw = rounded(found.coef, dtype), problem.raw(rounded(found.coef, dtype), rounded(found.intercept, dtype))
    wide = blur(dtype) * float(problem.weights @ raw**2) / max(scale, 1e-300)
    rise = joint_value(problem, coef, problem.y - raw, scale) + wide - found.evidence.facts["objective"]
    excess = relative(rise, found.evidence, HuberNewton().yardstick(problem))
    kept, (evidence,) = narrowest(dtype, [found.evidence], [still(found.evidence, excess)])
    return kept, evidence


def _attributes(state: State) -> dict[str, Any]:
    return {"coef_": state.coef, "intercept_": state.intercept, "scale_": state.memory["scale"]}
