"""HaarFeatures: how many there are, what they measure, and that shapes and strides stay inside the window."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from corollary.core import memory
from corollary.ensemble.cascade import HaarFeatures, integral_image
from corollary.ensemble.cascade import haar as haar_module
from corollary.solvers.trees.cascade.features import (
    CELLS,
    SHAPES,
    Corners,
    FeatureSpace,
    brute_response,
    check_features,
)
from corollary.solvers.trees.cascade.integral import contrast_scales, shrink


@parametrize_with_checks(
    [HaarFeatures(random_state=0), HaarFeatures(max_features=7, stride=2, normalize=True, random_state=0)]
)
def test_scikit_learn_checks(estimator, check) -> None:
    check(estimator)


def brute_count(window: tuple[int, int], stride: int) -> list[int]:
    """Features of each shape, counted one by one."""
    height, width = window
    return [
        sum(
            1
            for h in range(1, height // down + 1, stride)
            for w in range(1, width // across + 1, stride)
            for _ in range(0, height - down * h + 1, stride)
            for _ in range(0, width - across * w + 1, stride)
        )
        for down, across in CELLS
    ]


def test_the_well_known_numbers() -> None:
    space = FeatureSpace((24, 24))
    assert space.counts.tolist() == [43_200, 43_200, 27_600, 27_600, 20_736]
    assert len(space) == 162_336


@pytest.mark.parametrize(("window", "stride"), [((6, 6), 1), ((5, 8), 2), ((1, 10), 1), ((7, 1), 3), ((1, 2), 1)])
def test_every_feature_is_enumerated_once(window: tuple[int, int], stride: int) -> None:
    space = FeatureSpace(window, stride)
    assert space.counts.tolist() == brute_count(window, stride)
    rows = space.rows(np.arange(len(space)))
    assert len(np.unique(rows, axis=0)) == len(space)
    check_features(rows, window, window[0] * window[1])  # all inside


def test_a_sample_is_of_distinct_features() -> None:
    rng = np.random.RandomState(0)
    for limit in (10, 10_000, 162_336, 10**9):
        numbers = FeatureSpace((24, 24)).sample(limit, rng)
        assert len(np.unique(numbers)) == len(numbers) == min(limit, 162_336)
        assert 0 <= numbers.min() <= numbers.max() < 162_336


@pytest.mark.parametrize("shape", range(5))
def test_responses_are_differences_of_mean_brightness(shape: int) -> None:
    weights = list(SHAPES.values())[shape]
    feature = np.array([[shape, 2, 1, 3, 2]], dtype=np.int32)
    image = np.random.default_rng(shape).random((12, 9))
    cells = [
        [image[2 + 3 * r : 5 + 3 * r, 1 + 2 * c : 3 + 2 * c].mean() for c in range(weights.shape[1])]
        for r in range(weights.shape[0])
    ]
    expected = float((weights * np.array(cells)).sum())
    columns = np.ascontiguousarray(integral_image(image).reshape(1, -1).T)
    assert Corners.of(feature, 10).responses(columns, 0, 1)[0, 0] == pytest.approx(expected, abs=1e-12)
    assert brute_response(image, feature[0]) == pytest.approx(expected, abs=1e-12)
    assert weights.sum() == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_transform_equals_brute_force(dtype: type) -> None:
    X = np.random.default_rng(5).random((4, 6, 7)).astype(dtype)
    model = HaarFeatures().fit(X)
    found = model.transform(X)
    assert found.dtype == dtype
    assert model.evidence_.holds
    flat = X.reshape(4, -1).astype(float)
    pixels = ((flat - flat.mean(axis=1, keepdims=True)) / flat.std(axis=1, keepdims=True)).reshape(X.shape)
    expected = [[brute_response(image, feature) for feature in model.features_] for image in pixels]
    np.testing.assert_allclose(found, expected, atol=1e-5 if dtype == np.float32 else 1e-12)
    np.testing.assert_array_equal(model.transform(X.reshape(4, -1)), found)


def test_brightness_and_contrast_do_not_matter() -> None:
    X = np.random.default_rng(6).integers(0, 256, (5, 8, 8))
    model = HaarFeatures(max_features=200, random_state=0).fit(X)
    np.testing.assert_allclose(model.transform(3.0 * X + 17), model.transform(X), atol=1e-10)
    assert not model.transform(np.full((2, 8, 8), 93.0)).any()  # no contrast, no response


def test_threads_do_not_change_a_bit() -> None:
    X = np.random.default_rng(7).random((30, 12, 12))
    one, two = (HaarFeatures(n_jobs=n).fit_transform(X) for n in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_strips_and_squares_are_recognised() -> None:
    rng = np.random.default_rng(8)
    assert HaarFeatures().fit(rng.random((3, 10))).window_ == (1, 10)
    assert HaarFeatures().fit(rng.random((3, 16))).window_ == (4, 4)
    assert HaarFeatures(window=(2, 8)).fit(rng.random((3, 16))).window_ == (2, 8)
    assert HaarFeatures().fit(rng.random((3, 4, 6))).window_ == (4, 6)


@pytest.mark.parametrize(
    ("window", "X", "message"),
    [
        ((3, 3), np.ones((2, 10)), "window is 3 × 3, which is 9 pixels, but X has 10 columns"),
        ((3, 3), np.ones((2, 4, 4)), "X holds windows of 4 × 4 pixels, but window is 3 × 3"),
        ((3, 0), np.ones((2, 9)), r"window must be \(height, width\)"),
        ((3, 3, 1), np.ones((2, 9)), r"window must be \(height, width\)"),
        (None, np.ones((2, 1)), "at least 2"),
    ],
)
def test_bad_windows_get_a_sentence(window, X, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        HaarFeatures(window=window).fit(X)


def test_other_windows_than_fitted_are_refused() -> None:
    model = HaarFeatures().fit(np.random.default_rng(9).random((3, 4, 6)))
    with pytest.raises(ValueError, match="X holds windows of 6 × 4 pixels, but window is 4 × 6"):
        model.transform(np.ones((2, 6, 4)))


def test_too_much_is_refused_before_it_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(10).random((50, 12, 12))
    model = HaarFeatures().fit(X)
    monkeypatch.setattr(memory, "_free_memory", lambda: 1000)
    with pytest.raises(MemoryError, match=r"The responses of 50 windows to .* would take .* GB.*Instead, raise stride"):
        model.transform(X)
    with pytest.raises(ValueError, match="too many features to number"):
        HaarFeatures(max_features=3).fit(np.ones((2, 100_000)))
    assert haar_module.BLOCK == 64


def test_integral_images_and_their_uses() -> None:
    rng = np.random.default_rng(11)
    image = rng.integers(0, 256, (23, 31)).astype(float)
    sums, squares = integral_image(image), integral_image(image, squared=True)
    np.testing.assert_array_equal(sums[1:, 1:], image.cumsum(axis=0).cumsum(axis=1))
    found = contrast_scales(sums, squares, (7, 5), 2)
    assert found.shape == (9, 14)
    for row in range(9):
        for column in range(14):
            window = image[2 * row : 2 * row + 7, 2 * column : 2 * column + 5]
            assert found[row, column] == pytest.approx(1 / window.std(), rel=1e-9)
    colour = rng.integers(0, 256, (4, 5, 3))
    np.testing.assert_allclose(integral_image(colour)[-1, -1], (colour @ [0.299, 0.587, 0.114]).sum())


@pytest.mark.parametrize("scale", [1.0, 2.0, 1.3, 2.7])
def test_shrinking_averages_what_a_pixel_covers(scale: float) -> None:
    image = np.random.default_rng(12).random((16, 22))
    small = shrink(integral_image(image), scale)
    assert small.shape == (int(16 / scale), int(22 / scale))
    fine = np.kron(image, np.ones((10, 10)))  # tenths of pixels, so that the edges fall between whole ones
    step = round(10 * scale)
    for y, x in np.ndindex(small.shape):
        covered = fine[y * step : (y + 1) * step, x * step : (x + 1) * step]
        assert small[y, x] == pytest.approx(covered.mean(), abs=1e-12)


@pytest.mark.parametrize(
    ("image", "message"),
    [
        (np.ones(5), "image must have shape"),
        (np.ones((4, 4, 2)), "image must have shape"),
        (np.full((3, 3), np.nan), "image contains NaN or infinity"),
        (np.array([["a"]]), "image must be an array of real numbers"),
    ],
)
def test_bad_images_get_a_sentence(image, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        integral_image(image)
