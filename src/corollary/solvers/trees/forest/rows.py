"""The rows that the trees of a forest share: binned, in an order of their own, with what is to be learnt."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse

from corollary.core.parallel import each_block
from corollary.core.scaling import power_of_two
from corollary.core.trees.binning import Binner
from corollary.core.types import Array
from corollary.solvers.draws import row_keys

MOST_ROWS = 2**26  # that weights may stand for when a tree's sample is drawn


@dataclass(frozen=True, eq=False)
class Target:
    """What is to be learnt, in the order of X."""

    weights: Array
    n_classes: int = 0
    label: Array | None = None  # (rows,) or, for several outputs, (rows, outputs)
    y: Array | None = None  # (rows, outputs), for regression
    class_factors: Array | None = None
    balance_draws: bool = False
    blocks: tuple[int, ...] = ()  # classes of each output, if there are several

    @property
    def answers(self) -> Array:
        found = self.label if self.y is None else self.y
        assert found is not None
        return found


@dataclass(frozen=True, eq=False)
class BinnedRows:
    """The training rows, in an order that does not depend on how they came."""

    codes: Array  # (columns, rows), contiguous
    binner: Binner
    edges: Array | None  # float64 (2, columns, ·): upper ends and means of bins, if cuts are drawn at random
    n_classes: int  # of all outputs together, 0 for regression
    label: Array  # int32 (rows,), or (rows, outputs): classes of later outputs follow those of earlier ones; or no rows
    y: Array  # float64 (rows, outputs) for regression, else (0, 1)
    sums: Array  # y as sums use it: centred, scaled, and rounded so that sums of them are exact
    weights: Array  # float64 (rows,)
    class_factors: Array | None  # weight of each class
    balance_draws: bool  # weigh classes by how often each was drawn
    draws: int  # 0: every tree sees all rows
    ends: Array  # where each row ends when rows are laid end to end, or nothing if all weigh the same
    scale: float = 1.0  # of y in sums
    blocks: tuple[int, ...] = ()  # classes of each output, if there are several

    @staticmethod
    def of(
        X: Any, target: Target, binner: Binner, draws: int, *, random_cuts: bool, relative: bool
    ) -> tuple[BinnedRows, Array, Array]:
        """(rows sorted by what is in them, so that their order cannot matter; that order; keys of the rows of X)."""
        keys = row_keys(X, target.answers)
        order = np.argsort(keys, kind="stable")
        codes = binner.transform(X, order="F").T
        weights = target.weights[order]
        y = np.empty((0, 1)) if target.y is None else target.y[order]
        sums, scale = centred(y, weights, draws, relative=relative) if len(y) else (y, 1.0)
        rows = BinnedRows(
            codes=_in_order(codes, order),
            binner=binner,
            edges=bin_edges(X, codes, binner, target.weights) if random_cuts else None,
            n_classes=target.n_classes,
            label=np.empty(0, dtype=np.int32) if target.label is None else target.label[order].astype(np.int32),
            y=y,
            sums=sums,
            scale=scale,
            weights=weights,
            class_factors=target.class_factors,
            balance_draws=target.balance_draws,
            draws=draws,
            ends=np.empty(0) if np.ptp(weights) == 0 else np.cumsum(weights),
            blocks=target.blocks,
        )
        return rows, order, keys

    @functools.cached_property
    def numbers(self) -> Array:
        """(rows, columns) float64: the bins, or their means if cuts are drawn; codes of categories; NaN is missing."""
        out = self.codes.T.astype(np.float64, order="F")
        for f, (n_bins, own) in enumerate(zip(self.binner.n_bins, self.codes, strict=True)):
            if self.edges is not None and not self.binner.categorical[f]:
                out[:, f] = self.edges[1, f, np.minimum(own, self.edges.shape[2] - 1)]
            out[own == n_bins, f] = np.nan
        return out

    @property
    def n(self) -> int:
        return int(self.codes.shape[1])

    @property
    def n_outputs(self) -> int:
        """Outputs of classification."""
        return max(1, len(self.blocks))

    def class_totals(self, mass: Array) -> Array:
        """Mass of each class of each output."""
        weights = mass if self.n_outputs == 1 else np.repeat(mass, self.n_outputs)
        return np.bincount(self.label.ravel(), weights=weights, minlength=self.n_classes)

    def drawn(self, seed: int, out: Array | None = None) -> Array:
        """How often each row is drawn for the tree of that seed."""
        return draw_counts(self.ends, self.n, self.draws, seed, out)

    def not_in(self, counts: Array) -> Array:
        """Rows that count and were not drawn."""
        return np.flatnonzero((counts == 0) & (self.weights > 0)).astype(np.int32)

    def mass(self, counts: Array | None) -> Array:
        """With what weight each row enters a tree."""
        mass = self.weights if counts is None else counts.astype(np.float64)
        factors = self.class_factors
        if self.balance_draws:
            by_class, blocks = self.class_totals(mass), self.blocks or (self.n_classes,)
            factors = mass.sum() / (np.repeat(blocks, blocks) * np.where(by_class > 0, by_class, 1.0))
        if factors is None:
            return mass
        of_rows = factors[self.label.reshape(self.n, -1)].prod(axis=1)
        if counts is not None:
            of_rows = _on_a_grid(of_rows, self.draws)
        weighted: Array = mass * of_rows
        return weighted if weighted.any() else self.weights * of_rows


def _on_a_grid(factors: Array, draws: int) -> Array:
    """Factors rounded such that no sum over ``draws`` rows is: a row drawn thrice then counts as three rows do.

    As they are where one is so small beside the largest that a billionth of it would be lost.
    """
    unit = 2.0 ** (np.ceil(np.log2(factors.max(initial=1e-300))) + np.ceil(np.log2(draws + 1)) - 52)
    rounded = np.rint(factors / unit) * unit
    return rounded if (np.abs(rounded - factors) <= 1e-9 * factors).all() else factors


def draw_counts(ends: Array, n: int, draws: int, seed: int, out: Array | None = None) -> Array:
    """How often each of n rows is drawn for the tree of that seed; ``ends`` as in :class:`BinnedRows`."""
    from corollary._compiled.trees.forest.grow import draw

    counts = np.empty(n, dtype=np.int32) if out is None else out
    counts[:] = 0
    draw(ends, draws, np.array([seed], dtype=np.uint64), counts)
    return counts


def _in_order(codes: Array, order: Array) -> Array:
    """codes[:, order], contiguous. Threads over columns."""
    out = np.empty_like(codes, order="C")
    each_block(lambda a, b: np.take(codes[a:b], order, axis=1, out=out[a:b], mode="clip"), len(codes), 1)
    return out


def n_rows(weights: Array) -> float:
    """How many rows there are: whole weights count as so many, unless drawing them all would take for ever."""
    total = float(weights.sum())
    whole = total <= MOST_ROWS and bool(np.all(weights == np.rint(weights)))
    return total if whole else float((weights > 0).sum())


def n_draws(max_samples: Any, weights: Array) -> int:
    """Rows in each tree's sample."""
    total = n_rows(weights)
    if max_samples is None:
        return int(total)
    return int(max_samples) if isinstance(max_samples, Integral) else max(1, int(max_samples * total))


def centred(y: Array, weights: Array, draws: int, *, relative: bool = False) -> tuple[Array, float]:
    """y less a number near its mean, over a power of two that makes it about 1 or over the mean; and that divisor.

    What is taken away has few digits, so that numbers of few digits stay such, and splits that are equally good stay
    equal. Numbers are rounded to steps so coarse that no sum of up to ``draws`` rows is rounded, and no coarser.
    """
    kept = weights > 0
    middle = np.average(y[kept], axis=0, weights=weights[kept])
    if not relative:
        spread = np.abs(y[kept] - middle).max(axis=0, initial=0.0)
        step = 2.0 ** (np.floor(np.log2(np.where(spread > 0, spread, 1.0))) - 2)
        middle = np.where(spread > 0, np.rint(middle / step) * step, middle)
    moved = y - middle
    largest = np.abs(moved[kept]).max(axis=0, initial=0.0)
    scale = float(middle[0]) if relative else 1.0 / power_of_two(float(largest.max(initial=0.0)))
    moved, largest = moved / scale, largest / scale
    steps = 52 - int(np.ceil(np.log2(max(draws, n_rows(weights)) + 1)))
    unit = 2.0 ** (np.ceil(np.log2(np.where(largest > 0, largest, 1.0))) - steps)
    return np.rint(moved / unit) * unit, float(scale)


def bin_edges(X: Any, codes: Array, binner: Binner, weights: Array) -> Array:
    """(2, columns, ·): upper ends of bins, and the weighted means of the numbers in them.

    Codes are (columns, rows) in the order of X. Columns of categories have means 0.
    """
    edges, width = np.zeros((2, *binner.thresholds.shape)), max(binner.width, binner.thresholds.shape[1])
    edges[0] = binner.thresholds
    X = X.tocsc() if scipy.sparse.issparse(X) else X
    for f in np.flatnonzero(~binner.categorical):
        values = X[:, [f]].toarray()[:, 0] if scipy.sparse.issparse(X) else X[:, f]
        known = (codes[f] < binner.n_bins[f]) & (weights > 0)
        where, mass = codes[f][known], weights[known]
        total = np.bincount(where, weights=values[known].astype(np.float64) * mass, minlength=width)
        mass = np.bincount(where, weights=mass, minlength=width)
        means = np.where(mass > 0, total / np.where(mass > 0, mass, 1.0), -np.inf)
        edges[1, f] = np.maximum.accumulate(means)[: edges.shape[2]]  # a bin without rows is where the one before it is
    return edges
