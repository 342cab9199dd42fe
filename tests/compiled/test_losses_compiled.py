"""The loss kernels against their NumPy twins where it is delicate: kinks, edges of domains, weight zero, extremes."""

from __future__ import annotations

import numpy as np
import pytest

from corollary._compiled import losses as compiled
from corollary.core.design import as_design
from corollary.core.loss import LOSSES, EpsilonInsensitive, Huber, Loss, Quantile, SoftmaxLoss, Tweedie
from corollary.core.parallel import run_team, threads
from corollary.core.penalty import NoPenalty
from corollary.core.problem import SMALL, Problem

ONE_COLUMN = [cls() for cls in LOSSES.values() if not cls.multiclass]
ONE_COLUMN += [Huber(0.3), Quantile(0.9), EpsilonInsensitive(0.0), Tweedie(1.1), Tweedie(1.9), Tweedie(2)]
IDS = [f"{loss.name}({loss.parameter:g})" for loss in ONE_COLUMN]


def conjugates(loss: Loss, y: np.ndarray, dual: np.ndarray, w: np.ndarray, size: int = 1000) -> np.ndarray:
    """Σ w ℓ*(dual / w) of each block of so many rows."""
    sums = np.empty(-(-len(y) // size))
    run_team(compiled.conjugate_rows, loss.code, loss.parameter, y, dual, w, False, size, sums)
    return sums


def entropies(y: np.ndarray, dual: np.ndarray, w: np.ndarray, strict: bool = False) -> float:
    sums = np.empty(1)
    run_team(compiled.softmax_conjugate_rows, y, dual, w, strict, len(y), sums)
    return float(sums[0])


def targets(loss: Loss) -> np.ndarray:
    if loss.task == "classification":
        return np.array([-1.0, 1.0])
    if loss.domain.low >= 0:
        return np.array([0.3 if loss.domain.above else 0.0, 1.0, 4.0])
    return np.array([-2.5, 0.0, 1.0])


def pairs(loss: Loss, values: list[float]) -> tuple[np.ndarray, np.ndarray]:
    y, f = np.meshgrid(targets(loss), values)
    return y.ravel(), f.ravel()


@pytest.mark.parametrize("loss", ONE_COLUMN, ids=IDS)
def test_values_and_slopes_at_kinks(loss: Loss) -> None:
    y, f = pairs(loss, [-1.0, 0.0, 1.0])
    f = np.concatenate([f, y, y + loss.parameter, y - loss.parameter])  # on the kinks themselves
    y = np.tile(y, 4)
    slope, curve, one = np.empty_like(f), np.empty_like(f), np.ones_like(f)
    total = compiled.loss_block(loss.code, loss.parameter, y, f, one, slope, curve)
    assert total == pytest.approx(loss.value(y, f).sum(), rel=1e-13)
    np.testing.assert_allclose(slope, loss.gradient(y, f), rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(curve, loss.hessian(y, f), rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("loss", ONE_COLUMN, ids=IDS)
def test_the_twins_agree_on_what_lies_outside_the_domain(loss: Loss) -> None:
    edges = [0.0, 1.0, -1.0, loss.parameter, -loss.parameter, 1 - loss.parameter, -4.0]
    near = [edge + step for edge in edges for step in (0.0, 1e-14, -1e-14, 1e-9, -1e-9, 0.25, -0.25)]
    y, u = pairs(loss, near)
    plain = loss.conjugate(y, u)
    np.testing.assert_allclose(
        conjugates(loss, y, u, np.ones(len(u)), size=1), plain, rtol=1e-12, atol=1e-14
    )  # inf must meet inf
    if loss.name != "squared":
        assert np.isinf(plain).any()
    assert np.isfinite(plain).any()


@pytest.mark.parametrize("loss", ONE_COLUMN, ids=IDS)
def test_the_conjugate_is_convex_and_bounds_every_line(loss: Loss) -> None:
    """u f − ℓ(y, f) ≤ ℓ*(y, u) everywhere, and the gradients of ℓ lie in the domain of ℓ*."""
    y, f = pairs(loss, list(np.linspace(-3, 3, 13)))
    u = loss.gradient(y, f)
    assert np.isfinite(loss.conjugate(y, u)).all()
    middle = loss.conjugate(y, 0.5 * (u + loss.gradient(y, f + 1)))
    assert (middle <= 0.5 * (loss.conjugate(y, u) + loss.conjugate(y, loss.gradient(y, f + 1))) + 1e-12).all()
    for other in np.linspace(-5, 5, 11):
        assert (u * other - loss.value(y, np.full_like(y, other)) <= loss.conjugate(y, u) + 1e-10).all()


@pytest.mark.parametrize("loss", ONE_COLUMN, ids=IDS)
def test_rows_of_weight_zero_cost_nothing_and_may_have_no_dual(loss: Loss) -> None:
    y, f = pairs(loss, [-0.5, 0.5])
    w = np.zeros_like(y)
    slope, curve = np.empty_like(f), np.empty_like(f)
    assert compiled.loss_block(loss.code, loss.parameter, y, f, w, slope, curve) == 0.0
    assert not slope.any()
    assert not curve.any()
    assert conjugates(loss, y, slope, w) == 0.0
    slope[1] = 0.1
    assert conjugates(loss, y, slope, w) == np.inf


def test_logistic_keeps_its_digits_far_from_zero() -> None:
    loss, slope, curve = LOSSES["logistic"](), np.empty(4), np.empty(4)
    y, f = np.array([1.0, 1.0, -1.0, -1.0]), np.array([40.0, -40.0, 700.0, -700.0])
    compiled.loss_block(loss.code, 0.0, y, f, np.ones(4), slope, curve)
    np.testing.assert_allclose(slope, [-np.exp(-40), -1.0, 1.0, np.exp(-700)], rtol=1e-15)
    np.testing.assert_allclose(curve, [np.exp(-40), np.exp(-40), np.exp(-700), np.exp(-700)], rtol=1e-15)


def test_softmax_outside_the_simplex_and_without_weight() -> None:
    y, loss = np.array([0, 2]), SoftmaxLoss()
    edge = np.array([[0.0, 0.0, 0.0], [0.5, 0.0, -0.5]])  # probabilities with zeros in them are allowed
    assert entropies(y, edge, np.ones(2)) == pytest.approx(np.log(0.5), rel=1e-14)
    np.testing.assert_allclose(loss.conjugate(y, edge), [0.0, np.log(0.5)], atol=1e-15)
    for outside in ([[0.1, -0.2, 0.1], [0, 0, 0]], [[0.1, 0.0, 0.0], [0, 0, 0]], [[-1.2, 0.6, 0.6], [0, 0, 0]]):
        dual = np.array(outside, dtype=float)
        assert entropies(y, dual, np.ones(2)) == np.inf
        assert np.isinf(loss.conjugate(y, dual)).any()
    assert entropies(y, edge, np.zeros(2)) == np.inf
    assert entropies(y, 0 * edge, np.zeros(2)) == 0.0
    slope = np.empty((2, 3))
    huge = np.array([[1e4, 0.0, -1e4], [0.0, 0.0, 0.0]])
    assert compiled.softmax_block(y, huge, np.ones(2), slope) == pytest.approx(np.log(3.0), rel=1e-14)
    np.testing.assert_allclose(slope[0], 0.0, atol=1e-300)


@pytest.mark.parametrize("loss", [*ONE_COLUMN, SoftmaxLoss()], ids=[*IDS, "softmax"])
def test_small_and_large_problems_take_different_roads_to_one_value(loss: Loss) -> None:
    """Few rows are evaluated by NumPy, many by kernels; repeating the rows must multiply every sum."""
    rng = np.random.default_rng(0)
    n, times = 64, 2 * SMALL // 64
    k = (3,) if loss.multiclass else ()
    f = rng.standard_normal((n, *k))
    y = rng.integers(0, 3, n) if loss.multiclass else rng.choice(targets(loss), n)
    w = rng.random(n) * (rng.random(n) < 0.8)

    def problem(rows: int) -> Problem:
        X = np.zeros((n * rows, 1))
        return Problem(as_design(X), np.tile(y, rows), np.tile(w, rows), loss, NoPenalty(), n_classes=3 if k else 0)

    small, large = problem(1), problem(times)
    value, slope, curve = small.derivatives(f)
    many_value, many_slope, many_curve = large.derivatives(np.tile(f, (times, *[1 for _ in k])))
    assert many_value == pytest.approx(times * value, rel=1e-12)
    np.testing.assert_allclose(many_slope[:n], slope, rtol=1e-12, atol=1e-15)
    assert (curve is None) == (many_curve is None)
    assert large.conjugate_sum(many_slope) == pytest.approx(times * small.conjugate_sum(slope), rel=1e-11, abs=1e-11)
    spoiled = slope.copy()
    spoiled[w == 0] = 0.1  # a dual variable where there is no row
    assert small.conjugate_sum(spoiled) == np.inf


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("loss", [*ONE_COLUMN, SoftmaxLoss()], ids=[*IDS, "softmax"])
def test_a_team_has_the_sums_of_blocks_and_every_row(loss: Loss, count: int) -> None:
    """What fits call: rows shared out by blocks, the last of which is short."""
    rng, n, size = np.random.default_rng(2), 103, 10
    w, sums, edges = rng.random(n) * (rng.random(n) < 0.8), np.empty(11), np.arange(0, n, size)
    with threads(count):
        if loss.multiclass:
            f, y, slope = rng.standard_normal((n, 3)), rng.integers(0, 3, n), np.empty((n, 3))
            run_team(compiled.softmax_rows, y, f, w, size, slope, sums)
        else:
            f, y, slope, curve = rng.standard_normal(n), rng.choice(targets(loss), n), np.empty(n), np.empty(n)
            args = loss.code, loss.parameter, False, y, f, w, size, slope, curve, sums
            run_team(compiled.loss_rows, *args)
            np.testing.assert_allclose(curve, w * loss.hessian(y, f), rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(sums, np.add.reduceat(w * loss.value(y, f), edges), rtol=1e-12, atol=1e-15)
        shares = w[:, None] if loss.multiclass else w
        np.testing.assert_allclose(slope, shares * loss.gradient(y, f), rtol=1e-12, atol=1e-14)


def test_with_strict_a_dual_of_the_wrong_sign_is_no_slope_of_its_class() -> None:
    y, w, sums = np.array([1.0, -1.0]), np.ones(2), np.empty(1)
    loss = LOSSES["logistic"]()
    for dual, finite in (([-0.2, 0.3], True), ([1e-15, 0.3], False)):
        run_team(compiled.conjugate_rows, loss.code, loss.parameter, y, np.array(dual), w, True, 2, sums)
        assert np.isfinite(sums[0]) == finite
    assert np.isfinite(conjugates(loss, y, np.array([1e-15, 0.3]), w)).all()  # rounding is forgiven otherwise
    labels, edge = np.array([0]), np.array([[1e-14, -1e-14]])
    assert entropies(labels, edge, np.ones(1), strict=True) == np.inf
    assert np.isfinite(entropies(labels, edge, np.ones(1)))


@pytest.mark.parametrize("power", [1.0, 1.0001, 1.3, 1.9987, 1.999, 1.9999, 2.0])
def test_conjugates_of_tweedie_at_every_power(power: float) -> None:
    """At the slope of f the supremum is attained at f: near the ends of the powers too, from tiny to huge amounts."""
    rng, loss = np.random.default_rng(0), Tweedie(power)
    y = rng.gamma(0.7, 2.0, size=500) * rng.choice([1e-3, 1.0, 1e3], size=500)
    y[::5] = 0.0 if power < 2 else 1.0
    f = rng.normal(0.0, 3.0, size=500)
    u = loss.gradient(y, f)
    found = conjugates(loss, y, u, np.ones(500), size=1)
    attained = u * f - loss.value(y, f)
    size = 1 + np.abs(u * f) + np.abs(loss.value(y, f))
    assert (found - attained >= -1e-13 * size).all()  # never below the supremum: a duality gap rests on it
    np.testing.assert_allclose(found / size, attained / size, atol=1e-12)
