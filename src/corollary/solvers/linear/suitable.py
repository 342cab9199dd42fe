"""Which solver fits a problem, asked of the parts' capabilities."""

from __future__ import annotations

from corollary.core.problem import Problem
from corollary.solvers.linear.driver import Solver
from corollary.solvers.linear.quadratic import FULL_BLOCK

COUPLED = 300  # coefficients of all classes together, up to which their full Hessian is the quickest way
NEWTON_COLUMNS = 2000  # the Hessian has that many squared entries


def choose_solver(problem: Problem) -> Solver:
    """The solver that reaches the tolerance soonest for this loss, penalty and shape."""
    loss, penalty = problem.loss, problem.penalty
    if loss.piecewise_linear:
        from corollary.solvers.linear.interior_point.solver import InteriorPoint

        return InteriorPoint()
    second_order = loss.convex and loss.curved and (loss.simplex or not loss.multiclass)
    descent = second_order and penalty.by_coordinate and not (penalty.grouped and loss.multiclass)
    if not loss.convex or not (penalty.quadratic or descent):
        from corollary.solvers.linear.prox_gradient import ProxGradient

        return ProxGradient()
    if not penalty.convex:
        from corollary.solvers.linear.descent.count import Count

        return Count()
    limit = COUPLED if penalty.l2 > 0 else FULL_BLOCK  # without a penalty only the full Hessian gives a certificate
    coupled = loss.simplex and problem.design.shape[1] * problem.n_classes <= limit
    if not penalty.quadratic or coupled:
        from corollary.solvers.linear.descent.prox_newton import ProxNewton

        return ProxNewton()
    if loss.multiclass or not second_order or problem.design.shape[1] > NEWTON_COLUMNS:
        from corollary.solvers.linear.smooth.lbfgs import LBFGS

        return LBFGS()
    from corollary.solvers.linear.smooth.newton import Newton

    return Newton()
