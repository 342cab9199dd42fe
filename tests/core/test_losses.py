"""Losses: derivatives against finite differences, conjugates against their definition, kernels against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from corollary._compiled import losses as compiled
from corollary.core.loss import LOSSES, EpsilonInsensitive, Huber, Loss, Poisson, Quantile, SoftmaxLoss, Tweedie
from corollary.core.loss.numerical import conjugate as numerical_conjugate
from corollary.core.parallel import run_team

ONE_COLUMN = [cls() for cls in LOSSES.values() if not cls.multiclass]
ONE_COLUMN += [Huber(0.3), Quantile(0.9), Tweedie(1.0), Tweedie(1.1), Tweedie(1.9), Tweedie(2.0)]
IDS = [f"{loss.name}({loss.parameter:g})" for loss in ONE_COLUMN]


def sample(loss: Loss, n: int = 200) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    f = 2 * rng.standard_normal(n)
    if loss.task == "classification":
        return np.where(rng.random(n) < 0.5, -1.0, 1.0), f
    if loss.domain.low >= 0:
        return (rng.gamma(2, size=n) if loss.domain.above else rng.poisson(2, n).astype(float)), f
    return 2 * rng.standard_normal(n), f


@pytest.mark.parametrize("loss", ONE_COLUMN, ids=IDS)
def test_gradient_is_the_derivative_of_the_value(loss: Loss) -> None:
    y, f = sample(loss)
    step = 1e-6
    slope = (loss.value(y, f + step) - loss.value(y, f - step)) / (2 * step)
    np.testing.assert_allclose(loss.gradient(y, f), slope, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("loss", [loss for loss in ONE_COLUMN if loss.curved], ids=lambda loss: loss.name)
def test_hessian_is_the_derivative_of_the_gradient(loss: Loss) -> None:
    y, f = sample(loss)
    step = 1e-6
    curve = (loss.gradient(y, f + step) - loss.gradient(y, f - step)) / (2 * step)
    away = np.abs(np.abs(y - f) - loss.parameter) > 1e-3  # not at the Huber loss's seam
    np.testing.assert_allclose(loss.hessian(y, f)[away], curve[away], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("loss", ONE_COLUMN, ids=IDS)
def test_fenchel_young_holds_with_equality_at_the_gradient(loss: Loss) -> None:
    y, f = sample(loss)
    u = loss.gradient(y, f)
    np.testing.assert_allclose(loss.value(y, f) + loss.conjugate(y, u), u * f, rtol=1e-9, atol=1e-9)
    other = np.roll(f, 1)
    assert (loss.value(y, other) + loss.conjugate(y, u) >= u * other - 1e-9).all()


@pytest.mark.parametrize("loss", ONE_COLUMN, ids=IDS)
def test_conjugate_is_the_supremum(loss: Loss) -> None:
    y, f = sample(loss, 12)
    u = 0.7 * loss.gradient(y, f)
    grid = np.linspace(-40, 40, 400_001)
    brute = [np.max(ui * grid - loss.value(np.full_like(grid, yi), grid)) for yi, ui in zip(y, u, strict=True)]
    np.testing.assert_allclose(loss.conjugate(y, u), brute, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("loss", ONE_COLUMN, ids=IDS)
def test_conjugate_is_infinite_outside_its_domain(loss: Loss) -> None:
    """The domain ends where slopes stop growing; the squared loss has no such ends."""
    y, _ = sample(loss, 8)
    ends = 0
    for side in (-1.0, 1.0):
        with np.errstate(over="ignore"):
            far, farther = (loss.gradient(y, np.full_like(y, side * end)) for end in (8e3, 9e3))
        stops = (far == farther) & np.isfinite(far)
        beyond = far[stops] + side
        assert np.isposinf(loss.conjugate(y[stops], beyond)).all()
        assert np.isposinf(numerical_conjugate(loss, y[stops], beyond)).all()
        ends += int(stops.sum())
    assert ends > 0 or loss.name == "squared"


@pytest.mark.parametrize("loss", ONE_COLUMN, ids=IDS)
def test_the_numerical_conjugate_equals_the_formula_and_is_never_below_it(loss: Loss) -> None:
    y, f = sample(loss)
    slopes = loss.gradient(y, f)
    for u in (slopes, 0.3 * slopes, slopes + 1e-9, 0 * slopes):
        exact, found = loss.conjugate(y, u), numerical_conjugate(loss, y, u)
        np.testing.assert_array_equal(np.isinf(found), np.isinf(exact))
        inside = np.isfinite(exact)
        np.testing.assert_allclose(found[inside], exact[inside], rtol=1e-10, atol=1e-10)
        assert (found[inside] >= exact[inside] - 1e-14 * (1 + np.abs(u * f)[inside])).all()


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("name", ["squared", "huber", "logistic", "poisson"])
def test_the_numerical_conjugate_at_any_scale(name: str, size: float) -> None:
    loss = LOSSES[name]()
    y, f = sample(loss)
    y, f = (y, f) if loss.task == "classification" else (size * y, size * f if loss.link.in_units_of_y else f)
    u = loss.gradient(y, f)
    exact = loss.conjugate(y, u)
    np.testing.assert_allclose(numerical_conjugate(loss, y, u), exact, rtol=1e-9, atol=1e-9 * size)


def test_rounding_at_the_edge_of_a_domain_is_forgiven_and_no_more() -> None:
    y, loss = np.array([1.0, -1.0]), LOSSES["logistic"]()
    np.testing.assert_allclose(numerical_conjugate(loss, y, -y * (1 + 2e-16)), 0.0, atol=1e-10)
    assert np.isinf(numerical_conjugate(loss, y, -y * (1 + 1e-9))).all()


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e6])
@pytest.mark.parametrize("loss", ONE_COLUMN, ids=IDS)
def test_the_best_constant_is_the_best(loss: Loss, size: float) -> None:
    """In the right units: of y where raw predictions have them, of logarithms for means that are exp(f)."""
    y, _ = sample(loss)
    y, w = y if loss.task == "classification" else size * y, np.random.default_rng(1).random(len(y))
    w[::5] = 0.0
    best = loss.best_constant(y, w)

    def cost(constant: float) -> float:
        return float(w @ loss.value(y, np.full_like(y, constant)))

    assert np.isfinite(best)
    step = 1e-4 * loss.reach(y, 0 * y)
    assert cost(best) <= min(cost(best - step), cost(best + step)) * (1 + 1e-14) + 1e-14
    uncompiled = type("Plain", (type(loss),), {"code": -1})(**loss.parameters)
    assert cost(uncompiled.best_shift(y, 0 * y, w)) == pytest.approx(cost(best), rel=1e-9)


def test_the_best_constant_of_tweedie_is_the_logarithm_of_the_mean() -> None:
    y, w = np.array([0.0, 0.0, 3.0, 2e4]), np.array([1.0, 2.0, 1.0, 0.5])
    for power in (1.0, 1.5, 1.99):
        assert Tweedie(power).best_constant(y, w) == pytest.approx(np.log(np.average(y, weights=w)), rel=1e-14)
        exact = Tweedie(power).best_shift(y, 0 * y, w)  # by a bracket, which once went to −5.8e21
        assert exact == pytest.approx(np.log(np.average(y, weights=w)), rel=1e-9)
    assert Tweedie().best_constant(0 * y, w) < -300  # nothing is ever paid: any very low value is as good


@pytest.mark.parametrize("power", [1.0, 1.2, 1.5, 1.8, 2.0])
def test_tweedie_is_half_the_deviance(power: float) -> None:
    from sklearn.metrics import mean_tweedie_deviance

    rng = np.random.default_rng(0)
    y, f, w = rng.gamma(0.5, size=50), rng.standard_normal(50), rng.random(50)
    if power < 2:
        y[::3] = 0.0
    loss = Tweedie(power)
    ours = 2 * np.average(loss.value(y, f), weights=w)
    assert ours == pytest.approx(mean_tweedie_deviance(y, np.exp(f), sample_weight=w, power=power), rel=1e-12)
    np.testing.assert_allclose(loss.conjugate(y, 0 * f), 0.0, atol=1e-13)  # the least loss is zero, at μ = y


def test_the_ends_of_tweedie_and_its_limits() -> None:
    y, f = sample(Poisson())
    above_its_least = Poisson().value(y, f) + Poisson().conjugate(y, 0 * f)
    np.testing.assert_allclose(Tweedie(1).value(y, f), above_its_least, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(Tweedie(1).hessian(y, f), Poisson().hessian(y, f), rtol=1e-12)
    Tweedie(1.5).check_target(y)
    with pytest.raises(ValueError, match=r"tweedie loss needs y > 0, but y has \d+ values outside that"):
        Tweedie(2).check_target(y)
    for power in (0.9, 2.1, "many"):
        with pytest.raises(ValueError, match="Tweedie: power must be a number ≥ 1 and ≤ 2"):
            Tweedie(power)


def test_losses_are_values() -> None:
    assert Huber(0.5) == Huber(delta=0.5) != Huber(0.6)
    assert Huber(0.5) != Quantile(0.5)
    assert len({Huber(0.5), Huber(0.5), Quantile(0.5)}) == 2
    assert repr(Huber(0.5)) == "Huber(delta=0.5)"
    assert [loss.parameter for loss in (Huber(2), Quantile(0.1), LOSSES["squared"]())] == [2.0, 0.1, 0.0]
    for bad in (lambda: Huber(0.0), lambda: Quantile(-0.1), lambda: EpsilonInsensitive(-1), lambda: Huber(np.nan)):
        with pytest.raises(ValueError, match="must be a number"):
            bad()


@pytest.mark.parametrize("loss", ONE_COLUMN, ids=IDS)
def test_kernels_equal_their_twins(loss: Loss) -> None:
    y, f = sample(loss)
    w = np.random.default_rng(1).random(len(y))
    w[::7] = 0.0
    slope, curve = np.empty_like(f), np.empty_like(f)
    total = compiled.loss_block(loss.code, loss.parameter, y, f, w, slope, curve)
    np.testing.assert_allclose(total, w @ loss.value(y, f), rtol=1e-12)
    np.testing.assert_allclose(slope, w * loss.gradient(y, f), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(curve, w * loss.hessian(y, f), rtol=1e-12, atol=1e-15)
    live = w > 0
    expected = w[live] @ loss.conjugate(y[live], (slope / np.where(live, w, 1))[live])
    sums = np.empty(1)
    run_team(compiled.conjugate_rows, loss.code, loss.parameter, y, slope, w, False, len(y), sums)
    assert sums[0] == pytest.approx(expected, rel=1e-10)


def test_softmax_kernel_equals_its_twin_and_its_derivatives() -> None:
    rng = np.random.default_rng(0)
    f, y, w, loss = 3 * rng.standard_normal((60, 4)), rng.integers(0, 4, 60), rng.random(60), SoftmaxLoss()
    slope = np.empty_like(f)
    assert compiled.softmax_block(y, f, w, slope) == pytest.approx(w @ loss.value(y, f), rel=1e-12)
    np.testing.assert_allclose(slope, w[:, None] * loss.gradient(y, f), rtol=1e-11, atol=1e-14)
    sums = np.empty(1)
    run_team(compiled.softmax_conjugate_rows, y, slope, w, False, 60, sums)
    assert sums[0] == pytest.approx(w @ loss.conjugate(y, loss.gradient(y, f)), rel=1e-10)
    np.testing.assert_allclose(
        loss.value(y, f) + loss.conjugate(y, loss.gradient(y, f)), (loss.gradient(y, f) * f).sum(axis=1), atol=1e-9
    )
    step = np.zeros(4)
    step[2] = 1e-6
    column = (loss.gradient(y, f + step) - loss.gradient(y, f - step)) / 2e-6
    np.testing.assert_allclose(loss.hessian(y, f)[:, :, 2], column, atol=1e-6)


def test_rows_that_are_nearly_certain_keep_their_digits() -> None:
    """The own class ahead by 40: loss, slope and conjugate are of the size of exp(−40), not of rounding."""
    f, y, w, loss = np.array([[0.0, 40.0, 0.0]]), np.array([1]), np.array([1000.0]), SoftmaxLoss()
    little = np.exp(-40.0)
    slope = np.empty_like(f)
    assert compiled.softmax_block(y, f, w, slope) == pytest.approx(2000 * little, rel=1e-13)
    np.testing.assert_allclose(slope, 1000 * little * np.array([[1.0, -2.0, 1.0]]), rtol=1e-13)
    np.testing.assert_allclose(loss.value(y, f), 2 * little, rtol=1e-13)
    np.testing.assert_allclose(1000 * loss.gradient(y, f), slope, rtol=1e-13)
    entropy = 2 * little * -40.0 - 2 * little  # Σ p log p, with p = 1 − 2 exp(−40) for the own class
    sums = np.empty(1)
    run_team(compiled.softmax_conjugate_rows, y, slope, w, False, 1, sums)
    assert sums[0] == pytest.approx(1000 * entropy, rel=1e-12)
    np.testing.assert_allclose(loss.conjugate(y, slope / 1000), entropy, rtol=1e-12)


def test_softmax_of_one_class_against_two() -> None:
    """Logits that differ by 2.2 give (0.8186, 0.0907, 0.0907)."""
    p = SoftmaxLoss().link.inverse(np.array([[2.2, 0.0, 0.0]]))
    np.testing.assert_allclose(p, [[0.8186, 0.0907, 0.0907]], atol=5e-5)


@pytest.mark.parametrize("name", ["logistic", "exponential"])
def test_links_give_the_probability_that_minimises_the_expected_loss(name: str) -> None:
    loss, f = LOSSES[name](), np.array([-1.2, 0.0, 0.4])
    p = loss.link.inverse(f)
    np.testing.assert_allclose(
        p * loss.gradient(np.ones(3), f) + (1 - p) * loss.gradient(-np.ones(3), f), 0, atol=1e-12
    )


def test_extreme_raw_predictions_stay_finite() -> None:
    loss, y, f = LOSSES["logistic"](), np.array([1.0, -1.0]), np.array([-800.0, 800.0])
    np.testing.assert_allclose(loss.value(y, f), 800.0)
    slope, curve = np.empty(2), np.empty(2)
    assert compiled.loss_block(loss.code, 0.0, y, f, np.ones(2), slope, curve) == 1600.0
    np.testing.assert_allclose(slope, -y)


def test_poisson_refuses_negative_counts() -> None:
    with pytest.raises(ValueError, match="y ≥ 0"):
        LOSSES["poisson"]().check_target(np.array([1.0, -1.0]))


def test_the_tube_is_flat() -> None:
    loss = EpsilonInsensitive(0.5)
    assert not loss.value(np.zeros(3), np.array([-0.5, 0.0, 0.5])).any()
