"""How far components can be from the true ones: residuals over the gaps between eigenvalues.

For orthonormal v with C v = λ v + r, and all eigenvalues outside a group at a distance of at least ``gap`` from its λ,
the sine of the angle between the v and the group's true span is at most ‖r‖ / gap (C. Davis and W. M. Kahan, 1970).
Neighbours whose gap is too small for their residuals form a group: then the span of the group is shown, and not each of
its components.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corollary.core.types import Array

ANGLE = "largest sine of the angle to the true components"
_MARGIN = 4.0  # so many times better than asked for before two are told apart: a group's residuals add up


@dataclass(frozen=True)
class Levels:
    """Eigenvalues, or singular values, in falling order with what is known of them.

    ``residuals`` bound what an exact pair would not leave over, rounding included, and ``slack`` the error of Rayleigh
    quotients. Without ``whole`` there are more values below, of which nothing is known.
    """

    values: Array
    residuals: Array
    slack: Array
    whole: bool

    @property
    def drift(self) -> Array:
        """How far each value can be from the true one: the residual, or less where neighbours are far (Kato, 1949)."""
        gaps = np.abs(np.diff(self.values))
        nearest = np.minimum(np.append(np.inf, gaps), np.append(gaps, np.inf))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            square = np.where(self.residuals > 0, self.residuals * (self.residuals / nearest), 0.0)
        return np.minimum(self.residuals, self.slack + square)


@dataclass(frozen=True)
class Group:
    """Components ``start … stop − 1``; ``more`` if values that were not kept belong to it, too."""

    start: int
    stop: int
    more: bool

    @property
    def words(self) -> str:
        if self.stop - self.start == 1:
            return f"Component {self.start + 1} has a variance"
        return f"Components {self.start + 1} to {self.stop} have variances"


@dataclass(frozen=True)
class Angles:
    """The largest bound on a sine, and the groups that it speaks of where that is not each component."""

    largest: float
    groups: tuple[Group, ...]

    def notes(self, rank: int) -> tuple[str, ...]:
        """Which components are not told apart."""
        out = []
        for group in self.groups:
            if group.start >= rank:
                out.append(f"{group.words} that cannot be told from 0, and an arbitrary direction there.")
            elif group.more:
                out.append(f"{group.words} too close to others not kept: shown is the span of all these.")
            else:
                out.append(f"{group.words} too close to be told apart: shown is their span, not each of them.")
        return tuple(out)


def angle_bounds(levels: Levels, k: int, tol: float) -> Angles:
    """Bounds for the first k components, grouped so that the sines are below ``tol`` where that can be."""
    values, residuals, drift = levels.values, levels.residuals, levels.drift
    clear = -np.diff(values) - drift[:-1] - drift[1:]
    own = np.append(residuals[:k], np.full(max(len(values) - k, 0), residuals[k - 1]))  # of others only values matter
    apart = _MARGIN * (own[:-1] + own[1:]) <= tol * clear
    ends = np.append(np.flatnonzero(apart) + 1, len(values))
    largest, groups, start = 0.0, [], 0
    for stop in map(int, ends):
        if start >= k:
            break
        last = stop == len(values)
        above = clear[start - 1] if start else np.inf
        below = clear[stop - 1] if not last else np.inf
        left = float(np.linalg.norm(residuals[start : min(stop, k)]))
        if start == 0 and last and not levels.whole:
            largest = 1.0  # nothing at all is told apart
        elif start == 0 and last and len(values) > 1 and values[0] > 0:
            # all directions are one group: whether these have the variances that are told is all that can be asked
            largest = min(1.0, left / float(values[0]))
        elif left > 0:
            largest = max(largest, min(1.0, left / min(above, below)))
        more = stop > k or (last and not levels.whole)
        if stop - start > 1 or more or values[start] == 0:
            groups.append(Group(start, min(stop, k), more))
        start = stop
    return Angles(largest, tuple(groups))
