"""Noisy-or: causes that each bring about an effect on their own, independently of one another."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from corollary.core.graphical.cpd.base import DiscreteCPD, as_numbers
from corollary.core.limits import Limit, Real
from corollary.core.types import Array


class NoisyOr(DiscreteCPD):
    r"""An effect of many causes with one number for each of them, instead of 2ᵏ.

    .. math:: P(x = 0 \mid c_1 … c_k) = (1 - \text{leak}) \prod_{j: c_j = 1} (1 - \text{strength}_j)

    Parameters
    ----------
    leak : float in [0, 1] or None
        The probability of the effect when no cause is there.
    strengths : array (k,) of numbers in [0, 1] or None
        The probability that a cause that is there brings the effect about. None: to be learned.
    alpha : float ≥ 0, default 0.0
        Learning: a prior worth so many rows without any cause, and so many with each cause alone, half of them with the
        effect.

    Notes
    -----
    The effect and its causes have two states, of which the second (number 1) means that it is there.

    References
    ----------
    J. Pearl, *Probabilistic Reasoning in Intelligent Systems*, 1988, section 4.3.2.

    Examples
    --------
    >>> NoisyOr(leak=0.0, strengths=[0.8, 0.5]).table((2, 2))[1, 1].round(3).tolist()
    [0.1, 0.9]
    """

    name = "noisy_or"
    leak: Any
    strengths: Any
    alpha: float
    limits: ClassVar[dict[str, Limit]] = {"alpha": Real(0, finite=True)}

    def __init__(self, leak: float | None = None, strengths: Any = None, alpha: float = 0.0) -> None:
        if (leak is None) != (strengths is None):
            raise self._refuse("leak and strengths must both be given, or neither (to be learned).")
        if strengths is not None:
            strengths = as_numbers(strengths, "NoisyOr", "strengths", 1)
            leak = float(as_numbers(leak, "NoisyOr", "leak", 0))
            if not 0.0 <= leak <= 1.0 or ((strengths < 0) | (strengths > 1)).any():
                raise self._refuse(f"leak and strengths must lie in [0, 1], but they are {leak} and {strengths}.")
        super().__init__(leak=leak, strengths=strengths, alpha=alpha)

    @property
    def known(self) -> bool:
        return self.strengths is not None

    @property
    def n_states(self) -> int:
        return 2

    def check(self, cards: tuple[int, ...], n_numbers: int, card: int) -> None:
        if n_numbers or card != 2 or any(other != 2 for other in cards):
            raise self._refuse(
                f"the effect and its causes must have two states each, but there are {card} of the effect, {[*cards]} "
                f"of the causes, and {n_numbers} causes that are numbers."
            )
        if self.known and len(self.strengths) != len(cards):
            raise self._refuse(f"there are {len(cards)} causes, but {len(self.strengths)} strengths.")

    def probabilities(self, codes: Array, numbers: Array) -> Array:
        with np.errstate(divide="ignore"):
            spared = np.log1p(-self.strengths)
        absent = (1.0 - self.leak) * np.exp(np.where(codes > 0, spared, 0.0).sum(axis=1))
        return np.stack([absent, 1.0 - absent], axis=1)

    def log_prob(self, codes: Array, numbers: Array, child: Array) -> Array:
        with np.errstate(divide="ignore"):
            absent = np.log1p(-self.leak) + np.where(codes > 0, np.log1p(-self.strengths), 0.0).sum(axis=1)
            near = np.log(-np.expm1(absent))  # log(1 − P), whether P is near one or near zero
            present = np.where(absent > -0.7, near, np.log1p(-np.exp(absent)))
            found: Array = np.where(child > 0, present, absent)
        return found

    def chain(self) -> tuple[float, list[Array]]:
        """Tables of "so far, or by this cause": with them nothing grows with two to the number of causes."""
        tables = [np.array([[[1.0, 0.0], [1.0 - s, s]], [[0.0, 1.0], [0.0, 1.0]]]) for s in self.strengths.tolist()]
        return float(self.leak), tables
