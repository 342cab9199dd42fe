"""Soft k-means as a latent-variable model: k Gaussians of equal weight and one known variance 1/(2β).

A row x has the density (1/k) Σ (β/π)^(d/2) exp(−β ‖x − c‖²). The mean of −1/β times its logarithm is, up to a constant,
the free energy that soft k-means lowers; β is the stiffness.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from corollary.core.blocks import Block, Source
from corollary.core.distribution.weighted_gaussians import NEVER
from corollary.core.parallel import map_blocks, one_blas_thread
from corollary.core.scaling import SQUARED, magnitude, power_of_two, scale_about
from corollary.core.types import Array
from corollary.solvers.em.gaussian import Space, slabs, summed
from corollary.solvers.em.start import Survey
from corollary.solvers.loop import overflow

MANY = 16.0
DIGITS = 1e-9  # the error of an exponent that is allowed
STEEPEST = 1e290  # beyond, any difference decides: products with it must stay finite
DOUBT = 64 * float(np.finfo(np.float64).eps)  # what a difference of sums of squares leaves, relative to these
AT_REST = 1e-28  # squared movement, relative to the variance, that is rounding alone


@dataclass(frozen=True)
class SoftSums:
    """What a block of rows contributes to one iteration.

    ``counts`` is Σ w r of each centre, ``offsets`` Σ w r (x − c), ``energy`` −Σ w ln Σ exp(−β ‖x − c‖²) / β.
    """

    centres: Array
    counts: Array
    offsets: Array
    energy: float
    log_likelihood: float
    weight: float

    def __add__(self, other: SoftSums) -> SoftSums:
        return replace(
            self,
            counts=self.counts + other.counts,
            offsets=self.offsets + other.offsets,
            energy=self.energy + other.energy,
            log_likelihood=self.log_likelihood + other.log_likelihood,
            weight=self.weight + other.weight,
        )


@dataclass(frozen=True)
class SoftModel:
    """E and M steps for centres in units of ``1 / scale``; ``spread`` is the mean variance of the columns there.

    Beside rows far away from all others, which would make any movement look small, it is no more than ``MANY`` times
    what half of the rows have. ``doubt`` is what rounding can have done to it.
    """

    stiffness: float
    scale: float = 1.0
    spread: float = 1.0
    doubt: float = 0.0
    space: Space = field(default_factory=Space, repr=False, compare=False)
    movement_name = "squared movement of the centres in the next step, relative to the mean variance"

    @classmethod
    def of(cls, data: Source, seen: Survey, stiffness: float) -> SoftModel:
        """The model for blocks (X, weights) of rows, of which a survey was made."""
        typical = seen.typical
        scale = scale_about(typical, seen.low, seen.high)

        spread, doubt, mean = _spread(data, typical, scale)
        if doubt > 0.01 * spread:  # most of the weight is far from the median
            spread, doubt, mean = _spread(data, mean, scale)
        usual = _usual(seen.sample[0], typical, scale)
        least, spread = spread - doubt, min(spread, MANY * usual) if usual > 0 else spread
        inside = stiffness / scale / scale
        if not np.isfinite(inside + spread) or inside == 0:
            raise overflow()
        return cls(inside, scale, max(spread, 0.0), max(spread - least, 0.0))

    def e_step(self, block: Block, centres: Array) -> SoftSums:
        """How far rows belong to the centres, and what follows from it.

        As of Gaussians with a common variance, from differences of rows and centres: rows may be far from zero.
        """
        (X, weights), (k, d) = block, centres.shape
        steep = min(self.stiffness, STEEPEST)
        known = centres, centres, np.ones((k, d)), np.zeros(k), np.full(k, NEVER), steep
        inside, logs, counts, offsets = (np.zeros(d), np.full(d, self.scale)), 0.0, np.zeros(k), np.zeros((k, d))
        for _, _, *rows in slabs(X, weights, np.full(len(X), -1, dtype=np.int32)):
            found = summed("diag", known, rows, inside, self.space)
            logs, counts, offsets = logs + found[0], counts + found[1], offsets + found[2]
        weight, energy = float(weights.sum()), -logs / steep
        constant = 0.5 * d * np.log(self.stiffness / np.pi) - np.log(k) + d * np.log(self.scale)
        return SoftSums(centres, counts, offsets, energy, weight * constant - self.stiffness * energy, weight)

    def m_step(self, summary: SoftSums) -> Array:
        """Centres moved to the means of the rows, weighted by how far they belong; those without any stay."""
        moved: Array = summary.centres + summary.offsets / np.where(summary.counts > 0, summary.counts, 1.0)[:, None]
        return moved

    def movement(self, before: Array, after: Array) -> float:
        """Squared movement of all centres, relative to the mean variance of the columns."""
        squared = float(((after - before) ** 2).sum())
        relative = squared / self.spread if self.spread > 0 else squared
        return relative if relative > AT_REST else 0.0

    def next_step(self, summary: SoftSums) -> float:
        """As :meth:`movement`, of the step that follows; also where centres so far from zero cannot make it."""
        step = summary.offsets / np.where(summary.counts > 0, summary.counts, 1.0)[:, None]
        squared, least = float((step * step).sum()), self.spread - self.doubt
        if least <= 0 < self.doubt:
            return np.inf if squared > 0 else 0.0  # the variance cannot be told from zero
        relative = squared / least if least > 0 else squared
        return relative if relative > AT_REST else 0.0

    def narrowed(self, centres: Array, moves: float, tol: float, dtype: Any) -> tuple[Array, float]:
        """Centres in the units of the data and how far (squared, relative) the next step moves them.

        They are rounded to the dtype of the rows if their next step, longer by at most twice what rounding moved them,
        is still within the tolerance.
        """
        exact = centres / self.scale
        narrow = exact.astype(dtype)
        rounded = self.movement(centres, narrow.astype(np.float64) * self.scale)
        if rounded == 0:
            return narrow, moves
        moved = float(np.sqrt(moves) + 2.0 * np.sqrt(rounded)) ** 2
        return (narrow, moved) if moved <= tol else (exact, moves)

    def free_energy(self, summary: SoftSums) -> float:
        """The energy in the units of the data."""
        energy = summary.energy / self.scale / self.scale
        if not np.isfinite(energy):
            raise overflow()
        return energy


def _usual(rows: Array, about: Array, scale: float) -> float:
    """As the variance of the columns, but of half of the rows; by blocks, for a copy of the sample is large."""

    def part(start: int, stop: int) -> Array:
        return np.asarray((((rows[start:stop] - about) * scale) ** 2).sum(axis=1))

    squares = np.concatenate(list(map_blocks(part, len(rows), max(64, (1 << 15) // len(about)))))
    return float(np.median(squares)) / len(about)


def _spread(data: Source, about: Array, scale: float) -> tuple[float, float, Array]:
    """The mean variance of the columns times scale², what rounding may have done to it, and the mean."""

    def part(block: Block) -> Array:
        moved = (block[0] - about) * scale
        return np.append(block[1] @ moved, [block[1] @ (moved * moved).sum(axis=1), block[1].sum()])

    *sums, squares, mass = data.total(part)
    spread = float(squares - np.square(sums).sum() / mass) / mass / len(sums)
    return spread, DOUBT * float(squares) / mass / len(sums), about + np.array(sums) / mass / scale


def block_size(d: int) -> int:
    """Rows of one task for a thread, of the passes before the first iteration."""
    return max(64, (1 << 15) // d)


def responsibilities(X: Array, centres: Array, stiffness: float) -> tuple[Array, Array]:
    """How far each row belongs to each centre (n × k, rows sum to 1), and the free energy of each row.

    Numbers whose squares would overflow are taken in units of a power of two; an energy may then be infinite.
    """
    reach = max(magnitude(X), magnitude(centres))
    scale = power_of_two(reach) if reach > SQUARED else 1.0
    inside = min(stiffness / scale / scale, float(np.finfo(np.float64).max))

    def part(start: int, stop: int) -> tuple[Array, Array]:
        with np.errstate(over="ignore"):
            shares, energies = _Rows(X[start:stop].astype(np.float64) * scale, centres * scale, inside).shares()
            return shares, energies / scale / scale

    with one_blas_thread():
        shares, energies = zip(*map_blocks(part, X.shape[0], max(64, (1 << 18) // len(centres))), strict=True)
        return np.concatenate(shares), np.concatenate(energies)


class _Rows:
    """Rows of a block, and what they have to do with the centres.

    Distances come from a matrix product about the middle of the centres, which rows far from zero would leave no digits
    for. Where that is not enough, beside a row or a centre far from all others, they come from differences.
    """

    def __init__(self, X: Array, centres: Array, stiffness: float) -> None:
        middle = centres.mean(axis=0)
        self.X, self.centres, self.stiffness = X, centres, stiffness
        self.rows, self.moved = X - middle, centres - middle
        self.own, self.squares = (np.einsum("ij,ij->i", part, part) for part in (self.rows, self.moved))
        reach = self.own.max(initial=0.0) + self.squares.max()
        self.close = bool(stiffness * reach * float(np.finfo(np.float64).eps) <= DIGITS)

    def shares(self) -> tuple[Array, Array]:
        """How far each row belongs to each centre, and its free energy."""
        if self.close:
            scores = self.squares - 2 * (self.rows @ self.moved.T)
        else:
            scores = cdist(self.X, self.centres, "sqeuclidean")
        least = scores.min(axis=1)
        scores -= least[:, None]
        scores *= -self.stiffness
        np.exp(scores, out=scores)
        totals = scores.sum(axis=1)
        scores /= totals[:, None]
        distances = np.maximum(self.own + least, 0.0) if self.close else least
        return scores, distances - np.log(totals) / self.stiffness
