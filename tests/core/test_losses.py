"""Losses: derivatives against finite differences, conjugates against their definition, kernels against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from corollary._compiled import losses as compiled
from corollary.core.loss import LOSSES, EpsilonInsensitive, Huber, Loss, Quantile, SoftmaxLoss

ONE_COLUMN = [cls() for name, cls in LOSSES.items() if name != "softmax"] + [Huber(0.3), Quantile(0.9)]
IDS = [f"{loss.name}({loss.parameter:g})" for loss in ONE_COLUMN]


def sample(loss: Loss, n: int = 200) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    f = 2 * rng.standard_normal(n)
    if loss.task == "classification":
        return np.where(rng.random(n) < 0.5, -1.0, 1.0), f
    return (rng.poisson(2, n).astype(float) if loss.name == "poisson" else 2 * rng.standard_normal(n)), f


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
    y, _ = sample(loss, 8)
    outside = {"squared": None, "poisson": -y - 1}.get(
        loss.name, 50 * y if loss.task == "classification" else y * 0 + 50
    )
    if outside is not None:
        assert np.isposinf(loss.conjugate(y, outside)).all()


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
    assert compiled.conjugate_block(loss.code, loss.parameter, y, slope, w) == pytest.approx(expected, rel=1e-10)


def test_softmax_kernel_equals_its_twin_and_its_derivatives() -> None:
    rng = np.random.default_rng(0)
    f, y, w, loss = 3 * rng.standard_normal((60, 4)), rng.integers(0, 4, 60), rng.random(60), SoftmaxLoss()
    slope = np.empty_like(f)
    assert compiled.softmax_block(y, f, w, slope) == pytest.approx(w @ loss.value(y, f), rel=1e-12)
    np.testing.assert_allclose(slope, w[:, None] * loss.gradient(y, f), rtol=1e-11, atol=1e-14)
    entropy = compiled.softmax_conjugate_block(y, slope, w)
    assert entropy == pytest.approx(w @ loss.conjugate(y, loss.gradient(y, f)), rel=1e-10)
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
    assert compiled.softmax_conjugate_block(y, slope, w) == pytest.approx(1000 * entropy, rel=1e-12)
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
