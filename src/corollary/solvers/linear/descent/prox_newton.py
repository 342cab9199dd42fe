"""Proximal Newton on growing working sets, with gap-safe screening: for smooth losses and penalties that make zeros.

Each outer iteration measures the optimality violation of every column with one product Xᵀ·slope, keeps the worst few
with the current support as a working set, and minimises over that set by Newton steps whose quadratic models are
solved by coordinate descent (``cd.py``). For the squared loss the model is exact, so this *is* coordinate descent
(``exact_model.py``). Columns that the duality gap proves to be zero are dropped for good, and of those that lie one
after the other in memory only such are read that may violate optimality (``columns.py``). Wide working sets of other
losses, and those of sparse data, are not squared: their models are lowered along the columns, a few epochs each.

Cost: one pass over X per outer iteration (commonly 3 to 10) and, for a working set of s columns, O(n s²), or O(n s) an
epoch where that is less; memory n·s + s².
Reference: Massias, Gramfort, Salmon (2018), *Celer: a fast solver for the lasso with dual extrapolation*, ICML;
Ndiaye et al. (2017), *Gap safe screening rules for sparsity enforcing penalties*, JMLR 18.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from corollary.core.problem import Problem
from corollary.core.types import Array
from corollary.solvers.linear.backtracking import backtrack
from corollary.solvers.linear.descent.cd import Stall, minimise_quadratic
from corollary.solvers.linear.descent.column_descent import FEW, minimise_columns
from corollary.solvers.linear.descent.column_model import Forcing, lower_model
from corollary.solvers.linear.descent.columns import Columns, Pulls
from corollary.solvers.linear.descent.exact_model import ExactModel
from corollary.solvers.linear.driver import Need, Solver, State, nearest
from corollary.solvers.linear.free import Bound, FreeColumns, length_of
from corollary.solvers.linear.interior_point.solver import finisher
from corollary.solvers.linear.quadratic import Model, feasible_slope, model_of

FIRST_SET = 64
TALL = 32  # rows for each column of a first set: where rows are many, a few columns more cost little
INNER_STEPS, IDLE_STEPS = 30, 2  # Newton steps on one working set, and those of them that may bring nothing
SCREEN_GAP = 1e-2
CARRIED = ("alive", "narrow", "free", "ill", "slow", "forcing")  # in memory, from one iteration to the next
ROUNDS = 12  # for one quadratic model, which need not be solved to the end: the next one goes on from there
LONG = 40  # iterations in which the gap should halve
FAR = 0.05  # of the loss: a step that promises more is an iteration, and leaves the bound as it was
STILL = 1e-12  # of the objective: a fall by less is none, for a method that converges quadratically
PART = 0.3  # of the largest violation: how well a working set is solved along its columns
NARROW, CACHED = 96, 1 << 22  # columns that are squared at once; numbers that stay in a shared cache
NEARLY = 0.9  # of the strength at which a column enters
LARGE = 1 << 17  # entries of X from which on it is worth knowing which columns need not be read again


class ProxNewton(Solver):
    """See the module. What it knows of the columns is shared by a path of problems that differ in their penalty."""

    name = "proximal Newton"
    needs = (
        Need("loss", "smooth", True, "it has kinks; use the interior-point solver with a separable penalty"),
        Need("loss", "curved", True, "it has no second derivative; use proximal gradient"),
        Need("penalty", "by_coordinate", True, "coordinate descent does not know it; use proximal gradient"),
        Need("penalty", "convex", True, "it is not convex; use coordinate descent for counts"),
    )

    def __init__(self) -> None:
        self.exact = ExactModel()
        self._norms: Array | None = None
        self._known: tuple[Any, Pulls | None] = None, None

    def check(self, problem: Problem) -> None:
        super().check(problem)
        if problem.loss.multiclass and (problem.penalty.grouped or not problem.loss.simplex):
            raise ValueError(
                f"{self.name} cannot use the {problem.penalty.name} penalty with the {problem.loss.name} loss: its "
                "model of several classes is softmax with one coefficient at a time. Use proximal gradient."
            )

    def successor(self, problem: Problem) -> Solver | None:
        return finisher(problem)

    def init(self, problem: Problem, start: State) -> State:
        if problem.loss.constant_curvature:
            self.name = "coordinate descent"  # type: ignore[misc]  # the quadratic model is the loss itself
        d = problem.design.shape[1]
        state = State(start.coef, start.intercept)
        if "raw" in start.memory:  # the last point of a path: all but the penalty's part is known
            state.memory = {key: start.memory[key] for key in ("raw", "value", "slope", "gradient")}
            state.memory |= {"alive": np.arange(d), **self._free(problem)}
            if "narrow" in start.memory:  # the gradient is known for the columns in play only
                return self._measure(problem, state)
            if self._pulls(problem) is not None:
                state.memory["gradient"] = self._gradient(problem, state, state.memory["slope"])
            return self._judge(problem, state, None)
        if start.coef.any():
            raw = problem.raw(start.coef, start.intercept)
        else:  # no pass over X for that
            raw = np.zeros((len(problem.y), *start.coef.shape[1:])) + start.intercept
        state.memory = {"raw": raw, "alive": np.arange(d), **self._free(problem)}
        return self._measure(problem, state)

    def _free(self, problem: Problem) -> dict[str, Any]:
        """Without a penalty: what measures how far a dual point is from feasible."""
        if not (problem.penalty.convex and problem.penalty.absent):
            return {}
        free = FreeColumns.of_problem(problem)
        return {"free": free, "ill": free is None or free.coarse}

    def step(self, problem: Problem, state: State, tol: float) -> State:
        self._screen(problem, state, state.memory["shown"])
        wanted = self._working_set(problem, state)
        local = self._local_tolerance(problem, state, wanted, tol)
        if problem.loss.constant_curvature:
            new = self._moved(state, *self.exact.step(problem, state, wanted, local, self._pulls(problem)))
        elif self._by_rows(problem) or self._too_wide(problem, len(wanted)):
            new = self._column_steps(problem, state, wanted, PART * float(state.memory["violation"].max(initial=0.0)))
        else:
            new = self._newton_steps(problem, state, wanted, local)
        return self._measure(problem, new, state)

    def _working_set(self, problem: Problem, state: State) -> Array:
        """The support and the columns that violate optimality most; at least doubles while new columns enter."""
        alive, violation = state.memory["alive"], state.memory["violation"]
        support = np.flatnonzero(state.coef)
        if violation.ndim > 1:
            violation, support = violation.max(axis=1), np.flatnonzero(state.coef.any(axis=1))
        more = len(alive) // FIRST_SET if problem.loss.constant_curvature else len(problem.y) // TALL
        room = len(alive) if self._by_rows(problem) else len(support) + max(FIRST_SET, len(support), more)
        size = min(room, len(alive))
        scores = violation[alive]
        if problem.penalty.grouped:
            groups = problem.penalty.groups  # type: ignore[attr-defined]
            worst = alive[np.argsort(-scores, kind="stable")[:size]]
            chosen = np.isin(groups, groups[np.concatenate([worst, support])])
            return np.flatnonzero(chosen)
        # columns close to entering come along: the next step, or the next point of a path, is likely to want them
        strength = problem.penalty.l1
        pull = np.abs(state.memory["gradient"])
        pull = pull.max(axis=1) if pull.ndim > 1 else pull
        top = alive[np.argpartition(-pull[alive], size - 1)[:size]] if size < len(alive) else alive
        near = violation[top] > 0 if strength == 0 else pull[top] >= NEARLY * strength
        chosen = np.zeros(len(violation), dtype=bool)
        chosen[top[near]] = chosen[support] = True
        return np.flatnonzero(chosen)

    def _local_tolerance(self, problem: Problem, state: State, wanted: Array, tol: float) -> float:
        """How exactly to solve the working set: a fraction of what is violated now while columns may still enter."""
        now = float(state.memory["violation"].max(initial=0.0))
        scale = problem.penalty.l1 or float(np.abs(state.memory["gradient"]).max(initial=0.0))
        # Newton steps converge quadratically and quadratic models are solved exactly, so the last digits are cheap
        least = max(1e-5 * tol * scale, 1e-15 * scale, 1e-300)
        return least if len(wanted) == problem.design.shape[1] else max(0.03 * min(now, scale), least)

    def _moved(self, state: State, coef: Array, intercept: Any, raw: Array) -> State:
        moved = State(coef, intercept)
        moved.memory = {"raw": raw} | {key: state.memory[key] for key in CARRIED if key in state.memory}
        return moved

    def _by_rows(self, problem: Problem) -> bool:
        """Sparse data whose curvature changes: products of columns would be formed anew each time, slopes are cheap."""
        plain = problem.penalty.separable and not problem.loss.multiclass
        columns = problem.design.is_sparse and problem.design.resident
        return columns and plain and problem.penalty.l1 > 0 and not problem.loss.constant_curvature

    def _column_steps(self, problem: Problem, state: State, wanted: Array, local: float) -> State:
        """Inexact Newton steps on the working set: models are lowered along its columns, as far as they are good.

        One step for sparse data; otherwise until the set's own violation is below ``local``.
        """
        memory, penalty, free = state.memory, problem.penalty.restrict(wanted), problem.fit_intercept
        laid, columns = Columns.some(problem.design, wanted)
        w, intercept, raw = state.coef[wanted], state.intercept, memory["raw"]
        value, slope, curve = memory["value"], memory["unbalanced"], memory["curve"]
        violation, pulls = memory["violation"][wanted], np.empty(len(laid.starts) - 1)
        once = self._by_rows(problem)  # then all columns that matter are in every set, and their violations compare
        forcing, stall = memory.get("forcing", Forcing()) if once else Forcing(), Stall(IDLE_STEPS, STILL)
        for turn in range(1 if once else INNER_STEPS):
            if turn > 0:
                laid.products(columns, problem.balance(slope, curve), pulls)
                violation = penalty.subdiff_distance(w, pulls[columns])
                if violation.max(initial=0.0) <= local or stall.seen(value, penalty.value(w)):
                    break
            level, forcing = np.maximum(curve, 1e-10 * curve.max(initial=1e-300)), forcing.at(violation)
            target, reached = lower_model(laid, columns, level, slope, w, penalty, free=free, enough=forcing.enough)
            if not reached and len(wanted) <= FEW:  # descent crawls where columns are nearly collinear
                worst = forcing.part * float(violation.max())
                target = minimise_columns(problem.design, wanted, level, slope, w, penalty, free=free, tol=worst)
            direction = np.zeros(len(raw))
            laid.move(columns, target - w, direction)
            tilt = float(slope.sum())
            shift = -(tilt + float(level @ direction)) / float(level.sum()) if free else 0.0
            slack = float(slope @ direction) + penalty.value(target) - penalty.value(w) + tilt * shift
            direction += shift
            length, new = _line_search(problem, penalty, w, target - w, raw, direction, value, slack)
            if length == 0.0:
                break
            w = target if length == 1.0 else w + length * (target - w)  # exact zeros stay exact
            raw, intercept, (value, slope, curve) = raw + length * direction, intercept + length * shift, new
        coef = state.coef.copy()
        coef[wanted] = w
        memory["forcing"] = forcing
        return self._moved(state, coef, intercept, raw)

    def _newton_steps(self, problem: Problem, state: State, wanted: Array, local: float) -> State:
        """General loss: Newton steps on the working set until its optimality violation is below ``local``.

        Where no coefficient is zero by itself the set is never another, and an iteration is one step; the last steps,
        which converge quadratically, are one iteration.
        """
        whole = len(wanted) == problem.design.shape[1] and problem.design.resident
        part = problem.design if whole else problem.design.take(wanted)  # all columns need no copy of X
        penalty = problem.penalty.restrict(wanted)
        w, intercept, raw = state.coef[wanted].copy(), state.intercept, state.memory["raw"].copy()
        known = "unbalanced" in state.memory  # not of a start that another problem of a path has left
        value, slope, curve = (
            (state.memory[key] for key in ("value", "unbalanced", "curve")) if known else problem.derivatives(raw)
        )
        one_by_one = problem.penalty.quadratic and not problem.penalty.absent
        stall, far = Stall(IDLE_STEPS, STILL), False
        for _ in range(INNER_STEPS):
            model = model_of(problem, part, slope, curve)
            if penalty.subdiff_distance(w, model.gradient).max(initial=0.0) <= local and model.tilt <= local:
                break
            if stall.seen(value, penalty.value(w)):  # rounding, or a crawl: the next measure tells
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
            far = one_by_one and -slack > FAR * abs(value)
            if far:
                break
        coef = state.coef.copy()
        coef[wanted] = w
        moved = self._moved(state, coef, intercept, raw)
        moved.memory["derivatives"] = value, slope, curve
        moved.memory["far"] = far
        return moved

    def _too_wide(self, problem: Problem, s: int) -> bool:
        """Whether epochs along the columns of a working set, of which a model needs few, cost less than its squares."""
        n, plain = problem.design.shape[0], problem.penalty.separable and problem.penalty.l1 > 0
        return plain and not problem.loss.multiclass and s > (NARROW if n * s <= CACHED else 2 * NARROW)

    def _measure(self, problem: Problem, state: State, previous: State | None = None) -> State:
        """One pass over X: the gradient at slopes that are feasible for the intercept."""
        memory = state.memory
        memory["value"], slope, curve = memory.pop("derivatives", None) or problem.derivatives(memory["raw"])
        memory["unbalanced"], memory["curve"] = slope, curve
        if memory.pop("far", False) and previous is not None:  # no new bound is worth its pass
            memory |= {key: previous.memory[key] for key in ("slope", "gradient", "violation", "shown")}
            state.objective, state.dual = problem.primal_value(memory["value"], state.coef), previous.dual
            return state
        memory["slope"] = balanced = problem.balance(slope, curve)
        memory["gradient"] = self._gradient(problem, state, balanced)
        if problem.penalty.absent:
            memory["slope"] = feasible_slope(problem, slope, curve)
        return self._judge(problem, state, previous)

    def _pulls(self, problem: Problem) -> Pulls | None:
        """What knows Xᵀ slope from the slopes before, where X is large and lies by columns."""
        design, penalty = problem.design, problem.penalty
        if not (penalty.separable and penalty.l1 > 0 and not problem.loss.multiclass and design.resident):
            return None
        if self._known[0] is not design:
            laid = Columns.of(design)
            large = laid is not None and len(laid.data) >= LARGE
            self._known = design, Pulls(laid, design.shape, problem.fit_intercept) if laid and large else None
        return self._known[1]

    def _gradient(self, problem: Problem, state: State, slope: Array) -> Array:
        """Xᵀ slope, of the columns that are still in play (the others are known to be zero)."""
        memory, pulls = state.memory, self._pulls(problem)
        if pulls is not None:
            return pulls.at(slope, problem.penalty.l1, np.flatnonzero(state.coef))
        if "narrow" not in memory:
            return problem.design.rmatvec(slope)
        gradient = np.zeros(problem.design.shape[1])
        gradient[memory["alive"]] = memory["narrow"].rmatvec(slope)
        return gradient

    def _screen(self, problem: Problem, state: State, dual: float) -> None:
        """Drop columns that no optimum uses: the dual optimum lies within √(2·gap·L) of the dual point at hand.

        Worth its pass over X only when the ball is small and most columns idle; done at most twice per fit.
        """
        memory, penalty, loss = state.memory, problem.penalty, problem.loss
        gap, alive = state.objective - dual, memory["alive"]
        close = gap <= SCREEN_GAP * abs(state.objective)
        if not (close and penalty.separable and penalty.l1 > 0 and loss.lipschitz < np.inf) or state.coef.ndim > 1:
            return
        if not problem.design.resident or self._pulls(problem):  # a copy of the columns that are left may not fit
            return
        if "narrow" in memory or len(alive) < 1000 or np.count_nonzero(state.coef) > len(alive) // 4:
            return
        weights = problem.weights
        if self._norms is None:
            centre = problem.design.column_means() if problem.fit_intercept else np.zeros(len(alive))
            self._norms = np.sqrt(problem.design.column_squares(centre))
        radius = np.sqrt(2 * max(gap, 0.0) * loss.lipschitz * float(weights.max()))
        scale = penalty.feasible_scale(-memory["gradient"])
        reach = scale * np.abs(memory["gradient"]) + radius * self._norms
        keep = np.flatnonzero((reach >= penalty.l1) | (state.coef != 0))
        if len(keep) <= len(alive) // 4:
            memory["alive"], memory["narrow"] = keep, problem.design.take(keep)

    def _free_dual(self, problem: Problem, state: State, previous: State | None) -> float:
        """The dual value of slopes that satisfy Xᵀθ = 0 up to rounding, less what that rounding may hide.

        If an older one is better it is kept, measured by the predictions of now.
        """
        memory = state.memory
        free, slope, older = memory["free"], memory["slope"], None if previous is None else previous.memory.get("bound")
        if free is None:
            return -np.inf
        rate = free.charge(problem, slope, problem.design.rmatvec(slope), 1.0)
        memory["bound"] = bound = Bound(problem.offset - problem.conjugate_sum(slope), rate)
        length = length_of(problem, memory["raw"], problem.weights)
        dual = bound.at(length) if older is None else nearest(state.objective, bound.at(length), older.at(length))
        if dual != bound.at(length):
            memory["bound"] = older
        return float(dual)

    def _judge(self, problem: Problem, state: State, previous: State | None) -> State:
        """Objective, dual value, violations, and the columns that can still be non-zero."""
        memory, penalty = state.memory, problem.penalty
        state.objective = problem.primal_value(memory["value"], state.coef)
        memory["violation"] = penalty.subdiff_distance(state.coef, memory["gradient"])
        settled = previous is not None and state.objective >= previous.objective - 1e-15 * abs(previous.objective)
        if penalty.absent:
            dual = self._free_dual(problem, state, previous)
        else:
            dual = problem.dual_value(memory["slope"], memory["gradient"])
        memory["shown"] = dual
        state.dual = dual if previous is None or penalty.absent else nearest(state.objective, dual, previous.dual)
        state.stalled = settled and previous is not None and state.dual <= previous.dual
        state.stalled |= previous is not None and self._crawls(state, previous)
        return state

    def _crawls(self, state: State, previous: State) -> bool:
        """Whether the gap has not even halved for many iterations, in which the objective stood still, or for more.

        One huge row, or weights of many sizes, hide the curvature of the rest behind rounding: steps still help, and
        many thousands of them would be needed. A gap below zero is rounding, and one that grows there is no progress.
        """
        gap = abs(state.objective - state.dual)
        moved = previous.objective - state.objective > STILL * abs(state.objective)
        still, long, mark = previous.memory.get("slow", (0, 0, np.inf))
        halved = gap <= 0.5 * mark
        still, long, mark = (0, 0, gap) if halved else (0 if moved else still + 1, long + 1, mark)
        state.memory["slow"] = (still, long, mark)
        return bool(still > self.patience or long > LONG)


def _minimise_model(model: Model, w: Array, penalty: Any, tol: float) -> Array:
    target = w.copy()
    for where, H in model.blocks:
        if where is None:
            found, _ = minimise_quadratic(H, model.gradient.ravel(), w.ravel(), penalty, tol=tol, max_rounds=ROUNDS)
            return found.reshape(w.shape)
        part, _ = minimise_quadratic(H, model.gradient[where], w[where], penalty, tol=tol, max_rounds=ROUNDS)
        target[where] = part
    return target


def _line_search(
    problem: Problem, penalty: Any, w: Array, step: Array, raw: Array, direction: Array, value: float, slack: float
) -> tuple[float, tuple[float, Array, Array | None]]:
    """How much of a step lowers the objective by a fraction of what the model promised, and the derivatives there."""

    def attempt(length: float) -> tuple[float, tuple[float, Array, Array | None]]:
        new = problem.derivatives(raw + length * direction)
        return new[0] + penalty.value(w + length * step), new

    return backtrack(attempt, value + penalty.value(w), slack)
