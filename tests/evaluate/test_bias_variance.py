"""Bias, variance and noise: identities to rounding, and the truth on data whose noise is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from corollary import DecisionTreeClassifier, DecisionTreeRegressor, KNeighborsRegressor, LinearRegression
from corollary.evaluate import BiasVariance, bias_variance

GRID = np.linspace(0, 6, 60)[:, None]
NOISE = 0.3**2


def draw(rng: np.random.Generator) -> tuple[Any, Any]:
    x = rng.uniform(0, 6, (50, 1))
    return x, np.sin(x[:, 0]) + rng.normal(0, 0.3, 50)


def draw_labels(rng: np.random.Generator, classes: int = 3) -> tuple[Any, Any]:
    x = rng.uniform(0, 6, (80, 1))
    p = chances(x, classes)
    return x, np.array(["a", "b", "c"])[[rng.choice(classes, p=row) for row in p]]


def chances(x: Any, classes: int = 3) -> Any:
    """The best label moves from a to c along x; it is right in 70 % of the cases."""
    best = np.minimum((x[:, 0] / 6 * classes).astype(int), classes - 1)
    p = np.full((len(x), classes), 0.3 / (classes - 1))
    p[np.arange(len(x)), best] = 0.7
    return p


def identity_holds(found: BiasVariance) -> None:
    np.testing.assert_allclose(found.total, found.bias + found.variance + found.noise, rtol=1e-12, atol=1e-14)
    rows = found.rows
    np.testing.assert_allclose(rows["total"], rows["bias"] + rows["variance"] + rows["noise"], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(found.variance, found.unbiased_variance - found.biased_variance, atol=1e-14)


@pytest.mark.parametrize("model", [LinearRegression(), KNeighborsRegressor(5), DecisionTreeRegressor()])
def test_the_identity_of_the_squared_loss(model: Any) -> None:
    X, y = draw(np.random.default_rng(0))
    y_test = np.sin(GRID[:, 0]) + np.random.default_rng(1).normal(0, 0.3, len(GRID))
    for arguments in (
        {"noise": NOISE},
        {"noise": NOISE, "truth": np.sin(GRID[:, 0])},
        {"noise": np.linspace(0, 0.1, len(GRID))},
        {"truth": np.sin(GRID[:, 0])},
        {},
    ):
        found = bias_variance(model, X, y, GRID, y_test, method=draw, draws=20, **arguments)
        identity_holds(found)
        assert found.noise_known == bool(arguments)
    assert found.noise == 0
    identity_holds(bias_variance(model, X, y, draws=30))
    identity_holds(bias_variance(model, X, y, GRID, y_test, method="resample", share=0.7, draws=10, noise=NOISE))


def test_squared_parts_are_the_true_ones_of_linear_regression() -> None:
    """For a fixed design the variance is σ² h and the bias that of the projection: both known in closed form."""
    x = np.linspace(0, 1, 30)[:, None]
    design, truth = np.column_stack([np.ones(30), x[:, 0]]), np.sin(6 * x[:, 0])
    hat = design @ np.linalg.solve(design.T @ design, design.T)

    def again(rng: np.random.Generator) -> tuple[Any, Any]:
        return x, truth + rng.normal(0, 0.5, 30)

    found = bias_variance(LinearRegression(), x, truth, x, truth=truth, noise=0.25, method=again, draws=250)
    np.testing.assert_allclose(found.bias, np.mean((truth - hat @ truth) ** 2), rtol=0.1)
    np.testing.assert_allclose(found.variance, 0.25 * 2 / 30, rtol=0.2)
    assert found.noise == found.irreducible == 0.25
    fresh = [
        np.mean((truth + rng.normal(0, 0.5, 30) - LinearRegression().fit(*again(rng)).predict(x)) ** 2)
        for rng in map(np.random.default_rng, range(200))
    ]
    np.testing.assert_allclose(found.total, np.mean(fresh), rtol=0.1)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("depth", [1, None])
def test_the_identity_of_the_0_1_loss(classes: int, depth: int | None) -> None:
    X, y = draw_labels(np.random.default_rng(0), classes)
    p = chances(GRID, classes)
    best = np.array(["a", "b", "c"])[p.argmax(axis=1)]
    model = DecisionTreeClassifier(max_depth=depth)
    sampler = lambda rng: draw_labels(rng, classes)  # noqa: E731
    found = bias_variance(model, X, y, GRID, best, method=sampler, noise=p, draws=60)
    identity_holds(found)
    np.testing.assert_allclose(found.irreducible, 0.3)
    assert found.noise <= found.irreducible + 1e-12
    np.testing.assert_allclose(
        found.total, bias_variance(model, X, y, GRID, best, method=sampler, noise=0.3, draws=60).total
    )  # the same noise as a number
    # by brute force: the mean of P(label ≠ prediction) over fits
    said = [model.fit(*_drawn(sampler, seed)).predict(GRID) for seed in range(60)]
    codes = np.searchsorted(np.array(["a", "b", "c"])[:classes], np.array(said))
    loss = 1 - np.take_along_axis(np.broadcast_to(p, (60, *p.shape)), codes[:, :, None], axis=2)
    np.testing.assert_allclose(found.total, loss.mean(), atol=0.03)  # trees break ties by their own states
    if classes == 2:  # Domingos: c₁ = 2 P(ŷ = y*) − 1, and biased variance is all of it
        right = (codes == p.argmax(axis=1)).mean(axis=0)
        np.testing.assert_allclose(found.noise, np.mean((2 * right - 1) * 0.3), atol=0.03)
    identity_holds(bias_variance(model, X, y, draws=40))
    identity_holds(bias_variance(model, X, y, GRID, best, truth=best, draws=10))


def _drawn(sampler: Any, seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng([0, seed])
    rng.integers(2**31)  # taken by the random state of the tree
    return sampler(rng)


def test_stiff_models_are_biased_and_flexible_ones_vary() -> None:
    X, y = draw(np.random.default_rng(0))
    found = {
        k: bias_variance(KNeighborsRegressor(k), X, y, GRID, truth=np.sin(GRID[:, 0]), noise=NOISE, method=draw)
        for k in (1, 8, 40)
    }
    assert found[1].variance > found[8].variance
    assert found[1].bias < found[40].bias
    assert found[8].total == min(each.total for each in found.values())


def test_out_of_bag_rows_are_not_among_those_seen(tmp_path: Path) -> None:
    """A model that remembers its rows would have no error on them."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 1)), rng.normal(size=60)
    found = bias_variance(KNeighborsRegressor(1), X, y, draws=40, resume=tmp_path / "fits.jsonl")
    assert found.total > 1
    again = bias_variance(KNeighborsRegressor(1), X, y, draws=40, resume=tmp_path / "fits.jsonl")
    assert again.total == found.total
    grouped = bias_variance(KNeighborsRegressor(1), np.repeat(X, 2, axis=0), np.repeat(y, 2), draws=40,
                            groups=np.repeat(np.arange(60), 2))  # fmt: skip
    assert grouped.total > 1  # twins are drawn together
    weighted = bias_variance(LinearRegression(), X, y, draws=10, sample_weight=np.ones(60))
    np.testing.assert_allclose(weighted.total, bias_variance(LinearRegression(), X, y, draws=10).total)


def test_it_reads_as_a_sentence_and_draws() -> None:
    rows = {name: np.zeros(1) for name in ("main", "total", "bias", "variance", "noise")}
    found = BiasVariance("squared", 0.5, 0.2, 0.21, 0.09, True, 0.09, 0.21, 0.0, 100, rows)
    assert str(found) == "squared loss 0.5000 = bias² 0.2000 + variance 0.2100 + noise 0.0900, over 100 training sets."
    unknown = BiasVariance("0-1", 0.25, 0.2, 0.05, 0.0, False, 0.0, 0.08, 0.03, 50, rows)
    assert str(unknown) == (
        "0-1 loss 0.2500 = bias and noise together 0.2000 + variance 0.0500 (variance 0.0800 where the main prediction "
        "is right, less 0.0300 where it is wrong), over 50 training sets."
    )
    assert list(found.to_frame()) == ["main", "total", "bias", "variance", "noise"]
    assert [text.get_text() for text in found.plot().get_legend().get_texts()] == [
        "bias² 0.2", "variance 0.21", "noise 0.09",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"method": "jackknife"},
            "method must be 'bootstrap', 'resample' or a callable of a generator, but it is 'jackk",
        ),
        ({"loss": "hinge"}, "loss must be 'squared' or '0-1', but it is 'hinge'"),
        ({"draws": 1}, "draws must be at least 2, but it is 1"),
        ({"share": 1.5}, "share must be between 0 and 1, but it is 1.5"),
        ({"noise": -1.0}, "noise must be a variance ≥ 0, or one for each of the 50 test rows"),
        ({"method": draw}, "X_test is needed, with y_test or truth, if method draws new training sets"),
        ({"X_test": GRID}, "y_test is needed with X_test; or truth"),
        ({"loss": "0-1", "noise": 2.0}, "noise must be a probability between 0 and 1"),
        (
            {"loss": "0-1", "noise": np.ones((3, 3))},
            r"noise must be a probability, or 50 × 50 of them, but its shape is",
        ),
        ({"draws": 2}, r"row \d+ of X was in every training set; take more draws than 2, or X_test"),
    ],
)
def test_bad_input(arguments: dict[str, Any], message: str) -> None:
    X, y = draw(np.random.default_rng(0))
    with pytest.raises(ValueError, match=message):
        bias_variance(**({"estimator": LinearRegression(), "X": X, "y": y} | arguments))
