"""Distributions of a variable given its parents, learned from rows: which solver learns which of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import softmax
from sklearn.exceptions import ConvergenceWarning

from corollary.core.evidence import Certificate, Evidence, Kind, Status, honest
from corollary.core.graphical.cpd import CPD, LinearGaussian, LogisticCPD, NoisyOr
from corollary.core.types import Array
from corollary.linear.logistic import LogisticRegression
from corollary.solvers.graphical.linear_gaussian import fit_linear_gaussian
from corollary.solvers.graphical.noisy_or import fit_noisy_or

ROUNDING = 1e-10
MISSED = "share of the rows by which probabilities miss the counts"
NEVER = 40.0  # how far below the others the log-odds of a state lie that no row has


@dataclass(frozen=True)
class Family:
    """Rows of a variable and its parents, parted by kind, with weights."""

    codes: Array  # int64 (n, parents with states)
    cards: tuple[int, ...]
    numbers: Array  # float64 (n, parents that are numbers)
    child: Array
    card: int  # of the child; 0 for a number
    weights: Array
    unit: float = 1.0  # what a weight of one has become


def learned(cpd: CPD, family: Family) -> tuple[CPD, Evidence | None]:
    """The distribution with its numbers learned from rows, and what can be said of them.

    One whose numbers are given is kept as it is, and only checked against its variable: nothing is claimed of it.
    """
    cpd.check(family.cards, family.numbers.shape[1], family.card)
    if cpd.known:
        return cpd, None
    found: tuple[CPD, Evidence] = _LEARNERS[type(cpd)](cpd, family)
    return found


def _closed(solver: str, name: str, residual: float, notes: tuple[str, ...] = ()) -> Evidence:
    """Of a closed form, with its residual."""
    certificate = Certificate(Kind.EXACT, name, residual, ROUNDING)
    return Evidence(honest(Status.EXACT, certificate), certificate, solver, notes=notes)


def _noisy_or(cpd: NoisyOr, family: Family) -> tuple[CPD, Evidence]:
    scaled = NoisyOr(alpha=cpd.alpha * family.unit)
    found, evidence = fit_noisy_or(scaled, family.codes, family.child, family.weights)
    return NoisyOr(found.leak, found.strengths, cpd.alpha), evidence


def _linear_gaussian(cpd: LinearGaussian, family: Family) -> tuple[CPD, Evidence]:
    scaled = LinearGaussian(alpha=cpd.alpha * family.unit)
    found, slope, notes = fit_linear_gaussian(
        scaled, family.codes, family.numbers, family.child, family.weights, family.cards
    )  # fmt: skip
    fitted = LinearGaussian(found.intercept, found.coef, found.variance, cpd.alpha)
    return fitted, _closed("least squares", "correlation of what is left with a parent", slope, notes)


def _logistic(cpd: LogisticCPD, family: Family) -> tuple[CPD, Evidence]:
    """Softmax regression on indicators of states and on numbers, by the library's own solver."""
    indicators = [family.codes[:, j, None] == np.arange(1, card) for j, card in enumerate(family.cards)]
    Z = np.concatenate([*indicators, family.numbers], axis=1).astype(np.float64)
    child, used = family.child.astype(np.int64), family.weights > 0
    present = np.unique(child[used])
    coef, intercept = np.zeros((family.card, Z.shape[1])), np.zeros(family.card)
    evidence: Evidence | None = None
    if len(present) > 1 and Z.shape[1]:
        model = LogisticRegression(C=cpd.C / family.unit)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # said by the evidence, which the network weighs
            model.fit(Z[used], child[used], sample_weight=family.weights[used])
        two = len(present) == 2
        coef[present[1:] if two else present] = model.coef_
        intercept[present[1:] if two else present] = model.intercept_
        evidence = model.evidence_
    else:  # nothing depends on parents
        shares = np.bincount(child, family.weights, minlength=family.card)[present]
        intercept[present] = np.log(shares / shares.sum())
    absent = np.setdiff1d(np.arange(family.card), present)
    intercept[absent] = intercept[present].min() - NEVER
    return LogisticCPD(coef, intercept, family.cards, cpd.C), evidence or _shares_of_rows(intercept, family)


def _shares_of_rows(intercept: Array, family: Family) -> Evidence:
    """That the same probabilities for all rows are the shares of the states, each counted by itself."""
    rows = [float(family.weights[family.child == state].sum()) for state in range(family.card)]
    off = np.abs(softmax(intercept) - np.array(rows) / family.weights.sum())
    return _closed("counting", MISSED, float(off.max()))


_LEARNERS: dict[type[CPD], Callable[..., tuple[CPD, Evidence]]] = {
    NoisyOr: _noisy_or,
    LogisticCPD: _logistic,
    LinearGaussian: _linear_gaussian,
}
