"""The error of a majority vote: many who err alone are rarely wrong together, unless they err together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats


def majority_vote_error(members: int, error: float, correlation: float = 0.0) -> float:
    r"""The chance that most of M members, each wrong with probability ε, are wrong; a tie is decided by a coin.

    Independent members: the binomial tail :math:`P(\mathrm{Bin}(M, \varepsilon) > M/2)`. With correlation ρ between
    any two members' errors the number of errors is beta-binomial, the model in which all share a difficulty of the row
    that varies from row to row.

    Parameters
    ----------
    members : int ≥ 1
    error : float in [0, 1]
    correlation : float in [0, 1]
        0: independent; 1: always all of the same opinion, so that voting is of no use.

    References
    ----------
    Condorcet, Essai sur l'application de l'analyse, 1785. Dietterich, Ensemble methods in machine learning, MCS 2000.

    Examples
    --------
    >>> from corollary.evaluate.theory import majority_vote_error
    >>> print(f"{majority_vote_error(21, 0.3):.3f} {majority_vote_error(21, 0.3, correlation=0.2):.3f}")
    0.026 0.199
    """
    if members < 1 or int(members) != members:
        raise ValueError(f"members must be a whole number ≥ 1, but it is {members}.")
    for name, value in (("error", error), ("correlation", correlation)):
        if not 0 <= value <= 1:
            raise ValueError(f"{name} must lie in [0, 1], but it is {value}.")
    if correlation == 1 or error in (0, 1):
        return float(error)
    if correlation == 0:
        wrong = stats.binom(members, error)
    else:
        strength = (1 - correlation) / correlation
        wrong = stats.betabinom(members, error * strength, (1 - error) * strength)
    tie = 0.5 * wrong.pmf(members // 2) if members % 2 == 0 else 0.0
    return float(wrong.sf(members // 2) + tie)


@dataclass(frozen=True)
class Votes:
    """Errors of votes of growing size; prints as a sentence.

    Attributes
    ----------
    members : tuple of int
    error : float
        Of one member.
    correlations : tuple of float
    errors : array of shape (correlations, members)
    """

    members: tuple[int, ...]
    error: float
    correlations: tuple[float, ...]
    errors: NDArray[np.float64]

    def to_frame(self) -> Any:
        """One row for each number of members, a column for each correlation."""
        import pandas as pd

        names = [f"correlation {each:g}" for each in self.correlations]
        return pd.DataFrame(self.errors.T, columns=names, index=pd.Index(self.members, name="members"))

    def plot(self, ax: Any = None) -> Any:
        """The error of the vote against its size, a line for each correlation; returns the matplotlib axes."""
        from corollary.core.drawing import SOFT, axes

        ax = axes(ax)
        ax.axhline(self.error, color=SOFT, lw=1, ls="--", label="one member")
        for correlation, errors in zip(self.correlations, self.errors, strict=True):
            ax.plot(self.members, errors, lw=1.8, label=f"errors correlate by {correlation:g}")
        ax.set(xlabel="members", ylabel="error of the majority", ylim=(0, None))
        ax.legend(frameon=False, fontsize="small")
        return ax

    def __str__(self) -> str:
        said = "; ".join(
            f"{errors[-1]:.3g} if errors correlate by {correlation:g}"
            for correlation, errors in zip(self.correlations, self.errors, strict=True)
        )
        return (
            f"The majority of {self.members[-1]} members, each wrong with probability {self.error:g}, errs with {said}."
        )


def majority_vote(
    members: Sequence[int] = tuple(range(1, 102, 2)),
    error: float = 0.3,
    correlations: Sequence[float] = (0.0, 0.1, 0.3),
) -> Votes:
    """The error of majority votes as they grow, for members that err alone and for members that err together.

    Parameters
    ----------
    members : sequence of int ≥ 1
    error : float in [0, 1]
    correlations : sequence of float in [0, 1]

    Returns
    -------
    Votes

    Examples
    --------
    >>> from corollary.evaluate.theory import majority_vote
    >>> print(majority_vote([1, 21], error=0.3, correlations=[0.0, 0.2]))
    The majority of 21 members, each wrong with probability 0.3, errs with 0.0264 if errors correlate by 0; 0.199 if
    errors correlate by 0.2.
    """
    if not len(members) or not len(correlations):
        raise ValueError("members and correlations must have at least one entry each.")
    errors = [[majority_vote_error(size, error, rho) for size in members] for rho in correlations]
    return Votes(tuple(members), error, tuple(correlations), np.array(errors))
