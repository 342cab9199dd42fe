"""Penalties Ω(w): what it costs to use the coefficients w. The intercept is never penalised.

Capabilities are attributes: ``separable`` penalties are ``Σ l1|wⱼ| + ½ l2 wⱼ²``, with one l1 and one l2 for all
coefficients, and can be used by every coordinate solver; ``convex`` ones have a conjugate, and so a duality gap.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from corollary._compiled import codes
from corollary.core.types import Array


class Penalty(ABC):
    """One penalty with its strength."""

    name: ClassVar[str]
    convex: ClassVar[bool] = True
    separable: ClassVar[bool] = False
    grouped: ClassVar[bool] = False
    code: ClassVar[int] = codes.ELASTIC  # how coordinate kernels know it
    l1: float = 0.0
    l2: float = 0.0

    @abstractmethod
    def value(self, coef: Array) -> float:
        """Ω(w)."""

    @abstractmethod
    def prox(self, point: Array, step: float) -> Array:
        """argmin_w ½‖w − point‖² + step · Ω(w).

        The plain twin of what the kernels of coordinate descent do one coordinate or group at a time: their tests, and
        those of ``subdiff_distance`` and ``conjugate``, start from it.
        """

    @abstractmethod
    def conjugate(self, z: Array) -> float:
        """Ω*(z) = sup_w zᵀw − Ω(w); +inf outside its domain."""

    @abstractmethod
    def subdiff_distance(self, coef: Array, gradient: Array) -> Array:
        """Per coordinate, the distance of −gradient to ∂Ω(w): zero everywhere means optimal."""

    @abstractmethod
    def null_strength(self, gradient: Array) -> float:
        """The factor t of this penalty from which on w = 0 is optimal, given the loss's gradient at w = 0."""

    def restrict(self, columns: Array) -> Penalty:
        """The same penalty on those coefficients only."""
        return self

    def feasible_scale(self, z: Array) -> float:
        """The largest c ≤ 1 with Ω*(c z) finite; scaling a dual point by it makes it feasible."""
        return 1.0


class ElasticNet(Penalty):
    """l1 ‖w‖₁ + ½ l2 ‖w‖²; none, L1 and L2 are its corners."""

    name = "elastic net"
    separable = True

    def __init__(self, l1: float = 0.0, l2: float = 0.0) -> None:
        self.l1, self.l2 = float(l1), float(l2)

    def value(self, coef: Array) -> float:
        return float(self.l1 * np.abs(coef).sum() + 0.5 * self.l2 * np.vdot(coef, coef))

    def prox(self, point: Array, step: float) -> Array:
        shrunk = np.sign(point) * np.maximum(np.abs(point) - step * self.l1, 0.0)
        return shrunk / (1 + step * self.l2)

    def conjugate(self, z: Array) -> float:
        excess = np.maximum(np.abs(z) - self.l1, 0.0)
        if self.l2 > 0:
            return float(np.vdot(excess, excess) / (2 * self.l2))
        # rounding of a scaled dual point is forgiven, a violation is not
        return 0.0 if excess.max(initial=0.0) <= 1e-10 * self.l1 else np.inf

    def subdiff_distance(self, coef: Array, gradient: Array) -> Array:
        smooth = gradient + self.l2 * coef
        at_zero = np.maximum(np.abs(smooth) - self.l1, 0.0)
        return np.where(coef == 0, at_zero, np.abs(smooth + self.l1 * np.sign(coef)))

    def null_strength(self, gradient: Array) -> float:
        return float(np.abs(gradient).max(initial=0.0) / self.l1) if self.l1 > 0 else np.inf

    def feasible_scale(self, z: Array) -> float:
        if self.l2 > 0:
            return 1.0
        largest = float(np.abs(z).max(initial=0.0))
        return 1.0 if largest <= self.l1 else self.l1 / largest


class PositiveElasticNet(ElasticNet):
    """l1 Σ w + ½ l2 ‖w‖² subject to w ≥ 0."""

    name, code = "positive elastic net", codes.POSITIVE

    def value(self, coef: Array) -> float:
        return super().value(coef) if (coef >= 0).all() else np.inf

    def prox(self, point: Array, step: float) -> Array:
        return np.maximum(point - step * self.l1, 0.0) / (1 + step * self.l2)

    def conjugate(self, z: Array) -> float:
        return super().conjugate(np.maximum(z, 0.0))

    def subdiff_distance(self, coef: Array, gradient: Array) -> Array:
        smooth = gradient + self.l2 * coef + self.l1
        return np.where(coef == 0, np.maximum(-smooth, 0.0), np.abs(smooth))

    def null_strength(self, gradient: Array) -> float:
        return super().null_strength(np.minimum(gradient, 0.0))

    def feasible_scale(self, z: Array) -> float:
        return super().feasible_scale(np.maximum(z, 0.0))


class NoPenalty(ElasticNet):
    """Nothing: the maximum-likelihood fit."""

    name = "none"

    def __init__(self) -> None:
        super().__init__(0.0, 0.0)


class L1(ElasticNet):
    """strength · ‖w‖₁."""

    name = "l1"

    def __init__(self, strength: float) -> None:
        super().__init__(l1=strength)


class L2(ElasticNet):
    """½ strength · ‖w‖²."""

    name = "l2"

    def __init__(self, strength: float) -> None:
        super().__init__(l2=strength)


class L0(Penalty):
    """strength · (number of non-zero coefficients). Not convex: solvers can only promise a local optimum."""

    name, convex, code = "l0", False, codes.COUNT

    def __init__(self, strength: float) -> None:
        self.l1 = float(strength)

    def value(self, coef: Array) -> float:
        return self.l1 * float(np.count_nonzero(coef))

    def prox(self, point: Array, step: float) -> Array:
        return np.where(point**2 > 2 * step * self.l1, point, 0.0)

    def conjugate(self, z: Array) -> float:
        return 0.0 if not np.any(z) else np.inf

    def subdiff_distance(self, coef: Array, gradient: Array) -> Array:
        return np.where(coef == 0, 0.0, np.abs(gradient))

    def null_strength(self, gradient: Array) -> float:
        return np.inf


class Group(Penalty):
    """strength · Σ_g √|g| ‖w_g‖₂: whole groups of coefficients enter or leave together."""

    name, grouped = "group", True

    def __init__(self, strength: float, groups: Array) -> None:
        self.l1 = float(strength)
        _, self.groups = np.unique(groups, return_inverse=True)  # group number of each coefficient
        self.weights = self.l1 * np.sqrt(np.bincount(self.groups))

    def restrict(self, columns: Array) -> Group:
        part = copy.copy(self)
        kept, part.groups = np.unique(self.groups[columns], return_inverse=True)
        part.weights = self.weights[kept]
        return part

    def norms(self, coef: Array) -> Array:
        """‖w_g‖ of each group."""
        return np.sqrt(np.bincount(self.groups, weights=coef**2, minlength=len(self.weights)))

    def value(self, coef: Array) -> float:
        return float(self.weights @ self.norms(coef))

    def prox(self, point: Array, step: float) -> Array:
        norms = self.norms(point)
        shrink = np.maximum(0.0, 1 - step * self.weights / np.where(norms > 0, norms, 1.0))
        return point * shrink[self.groups]

    def conjugate(self, z: Array) -> float:
        return 0.0 if (self.norms(z) <= self.weights * (1 + 1e-10)).all() else np.inf

    def subdiff_distance(self, coef: Array, gradient: Array) -> Array:
        norms, pulls = self.norms(coef), self.norms(gradient)
        with np.errstate(invalid="ignore", divide="ignore"):
            direction = np.where(norms[self.groups] > 0, coef / norms[self.groups], 0.0)
            short = np.where(pulls > 0, np.maximum(0.0, 1 - self.weights / pulls), 0.0)
        outside = np.abs(gradient) * short[self.groups]
        return np.where(norms[self.groups] > 0, np.abs(gradient + self.weights[self.groups] * direction), outside)

    def null_strength(self, gradient: Array) -> float:
        norms = self.norms(gradient)
        ratio = np.divide(norms, self.weights, out=np.where(norms > 0, np.inf, 0.0), where=self.weights > 0)
        return float(ratio.max(initial=0.0))

    def feasible_scale(self, z: Array) -> float:
        largest = self.null_strength(z)
        return 1.0 if largest <= 1 else 1 / largest
