"""A mixture of Gaussians as a latent-variable model for the EM engine: one pass over the rows per iteration.

A few hundred rows at a time are whitened for all components by one matrix product, compared with the means, and the
rows in which a component has a share go, times its root, into one symmetric product; all that stays in the cache.

With regularisation E the objective is Σ log Σ_k π_k N(x; μ_k, Σ_k) exp(−½ tr Σ_k⁻¹ E): each row stands for a cloud of
covariance E around it, whose mean log density this is. Adding E to the scatter is the exact maximiser of it in the M
step, so that the objective never falls; adding E without the factor in the E step can make it fall.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corollary._compiled.em import gaussian as kernels
from corollary.core.gaussian import DENSE, Gaussians, Units
from corollary.core.gaussian_summary import GaussianSummary
from corollary.core.parallel import each_block
from corollary.core.types import Array

AT_REST = 1e-7  # a length that rounding can have: covariances are known to half the digits of float64 or so
LabelledRows = tuple[Array, Array, Array]  # rows, weights, components of labelled rows (−1: not known)


def chunk_rows(kind: str, k: int, d: int) -> int:
    """Rows at a time: few enough for the results to stay in cache, and not a power of two, to avoid cache conflicts."""
    fitting = (1 << 17) // (k * d) if kind in DENSE else (1 << 13) // max(k, d)
    return int(np.clip(fitting, 64, 1024)) // 16 * 16 + 8


def enter(units: Units, X: Array, out: Array) -> Array:
    """``units.enter``, compiled for the usual layouts of X."""
    if not (X.flags.c_contiguous and X.flags.writeable):  # each layout would be compiled anew
        return units.enter(X, out)
    kernels.enter(X, units.centre, 1.0 / units.scale, out)
    return out


@dataclass(frozen=True)
class GaussianModel:
    """E and M steps in the given units; ``regular`` is what is added to variances, in the same units."""

    units: Units
    regular: Array

    def e_step(self, block: LabelledRows, params: Gaussians) -> GaussianSummary:
        """Posteriors of the rows and what they contribute to the moments."""
        X, weights, labels = block
        sums = _Sums(params, X.shape[0], self.units.log_scale)
        if not sums.dense and X.flags.c_contiguous and X.flags.writeable:
            return sums.summary(sums.whole_pass(block, self.units), float(weights.sum()))
        total = 0.0
        for own in sums.chunks:
            Z = enter(self.units, X[own], sums.rows[: own.stop - own.start])
            total += sums.expect(Z, weights[own], labels[own])
            sums.add(Z)
        return sums.summary(total, float(weights.sum()))

    def m_step(self, summary: GaussianSummary) -> Gaussians:
        return summary.finish(self.regular)

    movement_name = "length of the next EM step in standard deviations of the components"

    def movement(self, before: Gaussians, after: Gaussians) -> float:
        return before.distance(after)

    def movement_tol(self, tol: float) -> float:
        """A gain is about half the squared length of its step, so a gain of ``tol`` goes with the root of it."""
        return max(float(np.sqrt(tol)), AT_REST)

    def assigned(self, X: Array, shares: Array, about: Array, kind: str) -> Gaussians:
        """The best parameters for given shares of rows (n, k), in these units already; ``about`` is near the means."""
        sums = _Sums(Gaussians.blank(kind, about), len(X))
        for own in sums.chunks:
            sums.posterior[: own.stop - own.start] = shares[own]
            sums.counts += shares[own].sum(axis=0)
            sums.add(np.ascontiguousarray(X[own]))
        return self.m_step(sums.summary(0.0, float(shares.sum())))


class _Sums:
    """Scratch space and running sums for one block of rows."""

    def __init__(self, params: Gaussians, n: int, log_scale: float = 0.0) -> None:
        k, d = params.means.shape
        self.offsets = params.offsets(log_scale)
        size = min(chunk_rows(params.kind, k, d), max(n, 1))
        self.params, self.dense = params, params.kind in DENSE
        self.chunks = [slice(start, min(start + size, n)) for start in range(0, n, size)]
        self.rows, self.posterior = np.empty((size, d)), np.empty((size, k))
        self.top, self.logs = np.empty(size), np.empty(size)
        self.counts, self.first = np.zeros(k), np.zeros((k, d))
        self.second, self.squares = np.zeros_like(params.roots), np.empty(k * size)
        self.turned = np.empty(0 if self.dense else d * size)
        if self.dense:
            self.whitened = np.empty(params.whitening[0].shape[1] * size)
            self.packed, self.product = np.empty((size, d)), np.empty((d, d))

    def expect(self, Z: Array, weights: Array, labels: Array) -> float:
        """Fill posteriors and log densities; returns Σ weight · log density."""
        params, (m, d), k = self.params, Z.shape, len(self.counts)
        squares = self.squares[: k * m].reshape(k, m)
        if self.dense:
            matrix, centres = params.whitening
            lines = matrix.shape[1]
            whitened = np.matmul(matrix.T, Z.T, out=self.whitened[: lines * m].reshape(lines, m))
            kernels.whitened_squares(whitened, centres, 0 if params.kind == "tied" else d, squares)
        else:
            turned = self.turned[: d * m].reshape(d, m)
            kernels.diagonal_squares(Z, turned, params.means * params.roots, params.roots, squares)
        top, logs = self.top[:m], self.logs[:m]
        kernels.joint(squares, self.offsets, labels, top, logs)
        kernels.exponentials(squares, top, params.cut)
        return float(kernels.settle(squares, top, weights, labels, self.posterior[:m], logs, self.counts))

    def whole_pass(self, block: LabelledRows, units: Units) -> float:
        """Both steps for a whole block in one call: with diagonal components calls would take most of the time."""
        params = self.params
        known = (params.means, params.means * params.roots, params.roots, self.offsets, params.cut)
        return float(
            kernels.diagonal_pass(
                *block, (units.centre, 1.0 / units.scale), known, len(self.top), self.rows, self.turned, self.squares,
                self.posterior, self.top, self.logs, self.counts, self.first, self.second,
            )
        )  # fmt: skip

    def add(self, Z: Array) -> None:
        """Add the moments of these rows about the present means."""
        params, posterior = self.params, self.posterior[: len(Z)]
        if not self.dense:
            kernels.diagonal_moments(Z, posterior, params.means, self.first, self.second)
            return
        self.first += posterior.T @ Z  # about zero; made about the means in the end, which costs them a rounding
        for k, mean in enumerate(params.means):
            kept = kernels.pack(Z, posterior, k, mean, self.packed)
            if kept:
                packed = self.packed[:kept]
                self.second[0 if params.kind == "tied" else k] += np.matmul(packed.T, packed, out=self.product)

    def summary(self, log_likelihood: float, weight: float) -> GaussianSummary:
        first = self.first - self.counts[:, None] * self.params.means if self.dense else self.first
        return GaussianSummary(self.params, log_likelihood, weight, self.counts, first, self.second)


def posteriors(X: Array, params: Gaussians, units: Units) -> tuple[Array, Array]:
    """Probabilities of the components (n, k) and log densities (n,) of rows, computed on threads."""
    n, (k, d) = X.shape[0], params.means.shape
    shares, logs = np.empty((n, k)), np.empty(n)

    def task(start: int, stop: int) -> None:
        sums = _Sums(params, stop - start, units.log_scale)
        ones, unknown = np.ones(stop - start), np.full(stop - start, -1, dtype=np.int32)
        for own in sums.chunks:
            m = own.stop - own.start
            Z = enter(units, X[start + own.start : start + own.stop], sums.rows[:m])
            sums.expect(Z, ones[own], unknown[own])
            shares[start + own.start : start + own.stop] = sums.posterior[:m]
            logs[start + own.start : start + own.stop] = sums.logs[:m]

    each_block(task, n, block_size(params.kind, k, d))
    return shares, logs


def block_size(kind: str, k: int, d: int) -> int:
    """Rows of one task for a thread: several chunks, to keep summaries few, but not so many that others wait."""
    return (4 if kind in DENSE else 32) * chunk_rows(kind, k, d)
