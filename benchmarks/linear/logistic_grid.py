r"""Logistic regression with an L1 penalty or an elastic net in every regime: a grid of data, strengths and accuracies.

.. math:: C \sum_i \log(1 + e^{-y_i x_i^\top w}) + \rho \lVert w \rVert_1 + \frac{1 - \rho}{2} \lVert w \rVert^2

without an intercept, which celer cannot fit and LIBLINEAR would penalise. Strengths 1/C are parts of the least at which
every coefficient is zero. A cell is won by whoever first has an objective within 1e-4 or 1e-8 of the best; the best is
ours at a tight tolerance, whose duality gap proves it, unless somebody finds a better one.
"""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from benchmarks.linear.lasso_grid import LARGE_SPARSE, Kind, cells, drawn
from benchmarks.linear.logistic import logistic_loss
from benchmarks.workload import OURS, Candidate, Data, Quality, Workload, decades, load

TITLE = "Logistic regression, L1 and elastic net, every regime"
DIVISORS, MIXES, ACCURACIES = (10, 100), (1.0, 0.5), (1e-4, 1e-8)
_LADDER = tuple(step * part for step in decades(1.0, 1e-8) for part in (1.0, 0.3))
EXTRA = ((LARGE_SPARSE, 30, 1.0, 1e-6), (LARGE_SPARSE, 300, 1.0, 1e-6))


def _data(kind: Kind, divisor: float, mix: float, n: int, d: int) -> Data:
    """The classes are the signs of the lasso's targets."""
    data = drawn(kind.make, n, d)
    y = np.where(data.y > 0, 1, -1)
    return Data(data.X, y, {"C": divisor * mix / float(np.abs(data.X.T @ (0.5 * y)).max()), "l1_ratio": mix})


def objective(data: Data, fit: Any) -> float:
    w, mix = np.ravel(fit.coef_), data.settings["l1_ratio"]
    return logistic_loss(data, fit) + mix * float(np.abs(w).sum()) + 0.5 * (1 - mix) * float(w @ w)


def _estimator(module: str, arguments: dict[str, Any], data: Data, tolerance: float) -> Any:
    C, mix = data.settings["C"], data.settings["l1_ratio"]
    shared = {"C": C, "l1_ratio": mix, "tol": tolerance, "fit_intercept": False, **arguments}
    return load(module, "LogisticRegression")(**shared).fit(data.X, data.y)


def _celer(data: Data, tolerance: float) -> Any:
    model = load("celer", "LogisticRegression")(C=data.settings["C"], tol=tolerance)
    return SimpleNamespace(coef_=model.fit(data.X, data.y).coef_, intercept_=0.0)


def _skglm(data: Data, tolerance: float) -> Any:
    mix, alpha = data.settings["l1_ratio"], 1.0 / (data.settings["C"] * len(data.y))
    tolerance *= alpha * mix  # it stops by the largest violation, which is in units of the strength
    solver = load("skglm.solvers", "ProxNewton")(fit_intercept=False, tol=tolerance, max_iter=100)
    penalty = load("skglm.penalties", "L1_plus_L2")(alpha, mix) if mix < 1 else load("skglm.penalties", "L1")(alpha)
    model = load("skglm", "GeneralizedLinearEstimator")(load("skglm.datafits", "Logistic")(), penalty, solver)
    model.fit(data.X, data.y)
    return SimpleNamespace(coef_=model.coef_, intercept_=0.0)


def _reference(data: Data) -> float:
    return objective(data, _estimator(OURS, {}, data, 1e-11))


def _candidates(mix: float) -> tuple[Candidate, ...]:
    def sklearn(solver: str) -> Candidate:
        arguments = {"solver": solver, "max_iter": 100_000, "random_state": 0}
        fit = partial(_estimator, "sklearn.linear_model", arguments)
        return Candidate(f"scikit-learn {solver}", "sklearn", fit, decades(1e-1, 1e-9))

    several = (
        Candidate(OURS, OURS, partial(_estimator, OURS, {}), _LADDER),
        Candidate("skglm", "skglm", _skglm, decades(1.0, 1e-8)),
    )
    if mix < 1:
        return (*several, sklearn("saga"))
    return (*several, Candidate("celer", "celer", _celer, decades(1e-1, 1e-9)), sklearn("liblinear"))


def _cell(kind: Kind, divisor: int, mix: float, accuracy: float) -> Workload:
    cell = {"data": kind.title, "1/C": f"max/{divisor}", "l1_ratio": f"{mix:g}", "within": f"{accuracy:g}"}
    return Workload(
        f"logistic-{kind.name}-{divisor}-{mix:g}-{accuracy:g}",
        f"logistic, {kind.title}, max/{divisor}, l1_ratio {mix:g}, within {accuracy:g}",
        partial(_data, kind, divisor, mix),
        kind.sizes,
        kind.quick_sizes,
        _candidates(mix),
        Quality("objective", objective, accuracy, reference=_reference),
        grid=TITLE,
        cell=cell,
    )


WORKLOADS = cells(_cell, DIVISORS, MIXES, ACCURACIES, EXTRA)
