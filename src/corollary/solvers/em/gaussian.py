"""A mixture of Gaussians as a latent-variable model for the EM engine: one compiled call per iteration.

Threads take parts of the rows, a grid fixed by their number and the size of the sums, and add their sums up in the
order of the parts: the answer does not depend on the number of threads.

With regularisation E the objective is Σ log Σ_k π_k N(x; μ_k, Σ_k) exp(−½ tr Σ_k⁻¹ E): each row stands for a cloud of
covariance E around it, whose mean log density this is. Adding E to the scatter is the exact maximiser of it in the M
step, so that the objective never falls; adding E without the factor in the E step can make it fall.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from corollary._compiled.em import dense, diagonal
from corollary._compiled.em.shares import CHUNK
from corollary.core.gaussian import DENSE, Gaussians, Units
from corollary.core.gaussian_summary import GaussianSummary
from corollary.core.parallel import n_threads, run_team
from corollary.core.types import Array

AT_REST = 1e-7  # a length that rounding can have: covariances are known to half the digits of float64 or so
PART, PARTS, FEWEST = 512, 64, 16  # the fewest rows of a part, the most parts, and the most if their sums are large
SUMS = 1 << 23  # numbers in the sums of all parts
SLAB = 1 << 19  # numbers that are copied at a time from rows in another order
SHARE = 5_000_000  # products that are worth another thread: a tenth of a millisecond
LabelledRows = tuple[Array, Array, Array]  # rows, weights, components of labelled rows (−1: not known)


@dataclass(frozen=True)
class GaussianModel:
    """E and M steps in the given units; ``regular`` is what is added to variances, in the same units."""

    units: Units
    regular: Array

    def e_step(self, block: LabelledRows, params: Gaussians) -> GaussianSummary:
        """Posteriors of the rows and what they contribute to the moments."""
        known = _known(params, self.units.log_scale)
        found = (_summary(params, known, rows, self.units) for _, _, *rows in _slabs(*block))
        total = next(found)
        for part in found:
            total = total + part
        return total

    def m_step(self, summary: GaussianSummary) -> Gaussians:
        return summary.finish(self.regular)

    movement_name = "length of the next EM step in standard deviations of the components"

    def movement(self, before: Gaussians, after: Gaussians) -> float:
        return before.distance(after)

    def movement_tol(self, tol: float) -> float:
        """A gain is about half the squared length of its step, so a gain of ``tol`` goes with the root of it."""
        return max(float(np.sqrt(tol)), AT_REST)

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
    parts = int(np.clip(SUMS // length, FEWEST, PARTS))
    return -(-max(PART, -(-n // parts)) // CHUNK) * CHUNK


def sums_shape(kind: str, k: int, d: int) -> tuple[int, int]:
    """Lines of numbers that the sums of one part take; see ``_compiled/em/``."""
    D = -(-d // 4) * 4
    return ((D if kind == "tied" else k * D) + 2 * k + 1, D) if kind in DENSE else (3 * k + 1, d)


def _known(params: Gaussians, log_scale: float) -> tuple[Array, ...]:
    """What kernels have to know of parameters; whole roots are padded with zeros to a multiple of four columns."""
    (k, d), means, roots = params.means.shape, params.means, params.roots
    if params.kind not in DENSE:
        return means, means * roots, np.ascontiguousarray(roots), params.offsets(log_scale), params.cut
    D = -(-d // 4) * 4
    padded, centres = np.zeros((len(roots), D, D)), np.zeros((k, D))
    padded[:, :d, :d] = roots
    centres[:, :d] = (means[:, None] @ roots)[:, 0]
    return means, centres, padded, params.offsets(log_scale), params.cut


def _pass(params: Gaussians, known: tuple[Array, ...], rows: Any, units: Units, out: tuple[Array, Array]) -> Array:
    """One compiled pass over rows (X, weights, labels): its sums; posteriors and log densities if there is room."""
    (n, d), k, is_dense = rows[0].shape, len(params.means), params.kind in DENSE
    lines, width = sums_shape(params.kind, k, d)
    size = part_rows(n, lines * width)
    parts, total = np.empty((-(-n // size), lines, width)), np.empty(lines * width)
    work = n * k * (d * d if is_dense else 4 * d)
    T = max(1, min(n_threads(), len(parts), work // SHARE))
    scratch: tuple[Array, ...] = (
        np.empty((T, k, CHUNK)),
        np.zeros((T, 1 + is_dense, width * CHUNK)),
        np.empty((T, 3, CHUNK)),
    )
    if is_dense:
        scratch += np.empty((T, 2, max(k, CHUNK)), dtype=np.int64), np.zeros((T, k, (width + 1) * CHUNK))
    kernel: Any = dense.dense_pass if is_dense else diagonal.diagonal_pass
    inside, flat = (units.centre, 1.0 / units.scale), parts.reshape(len(parts), -1)
    run_team(kernel, rows, inside, known, size, parts, flat, total, out, scratch, most=T)
    return total.reshape(lines, width)


def _summary(params: Gaussians, known: tuple[Array, ...], rows: Any, units: Units) -> GaussianSummary:
    """What rows (X, weights, labels) contribute."""
    k, d = params.means.shape
    total = _pass(params, known, tuple(rows), units, (np.empty((0, k)), np.empty(0)))
    second, first, counts = total[: -2 * k - 1, :d], total[-2 * k - 1 : -k - 1, :d], total[-k - 1 : -1, 0].copy()
    if params.kind in DENSE:
        upper = np.triu(second.reshape(-1, total.shape[1], d)[:, :d])
        second = upper + np.triu(upper, 1).transpose(0, 2, 1)
    return GaussianSummary(params, float(total[-1, 0]), float(rows[1].sum()), counts, first, second)


def _slabs(X: Array, weights: Array, labels: Array) -> Iterator[tuple[Any, ...]]:
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
    n, known = X.shape[0], _known(params, units.log_scale)
    shares, logs = np.empty((n, len(params.means))), np.empty(n)
    for start, stop, *rows in _slabs(X, np.ones(n), np.full(n, -1, dtype=np.int32)):
        _pass(params, known, tuple(rows), units, (shares[start:stop], logs[start:stop]))
    return shares, logs
