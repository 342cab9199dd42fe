"""The EM engine on models that know nothing of Gaussians: coins of unknown bias, and a mixture of Bernoulli vectors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp, xlogy

from corollary.core.evidence import Status
from corollary.core.types import Array
from corollary.solvers.em import ArraySource, BlockSource, em


@dataclass(frozen=True)
class Counts:
    """What binary rows contribute to a mixture of Bernoulli vectors."""

    log_likelihood: float
    weight: float
    members: Array
    ones: Array

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.log_likelihood + other.log_likelihood,
            self.weight + other.weight,
            self.members + other.members,
            self.ones + other.ones,
        )


class BernoulliMixture:
    """Columns are independent given the component; ``prior`` ones and zeros have been seen of each before."""

    def __init__(self, prior: float = 0.0) -> None:
        self.prior = prior

    def e_step(self, block: Any, params: tuple[Array, Array]) -> Counts:
        (rows,), (shares, rates) = block, params
        joint = np.log(shares) + xlogy(rows[:, None], rates).sum(2) + xlogy(1 - rows[:, None], 1 - rates).sum(2)
        logs = logsumexp(joint, axis=1)
        posterior = np.exp(joint - logs[:, None])
        return Counts(float(logs.sum()), float(len(rows)), posterior.sum(0), posterior.T @ rows)

    def m_step(self, summary: Counts) -> tuple[Array, Array]:
        rates = (summary.ones + self.prior) / (summary.members[:, None] + 2 * self.prior)
        return summary.members / summary.weight, rates

    def log_prior(self, params: tuple[Array, Array]) -> float:
        return float(self.prior * (np.log(params[1]) + np.log1p(-params[1])).sum()) if self.prior else 0.0


def binary(n: int = 600) -> Array:
    rng = np.random.default_rng(0)
    rates = np.array([[0.9, 0.8, 0.1, 0.2, 0.7], [0.1, 0.3, 0.9, 0.6, 0.2]])
    return (rng.uniform(size=(n, 5)) < rates[rng.integers(2, size=n)]).astype(float)


def start(seed: int = 0, k: int = 2) -> tuple[Array, Array]:
    return np.full(k, 1 / k), np.random.default_rng(seed).uniform(0.3, 0.7, size=(k, 5))


@pytest.mark.parametrize("prior", [0.0, 3.0])
def test_a_bernoulli_mixture_climbs_and_comes_to_rest(prior: float) -> None:
    X = binary()
    found = em(BernoulliMixture(prior), ArraySource(X, size=100), [start()], tol=1e-12, max_iter=2000)
    evidence = found.evidence
    assert evidence.status is Status.CONVERGED
    assert evidence.holds
    assert evidence.claim == "Stationary"
    assert "gained in the last iteration" in evidence.certificate.name
    assert evidence.certificate.value == evidence.history["certificate"][-1]
    assert evidence.facts["largest fall"] <= 1e-12
    assert max(np.diff(evidence.history["objective"])) <= 1e-12
    # at rest: another iteration changes nothing
    again = BernoulliMixture(prior).m_step(found.summary)
    np.testing.assert_allclose(again[1], found.params[1], atol=1e-4)
    low = found.params[1][np.argsort(found.params[1][:, 0])]
    np.testing.assert_allclose(low, [[0.1, 0.3, 0.9, 0.6, 0.2], [0.9, 0.8, 0.1, 0.2, 0.7]], atol=0.1)


def test_two_coins_have_a_known_answer() -> None:
    """Two coins, ten throws each time, the coin not told: the classical example, and its classical answer."""

    @dataclass(frozen=True)
    class Throws:
        log_likelihood: float
        weight: float
        heads: Array
        tails: Array

        def __add__(self, other: Throws) -> Throws:
            return Throws(
                self.log_likelihood + other.log_likelihood,
                self.weight + other.weight,
                self.heads + other.heads,
                self.tails + other.tails,
            )

    class Coins:
        def e_step(self, block: Any, bias: Array) -> Throws:
            heads = np.asarray(block, dtype=float)
            joint = np.log(bias) * heads[:, None] + np.log1p(-bias) * (10 - heads[:, None]) + np.log(0.5)
            logs = logsumexp(joint, axis=1)
            share = np.exp(joint - logs[:, None])
            return Throws(float(logs.sum()), float(len(heads)), heads @ share, (10 - heads) @ share)

        def m_step(self, summary: Throws) -> Array:
            return summary.heads / (summary.heads + summary.tails)

    found = em(Coins(), BlockSource([[5, 9], [8, 4, 7]]), [np.array([0.6, 0.5])], tol=1e-12, max_iter=500)
    np.testing.assert_allclose(found.params, [0.7968, 0.5196], atol=2e-4)
    assert found.evidence.holds


def test_blocks_and_threads_are_the_whole() -> None:
    X, model, rules = binary(), BernoulliMixture(), {"tol": 1e-10, "max_iter": 500}
    whole = em(model, ArraySource(X, size=10_000), [start()], **rules)
    rows = em(model, ArraySource(X, size=64), [start()], **rules)
    stream = em(model, BlockSource([(X[:100],), (X[100:250],), (X[250:],)]), [start()], **rules)
    finer = em(model, BlockSource([(X[:300],), (X[300:],)], size=70), [start()], **rules)
    for other in (rows, stream, finer):
        np.testing.assert_allclose(other.params[1], whole.params[1], rtol=1e-10)
        assert other.evidence.n_iter == whole.evidence.n_iter


def test_the_best_of_several_starts_is_kept() -> None:
    X, model, rules = binary(), BernoulliMixture(), {"tol": 1e-10, "max_iter": 500}
    same = np.full(2, 0.5), np.full((2, 5), 0.5)  # a saddle: the components never part
    found = em(model, ArraySource(X, size=1000), [same, start(1), start(2)], **rules)
    alone = em(model, ArraySource(X, size=1000), [same], **rules)
    assert found.objective > alone.objective + 0.1
    assert found.evidence.facts["starts"] == 3
    assert "2 of 3 starts" in str(found.evidence)
    assert found.evidence.facts["worst objective"] == pytest.approx(-alone.objective)


def test_stopping() -> None:
    X, model = binary(), BernoulliMixture()

    def run(**rules: Any) -> Any:
        return em(model, ArraySource(X, size=1000), [start(), start(1)], tol=1e-9, **rules).evidence

    few = run(max_iter=2)
    assert (few.status, few.n_iter, few.holds) == (Status.MAX_ITER, 2, False)
    assert "gained in the last iteration" in str(few)
    assert run(max_iter=0).n_iter == 0
    assert run(seconds=0.0).status is Status.BUDGET
    seen: list[float] = []

    def watch(record: dict[str, float], read: Callable[[], Any]) -> bool:
        assert read()[1].shape == (2, 5)
        seen.append(record["iteration"])
        return len(seen) == 3

    stopped = run(observe=watch)
    assert (stopped.status, seen) == (Status.BUDGET, [0.0, 1.0, 2.0])


@pytest.mark.parametrize("at", [3, 30])
def test_control_c_keeps_the_best_so_far(at: int) -> None:
    X, passes = binary(), 0

    class Impatient(BernoulliMixture):
        def e_step(self, block: Any, params: tuple[Array, Array]) -> Counts:
            nonlocal passes
            passes += 1
            if passes == at:
                raise KeyboardInterrupt
            return super().e_step(block, params)

    rules = {"tol": 1e-9, "max_iter": 500}
    found = em(Impatient(), ArraySource(X, size=1000), [start(seed) for seed in range(20)], **rules)
    assert found.evidence.status is Status.INTERRUPTED
    assert np.isfinite(found.params[1]).all()
    passes = at - 1
    with pytest.raises(KeyboardInterrupt):  # nothing there yet that could be kept
        em(Impatient(), ArraySource(X, size=1000), [start()], **rules)


def test_a_model_whose_m_step_is_wrong_is_found_out() -> None:
    class Wrong(BernoulliMixture):
        def m_step(self, summary: Counts) -> tuple[Array, Array]:
            shares, rates = super().m_step(summary)
            return shares, 0.5 * rates

    found = em(Wrong(), ArraySource(binary(), size=1000), [start()], tol=1e-9)
    assert found.evidence.status is Status.STALLED
    assert found.evidence.claim == "Check failed"
    assert "largest fall" in found.evidence.certificate.name
    assert found.objective == -min(found.evidence.history["objective"])


def test_a_tolerance_of_zero_makes_all_iterations() -> None:
    found = em(BernoulliMixture(), ArraySource(binary(), size=1000), [start()], tol=0.0, max_iter=300)
    assert (found.evidence.status, found.evidence.n_iter) == (Status.MAX_ITER, 300)
    assert found.evidence.certificate.tolerance == 0.0


def test_a_model_may_say_how_far_it_moved() -> None:
    class Moving(BernoulliMixture):
        movement_name = "largest change of a rate"

        def movement(self, before: tuple[Array, Array], after: tuple[Array, Array]) -> float:
            return float(np.abs(after[1] - before[1]).max())

    evidence = em(Moving(), ArraySource(binary(), size=1000), [start()], tol=1e-8, max_iter=2000).evidence
    assert evidence.status is Status.CONVERGED
    assert evidence.certificate.name == "largest change of a rate"
    assert evidence.history["certificate"][-1] <= 1e-8 < evidence.history["certificate"][-2]
    assert len(evidence.history["gain"]) == len(evidence.history["iteration"])


def test_a_small_gain_does_not_end_it_before_the_next_step_is_short() -> None:
    class Measured(BernoulliMixture):
        movement_name = "largest change of a rate in the next step"

        def movement(self, before: tuple[Array, Array], after: tuple[Array, Array]) -> float:
            return float(np.abs(after[1] - before[1]).max())

        def movement_tol(self, tol: float) -> float:
            return 1e-6

    source, model = ArraySource(binary(), size=1000), Measured()
    loose = em(model, source, [start()], tol=1e-3, max_iter=2000)
    assert loose.evidence.holds
    assert loose.evidence.status is Status.CONVERGED
    assert loose.evidence.certificate.value <= 1e-6
    assert loose.evidence.certificate.value == model.movement(loose.params, model.m_step(loose.summary))
    assert loose.evidence.history["gain"][-1] <= 1e-3
    assert em(model, source, [start()], tol=1e-14, max_iter=2000).evidence.holds
    assert em(model, source, [start()], tol=1e-3, max_iter=1).evidence.status is Status.MAX_ITER


def test_bad_input() -> None:
    model = BernoulliMixture()
    with pytest.raises(ValueError, match="read more than once"):
        BlockSource(iter([binary()]))
    with pytest.raises(ValueError, match="blocks is empty"):
        em(model, BlockSource([]), [start()])
    with pytest.raises(ValueError, match="no start to run from"):
        em(model, ArraySource(binary(), size=100), [])
    impossible = np.full(2, 0.5), np.zeros((2, 5))
    with np.errstate(all="ignore"), pytest.raises(ValueError, match=r"log-likelihood is (-inf|nan)"):
        em(model, ArraySource(binary(), size=1000), [impossible])
