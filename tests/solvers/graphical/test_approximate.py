"""Sampling and mean field against the table of all joint states."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.solvers.graphical.enumeration import conditioned, joint, posterior, probability, random_network

from corollary.core.graphical.flat import flatten, relevant
from corollary.core.graphical.tables import TableNetwork
from corollary.core.thread_count import threads
from corollary.solvers.graphical.approximate.forward import forward_samples
from corollary.solvers.graphical.approximate.gibbs import gibbs
from corollary.solvers.graphical.approximate.mean_field import mean_field
from corollary.solvers.graphical.approximate.methods import METHODS, approximate
from corollary.solvers.graphical.approximate.support import ImpossibleEvidence, possible_state, separate_parts

SAMPLERS = ("rejection", "likelihood_weighting", "gibbs")
GIVEN = {0: 0, 3: 1}
COIN = np.array([0.5, 0.5])


def exclusive_or(noise: float = 0.0) -> TableNetwork:
    """Two coins and whether they differ."""
    differ = np.array([[[1, 0], [0, 1]], [[0, 1], [1, 0]]], dtype=float)
    return TableNetwork((2, 2, 2), ((), (), (0, 1)), (COIN, COIN, np.abs(differ - noise)), (0, 1, 2))


@pytest.mark.parametrize("method", SAMPLERS)
@pytest.mark.parametrize("seed", range(5))
def test_samplers_find_the_posterior_within_their_errors(method: str, seed: int) -> None:
    network = random_network(seed)
    found = approximate(network, range(6), GIVEN, method, 20_000, random_state=seed)
    for v in range(6):
        assert found.marginals[v].sum() == pytest.approx(1.0)
        off = np.abs(found.marginals[v] - posterior(network, v, GIVEN))
        assert (off <= 4.0 * found.errors[v] + 1e-12).all()
        assert v in GIVEN or found.errors[v].max() < 0.05


@pytest.mark.parametrize("method", SAMPLERS)
def test_four_times_the_samples_halve_the_errors(method: str) -> None:
    network = random_network(1)
    few = approximate(network, [1, 5], GIVEN, method, 16_000, random_state=0)
    many = approximate(network, [1, 5], GIVEN, method, 256_000, random_state=0)
    assert many.largest_error == pytest.approx(few.largest_error / 4.0, rel=0.4)


@pytest.mark.parametrize("method", METHODS)
def test_the_seed_decides_and_threads_do_not(method: str) -> None:
    network = random_network(2)

    def answers(seed: int, n: int) -> Any:
        with threads(n):
            found = approximate(network, range(6), GIVEN, method, 20_000, random_state=seed)
        return np.concatenate([found.marginals[v] for v in range(6)])

    np.testing.assert_array_equal(answers(7, 1), answers(7, 4))
    if method != "mean_field":
        assert (answers(7, 2) != answers(8, 2)).any()


def test_forward_samples_follow_the_joint_distribution_and_ignore_threads() -> None:
    network = random_network(3)
    with threads(1):
        rows = forward_samples(network, 50_000, random_state=0)
    with threads(3):
        np.testing.assert_array_equal(forward_samples(network, 50_000, random_state=0), rows)
    np.testing.assert_array_equal(forward_samples(network, 9_000, random_state=0), rows[:9_000])
    counts = np.zeros(network.cards)
    np.add.at(counts, tuple(rows.T), 1.0)
    expected = 50_000 * joint(network)
    usual = expected > 5
    chi_squared = ((counts - expected)[usual] ** 2 / expected[usual]).sum()
    assert abs(chi_squared - usual.sum()) < 4.0 * np.sqrt(2.0 * usual.sum())


def test_neighbouring_rows_are_independent() -> None:
    network = TableNetwork((2,), ((),), (COIN,), (0,))
    rows = forward_samples(network, 100_000, random_state=1)[:, 0] - 0.5
    for lag in (1, 2, 64, 4096):
        assert abs(np.mean(rows[lag:] * rows[:-lag])) * 4.0 < 4.0 / np.sqrt(len(rows) - lag)


def test_acceptance_is_reported_and_none_at_all_is_an_error() -> None:
    network = random_network(0)
    found = approximate(network, [1], GIVEN, "rejection", 50_000, random_state=0)
    true = probability(network, GIVEN)
    assert found.facts["acceptance rate"] == pytest.approx(true, abs=4 * np.sqrt(true / 50_000))
    rare = TableNetwork((2, 2), ((), (0,)), (np.array([1.0 - 1e-9, 1e-9]), np.eye(2)), (0, 1))
    with pytest.raises(ValueError, match="likelihood_weighting"):
        approximate(rare, [0], {1: 1}, "rejection", 1000, random_state=0)


@pytest.mark.parametrize("seed", range(4))
def test_the_log_evidence_is_bounded(seed: int) -> None:
    network = random_network(seed, zeros=0.2 * (seed % 2))
    given = {0: 0, 3: 0}
    truth = float(np.log(probability(network, given)))
    found = mean_field(network, tuple(range(6)), given, random_state=0)
    assert found.facts["log evidence, at least"] <= truth + 1e-10


@pytest.mark.parametrize("seed", range(8))
def test_mean_field_climbs_to_a_point_at_rest_below_the_log_evidence(seed: int) -> None:
    network = random_network(seed, zeros=0.3 * (seed % 2))
    given = {2: 0}
    found = mean_field(network, tuple(range(6)), given, random_state=0, tol=1e-12)
    assert found.evidence is not None
    assert found.evidence.holds
    assert found.evidence.certificate.kind.name == "STATIONARY"
    objective = np.array(found.evidence.history["objective"])
    assert (np.diff(objective) <= 1e-12 * (1 + np.abs(objective[1:]))).all()
    table = conditioned(network, given)
    q = [found.marginals[v] for v in range(6)]
    weights = np.einsum("a,b,c,d,e,f->abcdef", *q)[:, :, :1]
    held = weights > 0
    bound = float((weights[held] * (np.log(table[held]) - np.log(weights[held]))).sum())
    assert found.facts["log evidence, at least"] == pytest.approx(bound, abs=1e-9)
    assert bound <= np.log(table.sum()) + 1e-12


def test_mean_field_is_exact_where_variables_are_independent() -> None:
    tables = tuple(np.random.default_rng(0).dirichlet(np.ones(3), size=4))
    network = TableNetwork((3,) * 4, ((),) * 4, tables, (0, 1, 2, 3))
    found = mean_field(network, (0, 1), {2: 1})
    np.testing.assert_allclose(found.marginals[0], tables[0], atol=1e-12)
    assert found.facts["log evidence, at least"] == pytest.approx(np.log(tables[2][1]))


@pytest.mark.parametrize("method", METHODS)
def test_impossible_evidence_is_named(method: str) -> None:
    with pytest.raises(ImpossibleEvidence, match="probability zero"):
        approximate(exclusive_or(), [0], {0: 1, 1: 1, 2: 1}, method, 1000)
    copies = TableNetwork((2, 2, 2), ((), (0,), (0,)), (COIN, np.eye(2), np.eye(2)), (0, 1, 2))
    with pytest.raises(ImpossibleEvidence):
        approximate(copies, [0], {1: 0, 2: 1}, method, 1000)


def test_a_search_finds_states_that_forward_samples_never_meet() -> None:
    """Forty switches must all be on: one of 2⁴⁰ forward samples is possible."""
    d = 40
    on = np.array([[1.0, 0.0], [0.5, 0.5]])
    network = TableNetwork(
        (2,) * (2 * d), ((),) * d + tuple((v,) for v in range(d)), (COIN,) * d + (on,) * d, tuple(range(2 * d))
    )
    given = {d + v: 1 for v in range(d)}
    state = possible_state(flatten(network, given, [0], whole=True), np.random.RandomState(0))
    assert state is not None
    assert state.all()
    found = gibbs(network, tuple(range(d)), given, 1000, 0)
    assert all(found.marginals[v][1] == pytest.approx(1.0) for v in range(d))


def test_gibbs_says_that_an_exclusive_or_keeps_it_from_mixing() -> None:
    found = gibbs(exclusive_or(), (0, 1), {2: 1}, 4000, random_state=0)
    assert any("cannot mix" in note for note in found.notes)
    assert separate_parts(flatten(exclusive_or(), {2: 1}, [0, 1])) == 2
    weighted = approximate(exclusive_or(), (0, 1), {2: 1}, "likelihood_weighting", 4000, random_state=0)
    assert not weighted.notes
    np.testing.assert_allclose(weighted.marginals[0], 0.5, atol=0.05)


def test_gibbs_says_that_chains_hardly_move() -> None:
    """With 1e-9 in the place of zeros every state can be reached, in a billion sweeps."""
    notes = gibbs(exclusive_or(1e-9), (0, 1), {2: 1}, 4000, random_state=3).notes
    assert any("not mixed" in note for note in notes)


def test_gibbs_with_many_states_and_zeros_does_not_claim_to_reach_all() -> None:
    d = 20
    tables = (COIN, *(np.array([[1.0, 0.0], [0.5, 0.5]]),) * (d - 1))
    chain = TableNetwork((2,) * d, ((), *((v,) for v in range(d - 1))), tables, tuple(range(d)))
    assert any("not certain" in note for note in gibbs(chain, (3,), {d - 1: 0}, 2000, random_state=0).notes)
    assert separate_parts(flatten(random_network(0), {}, [0, 1])) == 1


def test_what_does_not_matter_is_left_out() -> None:
    """In a → b → c with d → c: given b, what is above it does not matter to c; without c, d does not matter to a."""
    table = np.random.default_rng(0).dirichlet(np.ones(2), size=(2, 2))
    network = TableNetwork((2,) * 4, ((), (0,), (1, 3), ()), (COIN, table[0], table, COIN), (0, 1, 3, 2))
    assert relevant(network, {1: 0}, [2]) == (3, 2)
    assert relevant(network, {}, [0]) == (0,)
    assert relevant(network, {2: 0}, [0]) == (0, 1, 3)
    assert relevant(network, {1: 1, 2: 0}, [0]) == (0,)


def test_tiny_probabilities_do_not_underflow() -> None:
    """A thousand observed children of probability 1e-300 each: the evidence is near exp(−700 000)."""
    d = 1000
    child = np.array([[1.0, 1e-300], [1.0, 3e-300]])
    network = TableNetwork((2,) * (d + 1), ((), *((0,),) * d), (COIN, *(child,) * d), tuple(range(d + 1)))
    one = {1: 1}
    for method in METHODS:
        if method != "rejection":
            found = approximate(network, [0], one, method, 20_000, random_state=0)
            np.testing.assert_allclose(found.marginals[0], [0.25, 0.75], atol=0.02)
    every = dict.fromkeys(range(1, d + 1), 1)
    truth = np.log(0.5) + d * np.log(3e-300)
    assert approximate(network, [0], every, "gibbs", 1000, 0).marginals[0][1] == pytest.approx(1.0)
    assert mean_field(network, (0,), every).facts["log evidence, at least"] == pytest.approx(truth, rel=1e-9)


def test_bad_questions() -> None:
    network = random_network(0)
    with pytest.raises(ValueError, match="one of 'rejection'"):
        approximate(network, [0], {}, "magic")
    with pytest.raises(ValueError, match="state 9 came"):
        approximate(network, [0], {1: 9})
    with pytest.raises(ValueError, match="n_samples"):
        approximate(network, [0], {1: 0}, n_samples=0)
    with pytest.raises(ValueError, match="n_chains"):
        gibbs(network, (0,), {}, n_chains=1)


@pytest.mark.parametrize("method", METHODS)
def test_odd_questions(method: str) -> None:
    """Nothing free, nothing asked, a variable of one state, and impossible evidence in a part that does not matter."""
    network = random_network(0)
    every = {v: int(s) for v, s in enumerate(np.unravel_index(int(joint(network).argmax()), network.cards))}
    found = approximate(network, [2], every, method, 2000, 0)
    assert found.marginals[2][every[2]] == 1.0
    assert str(found)
    assert approximate(network, [], {}, method, 100, 0).marginals == {}
    single = TableNetwork((1, 2), ((), (0,)), (np.ones(1), COIN[None]), (0, 1))
    np.testing.assert_allclose(approximate(single, [1], {0: 0}, method, 4000, 0).marginals[1], COIN, atol=0.05)
    apart = TableNetwork((2, 2, 2, 2), ((), (), (1,), (1,)), (COIN, COIN, np.eye(2), np.eye(2)), (0, 1, 2, 3))
    with pytest.raises(ImpossibleEvidence):
        approximate(apart, [0], {2: 0, 3: 1}, method, 100, 0)
