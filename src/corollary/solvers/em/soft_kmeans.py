"""Soft k-means as a latent-variable model: k Gaussians of equal weight and one known variance 1/(2β).

A row x has the density (1/k) Σ (β/π)^(d/2) exp(−β ‖x − c‖²). The mean of −1/β times its logarithm is, up to a constant,
the free energy that soft k-means lowers; β is the stiffness.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from corollary.core.blocks import Block, Source
from corollary.core.parallel import map_blocks, one_blas_thread
from corollary.core.scaling import scale_about
from corollary.core.types import Array
from corollary.solvers.loop import overflow

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
    """E and M steps for centres in units of ``1 / scale``; ``spread`` is the mean variance of the columns there."""

    stiffness: float
    scale: float = 1.0
    spread: float = 1.0
    movement_name = "squared movement of the centres relative to the mean variance"

    @classmethod
    def of(cls, data: Source, low: Array, high: Array, typical: Array, stiffness: float) -> SoftModel:
        """The model for blocks (X, weights) of rows from ``low`` to ``high``, about a ``typical`` one."""
        scale = scale_about(typical, low, high)

        def part(block: Block) -> Array:
            moved = (block[0] - typical) * scale
            return np.append(block[1] @ moved, [block[1] @ (moved * moved).sum(axis=1), block[1].sum()])

        *sums, squares, mass = data.total(part)
        spread = float(squares - np.square(sums).sum() / mass) / mass / len(sums)
        inside = stiffness / scale / scale
        if not np.isfinite(inside + spread) or inside == 0:
            raise overflow()
        return cls(inside, scale, max(spread, 0.0))

    def e_step(self, block: Block, centres: Array) -> SoftSums:
        """How far rows belong to the centres, and what follows from it."""
        X, weights = block
        middle = centres.mean(axis=0)  # rows far from zero would leave no digits for their distances
        rows, moved = X.astype(np.float64) * self.scale - middle, centres - middle
        shares, energies = _shares(rows, moved, self.stiffness)
        shares *= weights[:, None]
        counts, weight, energy = shares.sum(axis=0), float(weights.sum()), float(weights @ energies)
        k, d = centres.shape
        constant = 0.5 * d * np.log(self.stiffness / np.pi) - np.log(k) + d * np.log(self.scale)
        log_likelihood = weight * constant - self.stiffness * energy
        return SoftSums(centres, counts, shares.T @ rows - counts[:, None] * moved, energy, log_likelihood, weight)

    def m_step(self, summary: SoftSums) -> Array:
        """Centres moved to the means of the rows, weighted by how far they belong; those without any stay."""
        moved: Array = summary.centres + summary.offsets / np.where(summary.counts > 0, summary.counts, 1.0)[:, None]
        return moved

    def movement(self, before: Array, after: Array) -> float:
        """Squared movement of all centres, relative to the mean variance of the columns."""
        squared = float(((after - before) ** 2).sum())
        relative = squared / self.spread if self.spread > 0 else squared
        return relative if relative > AT_REST else 0.0

    def free_energy(self, summary: SoftSums) -> float:
        """The energy in the units of the data."""
        energy = summary.energy / self.scale / self.scale
        if not np.isfinite(energy):
            raise overflow()
        return energy


def block_size(k: int) -> int:
    """Rows of one task for a thread: their distances to k centres stay in a core's second cache."""
    return max(64, (1 << 15) // k)


def responsibilities(X: Array, centres: Array, stiffness: float) -> tuple[Array, Array]:
    """How far each row belongs to each centre (n × k, rows sum to 1), and the free energy of each row."""
    middle = centres.mean(axis=0)

    def part(start: int, stop: int) -> tuple[Array, Array]:
        return _shares(X[start:stop] - middle, centres - middle, stiffness)

    with one_blas_thread():
        shares, energies = zip(*map_blocks(part, X.shape[0], max(64, (1 << 18) // len(centres))), strict=True)
        return np.concatenate(shares), np.concatenate(energies)


def _shares(rows: Array, centres: Array, stiffness: float) -> tuple[Array, Array]:
    own, squares = np.einsum("ij,ij->i", rows, rows), np.einsum("ij,ij->i", centres, centres)
    scores = squares - 2 * (rows @ centres.T)
    least = scores.min(axis=1)
    scores -= least[:, None]
    scores *= -stiffness
    np.exp(scores, out=scores)
    totals = scores.sum(axis=1)
    scores /= totals[:, None]
    return scores, np.maximum(own + least, 0.0) - np.log(totals) / stiffness
