"""Duality gaps from the formulas alone: nothing here comes from the library under test.

P(w, b) = Σ sᵢ ℓ(yᵢ, fᵢ) + Ω(w) with f = Xw + b, and D(θ) = −Σ sᵢ ℓ*(yᵢ, −θᵢ/sᵢ) − Ω*(Xᵀθ), where θ must satisfy Σθ = 0
if b is free and Xᵀθ = 0 if w is. For every feasible θ, D(θ) ≤ min P. The dual point comes from the slopes of the loss
at the fitted coefficients, corrected along its curvature; where the loss has kinks, from complementary slackness.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import lsq_linear

Array = Any

# loss -> (value, slope, curvature, conjugate) of (y, f or u, parameter); y = ±1 for margin losses
SMOOTH: dict[str, tuple[Callable[..., Array], ...]] = {
    "squared": (
        lambda y, f, a: (f - y) ** 2 / 2,
        lambda y, f, a: f - y,
        lambda y, f, a: np.ones_like(f),
        lambda y, u, a: u**2 / 2 + u * y,
    ),
    "huber": (
        lambda y, f, a: np.where(abs(f - y) <= a, (f - y) ** 2 / 2, a * abs(f - y) - a**2 / 2),
        lambda y, f, a: np.clip(f - y, -a, a),
        lambda y, f, a: np.where(abs(f - y) <= a, 1.0, 0.0),
        lambda y, u, a: np.where(abs(u) <= a, u**2 / 2 + u * y, np.inf),
    ),
    "poisson": (
        lambda y, f, a: np.exp(f) - y * f,
        lambda y, f, a: np.exp(f) - y,
        lambda y, f, a: np.exp(f),
        lambda y, u, a: np.where(u + y >= 0, _xlogx(u + y) - (u + y), np.inf),
    ),
    "tweedie": (  # half the deviance at power a
        lambda y, f, a: _half_deviance(y, f, a),
        lambda y, f, a: np.exp((2 - a) * f) - y * np.exp((1 - a) * f),
        lambda y, f, a: (2 - a) * np.exp((2 - a) * f) + (a - 1) * y * np.exp((1 - a) * f),
        lambda y, u, a: _by_halving("tweedie", y, u, a),
    ),
    "logistic": (
        lambda y, f, a: np.log1p(np.exp(-abs(f))) + np.maximum(-y * f, 0),
        lambda y, f, a: -y / (1 + np.exp(y * f)),
        lambda y, f, a: 1 / ((1 + np.exp(f)) * (1 + np.exp(-f))),
        lambda y, u, a: np.where((u * y <= 0) & (u * y >= -1), _xlogx(-u * y) + _xlogx(1 + u * y), np.inf),
    ),
    "squared_hinge": (
        lambda y, f, a: np.maximum(1 - y * f, 0) ** 2,
        lambda y, f, a: -2 * y * np.maximum(1 - y * f, 0),
        lambda y, f, a: np.where(y * f < 1, 2.0, 0.0),
        lambda y, u, a: np.where(u * y <= 0, u**2 / 4 + u * y, np.inf),
    ),
    "exponential": (
        lambda y, f, a: np.exp(-y * f),
        lambda y, f, a: -y * np.exp(-y * f),
        lambda y, f, a: np.exp(-y * f),
        lambda y, u, a: np.where(u * y <= 0, _xlogx(-u * y) + u * y, np.inf),
    ),
}

# loss -> (where it leaves zero to the left and to the right, its slope there), for losses with kinks
KINKED: dict[str, Callable[..., tuple[Array, Array, Array, Array]]] = {
    "absolute": lambda y, a: (y, y, -1 + 0 * y, 1 + 0 * y),
    "quantile": lambda y, a: (y, y, -a + 0 * y, 1 - a + 0 * y),
    "epsilon_insensitive": lambda y, a: (y - a, y + a, -1 + 0 * y, 1 + 0 * y),
    "hinge": lambda y, a: (y, y, np.where(y > 0, -1.0, 0.0), np.where(y > 0, 0.0, 1.0)),
}


def _half_deviance(y: Array, f: Array, a: float) -> Array:
    """y²⁻ᵃ/((1−a)(2−a)) − y e⁽¹⁻ᵃ⁾ᶠ/(1−a) + e⁽²⁻ᵃ⁾ᶠ/(2−a), without cancellation where exp(f) is near y."""
    some = y > 0
    d = f - np.log(np.where(some, y, 1.0))
    near = np.where(some, y, 1.0) ** (2 - a) * (np.expm1((2 - a) * d) / (2 - a) + np.expm1((1 - a) * d) / (a - 1))
    return np.where(some, near, np.exp((2 - a) * f) / (2 - a))


def _by_halving(loss: str, y: Array, u: Array, a: float) -> Array:
    """sup over f of u f − ℓ(y, f), where u = ℓ′(y, f)."""
    value, slope, *_ = SMOOTH[loss]
    low, high = np.full_like(u, -60.0), np.full_like(u, 60.0)
    for _ in range(80):
        f = (low + high) / 2
        low, high = np.where(slope(y, f, a) < u, f, low), np.where(slope(y, f, a) < u, high, f)
    return np.where((y == 0) & (u < 0), np.inf, u * f - value(y, f, a))


def _xlogx(v: Array) -> Array:
    v = np.maximum(v, 0.0)
    return np.where(v > 0, v * np.log(np.where(v > 0, v, 1.0)), 0.0)


@dataclass
class Objective:
    """A loss with weights and a penalty l1‖w‖₁ + ½ l2‖w‖² (on w ≥ 0 if ``positive``), or Σ l1 √|g| ‖w_g‖."""

    loss: str
    weights: Array
    l1: float = 0.0
    l2: float = 0.0
    parameter: float = 0.0
    positive: bool = False
    groups: Array = None  # group number of each column, or None
    intercept: bool = True

    def penalty(self, w: Array) -> float:
        if self.positive and (w < 0).any():
            return np.inf
        if self.groups is not None:
            return float(self.l1 * sum(np.sqrt(k.sum()) * np.linalg.norm(w[k]) for k in self._members()))
        return float(self.l1 * abs(w).sum() + self.l2 / 2 * (w**2).sum())

    def _members(self) -> list[Array]:
        return [np.asarray(self.groups) == g for g in np.unique(self.groups)]

    def shrink(self, z: Array) -> float:
        """The largest c ≤ 1 for which the conjugate of the penalty at c z is finite."""
        z = np.maximum(z, 0) if self.positive else z
        if self.l2 > 0 or self.l1 == 0:
            return 1.0
        if self.groups is not None:
            worst = max(np.linalg.norm(z[k]) / (self.l1 * np.sqrt(k.sum())) for k in self._members())
        else:
            worst = abs(z).max() / self.l1
        return 1.0 if worst <= 1 else 1 / worst

    def conjugate(self, z: Array) -> float:
        if self.positive and self.l1 == self.l2 == 0:  # Xᵀθ ≤ 0, up to rounding
            return 0.0 if z.max() <= 1e-9 * self.weights.sum() else np.inf
        z = np.maximum(z, 0) if self.positive else abs(z)
        return float((np.maximum(z - self.l1, 0) ** 2).sum() / (2 * self.l2)) if self.l2 > 0 else 0.0

    def primal(self, X: Array, y: Array, w: Array, b: Array) -> float:
        f = X @ w + b
        if self.loss == "softmax":
            top = f.max(axis=1)
            each = np.log(np.exp(f - top[:, None]).sum(axis=1)) + top - f[np.arange(len(y)), y]
        elif self.loss in SMOOTH:
            each = SMOOTH[self.loss][0](y, f, self.parameter)
        else:
            low, high, left, right = KINKED[self.loss](y, self.parameter)
            each = np.maximum(0.0, np.maximum(left * (f - low), right * (f - high)))
        return float(self.weights @ each) + self.penalty(w)

    def dual(self, X: Array, y: Array, w: Array, b: Array) -> float:
        """D at a feasible point made from the fitted coefficients."""
        if self.loss in KINKED:
            return self._kinked_dual(X, y, w, b)
        u, conjugate = self._softmax(X, y, w, b) if self.loss == "softmax" else self._slopes(X, y, w, b)
        A = self._free(X, w)
        if (abs(A.T @ u) > 1e-9 * (abs(A).T @ abs(u))).any():
            return -np.inf  # not feasible, so it bounds nothing
        z = -(X.T @ u)
        c = self.shrink(z)
        # the correction may push a slope over the edge of its conjugate's domain: a shade less is feasible again
        return max(-conjugate(r * c * u) - self.conjugate(r * c * z) for r in (1.0, 1 - 1e-12, 1 - 1e-9, 1 - 3e-8))

    def bounds(self, X: Array, y: Array, w: Array, b: Array) -> tuple[float, float]:
        """(P, D): no coefficients have an objective below D."""
        return self.primal(X, y, w, b), self.dual(X, y, w, b)

    def _free(self, X: Array, w: Array) -> Array:
        """The directions in which nothing is penalised."""
        ones = np.ones((len(X), 1))[:, : int(self.intercept)]
        if self.l1 > 0 or self.l2 > 0:
            return ones
        return np.hstack([X[:, w > 0] if self.positive else X, ones])

    def _slopes(self, X: Array, y: Array, w: Array, b: Array) -> tuple[Array, Callable[[Array], float]]:
        _, slope, curvature, conjugate = SMOOTH[self.loss]
        s, f = self.weights, X @ w + b
        u, c = s * slope(y, f, self.parameter), s * curvature(y, f, self.parameter)
        A = self._free(X, w)
        ridge = pull = np.zeros(A.shape[1])
        if self.l2 > 0 and self.l1 == 0 and not self.positive:  # a weak ridge punishes Xᵀu ≠ −l2 w by 1/l2
            ridge, pull = np.append(np.full(len(w), self.l2), ridge), np.append(self.l2 * w, pull)
            A = np.hstack([X, A])
        H = (A.T * c) @ A + np.diag(ridge)
        u = u - c * (A @ (np.linalg.pinv(H, hermitian=True) @ (A.T @ u + pull)))
        return u, lambda u: float(s @ conjugate(y, u / s, self.parameter))

    def _softmax(self, X: Array, y: Array, w: Array, b: Array) -> tuple[Array, Callable[[Array], float]]:
        s, f = self.weights, X @ w + b
        hot = np.eye(f.shape[1])[y]
        p = np.exp(f - f.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        C = s[:, None, None] * (p[:, :, None] * np.eye(p.shape[1]) - p[:, :, None] * p[:, None, :])
        A = self._free(X, w)
        u = s[:, None] * (p - hot)
        H = np.einsum("ia,ikl,ib->akbl", A, C, A).reshape((A.shape[1] * p.shape[1],) * 2)
        m = (np.linalg.pinv(H, hermitian=True) @ (A.T @ u).ravel()).reshape(A.shape[1], p.shape[1])
        u = u - np.einsum("ikl,il->ik", C, A @ m)
        return u, lambda u: float(s @ _xlogx(u / s[:, None] + hot).sum(axis=1))

    def _kinked_dual(self, X: Array, y: Array, w: Array, b: Array) -> float:
        """Rows away from kinks have one slope; the others solve Xᵀθ ∈ ∂Ω(w), Σθ = 0 within their range of slopes."""
        s, f = self.weights, X @ w + b
        low, high, left, right = KINKED[self.loss](y, self.parameter)
        near = 1e-6 * max(1.0, abs(y).max())
        least = np.where(f < low + near, left, np.where(f < high + near, 0.0, right))
        most = np.where(f > high - near, right, np.where(f > low - near, 0.0, left))
        fixed = least == most
        u = np.where(fixed, s * least, 0.0)
        used = np.abs(w) > 1e-7 * np.abs(w).max()
        if self.l2 > 0 and self.l1 == 0:
            used[:] = True
        A = np.vstack([X.T[used], np.ones((int(self.intercept), len(y)))])
        goal = np.append(-self.l1 * np.sign(w[used]) - self.l2 * w[used], np.zeros(int(self.intercept)))
        box = (s * least)[~fixed], (s * most)[~fixed]
        if (~fixed).any():
            room = np.maximum(box[1] - box[0], 1e-300)
            u[~fixed] = lsq_linear(A[:, ~fixed], goal - A @ u, (box[0], box[0] + room), tol=1e-15).x
        if self.intercept:  # what is left of Σ u = 0 is put on the rows that have room
            up, down = s * right - u, u - s * left
            rest = -u.sum()
            u = u + (rest * up / up.sum() if rest > 0 else rest * down / down.sum())
        z = -(X.T @ u)
        c = self.shrink(z)
        u, z = c * u, c * z
        # the loss is zero between its kinks, so ℓ*(u) = u · (the kink on that side)
        return -float(np.where(u > 0, u * high, u * low).sum()) - self.conjugate(z)


def huber_bounds(
    X: Array, y: Array, w: Array, b: float, scale: float, s: Array, eps: float, alpha: float
) -> tuple[float, float]:
    """(P, D) of Huber's joint problem in (w, b, σ): Σ s (σ + σ H(r/σ)) + α‖w‖²."""
    r = y - X @ w - b
    if scale == 0:  # its limit, least absolute deviations: of the rows on the plane any |u| ≤ 2ε is a slope
        P, on = float(2 * eps * (s @ abs(r)) + alpha * (w @ w)), abs(r) <= 1e-6 * abs(r).mean()
        u, A = np.where(on, 0.0, 2 * eps * np.sign(r)), np.column_stack([X, np.ones(len(y))])
        wanted = np.append(2 * alpha * w, 0.0) - A.T @ (s * u)
        u[on] = lsq_linear((A * s[:, None])[on].T, wanted, (-2 * eps, 2 * eps), tol=1e-15).x
    else:
        z = r / scale
        height = np.where(abs(z) <= eps, z**2, 2 * eps * abs(z) - eps**2)
        P = float(scale * (s @ (1 + height)) + alpha * (w @ w))
        u = 2 * np.clip(z, -eps, eps)
        inside = s * (abs(z) < eps)
        u = u - (abs(z) < eps) * ((s @ u) / inside.sum())
    # feasible: |u| ≤ 2ε, Σ s u = 0, Σ s u²/4 ≤ Σ s
    c = min(1.0, 2 * eps / abs(u).max(), np.sqrt(4 * s.sum() / (s @ u**2)))
    pull = X.T @ (c * s * u)
    return P, float(c * (s * u) @ y) - float(pull @ pull) / (4 * alpha)
