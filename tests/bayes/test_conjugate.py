"""Conjugate beliefs against numerical integration, scipy.stats, repetition and the coin of the course notes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

import corollary
from corollary.bayes.conjugate import Beta, Dirichlet, Gamma, NormalInverseGamma

COIN = [1, 1, 0]
RNG = np.random.default_rng(0)
CASES: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "bernoulli": (Beta(2.5, 0.7), RNG.integers(0, 2, 12), {}),
    "binomial": (Beta(1.2, 3), RNG.integers(0, 6, 12), {"trials": np.full(12, 7)}),
    "categorical": (Dirichlet([0.5, 2, 1]), RNG.integers(0, 3, 12), {}),
    "multinomial": (Dirichlet([0.5, 2, 1]), RNG.integers(0, 4, (12, 3)), {}),
    "poisson": (Gamma(2, 0.5), RNG.poisson(3.0, 12), {"exposure": RNG.uniform(0.5, 2, 12)}),
    "normal": (NormalInverseGamma(1, 0.5, 2.5, 2), RNG.normal(3, 2, 12), {}),
}


def parts(told: dict[str, Any], rows: Any) -> dict[str, Any]:
    return {name: value[rows] for name, value in told.items()}


def numbers(belief: Any) -> list[float]:
    return np.hstack([value for value in vars(belief).values() if value is not None]).tolist()


def nodes(low: float, high: float, n: int) -> tuple[Any, Any]:
    """Gauss–Legendre points and weights."""
    x, w = np.polynomial.legendre.leggauss(n)
    return low + (high - low) * (x + 1) / 2, w * (high - low) / 2


def test_the_coin_of_the_notes() -> None:
    prior = Beta(1, 1)
    assert np.exp(prior.log_likelihood(0.5, COIN)) == pytest.approx(0.125)
    assert np.exp(prior.log_likelihood(0.75, COIN)) == pytest.approx(0.14, abs=0.001)
    assert prior.mle(COIN) == pytest.approx(2 / 3)
    assert prior.update(COIN).map() == pytest.approx(2 / 3)  # a uniform prior leaves the most likely value
    assert prior.update(COIN).mean() == pytest.approx(3 / 5)  # Laplace's rule of succession
    assert np.exp(prior.log_evidence(COIN)) == pytest.approx(1 / 12)
    assert prior.update(COIN).predictive().pmf(1) == pytest.approx(3 / 5)


def test_reached_by_name() -> None:
    assert corollary.bayes.conjugate.Beta is Beta


@pytest.mark.parametrize("case", CASES)
def test_blocks_order_and_weights(case: str) -> None:
    prior, data, told = CASES[case]
    whole = numbers(prior.update(data, **told))
    first, second = slice(0, 5), slice(5, None)
    by_blocks = prior.update(data[first], **parts(told, first)).update(data[second], **parts(told, second))
    np.testing.assert_allclose(numbers(by_blocks), whole, rtol=1e-13)
    shuffled = RNG.permutation(12)
    np.testing.assert_allclose(numbers(prior.update(data[shuffled], **parts(told, shuffled))), whole, rtol=1e-13)
    weights = RNG.integers(0, 4, 12)
    again = np.repeat(np.arange(12), weights)
    rows, more = data[again], parts(told, again)
    once = {"weights": weights, **told}
    np.testing.assert_allclose(numbers(prior.update(data, **once)), numbers(prior.update(rows, **more)), rtol=1e-13)
    np.testing.assert_allclose(prior.log_evidence(data, **once), prior.log_evidence(rows, **more), rtol=1e-12)
    np.testing.assert_allclose(prior.mle(data, **once), prior.mle(rows, **more), rtol=1e-12)
    nothing = prior.update(data[:0], **parts(told, slice(0, 0)))
    assert nothing == prior


@pytest.mark.parametrize("case", CASES)
def test_evidence_is_a_product_of_predictions(case: str) -> None:
    """The chain rule: p(D) = Π p(xᵢ | those before)."""
    prior, data, told = CASES[case]
    total, belief = 0.0, prior
    for i in range(12):
        row = data[i : i + 1]
        here = {name: value[i] for name, value in told.items()}
        if case == "binomial":
            total += belief.predictive(here["trials"]).logpmf(row[0])
        elif case == "categorical":
            total += np.log(belief.mean()[row[0]])
        elif case == "multinomial":
            total += belief.predictive(row.sum()).logpmf(row[0]) if row.sum() else 0.0
        elif case == "normal":
            total += belief.predictive().logpdf(row[0])
        else:
            total += belief.predictive(**here).logpmf(row[0])
        belief = belief.update(row, **{name: value[i : i + 1] for name, value in told.items()})
    assert prior.log_evidence(data, **told) == pytest.approx(float(total), rel=1e-10)


@pytest.mark.parametrize("case", ["bernoulli", "binomial", "poisson"])
def test_one_number_against_integrals(case: str) -> None:
    prior, data, told = CASES[case]
    p, dp = nodes(0, 1 if case != "poisson" else 30, 400)
    joint = np.exp(prior.log_prob(p) + prior.log_likelihood(p, data, **told)) * dp
    assert prior.log_evidence(data, **told) == pytest.approx(np.log(joint.sum()), rel=1e-8)
    posterior = prior.update(data, **told)
    mean = (p @ joint) / joint.sum()
    assert posterior.mean() == pytest.approx(mean, rel=1e-8)
    assert posterior.variance() == pytest.approx((p - mean) ** 2 @ joint / joint.sum(), rel=1e-6)
    grid = np.linspace(0.001, 0.999 if case != "poisson" else 12, 20_001)
    assert posterior.map() == pytest.approx(grid[np.argmax(posterior.log_prob(grid))], abs=2 * (grid[1] - grid[0]))
    likely = grid[np.argmax(prior.log_likelihood(grid, data, **told))]
    assert prior.mle(data, **told) == pytest.approx(likely, abs=2 * (grid[1] - grid[0]))


def test_normal_against_integrals() -> None:
    prior, data, _ = CASES["normal"]
    data = data[:4]

    mean, dm = nodes(-15, 20, 300)
    scale, ds = nodes(-3, 7, 300)  # the variance by its logarithm
    variance = np.exp(scale)[:, None]
    joint = np.exp(prior.log_prob(mean, variance) + prior.log_likelihood(mean, variance, data)) * variance
    assert prior.log_evidence(data) == pytest.approx(np.log(ds @ joint @ dm), rel=1e-5)
    posterior = prior.update(data)
    best = posterior.map()
    top = posterior.log_prob(*best)
    assert all(
        posterior.log_prob(best.mean + dm, best.variance * s) < top for dm in (-0.01, 0.01) for s in (0.99, 1.01)
    )
    about = posterior.marginals()
    assert posterior.mean() == pytest.approx((about.mean.mean(), about.variance.mean()))
    assert posterior.variance() == pytest.approx((about.mean.var(), about.variance.var()))
    drawn = posterior.sample(40_000, random_state=0)
    assert stats.kstest(drawn.mean, about.mean.cdf).pvalue > 1e-3
    assert stats.kstest(drawn.variance, about.variance.cdf).pvalue > 1e-3
    likely = prior.mle(data)
    assert likely == pytest.approx((data.mean(), data.var()))


def test_dirichlet_against_scipy_and_beta() -> None:
    prior, data, _ = CASES["categorical"]
    posterior = prior.update(data)
    peer = stats.dirichlet(posterior.alpha)
    np.testing.assert_allclose(posterior.mean(), peer.mean())
    np.testing.assert_allclose(posterior.variance(), peer.var())
    np.testing.assert_allclose(posterior.log_prob([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]])[1], peer.logpdf([0.1, 0.1, 0.8]))
    np.testing.assert_allclose(posterior.sample(20_000, random_state=0).mean(axis=0), peer.mean(), atol=0.01)
    two, coin = Dirichlet([2, 3]), Beta(3, 2)
    assert two.log_evidence(COIN) == pytest.approx(coin.log_evidence(COIN))
    assert two.update(COIN).map()[1] == pytest.approx(coin.update(COIN).map())
    np.testing.assert_allclose(two.interval()[1], coin.interval())
    best = posterior.update([0, 0]).map()
    assert best.sum() == pytest.approx(1)
    shares = RNG.dirichlet([1, 1, 1], 500)
    assert (posterior.update([0, 0]).log_prob(shares) <= posterior.update([0, 0]).log_prob(best)).all()


def test_names_of_categories() -> None:
    prior = Dirichlet([1, 1], categories=np.array(["no", "yes"]))
    assert prior.update(np.array(["yes", "no", "yes"])).alpha == (2.0, 3.0)
    assert prior.marginal("yes") == Beta(1, 1)
    with pytest.raises(ValueError, match="'maybe' is not"):
        prior.update(["yes", "maybe"])


@pytest.mark.parametrize(
    "belief",
    [Beta(3, 2), Beta(0.4, 5), Beta(5, 0.4), Beta(1, 4), Beta(500, 3), Gamma(3, 2), Gamma(0.5, 1e-6), Gamma(1, 3e8)],
)
@pytest.mark.parametrize("level", [0.5, 0.95])
def test_intervals_of_one_number(belief: Any, level: float) -> None:
    about = belief.distribution()
    low, high = belief.interval(level)
    assert about.cdf(low) == pytest.approx((1 - level) / 2)
    assert about.sf(high) == pytest.approx((1 - level) / 2)
    dense = belief.interval(level, "highest-density")
    assert about.cdf(dense[1]) - about.cdf(dense[0]) == pytest.approx(level)
    assert dense[1] - dense[0] <= (high - low) * (1 + 1e-9)
    below = np.linspace(0, 1 - level, 101)[:-1]
    lengths = about.ppf(below + level) - about.ppf(below)
    assert dense[1] - dense[0] <= lengths.min() * (1 + 1e-6)  # no interval of that probability is shorter


def test_intervals_of_the_normal() -> None:
    posterior = NormalInverseGamma(1, 2, 3, 4)
    about = posterior.marginals()
    low, high = posterior.interval(0.9, "highest-density").variance
    assert about.variance.cdf(high) - about.variance.cdf(low) == pytest.approx(0.9)
    assert about.variance.pdf(high) == pytest.approx(about.variance.pdf(low), rel=1e-6)
    assert posterior.interval(0.9).mean == posterior.interval(0.9, "highest-density").mean


def test_a_belief_without_one_best_value_says_so() -> None:
    for belief in (Beta(1, 1), Beta(0.5, 0.5), Dirichlet([1, 1, 1]), Dirichlet([0.5, 3, 3])):
        with pytest.raises(ValueError, match=r"Ask for mean"):
            belief.map()
    with pytest.raises(ValueError, match="equal-tailed"):
        Beta(0.5, 0.5).interval(0.9, "highest-density")
    assert (Beta(0.5, 1).map(), Beta(1, 0.5).map(), Beta(0.5, 3).map(), Beta(3, 1).map()) == (0, 1, 0, 1)
    assert Gamma(0.5, 2).map() == 0
    with pytest.raises(ValueError, match="Nothing has been seen"):
        Beta().mle([])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Beta(0, 1), "a must be a finite number > 0"),
        (lambda: Gamma(1, np.nan), "rate must be a finite number > 0"),
        (lambda: Dirichlet([1]), "at least two"),
        (lambda: Dirichlet([1, 1], categories=["a", "a"]), "2 different names"),
        (lambda: NormalInverseGamma(np.inf), "location must be a finite number"),
        (lambda: Beta().update([0, 2]), r"data\[1\] is 2"),
        (lambda: Beta().update([0, np.nan]), r"data\[1\] is nan"),
        (lambda: Beta().update(["heads"]), "must be numbers"),
        (lambda: Beta().update([3], trials=2), "at most trials"),
        (lambda: Beta().update([1, 0], weights=[1]), "weights must be 2"),
        (lambda: Beta().update([1, 0], weights=[1, -1]), r"weights\[1\] is -1"),
        (lambda: Gamma().update([1.5]), "whole numbers"),
        (lambda: Gamma().update([1], exposure=0), "exposure must be > 0"),
        (lambda: Gamma().update([1, 2, 3], exposure=[1, 2]), "one number or 3"),
        (lambda: Dirichlet([1, 1]).update([0, 2]), "classes 0 … 1, but 2 is not"),
        (lambda: Dirichlet([1, 1]).update([[1, 2, 3]]), "rows of 2 counts"),
        (lambda: NormalInverseGamma().update([1e300, -1e300]), "too large for float64"),
        (lambda: NormalInverseGamma().update([1e200]), "scale must be a finite number"),
        (lambda: Beta().interval(95), "level must be"),
        (lambda: Beta().interval(0.9, "central"), "kind must be"),
    ],
)
def test_bad_input_is_named(call: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()


STRONG = {  # (prior, data, log evidence): what is believed outweighs the data, and the next datum is as good as known
    "yes or no": (Beta(1e15, 1e15), [1, 1, 0], 3 * np.log(0.5)),
    "classes": (Dirichlet([1e15] * 3), [0, 1, 2], 3 * np.log(1 / 3)),
    "counts": (Gamma(1e12, 1e12), [1, 2], -2 - np.log(2)),
    "numbers": (NormalInverseGamma(0, 1e15, 1e15, 1e15), [1.0, -1.0], -1 - np.log(2 * np.pi)),
}


@pytest.mark.parametrize("case", STRONG)
def test_evidence_under_strong_beliefs(case: str) -> None:
    prior, data, expected = STRONG[case]
    assert prior.log_evidence(data) == pytest.approx(expected, rel=1e-11)


def test_they_are_values() -> None:
    assert Beta(1, 2) == Beta(1.0, 2.0)
    assert len({Beta(1, 2), Beta(1, 2), Dirichlet([1, 2])}) == 2
    with pytest.raises(AttributeError):
        Beta().a = 3  # type: ignore[misc]


@pytest.mark.parametrize("case", CASES)
def test_pictures(case: str) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    prior, data, told = CASES[case]
    prior.plot()
    drawn = np.ravel(prior.plot(data, **told))
    for ax in drawn:
        names = [text.get_text() for text in ax.get_legend().get_texts()]
        assert "prior" in names
        assert "posterior" in names
        if not case.endswith("nomial") and case != "categorical":
            assert "likelihood (scaled)" in names
            for line in ax.get_lines()[:3]:
                assert np.isfinite(line.get_ydata()).all()
    plt.close("all")
