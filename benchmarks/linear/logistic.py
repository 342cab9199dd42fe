r"""Logistic and softmax regression with an L2 penalty, dense, with an intercept that is not penalised.

.. math:: C \sum_i \ell(y_i, x_i^\top w + b) + \tfrac12 \lVert w \rVert^2

The answers are compared by the value of this objective, the same sum for all; 1e-7 of it is what a careful user would
call solved. LIBLINEAR as shipped in scikit-learn penalises the intercept: with ``intercept_scaling=100`` by a term too
small to matter here; the original is told not to (``-R``). Each is timed from the same NumPy arrays, conversions
included, because a user has to pay for them.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.sparse
from scipy.special import expit, logsumexp

from benchmarks.workload import OURS, Candidate, Data, Quality, Workload, decades, load

LIMIT = 10_000  # iterations: the tolerance is what must end a fit


def _features(rng: np.random.Generator, n: int, d: int) -> Any:
    """Standard normal columns with one common factor, so that they are correlated as measured columns are."""
    X = rng.standard_normal((n, d))
    X += 0.7 * rng.standard_normal((n, 1))
    return X


def binary(n: int, d: int) -> Data:
    """Labels drawn from a logistic model with margins of standard deviation two or so; a third of them positive."""
    rng = np.random.default_rng(0)
    X = _features(rng, n, d)
    margin = X @ (2 * rng.standard_normal(d) / np.sqrt(d)) - 1.0
    return Data(X, (rng.random(n) < expit(margin)).astype(np.int64), {"C": 1.0})


def multiclass(n: int, d: int) -> Data:
    """Ten classes drawn from a softmax model."""
    rng = np.random.default_rng(0)
    X = _features(rng, n, d)
    scores = X @ (2 * rng.standard_normal((d, 10)) / np.sqrt(d))
    return Data(X, np.argmax(scores + rng.gumbel(size=scores.shape), axis=1), {"C": 1.0})


def logistic_loss(data: Data, fit: Any) -> float:
    """C times the summed loss; ``y`` holds two labels, the larger of which is the positive one."""
    margin = data.X @ np.ravel(fit.coef_) + float(np.ravel(fit.intercept_)[0])
    sign = np.where(data.y > 0, 1.0, -1.0)
    return float(data.settings["C"] * np.logaddexp(0.0, -sign * margin).sum())


def logistic_objective(data: Data, fit: Any) -> float:
    weights = np.ravel(fit.coef_)
    return logistic_loss(data, fit) + 0.5 * float(weights @ weights)


def softmax_objective(data: Data, fit: Any) -> float:
    scores = data.X @ fit.coef_.T + fit.intercept_
    losses = logsumexp(scores, axis=1) - scores[np.arange(len(data.y)), data.y]
    return float(data.settings["C"] * losses.sum() + 0.5 * (fit.coef_**2).sum())


def estimator(module: str, **arguments: Any) -> Callable[[Data, float], Any]:
    """A candidate that follows scikit-learn's interface."""

    def fit(data: Data, tolerance: float) -> Any:
        return load(module, "LogisticRegression")(C=data.settings["C"], tol=tolerance, **arguments).fit(data.X, data.y)

    return fit


def liblinear(options: str, bias: bool) -> Callable[[Data, float], Any]:
    """The original LIBLINEAR through its own Python interface; rows become its sparse nodes."""

    def fit(data: Data, tolerance: float) -> Any:
        module = "liblinear.liblinearutil"
        problem = load(module, "problem")(np.asarray(data.y, dtype=float), scipy.sparse.csr_matrix(data.X))
        command = f"{options} -c {data.settings['C']!r} -e {tolerance!r} -q" + " -B 1 -R" * bias
        model = load(module, "train")(problem, load(module, "parameter")(command))
        weights, intercept = model.get_decfun()
        sign = 1.0 if model.get_labels()[0] > 0 else -1.0
        return SimpleNamespace(coef_=sign * np.array(weights), intercept_=sign * float(intercept if bias else 0.0))

    return fit


def _reference(objective: Callable[[Data, Any], float]) -> Callable[[Data], float]:
    def reference(data: Data) -> float:
        fit = estimator("sklearn.linear_model", solver="newton-cg", max_iter=LIMIT)
        return objective(data, fit(data, 1e-8))

    return reference


_LADDER = decades(1e-1, 1e-9)
_SKLEARN, _INTEL = "sklearn.linear_model", "sklearnex.linear_model"


def _solver(module: str, solver: str, **arguments: Any) -> Callable[[Data, float], Any]:
    return estimator(module, solver=solver, max_iter=LIMIT, **arguments)


SMOOTH = (
    Candidate(OURS, OURS, estimator(OURS), _LADDER),
    Candidate("scikit-learn lbfgs", "sklearn", _solver(_SKLEARN, "lbfgs"), _LADDER),
    Candidate("scikit-learn newton-cg", "sklearn", _solver(_SKLEARN, "newton-cg"), _LADDER),
    # its other solvers hand the work back to scikit-learn; its tolerance is not divided by the number of rows
    Candidate("scikit-learn-intelex", "sklearnex", _solver(_INTEL, "lbfgs"), decades(1e2, 1e-6)),
)
# newton-cholesky is left out of the softmax: with ten classes one fit of a tenth of the rows took longer than any other
BINARY = (
    *SMOOTH,
    Candidate("scikit-learn newton-cholesky", "sklearn", _solver(_SKLEARN, "newton-cholesky"), _LADDER),
    Candidate("scikit-learn liblinear", "sklearn", _solver(_SKLEARN, "liblinear", intercept_scaling=100), _LADDER),
    Candidate("LIBLINEAR", "liblinear", liblinear("-s 0", bias=True), _LADDER),
)

WORKLOADS = (
    Workload(
        "logistic-l2",
        "Logistic regression, L2, dense",
        binary,
        sizes=(500_000, 50),
        quick_sizes=(3_000, 10),
        candidates=BINARY,
        quality=Quality("objective", logistic_objective, 1e-7, reference=_reference(logistic_objective)),
    ),
    Workload(
        "softmax",
        "Softmax regression, 10 classes, L2, dense",
        multiclass,
        sizes=(100_000, 64),
        quick_sizes=(2_000, 8),
        candidates=SMOOTH,
        quality=Quality("objective", softmax_objective, 1e-7, reference=_reference(softmax_objective)),
    ),
)
