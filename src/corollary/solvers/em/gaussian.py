"""A mixture of Gaussians as a latent-variable model for the EM engine: one compiled call per iteration.

Threads take parts of the rows, a grid fixed by their number and the size of the sums, and add their sums up in the
order of the parts: the answer does not depend on the number of threads.

With regularisation E the objective is Σ log Σ_k π_k N(x; μ_k, Σ_k) exp(−½ tr Σ_k⁻¹ E): each row stands for a cloud of
covariance E around it, whose mean log density this is. Adding E to the scatter is the exact maximiser of it in the M
step, so that the objective never falls; adding E without the factor in the E step can make it fall.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from corollary._compiled.em import dense, diagonal
from corollary._compiled.em.shares import CHUNK
from corollary.core.distribution.covariances import DENSE
from corollary.core.distribution.gaussian_summary import GaussianSummary
from corollary.core.distribution.weighted_gaussians import Gaussians, Units
from corollary.core.parallel import n_threads, rows_per_part, run_team
from corollary.core.types import Array
from corollary.solvers.em.lengths import movement_of_gain

PART, PARTS = 512, 64  # the fewest rows of a part, and the most parts
SLAB = 1 << 19  # numbers that are copied at a time from rows in another order
SHARE = 5_000_000  # products that are worth another thread: a tenth of a millisecond
Known = tuple[Any, ...]  # means, means · roots, roots, offsets, cut, ½ (see ``_compiled/em/``)
Inside = tuple[Array, Array]
LabelledRows = tuple[Array, Array, Array]  # rows, weights, components of labelled rows (−1: not known)


class Space(threading.local):
    """What the passes of a thread write to, kept from one to the next: fresh memory would cost as much as the sums."""

    def __init__(self) -> None:
        self.key: Any = None
        self.arrays: tuple[Array, ...] = ()

    def of(self, n_parts: int, lines: int, width: int, T: int, k: int, is_dense: bool) -> tuple[Array, ...]:
        """Sums of the parts, and a place for each of T threads (see ``_compiled/em/``)."""
        key = n_parts, lines, width, T, k, is_dense
        if key != self.key:
            kept = [np.empty((n_parts, lines, width)), np.empty((T, k, CHUNK))]
            kept += [np.zeros((T, 1 + is_dense, width * CHUNK)), np.empty((T, 3, CHUNK))]
            if is_dense:
                kept += [np.empty((T, 2, max(k, CHUNK)), dtype=np.int64), np.zeros((T, k, (width + 1) * CHUNK))]
            self.key, self.arrays = key, tuple(kept)
        return self.arrays


@dataclass(frozen=True)
class GaussianModel:
    """E and M steps in the given units; ``regular`` is what is added to variances, in the same units."""

    units: Units
    regular: Array
    space: Space = field(default_factory=Space, repr=False, compare=False)

    movement_tol = staticmethod(movement_of_gain)

    def e_step(self, block: LabelledRows, params: Gaussians) -> GaussianSummary:
        """Posteriors of the rows and what they contribute to the moments."""
        known, inside = _known(params, self.units.log_scale), self.units.inside
        total: GaussianSummary | None = None
        for _, _, *rows in slabs(*block):
            log_likelihood, *sums = summed(params.kind, known, rows, inside, self.space)
            found = GaussianSummary(params, log_likelihood, float(rows[1].sum()), *sums)
            total = found if total is None else total + found
        if total is None:
            raise ValueError("no rows to sum over")
        return total

    def m_step(self, summary: GaussianSummary) -> Gaussians:
        return summary.finish(self.regular)

    movement_name = "length of the next EM step in standard deviations of the components"

    def movement(self, before: Gaussians, after: Gaussians) -> float:
        return before.distance(after)

    def assigned(self, Z: Array, shares: Array, about: Array, kind: str) -> Gaussians:
        """The best parameters for given shares of rows (n, k), in these units already; ``about`` is near the means."""
        params, counts = Gaussians.blank(kind, about), shares.sum(axis=0)
        first, second = np.empty(about.shape), np.zeros(params.roots.shape)
        for k, mean in enumerate(about):
            moved = Z - mean
            first[k], scaled = shares[:, k] @ moved, moved * shares[:, k, None]
            second[min(k, len(second) - 1)] += scaled.T @ moved if kind in DENSE else (scaled * moved).sum(axis=0)
        return self.m_step(GaussianSummary(params, 0.0, float(counts.sum()), counts, first, second))

    def divided(self, Z: Array, weights: Array, codes: Array, about: Array, kind: str) -> Gaussians:
        """The same for rows that belong to one component each."""
        params, d = Gaussians.blank(kind, about), Z.shape[1]
        units = Units(np.zeros(d), np.ones(d))
        return self.m_step(replace(self, units=units).e_step((Z, weights, codes.astype(np.int32)), params))


def part_rows(n: int, length: int) -> int:
    """Rows of one part, whose sums are ``length`` numbers: few enough for many threads, and for sums to fit."""
    return -(-rows_per_part(n, length, least=PART, most=PARTS) // CHUNK) * CHUNK


def sums_shape(kind: str, k: int, d: int) -> tuple[int, int]:
    """Lines of numbers that the sums of one part take; see ``_compiled/em/``."""
    D = -(-d // 4) * 4
    return ((D if kind == "tied" else k * D) + 2 * k + 1, D) if kind in DENSE else (3 * k + 1, d)


def _known(params: Gaussians, log_scale: float) -> Known:
    """What kernels have to know of parameters; whole roots are padded with zeros to a multiple of four columns."""
    (k, d), means, roots = params.means.shape, params.means, params.roots
    if params.kind not in DENSE:
        return means, means * roots, np.ascontiguousarray(roots), params.offsets(log_scale), params.cut, 0.5
    D = -(-d // 4) * 4
    padded, centres = np.zeros((len(roots), D, D)), np.zeros((k, D))
    padded[:, :d, :d] = roots
    centres[:, :d] = (means[:, None] @ roots)[:, 0]
    return means, centres, padded, params.offsets(log_scale), params.cut, 0.5


def one_pass(kind: str, known: Known, rows: Any, inside: Inside, out: tuple[Array, Array], space: Space) -> Array:
    """One compiled pass over rows (X, weights, labels): its sums; posteriors and log densities if there is room.

    ``inside`` are the units, as what is subtracted and multiplied by.
    """
    (n, d), k, is_dense = rows[0].shape, len(known[0]), kind in DENSE
    lines, width = sums_shape(kind, k, d)
    size, total = part_rows(n, lines * width), np.empty(lines * width)
    n_parts, work = -(-n // size), n * k * (d * d if is_dense else 4 * d)
    T = max(1, min(n_threads(), n_parts, work // SHARE))
    parts, *scratch = space.of(n_parts, lines, width, T, k, is_dense)
    kernel: Any = dense.dense_pass if is_dense else diagonal.diagonal_pass
    flat = parts.reshape(n_parts, -1)
    run_team(kernel, tuple(rows), inside, known, size, parts, flat, total, out, tuple(scratch), most=T)
    return total.reshape(lines, width)


def summed(kind: str, known: Known, rows: Any, inside: Inside, space: Space) -> tuple[float, Array, Array, Array]:
    """Σ weight · log density, shares, first and second moments of rows (X, weights, labels)."""
    k, d = known[0].shape
    total = one_pass(kind, known, rows, inside, (np.empty((0, k)), np.empty(0)), space)
    second, first, counts = total[: -2 * k - 1, :d], total[-2 * k - 1 : -k - 1, :d], total[-k - 1 : -1, 0].copy()
    if kind in DENSE:
        upper = np.triu(second.reshape(-1, total.shape[1], d)[:, :d])
        second = upper + np.triu(upper, 1).transpose(0, 2, 1)
    return float(total[-1, 0]), counts, first, second


def slabs(X: Array, weights: Array, labels: Array) -> Iterator[tuple[Any, ...]]:
    """(start, stop, X, weights, labels): all rows if kernels are compiled for the layout of X, else some at a time."""
    n, d = X.shape
    usual = X.flags.c_contiguous and X.flags.writeable  # each other layout would be compiled anew
    size = n if usual else max(1, SLAB // (d * PART)) * PART
    for start in range(0, n, max(1, size)):
        own = slice(start, start + size)
        rows = X if usual else np.array(X[own], order="C")
        yield (
            start,
            min(start + size, n),
            rows,
            *(np.require(part[own], requirements=["C", "W"]) for part in (weights, labels)),
        )


def posteriors(X: Array, params: Gaussians, units: Units) -> tuple[Array, Array]:
    """Probabilities of the components (n, k) and log densities (n,) of rows, computed on threads."""
    n, known, space = X.shape[0], _known(params, units.log_scale), Space()
    shares, logs = np.empty((n, len(params.means))), np.empty(n)
    for start, stop, *rows in slabs(X, np.ones(n), np.full(n, -1, dtype=np.int32)):
        one_pass(params.kind, known, rows, units.inside, (shares[start:stop], logs[start:stop]), space)
    return shares, logs
