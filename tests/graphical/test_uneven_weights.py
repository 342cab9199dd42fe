"""Networks of rows whose weights are tiny, or one of which outweighs all others: what is claimed is true."""

from __future__ import annotations

from fractions import Fraction
from math import log
from typing import Any

import numpy as np
import pytest

from corollary.base import EvidenceWarning
from corollary.core.types import Array
from corollary.graphical import BayesianNetwork, ChowLiu, HillClimb
from corollary.referee.structures import no_better_move
from corollary.solvers.graphical.learning.scores import Score

CRITERIA = ("bic", "aic", "bdeu", "k2", "log-likelihood")


def twice_the_same() -> Array:
    one = np.random.default_rng(0).integers(0, 2, 60)
    return np.column_stack([one, one])


def three_columns() -> Array:
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2, (60, 3))
    rows[:, 2] = np.where(rng.random(60) < 0.8, rows[:, 0] ^ rows[:, 1], rows[:, 2])
    return rows


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("heaviest", [1e12, 1e15, 1e18])
def test_an_edge_is_found_beside_one_heavy_row(criterion: str, heaviest: float) -> None:
    X, weights = twice_the_same(), np.r_[heaviest, np.ones(59)]
    model = HillClimb(criterion).fit(X, sample_weight=weights)
    assert len(model.edges_) == 1
    assert model.evidence_.holds
    assert model.evidence_.verify(X, None, weights).stands


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("light", [1e-6, 1e-12, 1e-300])
def test_scores_of_light_rows_are_in_proportion(criterion: str, light: float) -> None:
    """To first order in the weights, all scores without a price are; AIC has a price that outweighs such rows."""
    X = three_columns()
    model, half = (HillClimb(criterion).fit(X, sample_weight=np.full(60, w)) for w in (light, light / 2))
    if criterion != "aic":
        assert model.score_ == pytest.approx(2 * half.score_, rel=1e-4 if light > 1e-9 else 1e-10)
    assert model.score_ < 0
    verdict = model.evidence_.verify(X, None, np.full(60, light))
    assert verdict.stands


@pytest.mark.parametrize("light", [1.0, 1e-12, 1e-300])
def test_a_missing_edge_is_seen_whatever_the_unit_of_weights(light: float) -> None:
    """Of networks that stop before their first edge, both the claim and the referee must say so."""
    X = twice_the_same()
    weights = np.full(60, light)
    with pytest.warns(EvidenceWarning):
        stopped = HillClimb("log-likelihood", max_iter=0).fit(X, sample_weight=weights)
    assert not stopped.edges_
    assert not stopped.evidence_.holds
    assert stopped.evidence_.certificate.value == pytest.approx(0.5, rel=1e-9)
    asked: Any = ([], [], 2)
    found = no_better_move(X, weights, [[], []], [2, 2], "log-likelihood", 10.0, asked, stopped.score_, 1e-10)
    assert found.stands is False


def test_family_scores_of_a_heavy_cell() -> None:
    """Beside 1e18 rows of one state, two of another: 1e18 log(1 + 2e-18) + 2 log(5e17), and 2 / (n (n + 1) …)."""
    table = np.array([[1e18, 2.0]])
    n = log(1e18)
    assert Score("log-likelihood", 1e18).family(table, 1) == pytest.approx(-2 - 2 * (n - log(2)), rel=1e-14)
    assert Score("k2", 1e18).family(table, 1) == pytest.approx(log(2) - 3 * n, rel=1e-14)


def exact_tables(rows: Array, weights: Array, model: BayesianNetwork) -> float:
    """The largest error of a probability, in rational numbers, under one pseudo-count for each cell."""
    worst = Fraction(0)
    for v, above in enumerate(model.parents_):
        table = model.tables_[v]
        cells = {place: Fraction(1) for place in np.ndindex(*table.shape)}
        for row, weight in zip(rows.tolist(), weights.tolist(), strict=True):
            cells[(*(row[p] for p in above.tolist()), row[v])] += Fraction(weight)
        for place, cell in cells.items():
            whole = sum(cells[(*place[:-1], k)] for k in range(table.shape[-1]))
            worst = max(worst, abs(Fraction(float(table[place])) - cell / whole))
    return float(worst)


@pytest.mark.parametrize("light", [1e3, 1e-6, 1e-12, 1e-300])
def test_tables_of_light_rows_are_as_exact_as_claimed(light: float) -> None:
    X, weights = np.random.default_rng(0).integers(0, 2, (67, 3)), np.full(67, light)
    model = BayesianNetwork(edges=[("x0", "x1")]).fit(X, sample_weight=weights)
    certificate = model.evidence_.certificate
    assert certificate.value <= certificate.tolerance
    assert exact_tables(X, weights, model) <= certificate.tolerance
    assert model.evidence_.verify(X, None, weights).stands
    model.tables_[1] = np.array([[0.6, 0.4], [0.3, 0.7]])
    assert model.evidence_.verify(X, None, weights).stands is False


@pytest.mark.parametrize(
    "model", [BayesianNetwork([("x0", "x1")]), ChowLiu(), HillClimb(), HillClimb("bdeu")], ids=repr
)
@pytest.mark.parametrize(("heavy", "light"), [(1.0, 0.0), (1e280, 1e-300)])
def test_states_of_rows_without_weight_are_none(model: Any, heavy: float, light: float) -> None:
    X, weights = np.random.default_rng(0).integers(0, 3, (67, 3)), np.full(67, heavy)
    X[5, 0], X[6, 1], weights[5:7] = 9, 8, light
    model.fit(X, sample_weight=weights)
    assert 9 not in model.states_[0]
    assert model.evidence_.verify(X, None, weights).stands


@pytest.mark.parametrize("criterion", ["bdeu", "k2"])
@pytest.mark.parametrize("seed", range(8))
def test_the_referee_knows_how_few_digits_the_least_weights_leave(criterion: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, weights = rng.integers(0, 12, (30, 2)), np.full(30, 1e-320)
    assert HillClimb(criterion).fit(X, sample_weight=weights).evidence_.verify(X, None, weights).stands
