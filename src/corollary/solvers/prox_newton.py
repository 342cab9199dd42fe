"""Proximal Newton on growing working sets, with gap-safe screening: for smooth losses and penalties that make zeros.

Each outer iteration measures the optimality violation of every column with one product Xᵀ·slope, keeps the worst few
with the current support as a working set, and minimises over that set by Newton steps whose quadratic models are
solved by coordinate descent (``cd.py``). For the squared loss the model is exact and its Gram matrix is kept, so this
*is* coordinate descent. Columns that the duality gap proves to be zero are dropped for good.

Cost: one pass over X per outer iteration (commonly 3 to 10) and O(n s²) for a working set of s columns; memory
n·s + s².
Reference: Massias, Gramfort, Salmon (2018), *Celer: a fast solver for the lasso with dual extrapolation*, ICML;
Ndiaye et al. (2017), *Gap safe screening rules for sparsity enforcing penalties*, JMLR 18.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from corollary.core.design import Design
from corollary.core.problem import Problem
from corollary.core.types import Array
from corollary.solvers.cd import minimise_quadratic
from corollary.solvers.driver import Need, Solver, State
from corollary.solvers.models import Model, model_of

FIRST_SET = 64
INNER_STEPS = 60


@dataclass
class GramCache:
    """Gram matrix of the columns met so far, about their weighted means; grows as columns are added."""

    problem: Problem
    means: Array
    columns: Array = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    chunks: list[Design] = field(default_factory=list)
    H: Array = field(default_factory=lambda: np.empty((0, 0)))

    def ensure(self, wanted: Array) -> Array:
        """Positions of the wanted columns in the cache, after adding those that are missing."""
        missing = np.setdiff1d(wanted, self.columns, assume_unique=True)
        if missing.size:
            self._append(missing)
        order = np.argsort(self.columns)
        return order[np.searchsorted(self.columns, wanted, sorter=order)]

    def _append(self, columns: Array) -> None:
        problem, w = self.problem, self.problem.weights
        new = problem.design.take(columns)
        self.chunks.append(new)
        border = [chunk.cross(new, w) for chunk in self.chunks]
        self.columns = np.concatenate([self.columns, columns])
        strip = np.concatenate(border)
        if problem.fit_intercept:
            strip -= np.outer(self.means[self.columns], w.sum() * self.means[columns])
        old = len(self.H)
        H = np.empty((old + len(columns),) * 2)
        H[:old, :old] = self.H
        H[:, old:] = strip
        H[old:, :old] = strip[:old].T
        self.H = H

    def product(self, positions: Array, step: Array) -> Array:
        """X · step for the cached columns at ``positions`` (columns not centred)."""
        full = np.zeros(len(self.columns))
        full[positions] = step
        parts, at = [], 0
        for chunk in self.chunks:
            part = full[at : at + chunk.shape[1]]
            if part.any():
                parts.append(chunk.matvec(part))
            at += chunk.shape[1]
        return np.sum(parts, axis=0) if parts else np.zeros(self.problem.design.shape[0])


class ProxNewton(Solver):
    """See the module. ``cache`` may be shared by a path of problems that differ in their penalty only."""

    name = "proximal Newton"
    needs = (
        Need("loss", "smooth", True, "it has kinks; use the interior-point solver with a separable penalty"),
        Need("loss", "curved", True, "it has no second derivative"),
    )

    def __init__(self, cache: GramCache | None = None) -> None:
        self.cache = cache

    def init(self, problem: Problem, start: State) -> State:
        if problem.loss.constant_curvature:
            self.name = "coordinate descent"  # type: ignore[misc]  # the quadratic model is the loss itself
        d = problem.design.shape[1]
        if problem.loss.constant_curvature and self.cache is None:
            means = problem.design.column_means(problem.weights) if problem.fit_intercept else np.zeros(d)
            self.cache = GramCache(problem, means)
        state = State(start.coef, start.intercept)
        if "raw" in start.memory:  # the last point of a path: all but the penalty's part is known
            state.memory = start.memory | {"alive": np.arange(d)}
            return self._judge(problem, state, None)
        state.memory = {"raw": problem.raw(start.coef, start.intercept), "alive": np.arange(d)}
        return self._measure(problem, state)

    def step(self, problem: Problem, state: State, tol: float) -> State:
        wanted = self._working_set(problem, state)
        local = self._local_tolerance(problem, state, wanted, tol)
        if problem.loss.constant_curvature:
            new = self._quadratic_step(problem, state, wanted, local)
        else:
            new = self._newton_steps(problem, state, wanted, local)
        return self._measure(problem, new, state)

    def _working_set(self, problem: Problem, state: State) -> Array:
        """The support and the columns that violate optimality most; at least doubles while new columns enter."""
        alive, violation = state.memory["alive"], state.memory["violation"]
        support = np.flatnonzero(state.coef)
        if violation.ndim > 1:
            violation, support = violation.max(axis=1), np.flatnonzero(state.coef.any(axis=1))
        size = min(len(support) + max(FIRST_SET, len(support) // 2), len(alive))
        scores = violation[alive]
        if problem.penalty.grouped:
            groups = problem.penalty.groups  # type: ignore[attr-defined]
            worst = alive[np.argsort(-scores, kind="stable")[:size]]
            chosen = np.isin(groups, groups[np.concatenate([worst, support])])
            return np.flatnonzero(chosen)
        if not problem.penalty.convex:
            return np.arange(problem.design.shape[1])
        top = alive[np.argpartition(-scores, size - 1)[:size]]
        top = top[violation[top] > 0]
        return np.union1d(top, support)

    def _local_tolerance(self, problem: Problem, state: State, wanted: Array, tol: float) -> float:
        """How exactly to solve the working set: a fraction of what is violated now while columns may still enter."""
        now = float(state.memory["violation"].max(initial=0.0))
        scale = problem.penalty.l1 or float(np.abs(state.memory["gradient"]).max(initial=0.0))
        # Newton steps converge quadratically and quadratic models are solved exactly, so the last digits are cheap
        least = max(1e-5 * tol * scale, 1e-15 * scale, 1e-300)
        return least if len(wanted) == problem.design.shape[1] else max(0.03 * min(now, scale), least)

    def _quadratic_step(self, problem: Problem, state: State, wanted: Array, local: float) -> State:
        """Squared loss: minimise over the working set with the cached Gram matrix; the intercept follows exactly."""
        cache = self.cache
        assert cache is not None
        at = cache.ensure(wanted)
        H = cache.H if len(at) == len(cache.H) and (at == np.arange(len(at))).all() else cache.H[np.ix_(at, at)]
        old = state.coef[wanted]
        gradient = state.memory["gradient"][wanted]
        new, _ = minimise_quadratic(H, gradient, old, problem.penalty.restrict(wanted), tol=local)
        coef = state.coef.copy()
        coef[wanted] = new
        raw = state.memory["raw"] + cache.product(at, new - old)
        intercept = state.intercept
        if problem.fit_intercept:
            shift = problem.weights @ (problem.y - raw) / problem.weights.sum()
            raw += shift
            intercept = intercept + shift
        moved = State(coef, intercept)
        moved.memory = {"raw": raw, "alive": state.memory["alive"]}
        return moved

    def _newton_steps(self, problem: Problem, state: State, wanted: Array, local: float) -> State:
        """General loss: Newton steps on the working set until its optimality violation is below ``local``."""
        part = problem.design.take(wanted)
        penalty = problem.penalty.restrict(wanted)
        w, intercept, raw = state.coef[wanted].copy(), state.intercept, state.memory["raw"].copy()
        value, slope, curve = problem.derivatives(raw)
        for _ in range(INNER_STEPS):
            model = model_of(problem, part, slope, curve)
            if penalty.subdiff_distance(w, model.gradient).max(initial=0.0) <= local and model.tilt <= local:
                break
            target = _minimise_model(model, w, penalty, 0.1 * local)
            step = target - w
            shift = model.follow(step) if problem.fit_intercept else 0.0 * intercept
            direction = part.matvec(step) + shift
            slack = float(np.vdot(model.gradient, step)) + penalty.value(target) - penalty.value(w) - model.floor
            length, new = _line_search(problem, penalty, w, step, raw, direction, value, slack)
            if length == 0.0:
                break
            w = target if length == 1.0 else w + length * step  # exact zeros stay exact
            raw, intercept = raw + length * direction, intercept + length * shift
            value, slope, curve = new
            if -slack <= 1e-15 * (abs(value) + penalty.value(w)):  # the rest is rounding
                break
        coef = state.coef.copy()
        coef[wanted] = w
        moved = State(coef, intercept)
        moved.memory = {"raw": raw, "alive": state.memory["alive"]}
        return moved

    def _measure(self, problem: Problem, state: State, previous: State | None = None) -> State:
        """One pass over X: the gradient at slopes that are feasible for the intercept."""
        memory = state.memory
        memory["value"], slope, curve = problem.derivatives(memory["raw"])
        memory["slope"] = balanced = problem.balance(slope, curve)
        memory["gradient"] = problem.design.rmatvec(balanced)
        return self._judge(problem, state, previous)

    def _judge(self, problem: Problem, state: State, previous: State | None) -> State:
        """Objective, dual value, violations, and the columns that can still be non-zero."""
        memory, penalty = state.memory, problem.penalty
        state.objective = problem.primal_value(memory["value"], state.coef)
        memory["violation"] = penalty.subdiff_distance(state.coef, memory["gradient"])
        settled = previous is not None and state.objective >= previous.objective - 1e-15 * abs(previous.objective)
        if not penalty.convex:
            # L0 is proved coordinate by coordinate only: no single step improves the answer
            state.dual = state.objective if settled else -np.inf
            return state
        dual = problem.dual_value(memory["slope"], memory["gradient"])
        state.dual = dual if previous is None else max(dual, previous.dual)
        state.stalled = settled and previous is not None and state.dual <= previous.dual
        return state


def _minimise_model(model: Model, w: Array, penalty: Any, tol: float) -> Array:
    target = w.copy()
    for where, H in model.blocks:
        if where is None:
            found, _ = minimise_quadratic(H, model.gradient.ravel(), w.ravel(), penalty, tol=tol)
            return found.reshape(w.shape)
        target[where], _ = minimise_quadratic(H, model.gradient[where], w[where], penalty, tol=tol)
    return target


def _line_search(
    problem: Problem, penalty: Any, w: Array, step: Array, raw: Array, direction: Array, value: float, slack: float
) -> tuple[float, tuple[float, Array, Array | None]]:
    """Backtrack until the objective falls by a fraction of what the model promised; length 0 if it never does."""
    before = value + penalty.value(w)
    length = 1.0
    for _ in range(40):
        new = problem.derivatives(raw + length * direction)
        after = new[0] + penalty.value(w + length * step)
        if np.isfinite(after) and after <= before + 1e-4 * length * slack + 1e-14 * abs(before):
            return length, new
        length *= 0.5
    return 0.0, new
