r"""Lasso and elastic net in every regime: a grid of data, strengths, mixes and gaps.

.. math:: P(w) = \frac{1}{2n} \lVert y - Xw \rVert^2
          + \alpha \Big(\rho \lVert w \rVert_1 + \frac{1 - \rho}{2} \lVert w \rVert^2\Big)

without an intercept, as in ``lasso.py``. Strengths are parts of the least α at which every coefficient is zero. A cell
is won by whoever first has a duality gap, relative to :math:`P(0)` and worked out here from the coefficients alone, of
at most 1e-4 or 1e-8.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import product
from typing import Any

import numpy as np

from benchmarks.linear import lasso
from benchmarks.workload import OURS, Candidate, Data, Quality, Workload, load

TITLE = "Lasso and elastic net, every regime"
DIVISORS, MIXES, GAPS = (10, 100, 1000), (1.0, 0.5, 0.1), (1e-4, 1e-8)


@dataclass(frozen=True)
class Kind:
    """One kind of data: X and y, and whether a peer gains by forming XᵀX."""

    name: str
    title: str
    make: Callable[[int, int], Data]
    sizes: tuple[int, int]
    quick_sizes: tuple[int, int]
    tall: bool = False


KINDS = (
    Kind("dense-tall", "dense, n ≫ d", lasso.dense, (8_000, 200), (40, 8), tall=True),
    Kind("dense-square", "dense, n = d", lasso.dense, (1_000, 1_000), (20, 20), tall=True),
    Kind("dense-wide", "dense, d ≫ n", lasso.dense, (300, 3_000), (12, 30)),
    Kind(
        "correlated",
        "dense, d ≫ n, neighbours correlated 0.95",
        partial(lasso.dense, correlation=0.95),
        (300, 3_000),
        (10, 12),
    ),
    Kind("sparse-tall", "sparse text, n ≫ d", lasso.sparse, (4_000, 500), (40, 12)),
    Kind("sparse-square", "sparse, n = d, 100 entries a row", lasso.scattered, (3_000, 3_000), (20, 20)),
    Kind("sparse-wide", "sparse text, d ≫ n", lasso.sparse, (2_000, 10_000), (12, 30)),
)
LARGE = Kind("dense-large", "dense, d ≫ n", lasso.dense, (1_000, 10_000), (12, 30))
LARGE_SPARSE = Kind("sparse-large", "sparse, d > n, 100 entries a row", lasso.scattered, (30_000, 50_000), (12, 30))
EXTRA = ((LARGE, 50, 1.0, 1e-5), (LARGE, 50, 0.5, 1e-5), (LARGE_SPARSE, 100, 1.0, 1e-6))


@lru_cache(maxsize=1)
def drawn(make: Callable[[int, int], Data], n: int, d: int) -> Data:
    """Cells of the same data follow each other."""
    return make(n, d)


def _data(kind: Kind, divisor: float, mix: float, n: int, d: int) -> Data:
    data = drawn(kind.make, n, d)
    return Data(data.X, data.y, {"alpha": data.settings["alphas"][0] / (mix * divisor), "l1_ratio": mix})


def _gap(data: Data, fit: Any) -> float:
    return lasso.relative_gap(data, np.ravel(fit.coef_), data.settings["alpha"], data.settings["l1_ratio"])


def _fit(module: str, arguments: dict[str, Any], data: Data, tolerance: float) -> Any:
    alpha, mix = data.settings["alpha"], data.settings["l1_ratio"]
    shared = {"alpha": alpha, "tol": tolerance, "fit_intercept": False, **arguments}
    if mix < 1:
        return load(module, "ElasticNet")(l1_ratio=mix, **shared).fit(data.X, data.y)
    return load(module, "Lasso")(**shared).fit(data.X, data.y)


def _skglm(data: Data, tolerance: float) -> Any:
    """It stops by the largest violation, which is in units of the strength."""
    strength = data.settings["alpha"] * data.settings["l1_ratio"]
    return _fit("skglm", {"max_iter": 200}, data, tolerance * strength)


def _ladder(gap: float, first: float, steps: int) -> tuple[float, ...]:
    """Tolerances from ``first`` times the gap downwards, a third of the one before each."""
    return tuple(float(f"{gap * first / 3**k:.3g}") for k in range(steps))


def _candidates(kind: Kind, gap: float) -> tuple[Candidate, ...]:
    """Everybody's own tolerance is another number: each climbs down until the gap is reached."""
    many = {"max_iter": lasso.LIMIT}
    found = (
        Candidate(OURS, OURS, partial(_fit, OURS, {}), _ladder(gap, 100.0, 10)),
        Candidate("celer", "celer", partial(_fit, "celer", {}), _ladder(gap, 3.0, 6)),
        Candidate("skglm", "skglm", _skglm, _ladder(gap, 3_000.0, 16)),
        Candidate("scikit-learn", "sklearn", partial(_fit, "sklearn.linear_model", many), _ladder(gap, 0.5, 4)),
    )
    if not kind.tall:
        return found
    gram = partial(_fit, "sklearn.linear_model", {**many, "precompute": True})
    return (*found, Candidate("scikit-learn, XᵀX", "sklearn", gram, _ladder(gap, 0.5, 4)))


def _cell(kind: Kind, divisor: int, mix: float, gap: float) -> Workload:
    quality = Quality("relative gap", _gap, gap, absolute=True)
    cell = {"data": kind.title, "α": f"α_max/{divisor}", "l1_ratio": f"{mix:g}", "gap": f"{gap:g}"}
    return Workload(
        f"{kind.name}-{divisor}-{mix:g}-{gap:g}",
        f"{kind.title}, α_max/{divisor}, l1_ratio {mix:g}, gap {gap:g}",
        partial(_data, kind, divisor, mix),
        kind.sizes,
        kind.quick_sizes,
        _candidates(kind, gap),
        quality,
        grid=TITLE,
        cell=cell,
    )


def cells(
    make: Callable[[Kind, int, float, float], Workload],
    divisors: tuple[int, ...],
    mixes: tuple[float, ...],
    ends: tuple[float, ...],
    extra: tuple[tuple[Kind, int, float, float], ...],
) -> tuple[Workload, ...]:
    """Every kind of data with every strength, mix and end (a gap or an accuracy), and some cells more."""
    return tuple(make(*cell) for cell in (*product(KINDS, divisors, mixes, ends), *extra))


WORKLOADS = cells(_cell, DIVISORS, MIXES, GAPS, EXTRA)
