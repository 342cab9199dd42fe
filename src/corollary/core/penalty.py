"""Penalties Ω(w): what it costs to use the coefficients w. The intercept is never penalised.

Capabilities are attributes. A penalty with a ``prox`` can be used with every smooth loss; one that coordinate kernels
know (``code``, or ``grouped``) is solved faster; ``separable`` ones are ``Σ l1|wⱼ| + ½ l2 wⱼ²``, with one l1 and one l2
for all coefficients, and suit every solver; one with a ``conjugate`` has a duality gap.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from corollary._compiled import codes
from corollary.core.limits import ArrayLike, Choice, Instance, Limit, Real
from corollary.core.part import Part
from corollary.core.types import Array

STRENGTH = Real(low=0, finite=True)


class Penalty(Part, ABC):
    """One penalty with its strength. A subclass must have ``name``, ``value`` and ``prox``, and should ``conjugate``.

    ``coef`` has the shape (d,), or (d, k) for a loss of k classes.
    """

    kind = "penalty"
    convex: ClassVar[bool] = True
    separable: ClassVar[bool] = False
    grouped: ClassVar[bool] = False
    code: ClassVar[int] = -1  # how coordinate kernels know it, with l1 and l2; −1 if they do not
    l1: float = 0.0
    l2: float = 0.0

    @abstractmethod
    def value(self, coef: Array) -> float:
        """Ω(w)."""

    @abstractmethod
    def prox(self, point: Array, step: float) -> Array:
        """argmin_w ½‖w − point‖² + step · Ω(w): all that proximal gradient needs.

        It is also the plain twin of what the kernels of coordinate descent do one coordinate or group at a time.
        """

    def conjugate(self, z: Array) -> float:
        """Ω*(z) = sup_w zᵀw − Ω(w); +inf outside its domain.

        The default, zero at z = 0 and +inf elsewhere, is a bound from above for any Ω ≥ 0 = Ω(0).
        """
        return 0.0 if not np.any(z) else np.inf

    def subdiff_distance(self, coef: Array, gradient: Array) -> Array:
        """Per coordinate, a distance of −gradient to ∂Ω(w): zero everywhere means optimal."""
        return np.abs(coef - self.prox(coef - gradient, 1.0))

    def null_strength(self, gradient: Array) -> float:
        """The factor t of this penalty from which on w = 0 is optimal, given the loss's gradient at w = 0."""
        return np.inf

    def restrict(self, columns: Array) -> Penalty:
        """The same penalty on those coefficients only."""
        return self

    def feasible_scale(self, z: Array) -> float:
        """The largest c ≤ 1 with Ω*(c z) finite, by halving; scaling a dual point by it makes it feasible."""
        if np.isfinite(self.conjugate(z)):
            return 1.0
        low, high = 0.0, 1.0
        for _ in range(60):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if np.isfinite(self.conjugate(middle * z)) else (low, middle)
        return low

    def check_columns(self, n_columns: int) -> None:
        """Raise ValueError if the penalty is not one of that many columns."""

    @property
    def has_conjugate(self) -> bool:
        """Whether there is a duality gap."""
        return self.convex and type(self).conjugate is not Penalty.conjugate

    @property
    def by_coordinate(self) -> bool:
        """Whether the kernels of coordinate descent know it."""
        return self.code >= 0 or self.grouped

    @property
    def elastic(self) -> bool:
        """Whether it is l1 ‖w‖₁ + ½ l2 ‖w‖², for w of any sign."""
        return self.separable and self.code == codes.ELASTIC

    @property
    def quadratic(self) -> bool:
        """Whether it is ½ l2 ‖w‖², or nothing."""
        return self.elastic and self.l1 == 0

    @property
    def absent(self) -> bool:
        """Whether nothing is penalised."""
        return self.by_coordinate and self.l1 == self.l2 == 0


class ElasticNet(Penalty):
    """l1 ‖w‖₁ + ½ l2 ‖w‖²; none, L1 and L2 are its corners."""

    name, separable, code = "elastic_net", True, codes.ELASTIC
    limits: ClassVar[dict[str, Limit]] = {"l1": STRENGTH, "l2": STRENGTH, "strength": STRENGTH}
    strength: float

    def __init__(self, l1: float = 0.0, l2: float = 0.0) -> None:
        Part.__init__(self, l1=l1, l2=l2)

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

    name, code = "positive_elastic_net", codes.POSITIVE

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
        Part.__init__(self, strength=strength)
        self.l1 = float(strength)


class L2(ElasticNet):
    """½ strength · ‖w‖²."""

    name = "l2"

    def __init__(self, strength: float) -> None:
        Part.__init__(self, strength=strength)
        self.l2 = float(strength)


class L0(Penalty):
    """strength · (number of non-zero coefficients). Not convex: solvers can only promise a local optimum."""

    name, convex, code = "l0", False, codes.COUNT
    limits: ClassVar[dict[str, Limit]] = {"strength": STRENGTH}
    strength: float

    def __init__(self, strength: float) -> None:
        super().__init__(strength=strength)
        self.l1 = float(strength)

    def value(self, coef: Array) -> float:
        return self.l1 * float(np.count_nonzero(coef))

    def prox(self, point: Array, step: float) -> Array:
        return np.where(point**2 > 2 * step * self.l1, point, 0.0)

    def subdiff_distance(self, coef: Array, gradient: Array) -> Array:
        return np.where(coef == 0, 0.0, np.abs(gradient))


class Group(Penalty):
    """strength · Σ_g √|g| ‖w_g‖₂: whole groups of columns enter or leave together, for all classes at once."""

    name, grouped = "group", True
    limits: ClassVar[dict[str, Limit]] = {"strength": STRENGTH, "groups": ArrayLike()}
    strength: float

    def __init__(self, strength: float, groups: Any) -> None:
        super().__init__(strength=strength, groups=groups)
        self.l1 = float(strength)
        if np.ndim(groups) != 1:
            raise ValueError(f"Group: groups must have one entry per column, but its shape is {np.shape(groups)}.")
        _, self.groups = np.unique(groups, return_inverse=True)  # group number of each column
        self.weights = self.l1 * np.sqrt(np.bincount(self.groups))

    def check_columns(self, n_columns: int) -> None:
        if self.groups.shape != (n_columns,):
            raise ValueError(
                f"groups must have one entry per column of X ({n_columns}), but its shape is {self.groups.shape}."
            )

    def restrict(self, columns: Array) -> Group:
        part = copy.copy(self)
        kept, part.groups = np.unique(self.groups[columns], return_inverse=True)
        part.weights = self.weights[kept]
        return part

    def norms(self, coef: Array) -> Array:
        """‖w_g‖ of each group."""
        squares = (coef**2).reshape(len(coef), -1).sum(axis=1)
        return np.sqrt(np.bincount(self.groups, weights=squares, minlength=len(self.weights)))

    def value(self, coef: Array) -> float:
        return float(self.weights @ self.norms(coef))

    def prox(self, point: Array, step: float) -> Array:
        norms = self.norms(point)
        shrink = np.maximum(0.0, 1 - step * self.weights / np.where(norms > 0, norms, 1.0))
        return (point.T * shrink[self.groups]).T

    def conjugate(self, z: Array) -> float:
        return 0.0 if (self.norms(z) <= self.weights * (1 + 1e-10)).all() else np.inf

    def subdiff_distance(self, coef: Array, gradient: Array) -> Array:
        norms, pulls = self.norms(coef)[self.groups], self.norms(gradient)[self.groups]
        weights = self.weights[self.groups]
        with np.errstate(invalid="ignore", divide="ignore"):
            direction = np.where(norms > 0, coef.T / norms, 0.0)
            short = np.where(pulls > 0, np.maximum(0.0, 1 - weights / pulls), 0.0)
        return np.where(norms > 0, np.abs(gradient.T + weights * direction), np.abs(gradient.T) * short).T

    def null_strength(self, gradient: Array) -> float:
        norms = self.norms(gradient)
        ratio = np.divide(norms, self.weights, out=np.where(norms > 0, np.inf, 0.0), where=self.weights > 0)
        return float(ratio.max(initial=0.0))

    def feasible_scale(self, z: Array) -> float:
        largest = self.null_strength(z)
        return 1.0 if largest <= 1 else 1 / largest


PENALTIES: dict[str, type[Penalty]] = {cls.name: cls for cls in (NoPenalty, L1, L2, ElasticNet, L0, Group)}


def as_penalty(penalty: str | Penalty, offered: Mapping[str, Any]) -> Penalty:
    """The given penalty, or the one with that name, made with those of the offered parameters that it has."""
    return penalty if isinstance(penalty, Penalty) else PENALTIES[penalty].made_from(offered)


PENALTY = Choice(*PENALTIES) | Instance("a Penalty", Penalty)
