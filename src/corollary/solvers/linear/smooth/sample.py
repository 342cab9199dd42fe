"""Some of the rows of a problem, and its solution as a start: near enough that few passes over all rows are left."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from corollary.core.problem import Problem
from corollary.core.types import Array
from corollary.solvers.linear.driver import Solution, Solver, State, solve

THINNING = 10  # the sample has a tenth of the rows ...
SAMPLE_ROWS = 5_000  # ... if that leaves at least so many


def thinned(problem: Problem, keep: Array | None = None) -> Problem:
    """The same problem on some of its rows (every tenth, or fewer if X is not in memory), weighted up to the whole."""
    if keep is None:
        keep = np.arange(0, problem.design.shape[0], max(THINNING, problem.design.sample_every))
    weights = problem.weights[keep]
    if weights.sum() > 0:
        weights = weights * (problem.weights.sum() / weights.sum())
    return replace(problem, design=problem.design.rows(keep), y=problem.y[keep], weights=weights)


def from_sample(solver: Solver, problem: Problem, start: State, max_iter: int) -> tuple[Problem, Solution] | None:
    """A sample of a tall problem and its solution, about; None where rows are few, or a start is given."""
    n, d = problem.design.shape
    if n // THINNING < max(SAMPLE_ROWS, 20 * d) or start.coef.any():
        return None
    part = thinned(problem)
    return part, solve(solver, part, tol=1e-4, max_iter=max_iter)
