"""Whether a direction that was found in floating point is one of recession exactly, for the numbers of X as they are.

A linear program calls a margin of −1e-10 zero; a loss that is followed for ever rises by it. So rows that seem to lie
in the plane are put there exactly: aᵢᵀγ = 0 is solved in fractions for as many of them as are independent, and the
others are looked at with what comes out. Rows that are clearly on their side only have to be so by more than rounding.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from corollary.core.types import Array

SLACK = 1e-6  # of margins of size one: rows with less seem to lie in the plane
NONE = 1e-9  # of the largest part of a direction: smaller parts are rounding
RANKS = (np.inf, 1e-13, 1e-6)  # rows that differ by less seem dependent: tried one after the other
LARGEST = 10**300  # number that is still one of float64
EQUATIONS = 50  # that are solved in fractions
NUMBERS = 50_000  # of rows in the plane that are multiplied in fractions


def exact_direction(A: Array, gamma: Array, sizes: Array) -> tuple[Array, Array] | None:
    """A direction near ``gamma`` with no aᵢᵀγ < 0, and for which rows it is certainly > 0; None if none was found.

    ``sizes`` are those of the columns, by which the parts of a direction are compared.
    """
    margins, blur = _margins(A, gamma)
    if (margins > blur).all():
        return gamma, np.ones(len(A), dtype=bool)
    plane = margins <= np.maximum(blur, SLACK)
    parts = np.abs(gamma) * sizes
    used = np.flatnonzero(parts > NONE * parts.max())
    rows = np.unique(A[plane][:, used], axis=0)
    if plane.all() or margins.min() < -SLACK or rows.size > NUMBERS:
        return None
    for rank in RANKS:
        found = _in_plane(rows, gamma[used], sizes[used], rank)
        if found is not None and max(map(abs, found)) < LARGEST and _not_below(rows, found):
            near = np.zeros_like(gamma)
            near[used] = [float(part) for part in found]
            margins, blur = _margins(A[~plane], near)
            if (margins > blur).all():
                return near, ~plane
    return None


def _margins(A: Array, gamma: Array) -> tuple[Array, Array]:
    """Aγ in long doubles, and what rounding may have done to it, that of each part of γ to float64 included."""
    eps = np.finfo(np.longdouble).eps * (A.shape[1] + 2) + np.finfo(np.float64).eps
    long = gamma.astype(np.longdouble)
    return A @ long, eps * (np.abs(A) @ np.abs(long))


def _in_plane(rows: Array, gamma: Array, sizes: Array, rank: float) -> list[Fraction] | None:
    """γ with rows·γ = 0 exactly, for the rows that seem independent: some parts are kept, the others follow."""
    chosen = _independent(rows, gamma, sizes, rank)
    if len(chosen) > min(EQUATIONS, len(gamma) - 1):
        return None
    units = [Fraction(size) for size in sizes.tolist()]
    equations, pivots = [[Fraction(a) for a in row] for row in rows[chosen].tolist()], []
    for at, row in enumerate(equations):
        shares = [abs(part) / size for part, size in zip(row, units, strict=True)]
        largest = shares.index(max(shares))
        if row[largest] == 0:
            continue
        pivots.append((at, largest))
        for other in range(len(equations)):
            factor = equations[other][largest] / row[largest] if other != at else 0
            if factor:
                equations[other] = [a - factor * b for a, b in zip(equations[other], row, strict=True)]
    found = [Fraction(part) for part in gamma.tolist()]
    free = set(range(len(found))) - {column for _, column in pivots}
    for at, column in pivots:
        found[column] = -sum((equations[at][j] * found[j] for j in free), Fraction(0)) / equations[at][column]
    return found


def _independent(rows: Array, gamma: Array, sizes: Array, rank: float) -> list[int]:
    """Numbers of rows none of which is nearly a sum of the others, those nearest to the plane first."""
    unit = rows / sizes
    unit /= np.maximum(np.linalg.norm(unit, axis=1), 1e-300)[:, None]
    spanned, chosen = np.empty((0, len(gamma))), list[int]()
    for at in np.argsort(np.abs(unit @ (gamma * sizes)), kind="stable"):
        rest = unit[at]
        for _ in range(2):
            rest = rest - (spanned @ rest) @ spanned
        if np.linalg.norm(rest) > rank and len(chosen) < len(gamma):
            spanned, chosen = np.vstack([spanned, rest / np.linalg.norm(rest)]), [*chosen, int(at)]
    return chosen


def _not_below(rows: Array, gamma: list[Fraction]) -> bool:
    return all(sum(Fraction(a) * g for a, g in zip(row, gamma, strict=True) if a) >= 0 for row in rows.tolist())
