"""Losses ℓ(y, f): what it costs to predict the raw value f when the truth is y.

A loss never sees X, so linear, kernel, tree and network models share it. Each class states its mathematics in plain
NumPy; ``code`` and ``parameter`` name the same function to the compiled kernels, and tests hold the two together.
Margin losses take y in {−1, +1}. Conjugates are ℓ*(y, u) = sup_f u·f − ℓ(y, f), +inf outside their domain.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from scipy.special import entr, expit, softmax, xlog1py, xlogy

from corollary._compiled import codes
from corollary.core.link import Identity, Link, Log, Logit, Softmax
from corollary.core.types import Array


class Loss(ABC):
    """One loss. Capabilities are class attributes, so a solver asks for what it needs instead of testing types."""

    name: ClassVar[str]
    code: ClassVar[int] = -1
    task: ClassVar[str]  # "regression" or "classification"
    smooth: ClassVar[bool] = True  # has a continuous first derivative
    curved: ClassVar[bool] = True  # has a useful second derivative (Newton steps make sense)
    constant_curvature: ClassVar[bool] = False  # second derivative is 1 everywhere
    multiclass: ClassVar[bool] = False  # raw predictions have one column per class
    piecewise_linear: ClassVar[bool] = False
    lipschitz: ClassVar[float] = np.inf  # of the first derivative; finite ones allow safe screening
    unattained: ClassVar[bool] = (
        False  # nears its least value as f goes to ±∞: separable classes have no finite optimum
    )
    # |ℓ‴| ≤ ℓ″ in each raw prediction: a step s changes the loss by at most g s + h (exp|s| − |s| − 1)
    self_concordant: ClassVar[bool] = False
    # straight pieces rounded off by ½(f − y)²: the second derivative vanishes far from y, and solvers use ℓ′/(f − y)
    flat: ClassVar[bool] = False

    def __init__(self, parameter: float = 0.0) -> None:
        self.parameter = float(parameter)

    @property
    def link(self) -> Link:
        return Identity()

    @property
    def straight(self) -> bool:
        """Made of straight pieces, perhaps rounded off by a parabola: the interior point will take it."""
        return self.piecewise_linear or self.flat

    @abstractmethod
    def value(self, y: Array, f: Array) -> Array:
        """ℓ(y, f), element by element."""

    @abstractmethod
    def gradient(self, y: Array, f: Array) -> Array:
        """∂ℓ/∂f (a subgradient at kinks)."""

    @abstractmethod
    def hessian(self, y: Array, f: Array) -> Array:
        """∂²ℓ/∂f² (zero where it does not exist)."""

    @abstractmethod
    def conjugate(self, y: Array, u: Array) -> Array:
        """ℓ*(y, u)."""

    def shrink(self, slope: Array, weights: Array) -> float:
        """The largest c ≤ 1 that brings c · slope into the domain of Σ w ℓ*(slope / w), where rounding has left it."""
        return 1.0

    def check_target(self, y: Array) -> None:  # noqa: B027 - most losses take any real y
        """Raise ValueError if y lies outside the loss's domain."""


SLACK = 1e-12  # rounding of a dual point at the edge of its domain is forgiven, a violation is not


def _inside(condition: Array, value: Array) -> Array:
    return np.where(condition, value, np.inf)


class Squared(Loss):
    """½ (f − y)²."""

    name, code, task, constant_curvature = "squared", codes.SQUARED, "regression", True
    lipschitz = 1.0

    def value(self, y: Array, f: Array) -> Array:
        return 0.5 * (f - y) ** 2

    def gradient(self, y: Array, f: Array) -> Array:
        return f - y

    def hessian(self, y: Array, f: Array) -> Array:
        return np.ones_like(f)

    def conjugate(self, y: Array, u: Array) -> Array:
        return u * (0.5 * u + y)


class Absolute(Loss):
    """|f − y|."""

    name, code, task = "absolute", codes.ABSOLUTE, "regression"
    smooth, curved, piecewise_linear = False, False, True

    def value(self, y: Array, f: Array) -> Array:
        return np.abs(f - y)

    def gradient(self, y: Array, f: Array) -> Array:
        return np.sign(f - y)

    def hessian(self, y: Array, f: Array) -> Array:
        return np.zeros_like(f)

    def conjugate(self, y: Array, u: Array) -> Array:
        return _inside(np.abs(u) <= 1 + SLACK, u * y)


class Huber(Loss):
    """½ r² for |r| ≤ δ, else δ|r| − ½ δ², with r = f − y."""

    name, code, task, lipschitz, flat = "huber", codes.HUBER, "regression", 1.0, True

    def __init__(self, delta: float = 1.35) -> None:
        super().__init__(delta)

    def shrink(self, slope: Array, weights: Array) -> float:
        live = weights > 0
        largest = float(np.max(np.abs(slope[live]) / weights[live], initial=0.0))
        return 1.0 if largest <= self.parameter else self.parameter / largest

    def value(self, y: Array, f: Array) -> Array:
        r, delta = np.abs(f - y), self.parameter
        return np.where(r <= delta, 0.5 * r**2, delta * (r - 0.5 * delta))

    def gradient(self, y: Array, f: Array) -> Array:
        return np.clip(f - y, -self.parameter, self.parameter)

    def hessian(self, y: Array, f: Array) -> Array:
        return (np.abs(f - y) <= self.parameter).astype(float)

    def conjugate(self, y: Array, u: Array) -> Array:
        return _inside(np.abs(u) <= self.parameter * (1 + SLACK), u * (0.5 * u + y))


class Quantile(Loss):
    """τ (y − f) above the prediction, (1 − τ)(f − y) below it."""

    name, code, task = "quantile", codes.QUANTILE, "regression"
    smooth, curved, piecewise_linear = False, False, True

    def __init__(self, quantile: float = 0.5) -> None:
        super().__init__(quantile)

    def value(self, y: Array, f: Array) -> Array:
        r = y - f
        return np.maximum(self.parameter * r, (self.parameter - 1) * r)

    def gradient(self, y: Array, f: Array) -> Array:
        return np.where(y > f, -self.parameter, np.where(y < f, 1 - self.parameter, 0.0))

    def hessian(self, y: Array, f: Array) -> Array:
        return np.zeros_like(f)

    def conjugate(self, y: Array, u: Array) -> Array:
        return _inside((u >= -self.parameter - SLACK) & (u <= 1 - self.parameter + SLACK), u * y)


class EpsilonInsensitive(Loss):
    """max(0, |f − y| − ε)."""

    name, code, task = "epsilon_insensitive", codes.EPSILON_INSENSITIVE, "regression"
    smooth, curved, piecewise_linear = False, False, True

    def __init__(self, epsilon: float = 0.1) -> None:
        super().__init__(epsilon)

    def value(self, y: Array, f: Array) -> Array:
        return np.maximum(0.0, np.abs(f - y) - self.parameter)

    def gradient(self, y: Array, f: Array) -> Array:
        return np.where(np.abs(f - y) <= self.parameter, 0.0, np.sign(f - y))

    def hessian(self, y: Array, f: Array) -> Array:
        return np.zeros_like(f)

    def conjugate(self, y: Array, u: Array) -> Array:
        return _inside(np.abs(u) <= 1 + SLACK, u * y + self.parameter * np.abs(u))


class Logistic(Loss):
    """log(1 + exp(−y f)), y = ±1."""

    name, code, task, lipschitz, unattained = "logistic", codes.LOGISTIC, "classification", 0.25, True
    self_concordant = True

    @property
    def link(self) -> Link:
        return Logit()

    def value(self, y: Array, f: Array) -> Array:
        return np.logaddexp(0.0, -y * f)

    def gradient(self, y: Array, f: Array) -> Array:
        return -y * expit(-y * f)

    def hessian(self, y: Array, f: Array) -> Array:
        return expit(f) * expit(-f)

    def conjugate(self, y: Array, u: Array) -> Array:
        v = -u * y
        p = np.clip(v, 0.0, 1.0)
        return _inside(np.abs(v - p) <= SLACK, xlog1py(1 - p, -p) - entr(p))


class SoftmaxLoss(Loss):
    """log Σ_k exp(f_k) − f_y, for class numbers y and one raw prediction per class."""

    name, task, multiclass, unattained, self_concordant = "softmax", "classification", True, True, True

    @property
    def link(self) -> Link:
        return Softmax()

    def value(self, y: Array, f: Array) -> Array:
        above, _, own, others = self._parts(y, f)
        result: Array = np.where(above == 0, np.log1p(others), np.log(own + others) + above)
        return result

    def gradient(self, y: Array, f: Array) -> Array:
        _, e, own, others = self._parts(y, f)
        e[np.arange(len(y)), y] = -others
        p: Array = e / (own + others)[:, None]
        return p

    @staticmethod
    def _parts(y: Array, f: Array) -> tuple[Array, Array, Array, Array]:
        """By how much f_y is below the largest f; exp(f − largest); of y; and of the others together.

        The others are summed on their own, so that rows which are nearly certain keep their digits.
        """
        every, top = np.arange(len(y)), f.max(axis=1)
        e = np.exp(f - top[:, None])
        own = e[every, y]
        e[every, y] = 0.0
        return top - f[every, y], e, own, e.sum(axis=1)

    def hessian(self, y: Array, f: Array) -> Array:
        p: Array = softmax(f, axis=1)
        return np.einsum("ik,kl->ikl", p, np.eye(p.shape[1])) - np.einsum("ik,il->ikl", p, p)

    def conjugate(self, y: Array, u: Array) -> Array:
        own = np.clip(u[np.arange(len(y)), y], -1.0, 0.0)  # p − 1 of y itself
        p = u.copy()
        p[np.arange(len(y)), y] += 1
        simplex = (np.abs(u.sum(axis=1)) < 1e-9) & (p.min(axis=1) >= -SLACK)
        p[np.arange(len(y)), y] = 0.0
        return _inside(simplex, xlog1py(1 + own, own) - entr(np.maximum(p, 0.0)).sum(axis=1))


class Hinge(Loss):
    """max(0, 1 − y f), y = ±1."""

    name, code, task = "hinge", codes.HINGE, "classification"
    smooth, curved, piecewise_linear = False, False, True

    def value(self, y: Array, f: Array) -> Array:
        return np.maximum(0.0, 1 - y * f)

    def gradient(self, y: Array, f: Array) -> Array:
        return np.where(y * f < 1, -y, 0.0)

    def hessian(self, y: Array, f: Array) -> Array:
        return np.zeros_like(f)

    def conjugate(self, y: Array, u: Array) -> Array:
        return _inside((u * y <= SLACK) & (u * y >= -1 - SLACK), u * y)


class SquaredHinge(Loss):
    """max(0, 1 − y f)², y = ±1."""

    name, code, task, lipschitz = "squared_hinge", codes.SQUARED_HINGE, "classification", 2.0

    def value(self, y: Array, f: Array) -> Array:
        return np.maximum(0.0, 1 - y * f) ** 2

    def gradient(self, y: Array, f: Array) -> Array:
        return -2 * y * np.maximum(0.0, 1 - y * f)

    def hessian(self, y: Array, f: Array) -> Array:
        return 2.0 * (y * f < 1)

    def conjugate(self, y: Array, u: Array) -> Array:
        v = -u * y
        return _inside(v >= -SLACK, v * (0.25 * v - 1))


class Exponential(Loss):
    """exp(−y f), y = ±1."""

    name, code, task, unattained, self_concordant = "exponential", codes.EXPONENTIAL, "classification", True, True

    @property
    def link(self) -> Link:
        return Logit(scale=2.0)

    def value(self, y: Array, f: Array) -> Array:
        return np.exp(-y * f)

    def gradient(self, y: Array, f: Array) -> Array:
        return -y * np.exp(-y * f)

    def hessian(self, y: Array, f: Array) -> Array:
        return np.exp(-y * f)

    def conjugate(self, y: Array, u: Array) -> Array:
        v = -u * y
        return _inside(v >= -SLACK, xlogy(np.maximum(v, 0), np.maximum(v, 0)) - v)


class Poisson(Loss):
    """exp(f) − y f, for counts y ≥ 0 with mean exp(f)."""

    name, code, task, self_concordant = "poisson", codes.POISSON, "regression", True

    @property
    def link(self) -> Link:
        return Log()

    def value(self, y: Array, f: Array) -> Array:
        return np.exp(f) - y * f

    def gradient(self, y: Array, f: Array) -> Array:
        return np.exp(f) - y

    def hessian(self, y: Array, f: Array) -> Array:
        return np.exp(f)

    def conjugate(self, y: Array, u: Array) -> Array:
        v = u + y
        return _inside(v >= -SLACK * (1 + y), xlogy(np.maximum(v, 0), np.maximum(v, 0)) - v)

    def check_target(self, y: Array) -> None:
        if (y < 0).any():
            raise ValueError(f"the Poisson loss needs y ≥ 0, but y has {int((y < 0).sum())} negative values.")


LOSSES: dict[str, type[Loss]] = {
    cls.name: cls
    for cls in (
        Squared,
        Absolute,
        Huber,
        Quantile,
        EpsilonInsensitive,
        Logistic,
        SoftmaxLoss,
        Hinge,
        SquaredHinge,
        Exponential,
        Poisson,
    )
}
