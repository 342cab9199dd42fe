"""How much better or worse a vote is than each of its members, on rows that nobody who voted had seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri, stdtrit

from corollary.core.scaling import exponents_of
from corollary.core.types import Array
from corollary.ensemble.combine.bagging.interval import ErrorInterval
from corollary.ensemble.combine.votes import weighted_sum


@dataclass(frozen=True)
class HeldOutExcess:
    """The error of the vote, those of the members, and the vote's error less each of theirs (mean, low, high)."""

    names: Sequence[str]
    vote: ErrorInterval
    members: Array  # (m,)
    excess: Array  # (m, 3)

    @staticmethod
    def of(names: Sequence[str], said: list[Array], shares: Array, truth: Array, weights: Array) -> HeldOutExcess:
        """What members said of held-out rows, (n, k) for class numbers or (n,) for numbers, against the truth.

        The differences are paired, row by row, and their intervals hold for all m members at once with 95 %
        confidence (each is of 1 − 0.05 / m), so also for the best of them, whichever that turns out to be.
        """
        tail = 0.025 / len(said)
        if said[0].ndim == 2:
            wrong = [each.argmax(axis=1) != truth for each in (weighted_sum(shares, said), *said)]
            excess = [shares_apart(wrong[0], each, weights, tail) for each in wrong[1:]]
            means = [float(np.average(each, weights=weights)) for each in wrong[1:]]
            return HeldOutExcess(names, ErrorInterval.of_shares(wrong[0], weights), np.array(means), np.array(excess))
        away = [each - truth for each in said]
        # a vote of errors, not the error of a vote: beside a large constant in y its digits would be lost
        away = [weighted_sum(shares / shares.sum(), away), *away]
        unit = int(exponents_of(max(np.abs(each).max() for each in away)))  # so that no square overflows or vanishes
        squares = [np.square(np.ldexp(each, -unit)) for each in away]
        excess = [squares_apart(squares[0], each, weights, tail) for each in squares[1:]]
        means = [float(np.average(each, weights=weights)) for each in squares[1:]]
        own = ErrorInterval.of_squares(squares[0], weights)
        error, low, high = (float(np.ldexp(each, 2 * unit)) for each in (own.error, own.low, own.high))
        vote = ErrorInterval(own.what, own.rows, error, low, high)
        return HeldOutExcess(names, vote, np.ldexp(means, 2 * unit), np.ldexp(excess, 2 * unit))

    @property
    def facts(self) -> dict[str, float]:
        name = f"held-out {self.vote.what}"
        found = {f"{name} of {each}": float(mean) for each, mean in zip(self.names, self.members, strict=True)}
        found[f"{name} of the vote"] = self.vote.error
        for each, ends in zip(self.names, self.excess, strict=True):
            for end, value in zip(("", ", low end", ", high end"), ends, strict=True):
                found[f"{name} of the vote less that of {each}{end}"] = float(value)
        return found

    @property
    def sentence(self) -> str:
        best, vote = int(np.argmin(self.members)), self.vote
        mean, low, high = self.excess[best]
        better = "the vote is better" if high < 0 else "that member alone is better" if low > 0 else ""
        return (
            f"On {vote.rows} rows that members had not seen the {vote.what} of the vote is {vote.error:.3g}, 95 % "
            f"interval {vote.low:.3g} to {vote.high:.3g}; less that of its best member, {self.names[best]}, it is "
            f"{mean:.3g}, 95 % interval {low:.3g} to {high:.3g}: {better or 'neither is shown to be better'}."
        )


def shares_apart(vote: Array, member: Array, weights: Array, tail: float) -> tuple[float, float, float]:
    """The vote's share of wrong rows less the member's, with Bonett and Price's interval for paired shares.

    Of n rows, n p are wrong in the vote alone and n q in the member alone. With one row more of either kind, so that a
    few rows without any do not pass for certainty, p − q has the variance (p + q − (p − q)²) / (n + 2). Where weights
    differ n is (Σ w)² / Σ w².
    """
    w = weights / weights.max()
    n, z = float(w.sum() ** 2 / np.square(w).sum()), float(-ndtri(tail))
    only_vote, only_member = (float(np.average(each, weights=w)) for each in (vote & ~member, member & ~vote))
    p, q = ((n * share + 1) / (n + 2) for share in (only_vote, only_member))
    half = z * np.sqrt((p + q - (p - q) ** 2) / (n + 2))
    mean = only_vote - only_member
    return mean, max(-1.0, min(mean, p - q - half)), min(1.0, max(mean, p - q + half))


def squares_apart(vote: Array, member: Array, weights: Array, tail: float) -> tuple[float, float, float]:
    """The vote's mean squared error less the member's, with Student's interval of the mean of paired differences.

    With shares s = w / Σ w and n = (Σ w)² / Σ w² rows it has the variance Σ s² (d − mean)² n / (n − 1), of n − 1
    degrees of freedom; fewer than two rows say nothing.
    """
    w = weights / weights.max()
    n, share, apart = float(w.sum() ** 2 / np.square(w).sum()), w / w.sum(), vote - member
    mean = float(share @ apart)
    if n < 2:
        return mean, -np.inf, np.inf
    half = -float(stdtrit(n - 1, tail)) * float(np.sqrt(np.square(share * (apart - mean)).sum() * n / (n - 1)))
    return mean, mean - half, mean + half
