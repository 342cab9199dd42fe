r"""The scale of Huber's joint problem, minimised out for given residuals.

The objective is Σ s (σ + σ H(r/σ)) + α‖β‖² with H(z) = z² if |z| ≤ ε, else 2ε|z| − ε²; the loss's parameter is ε, the
weights are s, and the penalty is α‖β‖². It is convex in (r, σ), and tends to 2ε Σ s|r| as σ falls to zero.
"""

from __future__ import annotations

import numpy as np

from corollary.core.loss import Quantile
from corollary.core.problem import EPS, Problem
from corollary.core.types import Array


def least_scale(problem: Problem) -> float:
    """The rounding of residuals; a scale below it counts as zero."""
    largest = float(np.abs(problem.y[problem.weights > 0]).max(initial=0.0))
    return 10 * EPS * (largest or 1.0)


def best_scale(problem: Problem, residual: Array) -> float:
    """The σ that minimises the objective: Σ s min(r²/σ², ε²) = Σ s, solved exactly by sorting |r|."""
    size = np.abs(residual)
    order = np.argsort(size)
    size, w = size[order], problem.weights[order]
    inside, beyond = np.cumsum(w * size**2), w.sum() - np.cumsum(w)
    room = w.sum() - problem.loss.parameter**2 * beyond
    scales = np.sqrt(inside / np.where(room > 0, room, np.inf))
    following = np.append(size[1:], np.inf)
    # the k smallest residuals are the inliers of σ_k if the next one lies beyond ε σ_k
    fits = (room > 0) & (problem.loss.parameter * scales < following)
    return max(float(scales[np.argmax(fits)]), least_scale(problem))


def joint_value(problem: Problem, coef: Array, residual: Array, scale: float) -> float:
    """The objective; at a scale of zero its limit, least absolute deviations."""
    eps = problem.loss.parameter
    if scale == 0.0:
        return 2 * eps * float(problem.weights @ np.abs(residual)) + problem.penalty.value(coef)
    z = np.abs(residual) / scale
    height = np.where(z <= eps, z**2, eps * (2 * z - eps))
    return float(scale * (problem.weights @ (1 + height))) + problem.penalty.value(coef)


def null_value(problem: Problem) -> float:
    """2ε Σ s |y − c|: without coefficients and without a scale, c the median (zero where no intercept is fitted)."""
    w, y = problem.weights, problem.y
    centre = Quantile(0.5).best_constant(y, w) if problem.fit_intercept else 0.0
    return 2 * problem.loss.parameter * float(w @ np.abs(y - centre))


def joint_rounding(problem: Problem) -> float:
    """What one rounding of each y may change: the slopes are at most 2ε, whatever the scale."""
    return 2 * problem.loss.parameter * EPS * float(problem.weights @ np.abs(problem.y))
