"""Losses ℓ(y, f): what it costs to predict the raw value f when the truth is y.

A loss never sees X, so linear, kernel, tree and network models share it. Each class states its mathematics in plain
NumPy; ``code`` and ``parameter`` name the same function to the compiled kernels, and tests hold the two together.
Margin losses take y in {−1, +1}. Conjugates are ℓ*(y, u) = sup_f u·f − ℓ(y, f), +inf outside their domain.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from corollary.core.limits import Limit
from corollary.core.loss.amounts import Poisson, Tweedie
from corollary.core.loss.base import Loss
from corollary.core.loss.classification import Exponential, Hinge, Logistic, SoftmaxLoss, SquaredHinge
from corollary.core.loss.regression import Absolute, EpsilonInsensitive, Huber, Quantile, Squared

__all__ = [
    "LOSSES",
    "Absolute",
    "EpsilonInsensitive",
    "Exponential",
    "Hinge",
    "Huber",
    "Logistic",
    "Loss",
    "LossOf",
    "Poisson",
    "Quantile",
    "SoftmaxLoss",
    "Squared",
    "SquaredHinge",
    "Tweedie",
    "as_loss",
    "known_loss",
]

LOSSES: dict[str, type[Loss]] = {
    cls.name: cls
    for cls in (
        *(Squared, Absolute, Huber, Quantile, EpsilonInsensitive),
        *(Logistic, SoftmaxLoss, Hinge, SquaredHinge, Exponential),
        *(Poisson, Tweedie),
    )
}
_NAMES = LOSSES | {alias: cls for cls in LOSSES.values() for alias in cls.aliases}


def known_loss(loss: Any) -> Loss | type[Loss] | None:
    """The loss itself, or the class that is called so, to be asked what it is; None if there is no such loss."""
    if isinstance(loss, Loss):
        return loss
    return _NAMES.get(loss) if isinstance(loss, str) else None


def as_loss(loss: str | Loss, offered: Mapping[str, Any] | None = None) -> Loss:
    """The loss itself, or the one that is called so, with those of its parameters that are offered."""
    return loss if isinstance(loss, Loss) else _NAMES[loss].made_from(offered or {})


class LossOf(Limit):
    """The name of a loss or a Loss, of one task or of any."""

    def __init__(self, *tasks: str) -> None:
        self.tasks = tasks or ("regression", "classification")

    @property
    def names(self) -> list[str]:
        return [name for name, cls in _NAMES.items() if cls.task in self.tasks]

    def accepts(self, value: Any) -> bool:
        loss = known_loss(value)
        return loss is not None and loss.task in self.tasks

    def __str__(self) -> str:
        return " or ".join([*map(repr, self.names), f"a Loss for {' or '.join(self.tasks)}"])
