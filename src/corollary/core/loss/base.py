"""What a loss is, and all that the rest of the library asks of one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np

from corollary.core.limits import Real
from corollary.core.link import Identity, Link
from corollary.core.loss.numerical import best_shift, conjugate
from corollary.core.part import Part
from corollary.core.types import Array

SLACK = 1e-12  # rounding of a dual point at the edge of its domain is forgiven, a violation is not


class Loss(Part, ABC):
    """One loss ℓ(y, f). Capabilities are attributes, so that one asks for what one needs instead of testing types.

    A subclass must have ``name``, ``task``, ``value``, ``gradient`` and ``hessian``; the defaults of everything else
    suit a smooth convex loss whose raw prediction f is the prediction itself.
    """

    kind = "loss"
    aliases: ClassVar[tuple[str, ...]] = ()  # other names that users may write
    code: ClassVar[int] = -1  # by which kernels know it, with ``parameter``; without one its NumPy formulas are used
    task: ClassVar[str]  # "regression", or "classification": y is ±1, or class numbers if ``multiclass``
    link: Link = Identity()
    domain: Real = Real()  # where y must lie
    convex: ClassVar[bool] = True  # in f: conjugate and duality gap mean something; say False where it is not so
    smooth: ClassVar[bool] = True  # has a continuous first derivative
    curved: ClassVar[bool] = True  # has a useful second derivative (Newton steps make sense)
    constant_curvature: ClassVar[bool] = False  # second derivative is 1 everywhere
    deviance: ClassVar[float] = 1.0  # what scikit-learn's boosting multiplies it by where it tells of losses
    multiclass: ClassVar[bool] = False  # raw predictions have one column per class
    simplex: ClassVar[bool] = False  # multi-class, and its slopes are probabilities minus the truth
    piecewise_linear: ClassVar[bool] = False
    lipschitz: ClassVar[float] = np.inf  # of the first derivative; finite ones allow safe screening
    unattained: ClassVar[bool] = (
        False  # nears its least value as f goes to ±∞: separable classes have no finite optimum
    )
    # |ℓ‴| ≤ ℓ″ in each raw prediction: a step s changes the loss by at most g s + h (exp|s| − |s| − 1)
    self_concordant: ClassVar[bool] = False
    # ℓ″ vanishes where ℓ′ does not: Newton steps need a line search, and boosting sets its leaves by exact minimisation
    fading: ClassVar[bool] = False
    # straight pieces rounded off by ½(f − y)²: the second derivative vanishes far from y, and solvers use ℓ′/(f − y)
    flat: ClassVar[bool] = False

    def check_convex(self, y: Array) -> None:
        """Raise ValueError if the slope falls anywhere on a grid although the loss calls itself convex, or is no slope.

        A duality gap proves nothing for a loss that is not convex, nor for one whose gradient is not that of its value:
        between two points the value of a convex loss rises at least by the first slope and at most by the second.
        A loss of the library is known to be right; one of your own is looked at before it is believed.
        """
        if not self.convex or self.code >= 0:
            return
        if self.multiclass:
            self._check_classes(y)
            return
        few = np.unique(y)[:: max(1, len(np.unique(y)) // 16)]
        reach = 20.0 * (1.0 + float(np.abs(few).max(initial=0.0))) if isinstance(self.link, Identity) else 20.0
        grid = np.linspace(-reach, reach, 801)
        with np.errstate(over="ignore", invalid="ignore"):
            slopes = np.stack([self.gradient(np.full(len(grid), each), grid) for each in few])
            values = np.stack([self.value(np.full(len(grid), each), grid) for each in few])
        size = np.maximum(np.abs(slopes[:, 1:]), np.abs(slopes[:, :-1]))
        falls = np.argwhere(np.diff(slopes, axis=1) < -1e-9 * (size + 1e-300))
        if len(falls):
            row, at = falls[0]
            raise ValueError(
                f"The {self.name} loss is not convex: for y = {few[row]:.4g} its slope falls from f = {grid[at]:.4g} "
                f"to f = {grid[at + 1]:.4g}. Set ``convex = False`` on its class: it is then fitted to a stationary "
                "point, and nothing is claimed about better ones."
            )
        with np.errstate(over="ignore", invalid="ignore"):  # comparisons with what overflowed are false
            rise, step = np.diff(values, axis=1), grid[1] - grid[0]
            slack = 1e-7 * (np.abs(values[:, 1:]) + np.abs(values[:, :-1]) + size * step) + 1e-300
            wrong = np.argwhere((rise < slopes[:, :-1] * step - slack) | (rise > slopes[:, 1:] * step + slack))
        if len(wrong):
            row, at = wrong[0]
            raise ValueError(
                f"The gradient of the {self.name} loss is not that of its value: for y = {few[row]:.4g} the value "
                f"rises by {rise[row, at]:.4g} from f = {grid[at]:.4g} to f = {grid[at + 1]:.4g}; slopes allow "
                f"{slopes[row, at] * step:.4g} to {slopes[row, at + 1] * step:.4g}. Compare it with differences, as in "
                "step 4 of 'How to add a loss'."
            )

    def _check_classes(self, y: Array) -> None:
        """The same for a loss with one raw prediction per class, between pairs of points near to and far from zero."""
        k, draw = int(np.max(y, initial=0)) + 1, np.random.default_rng(0)
        label = np.tile(np.arange(k), 200)
        start = draw.normal(size=(len(label), k)) * draw.choice([0.1, 1.0, 10.0], size=(len(label), 1))
        step = draw.normal(size=start.shape) * draw.choice([1e-3, 0.1, 1.0, 10.0], size=(len(label), 1))
        with np.errstate(over="ignore", invalid="ignore"):  # comparisons with what overflowed are false
            values = [self.value(label, f) for f in (start, start + step)]
            low, high = ((self.gradient(label, f) * step).sum(axis=1) for f in (start, start + step))
            rise, slack = values[1] - values[0], 1e-7 * (np.abs(values[0]) + np.abs(values[1]) + abs(low) + abs(high))
            falls, wrong = low > high + slack, (rise < low - slack - 1e-300) | (rise > high + slack + 1e-300)
        for found, what in ((falls, "not convex"), (wrong, "not convex, or its gradient is not that of its value")):
            if found.any():
                at = int(np.argmax(found))
                raise ValueError(
                    f"The {self.name} loss is {what}: for y = {label[at]} it rises by {rise[at]:.4g} from "
                    f"f = {start[at]} by {step[at]}, where slopes allow {low[at]:.4g} to {high[at]:.4g}. Set "
                    "``convex = False`` on its class, or compare it with differences, as in step 4 of 'How to add a "
                    "loss'."
                )

    @abstractmethod
    def value(self, y: Array, f: Array) -> Array:
        """ℓ(y, f), element by element."""

    @abstractmethod
    def gradient(self, y: Array, f: Array) -> Array:
        """∂ℓ/∂f (a subgradient at kinks)."""

    @abstractmethod
    def hessian(self, y: Array, f: Array) -> Array:
        """∂²ℓ/∂f² (zero where it does not exist)."""

    def conjugate(self, y: Array, u: Array) -> Array:
        """ℓ*(y, u), found numerically unless a subclass has a formula: at least the true value, up to rounding."""
        return conjugate(self, y, u)

    def shrink(self, slope: Array, weights: Array) -> float:
        """The largest c ≤ 1 that brings c · slope into the domain of Σ w ℓ*(slope / w), where rounding has left it."""
        return 1.0

    def check_target(self, y: Array) -> None:
        """Raise ValueError if y lies outside the loss's domain."""
        low, high, above = self.domain.low, self.domain.high, self.domain.above
        outside = int(np.count_nonzero(~((y > low if above else y >= low) & (y <= high))))
        if outside:
            wanted = f"y {'>' if above else '≥'} {low:g}" + (f" and ≤ {high:g}" if high < np.inf else "")
            what = "negative values" if low == 0 and high == np.inf and not above else "values outside that"
            raise ValueError(f"the {self.name} loss needs {wanted}, but y has {outside} {what}.")

    def reach(self, y: Array, raw: Array) -> float:
        """A distance in raw predictions from which to search: that to y where they have its units, else one."""
        if self.task == "classification" or not self.link.in_units_of_y:
            return 1.0
        return float(np.max(np.abs(y - raw), initial=1e-300))

    def best_shift(self, y: Array, raw: Array, weights: Array, l1: float = 0.0, l2: float = 0.0) -> float:
        """The v that minimises Σ w ℓ(y, raw + v) + l1 |v| + ½ l2 v²."""
        return best_shift(self, y, raw, weights, l1, l2)

    def best_constant(self, y: Array, weights: Array, n_classes: int = 0) -> Any:
        """The best raw prediction for all rows together, a number or one per class: where boosting starts."""
        live = weights > 0
        return self.best_shift(y[live], np.zeros(int(live.sum())), weights[live])

    def for_classes(self, n_classes: int) -> Loss:
        """The loss to use for so many classes at once."""
        if n_classes > 2 and not self.multiclass:
            raise ValueError(
                f"loss={self.name!r} is only suitable for a binary classification, of two classes, but y has "
                f"{n_classes}; use loss='log_loss'."
            )
        return self

    @classmethod
    def for_alpha(cls, alpha: float, y: Array, weights: Array) -> Self:
        """The loss that scikit-learn's ``alpha`` of gradient boosting stands for; most have nothing to set."""
        return cls()

    @property
    def parameter(self) -> float:
        """The one number that goes with ``code``."""
        return float(next(iter(self.parameters.values()), 0.0))

    @property
    def straight(self) -> bool:
        """Whether it consists of straight pieces and perhaps a parabola, so that the interior point can be used."""
        return self.piecewise_linear or self.flat


def inside(condition: Array, value: Array) -> Array:
    """The value of a conjugate where the condition for its domain holds, inf elsewhere."""
    return np.where(condition, value, np.inf)
