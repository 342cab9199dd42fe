"""The most likely noisy-or, by a projected Newton method.

With θ₀ = −log(1 − leak) and θⱼ = −log(1 − strengthⱼ) the probability of no effect is exp(−t), t = θ₀ + Σ θⱼ over the
causes that are there, and −log-likelihood is Σ n₀ t − n₁ log(1 − exp(−t)) over settings of the causes: convex in θ,
on a box. So there is a bound: no θ of the box is better by more than Σⱼ max gⱼ (θⱼ − z) over its z.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from corollary.core.evidence import Evidence, Kind
from corollary.core.graphical.cpd import NoisyOr
from corollary.core.types import Array
from corollary.solvers.loop import Algorithm, Measure, Rules, run

SURE = -float(np.log(np.finfo(float).eps))  # a θ at which the effect is certain, to rounding


def fit_noisy_or(
    cpd: NoisyOr, causes: Array, effect: Array, weights: Array, *, tol: float = 1e-8, max_iter: int = 200
) -> tuple[NoisyOr, Evidence]:
    """The most likely leak and strengths for rows of causes (n, k) and effects (n,), 0 or 1 each, with weights.

    Notes
    -----
    *Cost.* O(settings × k²) an iteration, for the settings of the causes that differ.

    *Evidence.* Optimal: the bound above, on the mean negative log-likelihood.
    """
    k = causes.shape[1]
    settings, of_row = np.unique(causes.astype(np.int8), axis=0, return_inverse=True)
    of_row = of_row.reshape(-1)
    absent = np.bincount(of_row, weights * (effect == 0), minlength=len(settings))
    present = np.bincount(of_row, weights * (effect != 0), minlength=len(settings))
    if cpd.alpha > 0:
        settings = np.concatenate([settings, np.zeros((1, k), dtype=np.int8), np.eye(k, dtype=np.int8)])
        absent, present = (np.concatenate([part, np.full(k + 1, 0.5 * cpd.alpha)]) for part in (absent, present))
    design = np.concatenate([np.ones((len(settings), 1)), settings], axis=1)
    found = run(_Newton(design, absent, present), Rules(max_iter, tol))
    shares = -np.expm1(-found.state.theta)
    shares[found.state.theta >= SURE] = 1.0
    notes: tuple[str, ...] = ()
    unseen = [j for j in range(k) if not settings[:, j].any()]
    if unseen:
        notes = (f"Cause {unseen[0]} is there in no row, so its strength is not known: 0 was kept.",)
    return NoisyOr(float(shares[0]), shares[1:], cpd.alpha), found.uninterrupted().evidence(notes=notes)


@dataclass(frozen=True)
class _State:
    theta: Array
    value: float
    gradient: Array
    hessian: Array
    stuck: bool = False


class _Newton(Algorithm[_State]):
    name = "projected Newton"
    kind = Kind.OPTIMAL
    certificate_name = "gap of the mean log-likelihood"

    def __init__(self, design: Array, absent: Array, present: Array) -> None:
        self.design, self.absent, self.present = design, absent, present
        self.total = float((absent + present).sum())

    def init(self) -> _State:
        share = np.clip(self.present.sum() / self.total, 1e-6, 1.0 - 1e-6)
        theta = np.full(self.design.shape[1], -np.log1p(-share) / 2.0)
        theta[~self.design.any(axis=0)] = 0.0
        return self._at(theta)

    def _value(self, theta: Array) -> float:
        t = self.design @ theta
        with np.errstate(divide="ignore"):
            gained = np.log(-np.expm1(-t[self.present > 0]))
        return float((self.absent @ t - self.present[self.present > 0] @ gained) / self.total)

    def _at(self, theta: Array) -> _State:
        t = np.maximum(self.design @ theta, 1e-300)
        odds = 1.0 / np.expm1(t)
        slope = self.absent - self.present * odds
        curve = self.present * odds * (1.0 + odds)
        hessian = (self.design.T * curve) @ self.design / self.total
        return _State(theta, self._value(theta), self.design.T @ slope / self.total, hessian)

    def step(self, state: _State) -> _State:
        theta, g = state.theta, state.gradient
        near = min(1e-3, float(np.abs(theta - np.clip(theta - g, 0.0, SURE)).max()))
        held = ((theta <= near) & (g > 0)) | ((theta >= SURE - near) & (g < 0))
        direction = -g.copy()
        free = np.flatnonzero(~held)
        if len(free):
            block = state.hessian[np.ix_(free, free)]
            block = block + np.eye(len(free)) * max(1e-12 * np.trace(block), 1e-300)
            direction[free] = scipy.linalg.lstsq(block, -g[free])[0]
        size = 1.0
        for _ in range(60):
            tried = np.clip(theta + size * direction, 0.0, SURE)
            gain = state.value - self._value(tried)
            if gain > 0 and gain >= 1e-4 * float(g @ (theta - tried)):
                return self._at(tried)
            if abs(gain) <= 1e-14 * (1.0 + abs(state.value)):  # rounding hides it, the gap need not
                new = self._at(tried)
                if _gap(new) < _gap(state):
                    return new
            size *= 0.5
        return _State(theta, state.value, g, state.hessian, stuck=True)

    def measure(self, state: _State) -> Measure:
        return Measure(state.value, _gap(state), stalled=state.stuck)


def _gap(state: _State) -> float:
    """No θ of the box has an objective that is lower by more than this."""
    g, theta = state.gradient, state.theta
    return max(float(np.maximum(g * theta, g * (theta - SURE)).sum()), 0.0)
