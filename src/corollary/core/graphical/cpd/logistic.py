"""Logistic: states whose log-odds are linear in the parents, which may be numbers."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.special import log_softmax, softmax

from corollary.core.graphical.cpd.base import DiscreteCPD, as_numbers
from corollary.core.limits import Limit, Real
from corollary.core.types import Array


class LogisticCPD(DiscreteCPD):
    r"""P(child = s | parents) ∝ exp(coef[s] · z + intercept[s]).

    z has, for each parent with states, an indicator of each of them but the first; then the parents that are numbers.

    Parameters
    ----------
    coef : array (states, columns of z) or None
    intercept : array (states,) or None
        None: to be learned, by maximum likelihood with a penalty.
    cards : sequence of int, default ()
        How many states each of the parents has that have states.
    C : float > 0, default 1e6
        How weak that penalty is, as in ``LogisticRegression``. Next to none by default.

    Examples
    --------
    >>> cpd = LogisticCPD(coef=[[0.0], [2.0]], intercept=[0.0, -1.0])
    >>> cpd.probabilities(np.empty((1, 0), dtype=int), np.array([[0.5]])).tolist()
    [[0.5, 0.5]]
    """

    name = "logistic"
    coef: Any
    intercept: Any
    cards: tuple[int, ...]
    C: float
    limits: ClassVar[dict[str, Limit]] = {"C": Real(0, above=True)}

    def __init__(self, coef: Any = None, intercept: Any = None, cards: Any = (), C: float = 1e6) -> None:
        if (coef is None) != (intercept is None):
            raise self._refuse("coef and intercept must both be given, or neither (to be learned).")
        if coef is not None:
            coef = as_numbers(coef, "LogisticCPD", "coef", 2)
            intercept = as_numbers(intercept, "LogisticCPD", "intercept", 1)
            if len(coef) != len(intercept):
                raise self._refuse(f"coef has rows for {len(coef)} states, intercept for {len(intercept)}.")
            cards = tuple(int(card) for card in as_numbers(cards, "LogisticCPD", "cards", 1))
            if any(card < 2 for card in cards) or sum(card - 1 for card in cards) > coef.shape[1]:
                raise self._refuse(f"cards are {cards}, but coef has {coef.shape[1]} columns.")
        super().__init__(coef=coef, intercept=intercept, cards=cards, C=C)

    @property
    def known(self) -> bool:
        return self.coef is not None

    @property
    def n_states(self) -> int:
        return len(self.intercept)

    def check(self, cards: tuple[int, ...], n_numbers: int, card: int) -> None:
        width = sum(other - 1 for other in cards) + n_numbers
        if self.known and self.cards != cards:
            raise self._refuse(f"cards must be {cards}, the states of the parents, but they are {self.cards}.")
        if self.known and self.coef.shape != (card, width):
            raise self._refuse(f"coef must have the shape {(card, width)}, but it is {self.coef.shape}.")

    def raw(self, codes: Array, numbers: Array) -> Array:
        """coef · z + intercept (n, states)."""
        first = 0
        raw = self.intercept + numbers @ self.coef[:, self.coef.shape[1] - numbers.shape[1] :].T
        for j, card in enumerate(self.cards):
            columns = np.concatenate(
                [np.zeros((len(self.intercept), 1)), self.coef[:, first : first + card - 1]], axis=1
            )
            raw = raw + columns.T[codes[:, j]]
            first += card - 1
        return np.asarray(raw)

    def probabilities(self, codes: Array, numbers: Array) -> Array:
        return np.asarray(softmax(self.raw(codes, numbers), axis=1))

    def log_prob(self, codes: Array, numbers: Array, child: Array) -> Array:
        found: Array = log_softmax(self.raw(codes, numbers), axis=1)[np.arange(len(child)), child.astype(np.int64)]
        return found
