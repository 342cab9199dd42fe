"""Networks with numbers: against the multivariate normal, brute force over settings, and samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm
from sklearn.linear_model import LinearRegression, Ridge

from corollary.core.graphical.cpd import LinearGaussian, LogisticCPD, NoisyOr, Table
from corollary.core.graphical.mixed import MixedNetwork
from corollary.core.thread_count import threads
from corollary.core.types import Array
from corollary.graphical.conditional import Family, learned
from corollary.solvers.graphical.as_tables import as_tables
from corollary.solvers.graphical.conditional_gaussian import exact, why_not_exact
from corollary.solvers.graphical.elimination import eliminate
from corollary.solvers.graphical.mixed_query import ask
from corollary.solvers.graphical.mixed_weighting import mixed_samples, mixed_weighting
from corollary.solvers.graphical.noisy_or import fit_noisy_or

NONE = np.empty((1, 0), dtype=int)


def gaussian_network(seed: int = 0, d: int = 6) -> tuple[MixedNetwork, Array, Array]:
    """A random linear-Gaussian network, with the mean and covariance that (I − B)⁻¹ gives."""
    rng = np.random.default_rng(seed)
    order = tuple(int(v) for v in rng.permutation(d))
    B, b, variances = np.zeros((d, d)), rng.normal(size=d), rng.uniform(0.1, 2.0, d)
    parents: list[tuple[int, ...]] = [()] * d
    for i, v in enumerate(order):
        parents[v] = tuple(int(p) for p in order[:i] if rng.random() < 0.6)
        B[v, list(parents[v])] = rng.normal(size=len(parents[v]))
    cpds = tuple(LinearGaussian(b[v], B[v, list(parents[v])], variances[v]) for v in range(d))
    inverse = np.linalg.inv(np.eye(d) - B)
    network = MixedNetwork((0,) * d, tuple(parents), cpds, order)
    network.check()
    return network, inverse @ b, inverse @ np.diag(variances) @ inverse.T


def clinic() -> MixedNetwork:
    """Two states, two numbers that depend on them, and a test whose outcome depends on a number."""
    cpds = (
        Table([0.7, 0.3]),
        Table([[0.8, 0.15, 0.05], [0.1, 0.3, 0.6]]),
        LinearGaussian([1.0, 4.0], np.empty((2, 0)), [1.0, 2.0]),
        LinearGaussian([0.0, 1.0, -2.0], [[1.0], [2.0], [0.5]], [0.5, 1.0, 0.25]),
        LogisticCPD([[0.0], [1.5]], [0.0, -3.0]),
    )
    network = MixedNetwork((2, 3, 0, 0, 2), ((), (0,), (0,), (1, 2), (3,)), cpds, (0, 1, 2, 3, 4))
    network.check()
    return network


@pytest.mark.parametrize("seed", range(3))
def test_a_linear_gaussian_network_is_the_multivariate_normal(seed: int) -> None:
    network, mean, covariance = gaussian_network(seed)
    rows = mixed_samples(network, 50, seed)
    np.testing.assert_allclose(network.log_prob(rows), multivariate_normal(mean, covariance).logpdf(rows), rtol=1e-9)
    prior = exact(network, tuple(range(6)), {})
    np.testing.assert_allclose(prior.mean(), mean, atol=1e-10)
    np.testing.assert_allclose(prior.covariance(), covariance, atol=1e-10)
    known, asked = [1, 4], [0, 2, 3, 5]
    values = rows[0, known]
    gain = covariance[np.ix_(asked, known)] @ np.linalg.inv(covariance[np.ix_(known, known)])
    found = exact(network, tuple(asked), dict(zip(known, values, strict=True)), whole=True)
    np.testing.assert_allclose(found.mean(), mean[asked] + gain @ (values - mean[known]), atol=1e-8)
    left = covariance[np.ix_(asked, asked)] - gain @ covariance[np.ix_(known, asked)]
    np.testing.assert_allclose(found.covariance(), left, atol=1e-8)
    marginal = multivariate_normal(mean[known], covariance[np.ix_(known, known)])
    assert found.log_evidence == pytest.approx(marginal.logpdf(values))


def test_conditioning_survives_what_squares_would_lose() -> None:
    """Two sensors of one number with errors of 1e-9 and 1e-7: a covariance matrix of both is singular in float64."""
    cpds = (LinearGaussian(0.0, [], 1.0), LinearGaussian(0.0, [1.0], 1e-18), LinearGaussian(0.0, [1.0], 1e-14))
    network = MixedNetwork((0, 0, 0), ((), (0,), (0,)), cpds, (0, 1, 2))
    found = exact(network, (0,), {1: 0.5, 2: 0.5 + 1e-7})
    share = 1e-14 / (1e-14 + 1e-18)
    assert found.mean()[0] == pytest.approx(0.5 + (1 - share) * 1e-7, abs=1e-13)
    assert found.covariance()[0, 0] == pytest.approx(1.0 / (1.0 + 1e18 + 1e14), rel=1e-5)


def test_states_given_numbers_and_numbers_given_states_by_hand() -> None:
    network = clinic()
    found = ask(network, (0, 2), {1: 2, 3: 1.0})
    joint = np.zeros(2)
    posterior_mean = np.zeros(2)
    for state in range(2):
        prior, variance = [1.0, 4.0][state], [1.0, 2.0][state]
        total = 0.25 * variance + 0.25  # of x3 = −2 + ½ x2 + noise
        away = 1.0 - (-2.0 + 0.5 * prior)
        joint[state] = [0.7 * 0.05, 0.3 * 0.6][state] * norm.pdf(away, scale=np.sqrt(total))
        posterior_mean[state] = prior + 0.5 * variance / total * away
    np.testing.assert_allclose(found.marginals[0], joint / joint.sum(), rtol=1e-12)
    assert found.densities[2].mean == pytest.approx(joint @ posterior_mean / joint.sum())
    assert found.log_evidence == pytest.approx(np.log(joint.sum()))
    assert found.method == "exact"
    low, high = found.densities[2].interval(0.9)
    assert found.densities[2].cdf(high) - found.densities[2].cdf(low) == pytest.approx(0.9)


def test_samples_agree_with_exact_answers() -> None:
    network = clinic()
    sure, drawn = ask(network, (0, 2), {1: 1, 3: 2.0}), ask(
        network, (0, 2), {1: 1, 3: 2.0}, "likelihood_weighting", 40_000, 0
    )  # fmt: skip
    np.testing.assert_allclose(drawn.marginals[0], sure.marginals[0], atol=4 * drawn.largest_error)
    assert abs(drawn.densities[2].mean - sure.densities[2].mean) < 4 * drawn.densities[2].standard_error
    assert drawn.densities[2].std == pytest.approx(sure.densities[2].std, rel=0.05)


def test_a_logistic_child_of_a_hidden_number_is_integrated_over() -> None:
    """P(test = 1) and P(state | test = 1), against a fine sum over the number."""
    network = clinic()
    grid = np.linspace(-15, 25, 8001)
    density = np.zeros((2, len(grid)))
    for a in range(2):
        for b in range(3):
            weight = [0.7, 0.3][a] * network.cpds[1].values[a, b]  # type: ignore[attr-defined]
            slope, level, noise = [1.0, 2.0, 0.5][b], [0.0, 1.0, -2.0][b], [0.5, 1.0, 0.25][b]
            mean, variance = level + slope * [1.0, 4.0][a], slope**2 * [1.0, 2.0][a] + noise
            density[a] += weight * norm.pdf(grid, mean, np.sqrt(variance))
    positive = density @ (1.0 / (1.0 + np.exp(3.0 - 1.5 * grid))) * (grid[1] - grid[0])
    found = ask(network, (4,), {}, random_state=0)
    assert "not known" in found.notes[0]
    assert abs(found.marginals[4][1] - positive.sum()) < 4 * found.largest_error
    found = ask(network, (0,), {4: 1}, random_state=0)
    assert abs(found.marginals[0][1] - positive[1] / positive.sum()) < 4 * found.largest_error
    with pytest.raises(ValueError, match="likelihood_weighting"):
        ask(network, (4,), {}, "junction_tree")
    with pytest.raises(ValueError, match="number that is not known"):
        ask(network, (4,), {}, "gibbs")


def test_known_numbers_leave_tables() -> None:
    """With both numbers known every method for tables can be used, and all of them agree."""
    network = clinic()
    given = {2: 3.0, 3: 2.5, 4: 1}
    sure = exact(network, (0, 1), given)
    made = as_tables(network, (0, 1), given)
    for v in (0, 1):
        table, _ = eliminate(made.network, [made.place[v]], made.given)
        np.testing.assert_allclose(table, sure.marginal(v, network.cards[v]), rtol=1e-12)
    drawn = ask(network, (0, 1), given, "gibbs", 20_000, 0)
    np.testing.assert_allclose(drawn.marginals[1], sure.marginal(1, 3), atol=4 * drawn.largest_error)


def test_many_settings_are_refused_with_their_number_or_left_to_tables() -> None:
    """Thirty switches in a row, each with a sensor: too many settings, but a chain of tables if sensors are known."""
    d = 30
    switch = Table([[0.9, 0.1], [0.2, 0.8]])
    sensor = LinearGaussian([0.0, 1.0], np.empty((2, 0)), [0.5, 0.5])
    network = MixedNetwork(
        (2,) * d + (0,) * d,
        ((), *((v,) for v in range(d - 1)), *((v,) for v in range(d))),
        (Table([0.5, 0.5]), *(switch,) * (d - 1), *(sensor,) * d),
        tuple(range(2 * d)),
    )
    network.check()
    why = why_not_exact(network, (d + 5,), {d: 1.0, 2 * d - 1: 0.0})
    assert why is not None
    assert "1.07e+09 settings" in why
    rng = np.random.default_rng(0)
    values = rng.normal(0.5, 0.7, d)
    found = ask(network, (0,), {d + v: values[v] for v in range(d)})
    forward = np.array([0.5, 0.5])
    likelihood = norm.pdf(values[:, None], [0.0, 1.0], np.sqrt(0.5))
    backward = np.ones(2)
    for v in range(d - 1, 0, -1):
        backward = switch.values @ (likelihood[v] * backward)
        backward /= backward.sum()
    expected = forward * likelihood[0] * backward
    np.testing.assert_allclose(found.marginals[0], expected / expected.sum(), rtol=1e-9)


def test_noisy_or_is_its_formula_as_table_and_as_chain() -> None:
    rng = np.random.default_rng(0)
    strengths = rng.random(12)
    cpd = NoisyOr(0.1, strengths)
    codes = rng.integers(0, 2, (50, 12))
    absent = 0.9 * np.prod(np.where(codes == 1, 1 - strengths, 1.0), axis=1)
    np.testing.assert_allclose(cpd.probabilities(codes, NONE)[:, 0], absent, rtol=1e-12)
    np.testing.assert_allclose(cpd.log_prob(codes, NONE, np.ones(50)), np.log1p(-absent), rtol=1e-12)
    assert cpd.table((2,) * 12)[tuple(codes[0])][0] == pytest.approx(absent[0])
    causes = rng.uniform(0.1, 0.4, 12)
    network = MixedNetwork(
        (2,) * 13, (*((),) * 12, tuple(range(12))), (*(Table([1 - c, c]) for c in causes), cpd), tuple(range(13))
    )
    network.check()
    tables = network.tables()
    for given in ({12: 1}, {12: 0}, {12: 1, 3: 1, 5: 0}):
        made = as_tables(network, (0,), given)
        assert max(table.size for table in made.network.tables) == 8
        found, _ = eliminate(made.network, [made.place[0]], made.given)
        np.testing.assert_allclose(found, eliminate(tables, [0], given)[0], rtol=1e-9)
    made = as_tables(network, (12,), {2: 1})
    found, _ = eliminate(made.network, [made.place[12]], made.given)
    np.testing.assert_allclose(found, eliminate(tables, [12], {2: 1})[0], rtol=1e-9)


def test_two_hundred_causes_are_no_matter() -> None:
    strengths = np.full(200, 0.5)
    causes = Table([0.99, 0.01])
    network = MixedNetwork(
        (2,) * 201, (*((),) * 200, tuple(range(200))), (*(causes,) * 200, NoisyOr(0.0, strengths)), tuple(range(201))
    )
    found = ask(network, (200,), {}, "elimination")
    assert found.marginals[200][0] == pytest.approx(0.995**200)
    explained = ask(network, (0,), {200: 1}, "elimination")
    assert explained.marginals[0][1] == pytest.approx(0.01 * (1 - 0.5 * 0.995**199) / (1 - 0.995**200))
    with pytest.raises(ValueError, match="likelihood_weighting"):
        network.tables()


@pytest.mark.parametrize("alpha", [0.0, 2.0])
def test_the_most_likely_noisy_or(alpha: float) -> None:
    """Optimal by its own bound; no step along any axis is better; near the truth on many rows."""
    rng = np.random.default_rng(1)
    true = NoisyOr(0.05, [0.8, 0.5, 0.3, 0.0])
    causes = rng.integers(0, 2, (5000, 4))
    effect = true.sample(causes, NONE, rng)
    found, evidence = fit_noisy_or(NoisyOr(alpha=alpha), causes, effect, np.ones(5000), tol=1e-10)
    assert evidence.holds
    assert evidence.certificate.kind.name == "OPTIMAL"
    np.testing.assert_allclose(found.strengths, true.strengths, atol=0.06)

    def value(cpd: NoisyOr) -> float:
        prior = np.concatenate([np.zeros((1, 4), dtype=int), np.eye(4, dtype=int)])
        half = sum(cpd.log_prob(prior, NONE, np.full(5, s)).sum() for s in (0, 1)) if alpha else 0.0
        return float(cpd.log_prob(causes, NONE, effect).sum() + 0.5 * alpha * half)

    best = value(found)
    for j in range(5):
        for step in (-1e-3, 1e-3):
            numbers = np.clip(np.append(found.leak, found.strengths) + step * (np.arange(5) == j), 0, 1)
            assert value(NoisyOr(numbers[0], numbers[1:])) <= best + 1e-6
    twice, _ = fit_noisy_or(NoisyOr(alpha=alpha), np.repeat(causes, 2, 0), np.repeat(effect, 2), np.full(10_000, 0.5))
    np.testing.assert_allclose(twice.strengths, found.strengths, atol=1e-4)


def family(**changes: Any) -> Family:
    rng = np.random.default_rng(3)
    codes = rng.integers(0, [2, 3], (400, 2))
    numbers = rng.normal(size=(400, 2))
    child = numbers @ [1.0, -2.0] + codes @ [0.5, 1.5] + rng.normal(size=400) * (1 + codes[:, 0])
    parts = {"codes": codes, "cards": (2, 3), "numbers": numbers, "child": child, "card": 0}
    return Family(**{**parts, "weights": rng.uniform(0.5, 2.0, 400), **changes})


@pytest.mark.parametrize("alpha", [0.0, 3.0])
def test_linear_gaussians_are_least_squares_for_each_setting(alpha: float) -> None:
    rows = family()
    found, evidence = learned(LinearGaussian(alpha=alpha), rows)
    assert evidence is not None
    assert evidence.holds
    assert evidence.certificate.value < 1e-13
    assert isinstance(found, LinearGaussian)
    for a in range(2):
        for b in range(3):
            own = (rows.codes == [a, b]).all(axis=1)
            peer = Ridge(alpha=alpha, tol=1e-12) if alpha else LinearRegression()
            peer.fit(rows.numbers[own], rows.child[own], rows.weights[own])
            np.testing.assert_allclose(found.coef[a, b], peer.coef_, rtol=1e-8)
            assert found.intercept[a, b] == pytest.approx(peer.intercept_)
            away = rows.child[own] - peer.predict(rows.numbers[own])
            assert found.variance[a, b] == pytest.approx(np.average(away**2, weights=rows.weights[own]))


def test_settings_without_rows_get_what_all_rows_say() -> None:
    rows = family()
    kept = (rows.codes != [1, 2]).any(axis=1)
    few = Family(rows.codes[kept], (2, 3), rows.numbers[kept], rows.child[kept], 0, rows.weights[kept])
    found, evidence = learned(LinearGaussian(), few)
    assert evidence is not None
    assert "1 of 6 settings" in evidence.notes[0]
    peer = LinearRegression().fit(few.numbers, few.child, few.weights)
    np.testing.assert_allclose(found.coef[1, 2], peer.coef_)  # type: ignore[attr-defined]
    exactly, evidence = learned(LinearGaussian(), family(child=family().numbers[:, 0] * 2.0 + 1.0))
    assert evidence is not None
    assert "exactly" in evidence.notes[0]
    np.testing.assert_allclose(exactly.coef[..., 0], 2.0)  # type: ignore[attr-defined]


def test_a_logistic_cpd_is_the_most_likely_one() -> None:
    rng = np.random.default_rng(0)
    codes, numbers = rng.integers(0, 3, (3000, 1)), rng.normal(size=(3000, 1))
    true = LogisticCPD([[0, 0, 0.0], [1.0, -1.0, 0.5], [0.0, 1.0, -1.0]], [0.0, 0.5, -0.5], [3])
    child = true.sample(codes, numbers, rng)
    found, evidence = learned(LogisticCPD(), Family(codes, (3,), numbers, child, 3, np.ones(3000)))
    assert evidence is not None
    assert evidence.holds
    np.testing.assert_allclose(found.probabilities(codes, numbers), true.probabilities(codes, numbers), atol=0.08)  # type: ignore[attr-defined]
    assert found.log_prob(codes, numbers, child).sum() >= true.log_prob(codes, numbers, child).sum()
    without, _ = learned(LogisticCPD(), Family(codes, (3,), numbers, np.minimum(child, 1), 3, np.ones(3000)))
    one, shares = learned(LogisticCPD(), Family(codes, (3,), numbers, np.full(3000, 2), 3, np.ones(3000)))
    off = np.abs(np.exp(one.log_prob(codes[:1], numbers[:1], np.array([2]))) - 1.0).max()
    assert shares.certificate.value == pytest.approx(off, abs=1e-16)  # measured, of one state too
    alone = np.empty((3000, 0))
    _, shares = learned(LogisticCPD(), Family(alone.astype(int), (), alone, child, 3, np.ones(3000)))
    assert shares.holds
    assert shares.certificate.kind.name == "EXACT"
    assert without.probabilities(codes, numbers)[:, 2].max() < 1e-10  # type: ignore[attr-defined]


def test_samples_of_mixed_networks_ignore_threads() -> None:
    network = clinic()
    with threads(1):
        rows = mixed_samples(network, 20_000, 5)
        drawn = mixed_weighting(network, (0,), {3: 1.0}, 20_000, 5).weights
    with threads(4):
        np.testing.assert_array_equal(mixed_samples(network, 20_000, 5), rows)
        np.testing.assert_array_equal(mixed_weighting(network, (0,), {3: 1.0}, 20_000, 5).weights, drawn)
    assert abs(rows[:, 0].mean() - 0.3) < 4 * np.sqrt(0.21 / 20_000)
    own = rows[rows[:, 0] == 1, 2]
    assert abs(own.mean() - 4.0) < 4 * np.sqrt(2.0 / len(own))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Table([[0.5, 0.6]]), "sums to one"),
        (lambda: Table([[1.5, -0.5]]), "smallest entry"),
        (lambda: Table("text"), "array of numbers"),
        (lambda: NoisyOr(0.1), "both be given"),
        (lambda: NoisyOr(0.1, [1.5]), r"in \[0, 1\]"),
        (lambda: NoisyOr(np.nan, [0.5]), "finite"),
        (lambda: LinearGaussian(0.0, [1.0]), "all be given"),
        (lambda: LinearGaussian(0.0, [1.0], 0.0), "above zero"),
        (lambda: LinearGaussian([0.0], [1.0], [1.0]), "2 dimensions"),
        (lambda: LogisticCPD([[0.0], [1.0]], [0.0]), "intercept for 1"),
        (lambda: LogisticCPD(C=0), "C must be"),
        (lambda: NoisyOr(0.1, [0.5]).check((3,), 0, 2), "two states"),
        (lambda: NoisyOr(0.1, [0.5]).check((2, 2), 0, 2), "2 causes, but 1"),
        (lambda: Table([0.5, 0.5]).check((), 1, 2), "LogisticCPD"),
        (lambda: LinearGaussian(0.0, [1.0], 1.0).check((), 2, 0), "shape"),
    ],
)
def test_bad_parts_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_impossible_and_far_away_evidence() -> None:
    cpds = (
        Table([1.0, 0.0]),
        Table([[1.0, 0.0], [0.0, 1.0]]),
        LinearGaussian([0.0, 5.0], np.empty((2, 0)), [1.0, 1.0]),
    )
    network = MixedNetwork((2, 2, 0), ((), (0,), (0,)), cpds, (0, 1, 2))
    with pytest.raises(ValueError, match="probability zero"):
        ask(network, (2,), {1: 1})
    far = ask(network, (0,), {2: 1e3})
    np.testing.assert_array_equal(far.marginals[0], [1.0, 0.0])
    assert far.log_evidence == pytest.approx(norm.logpdf(1e3))
