"""What the referee says about one claim."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

NAN = float("nan")
DIGITS = int(np.finfo(np.longdouble).nmant)  # binary ones of a long double
LEAST = 53  # that it must have: with 52 it is a float64, as that of the fit


@dataclass(frozen=True)
class Verification:
    """Whether a claim ``stands`` (True), is refuted (False) or could not be decided (None), and why, in ``words``.

    ``found`` is the referee's own number for what the certificate measures, as far as it has one (else NaN); ``claim``
    is the certificate as the fit states it. As a truth value it is True only if the claim stands, so that
    ``assert model.evidence_.verify(X, y)`` fails where it is refuted, and where that could not be decided.
    """

    stands: bool | None
    words: str
    found: float = NAN
    claim: str = ""

    def __bool__(self) -> bool:
        return self.stands is True

    @property
    def verdict(self) -> str:
        return {True: "Stands", False: "Refuted", None: "Not decided"}[self.stands]

    def __str__(self) -> str:
        claimed = f" (claimed: {self.claim})" if self.claim else ""
        hint = " (if X, y, weights and parameters are those of the fit)" if self.stands is False else ""
        return f"{self.verdict}: {self.words}{claimed}{hint}."

    __repr__ = __str__


def of_claim(found: Verification, claim: str) -> Verification:
    """The same, with the claim that was judged.

    Where long doubles are float64 (Windows, Apple silicon) the referee is no more exact than the fit was: what it found
    is told, but neither stands nor is refuted.
    """
    if DIGITS < LEAST and found.stands is not None:
        words = f"long doubles have no more digits than float64 here, in which {found.words}"
        return replace(found, stands=None, words=words, claim=claim)
    return replace(found, claim=claim)


def weakest(parts: Sequence[Verification]) -> Verification:
    """One verdict for the same claim about several things: refuted if any is, undecided if any is, else the largest
    number.
    """

    def weakness(part: Verification) -> tuple[int, float]:
        return (WEAKNESS[part.stands], part.found if part.found == part.found else -1.0)

    return max(parts, key=weakness)


WEAKNESS = {False: 2, None: 1, True: 0}


def together(claim: Verification, *others: Verification) -> Verification:
    """One verdict for a claim and what else must be true for it: the first that is refuted, or else not decided.

    Numbers of different things are not compared: where all stand, it is the claim with its own number.
    """
    worst = max((claim, *others), key=lambda part: WEAKNESS[part.stands])
    if worst.stands is not True:
        return worst
    return replace(claim, words="; ".join([claim.words, *(part.words for part in others)]))


def measured(number: float, tolerance: float, what: str, slack: float = 0.0) -> Verification:
    """The verdict on a number that is claimed to be at most ``tolerance``; ``slack`` is what rounding may do."""
    if number != number:
        return Verification(None, f"{what} could not be computed")
    if number <= tolerance:
        return Verification(True, f"{what} is {number:.2g}, at most {tolerance:.2g}", number)
    if number <= tolerance + slack:
        return Verification(None, f"{what} is {number:.2g}, above {tolerance:.2g} by less than rounding does", number)
    return Verification(False, f"{what} is {number:.3g} where at most {tolerance:.2g} was claimed", number)
