"""The referee of cascades and Haar features: true claims stand; forged rectangles, stumps, rates do not."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from corollary.ensemble.cascade import CascadeClassifier, HaarFeatures
from corollary.io import load, save
from corollary.referee import haar
from corollary.solvers.trees.cascade.features import FeatureSpace


def crosses(n: int = 120, side: int = 8, seed: int = 0, contrast: float = 0.4) -> tuple[Any, Any]:
    """Noisy windows; half of them with a bright cross."""
    rng = np.random.default_rng(seed)
    X, y = rng.random((n, side, side)), np.arange(n) % 2
    X[y == 1, 3:5, :] += contrast
    X[y == 1, :, 3:5] += contrast
    return X, y


def cascade(**changes: Any) -> CascadeClassifier:
    options = {"random_state": 0, "max_candidates": 200, "max_false_positive_rate": 0.3, "max_stages": 4}
    return CascadeClassifier(**options | changes)


@pytest.mark.parametrize("change", [
    lambda X: X, lambda X: 1e8 * X, lambda X: X + 1e4, lambda X: 1e-300 * X, lambda X: X.astype(np.float32),
    lambda X: 0 * X, lambda X: (100 * X).astype(np.uint8), lambda X: -X,
])  # fmt: skip
@pytest.mark.parametrize("normalize", ["auto", False])
def test_what_is_claimed_of_responses_stands(change: Any, normalize: Any) -> None:
    X = change(crosses()[0])
    model = HaarFeatures(max_features=300, random_state=0, normalize=normalize).fit(X)
    assert model.evidence_.holds
    assert model.evidence_.verify(X).stands
    assert HaarFeatures(stride=2, normalize=normalize).fit(X).evidence_.verify(X.reshape(len(X), -1)).stands


def test_the_error_of_responses_is_that_of_the_pixels() -> None:
    """It is relative to the window at hand: responses of tiny pixels were compared with 1 before, and always agreed."""
    X = 1e-12 * crosses()[0]
    model = HaarFeatures(max_features=50, random_state=0, normalize=False).fit(X)
    right = model.transform
    model.transform = lambda X: 1.001 * right(X)  # type: ignore[method-assign]
    assert model.evidence_.verify(X).stands is False


def test_forged_features_are_refuted() -> None:
    X, _ = crosses()
    for change in (
        lambda features: features[:-1],
        lambda features: np.r_[features[:-1], features[:1]],
        lambda features: features + np.array([0, 0, 0, 8, 0], dtype=np.int32),
        lambda features: features - np.array([0, 9, 0, 0, 0], dtype=np.int32),
    ):
        model = HaarFeatures(max_features=40, random_state=0).fit(X)
        model.features_ = change(model.features_)
        assert model.evidence_.verify(X).stands is False


@pytest.mark.parametrize(("window", "stride"), [((24, 24), 1), ((5, 8), 2), ((1, 10), 1), ((7, 1), 3), ((1, 2), 1)])
def test_the_referee_counts_the_same_features(window: tuple[int, int], stride: int) -> None:
    assert haar.count(window, stride) == len(FeatureSpace(window, stride))


def test_small_float32_pixels_keep_their_digits() -> None:
    X = (1e-40 * crosses()[0]).astype(np.float32)
    model = HaarFeatures(max_features=40, random_state=0, normalize=False).fit(X)
    assert model.transform(X).dtype == np.float64
    assert model.evidence_.verify(X).stands


@pytest.mark.parametrize("change", [
    lambda X: X, lambda X: 1e8 * X, lambda X: X + 1e4, lambda X: X.astype(np.float32), lambda X: 0 * X,
    lambda X: (10 * X).astype(np.uint8), lambda X: np.round(X),
])  # fmt: skip
@pytest.mark.parametrize("options", [{}, {"normalize": False}, {"min_detection_rate": 0.7}, {"max_features": 2}])
def test_what_is_claimed_of_stages_stands(change: Any, options: dict[str, Any]) -> None:
    X, y = crosses()
    X, y = change(X), np.array(["no", "yes"])[y]
    model = cascade(**options).fit(X, y)
    found = model.evidence_.verify(X, y)
    assert found.stands, found
    assert "votes of stumps" in found.words
    assert model.evidence_.verify(X.reshape(len(X), -1), y).stands


def test_strips_and_single_windows() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 9)) + 1e9 * (np.arange(60) < 1)[:, None]
    y = (np.arange(60) == 3).astype(int)  # the only window of its class is learnt from and set aside
    model = cascade(window=(1, 9)).fit(X, y)
    assert model.evidence_.verify(X, y).stands


def test_windows_of_pictures_leave_detection_to_judge(tmp_path: Path) -> None:
    X, y = crosses()
    pictures = list(np.random.default_rng(1).random((3, 30, 30)) + 0.4)
    model = cascade().fit(X, y, negatives=pictures)
    found = model.evidence_.verify(X, y)
    assert found.stands, found
    assert "votes" not in found.words
    save(model, tmp_path / "model.zip")
    assert load(tmp_path / "model.zip").evidence_.verify(X, y).stands
    assert "validation_rows_" in vars(load(tmp_path / "model.zip"))
    del model.validation_rows_  # as in files of earlier versions
    assert model.evidence_.verify(X, y).stands is None
    with pytest.raises(ValueError, match="no sample_weight"):
        model.evidence_.verify(X, y, np.ones(len(y)))


def test_forged_stages_are_refuted() -> None:
    X, y = crosses(400, contrast=0.15)
    model = cascade(min_detection_rate=0.9).fit(X, y)
    assert model.evidence_.verify(X, y).stands
    assert len(model.stage_ends_) > 1
    for name, change in (
        ("stage_thresholds_", lambda value: value + 0.3),
        ("stage_thresholds_", lambda value: value - 1e-3),
        ("left_", lambda value: value + 1e-3),
        ("right_", lambda value: -value),
        ("cuts_", lambda value: value + 0.5),
        ("stage_ends_", lambda value: value[:-1]),
        ("validation_rows_", lambda value: value[value > 30]),
        ("validation_rows_", lambda value: value + 1000),
    ):
        forged = deepcopy(model)
        setattr(forged, name, change(getattr(model, name)))
        assert forged.evidence_.verify(X, y).stands is False, name
    for name in ("detection rate", "false positive rate", "cumulative detection rate"):
        forged, history = deepcopy(model), dict(model.evidence_.history)
        history[name] = [0.9 * rate + 0.05 for rate in history[name]]
        forged.evidence_ = replace(forged.evidence_, history=history)
        assert forged.evidence_.verify(X, y).stands is False, name
    assert model.evidence_.verify(X, 1 - y).stands is False
    assert model.set_params(min_detection_rate=1.0).evidence_.verify(X, y).stands is False
