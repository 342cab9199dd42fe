"""How much the objective can fall if one coefficient is changed at best, and the intercept with it.

For a penalty that counts coefficients this is found exactly, up to rounding: for every column j the convex function
φ(t, u) = Σ w ℓ(y, f + t (xⱼ − x̄ⱼ) + u) is minimised by Newton's steps, once with t free and, for a coefficient that is
not zero, once with t where it vanishes. Columns go in blocks that fit in cache, and one that can no longer pay for its
penalty is not followed to the end. With several classes the loss, as a function of one class's raw prediction alone,
is the logistic one.

Cost: two or three evaluations of the loss for each entry of X; memory for a few blocks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp

from corollary.core.design import Design
from corollary.core.loss import Logistic, Loss
from corollary.core.parallel import map_blocks
from corollary.core.problem import Problem
from corollary.core.types import Array

ENTRIES = 1 << 15  # of a block of columns
ROUNDS = 200  # Newton's steps and halvings; five are typical
HOPELESS = 100.0  # times what a Newton step promises is more than all steps together bring
FLOOR = 1e-40  # of the curvature of a row, relative to the largest: more would hide what the other rows can gain
LEAST = 1e-100  # of the slope: what the curvature is at least taken for, so that flat parts are left by long steps
FAR = 100.0  # how far a step may lead at first, times the distance that is natural for the loss
HALVINGS = 100  # of the range of an intercept, from huge predictions down to one digit
FLAT = 0.01  # share of the majorant in the curvature of a loss with straight pieces, so that it is never zero


@dataclass(frozen=True)
class Change:
    """The best change of one coefficient: what it gains (not above zero: nothing helps), and what it is."""

    gain: float
    at: tuple[int, ...]  # column, and class where there are several
    value: float  # that the coefficient gets
    shift: float  # that is added to the intercept, for columns about their means


def best_change(problem: Problem, columns: Design, coef: Array, raw: Array, least: float) -> Change:
    """The best of all single changes; gains are right to within ``least``. ``columns`` are X about its means."""
    best = Change(-np.inf, (0,), 0.0, 0.0)
    size, d = max(1, ENTRIES // max(1, len(raw))), len(coef)
    live = problem.weights > 0

    def search(start: int, stop: int, k: int | None, rows: tuple[Loss, Array, Array]) -> Change:
        x = columns.take(np.arange(start, stop)).block(0, len(raw)).T[:, live]
        w = coef[start:stop] if k is None else coef[start:stop, k]
        found = _Block(problem, rows, x, w, least).best()
        place = (start + found.at[0],) if k is None else (start + found.at[0], k)
        return Change(found.gain, place, found.value, found.shift)

    for k, rows in _outputs(problem, raw, live):
        for found in map_blocks(lambda a, b, k=k, rows=rows: search(a, b, k, rows), d, size):  # type: ignore[misc]
            best = found if found.gain > best.gain else best
    return best


def _outputs(problem: Problem, raw: Array, live: Array) -> Iterator[tuple[int | None, tuple[Loss, Array, Array]]]:
    """Loss, targets and raw predictions with one output: the problem's own, or those of one class at a time."""
    if not problem.loss.multiclass:
        yield None, (problem.loss, problem.y[live], raw[live])
        return
    for k in range(problem.n_classes):
        others = logsumexp(np.delete(raw[live], k, axis=1), axis=1)
        yield k, (Logistic(), np.where(problem.y[live] == k, 1.0, -1.0), raw[live][:, k] - others)


class _Block:
    """Some columns x (m × n) with their coefficients w."""

    def __init__(self, problem: Problem, rows: tuple[Loss, Array, Array], x: Array, w: Array, least: float) -> None:
        self.loss, self.y, self.raw = rows
        self.weights = problem.weights[problem.weights > 0]
        self.free, self.strength, self.least = problem.fit_intercept, problem.penalty.l1, least
        largest = np.abs(x).max(axis=1, initial=0.0)
        self.scale = np.where(largest > 0, largest, 1.0)
        self.x, self.w = x / self.scale[:, None], w * self.scale  # squares of x stay in range
        # where curvature may vanish at once, as that of a squared hinge, a step says nothing about those that follow
        steady = self.loss.self_concordant or self.loss.constant_curvature
        self.hopeless = HOPELESS if steady else np.inf
        self.reach = FAR * self.loss.reach(self.y, self.raw) + 2 * float(np.abs(self.raw).max(initial=0.0))

    def best(self) -> Change:
        on = np.flatnonzero(self.w)
        every = np.arange(len(self.w))
        now = float(self._value(self.raw[None])[0][0])
        cost = np.where(self.w == 0, self.strength, 0.0)  # of a coefficient that was zero
        t, u, low = self._minimise(every, np.zeros((2, len(every))), True, now - cost)
        gains = now - low - cost
        j = int(gains.argmax())
        best = Change(float(gains[j]), (j,), float((self.w[j] + t[j]) / self.scale[j]), float(u[j]))
        if on.size:
            # from where half of the rows rise: about a mean that a huge row has drawn away, all losses may be flat
            lift = np.median(self.w[on, None] * self.x[on], axis=1) if self.free else np.zeros(len(on))
            start = np.stack([-self.w[on], self._finite(on, lift) if self.free else lift])
            _, u, low = self._minimise(on, start, False, np.full(len(on), now + self.strength))
            gains = now - low + self.strength
            j = int(gains.argmax())
            if gains[j] > best.gain:
                best = Change(float(gains[j]), (int(on[j]),), 0.0, float(u[j]))
        return best

    def _finite(self, on: Array, lift: Array) -> Array:
        """Intercepts at which the loss without those coefficients is finite: halved for where the given ones are not.

        Exponentials overflow, but their slopes still say on which side. Where both sides do, no intercept is of use.
        """
        with np.errstate(all="ignore"):
            without = self.raw - self.w[on, None] * self.x[on]
            over = np.flatnonzero(~np.isfinite(self._value(without + lift[:, None])[0]))
            if over.size == 0:
                return lift
            far = 1.0 + 2 * np.abs(without[over]).max(axis=1) + self.reach
            low, high, lift = -far, far, lift.copy()
            for _ in range(HALVINGS):
                lift[over] = (low + high) / 2
                falls = self._value(without[over] + lift[over, None])[1].sum(axis=1) < 0
                low, high = np.where(falls, lift[over], low), np.where(falls, high, lift[over])
        return lift

    def _value(self, f: Array) -> tuple[Array, Array, Array]:
        """Σ w ℓ of each row of f, w ℓ′ and the curvature to step by."""
        y, flat = np.broadcast_to(self.y, f.shape).ravel(), f.ravel()
        loss, w = self.loss, self.weights
        slope, curve = loss.gradient(y, flat), loss.hessian(y, flat)
        if loss.flat:
            away = flat - y
            curve = curve + FLAT * np.where(away == 0, 1.0, slope / np.where(away == 0, 1.0, away))
        value = (w * loss.value(y, flat).reshape(f.shape)).sum(axis=1)
        curve = w * curve.reshape(f.shape)
        return value, w * slope.reshape(f.shape), np.maximum(curve, FLOOR * curve.max(axis=1, initial=0.0)[:, None])

    def _minimise(self, which: Array, start: Array, moves: bool, worth: Array) -> tuple[Array, Array, Array]:
        """argmin and min over (t, u), or over u at the given t, for those columns.

        Columns whose minimum clearly stays above ``worth`` are left early. What is returned as the minimum is lowered
        by what the last step promised, so it is not too high; where that is not a number, it is not known: −inf.
        """
        x, m = self.x[which], len(which)
        best, promise = np.full(m, np.inf), np.full(m, np.inf)
        at, step = start.copy(), np.zeros((2, m))
        active, share = np.arange(m), np.ones(m)
        with np.errstate(all="ignore"):
            for _ in range(ROUNDS):
                t, u = at[:, active] + share[active] * step[:, active]
                value, slope, curve = self._value(self.raw + t[:, None] * x[active] + u[:, None])
                lower = value < best[active]
                won, lost = active[lower], active[~lower]
                best[won], at[:, won], share[won] = value[lower], np.stack([t, u])[:, lower], 1.0
                step[:, won], promise[won] = self._newton(x[won], slope[lower], curve[lower], moves)
                # where a loss is straight, steps would be endless
                far = self.reach + 2 * np.abs(at[:, won]).sum(axis=0)
                step[:, won] *= np.fmin(1.0, far / np.abs(step[:, won]).sum(axis=0))
                share[lost] *= 0.5
                going = (promise > self.least) & (best - self.hopeless * promise < worth) & (share > 1e-9)
                active = np.flatnonzero(going)
                if active.size == 0:
                    break
        return at[0], at[1], np.where(np.isnan(promise), -np.inf, best - 2 * np.where(best < np.inf, promise, 0.0))

    def _newton(self, x: Array, slope: Array, curve: Array, moves: bool) -> tuple[Any, Array]:
        """Newton's steps (t, u), and by how much they lower the quadratic model."""
        own, pull = np.zeros(len(x)), slope.sum(axis=1)
        total = np.maximum(curve.sum(axis=1), LEAST * np.abs(pull))
        total[total == 0] = 1.0
        if moves:
            g, h, e = (x * slope).sum(axis=1), (x * x * curve).sum(axis=1), (x * curve).sum(axis=1)
            if not self.free:
                t = np.where(h > 0, -g / h, 0.0)
                return np.stack([t, own]), -0.5 * g * t
            left = h - e * (e / total)  # with the intercept always at its best
            t = np.where(left > 1e-13 * h, -(g - e * (pull / total)) / left, 0.0)
            u = -(pull + e * t) / total
            return np.stack([t, u]), -0.5 * (g * t + pull * u)
        u = -pull / total if self.free else own
        return np.stack([own, u]), -0.5 * pull * u
