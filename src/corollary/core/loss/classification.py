"""Losses for classes: y is ±1, or the number of the class where there is one raw prediction per class."""

from __future__ import annotations

import numpy as np
from scipy.special import entr, expit, softmax, xlog1py, xlogy

from corollary._compiled import codes
from corollary.core.link import Logit, Softmax
from corollary.core.loss.base import SLACK, Loss, inside
from corollary.core.types import Array


def of_classes(y: Array, weights: Array) -> tuple[float, float]:
    """Σ w of y = 1 and of y = −1, each on its own: a class may weigh less than the rounding of the other's sum."""
    return float(np.where(y > 0, weights, 0.0).sum()), float(np.where(y < 0, weights, 0.0).sum())


class Logistic(Loss):
    """log(1 + exp(−y f)), y = ±1."""

    name, aliases, code, task = "logistic", ("log_loss",), codes.LOGISTIC, "classification"
    link, lipschitz, unattained, self_concordant, deviance = Logit(), 0.25, True, True, 2.0

    def value(self, y: Array, f: Array) -> Array:
        return np.logaddexp(0.0, -y * f)

    def gradient(self, y: Array, f: Array) -> Array:
        return -y * expit(-y * f)

    def hessian(self, y: Array, f: Array) -> Array:
        return expit(f) * expit(-f)

    def conjugate(self, y: Array, u: Array) -> Array:
        v = -u * y
        p = np.clip(v, 0.0, 1.0)
        return inside(np.abs(v - p) <= SLACK, xlog1py(1 - p, -p) - entr(p))

    def best_constant(self, y: Array, weights: Array, n_classes: int = 0) -> float:
        plus, minus = of_classes(y, weights)
        return float(np.log(plus) - np.log(minus))  # both classes are there

    def for_classes(self, n_classes: int) -> Loss:
        return self if n_classes == 2 else SoftmaxLoss()


class SoftmaxLoss(Loss):
    """log Σ_k exp(f_k) − f_y, for class numbers y and one raw prediction per class."""

    name, code, task, multiclass, simplex = "softmax", codes.SOFTMAX, "classification", True, True
    link, unattained, self_concordant = Softmax(), True, True

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
        return inside(simplex, xlog1py(1 + own, own) - entr(np.maximum(p, 0.0)).sum(axis=1))

    def best_constant(self, y: Array, weights: Array, n_classes: int = 0) -> Array:
        share = np.bincount(y, weights=weights, minlength=n_classes) / weights.sum()
        logs: Array = np.log(np.maximum(share, np.finfo(float).tiny))
        return logs - logs.mean()


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
        return inside((u * y <= SLACK) & (u * y >= -1 - SLACK), u * y)

    def best_constant(self, y: Array, weights: Array, n_classes: int = 0) -> float:
        plus, minus = of_classes(y, weights)
        return 1.0 if plus >= minus else -1.0


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
        return inside(v >= -SLACK, v * (0.25 * v - 1))

    def best_constant(self, y: Array, weights: Array, n_classes: int = 0) -> float:
        plus, minus = of_classes(y, weights)
        return (plus - minus) / (plus + minus)


class Exponential(Loss):
    """exp(−y f), y = ±1."""

    name, code, task, link = "exponential", codes.EXPONENTIAL, "classification", Logit(scale=2.0)
    unattained, self_concordant = True, True

    def value(self, y: Array, f: Array) -> Array:
        return np.exp(-y * f)

    def gradient(self, y: Array, f: Array) -> Array:
        return -y * np.exp(-y * f)

    def hessian(self, y: Array, f: Array) -> Array:
        return np.exp(-y * f)

    def conjugate(self, y: Array, u: Array) -> Array:
        v = -u * y
        return inside(v >= -SLACK, xlogy(np.maximum(v, 0), np.maximum(v, 0)) - v)

    def best_constant(self, y: Array, weights: Array, n_classes: int = 0) -> float:
        plus, minus = of_classes(y, weights)
        if not (plus > 0 and minus > 0):
            return float(super().best_constant(y, weights, n_classes))
        return float(0.5 * (np.log(plus) - np.log(minus)))
