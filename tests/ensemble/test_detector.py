"""Detector: what it finds is what the cascade accepts, in the right place and size, and each object once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits

from corollary.core import memory
from corollary.ensemble.cascade import CascadeClassifier, Detector, non_maximum_suppression


@pytest.fixture(scope="module")
def zeros() -> CascadeClassifier:
    digits = load_digits()
    noise = list(np.random.default_rng(0).random((3, 40, 40)) * 16)
    model = CascadeClassifier(random_state=0, max_candidates=1500)
    return model.fit(digits.images, digits.target == 0, negatives=noise)


def scene(*places: tuple[int, int, int], shape: tuple[int, int] = (60, 90)) -> Any:
    """Zeros of a given magnification at (top, left) in the dark."""
    picture, images = np.zeros(shape), load_digits()
    zero = images.images[images.target == 0]
    for number, (top, left, times) in enumerate(places):
        side = 8 * times
        picture[top : top + side, left : left + side] = np.kron(zero[number], np.ones((times, times)))
    return picture


def intersection_over_union(a: Any, b: Any) -> float:
    across = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
    down = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
    common = max(across, 0) * max(down, 0)
    return float(common / (a[2] * a[3] + b[2] * b[3] - common))


def slow_suppression(boxes: Any, scores: Any, overlap: float) -> tuple[list[int], list[int]]:
    """One pair at a time."""
    kept: list[int] = []
    hits: list[int] = []
    for i in sorted(range(len(boxes)), key=lambda i: (-scores[i], i)):
        for place, k in enumerate(kept):
            across = min(boxes[k][0] + boxes[k][2], boxes[i][0] + boxes[i][2]) - max(boxes[k][0], boxes[i][0])
            down = min(boxes[k][1] + boxes[k][3], boxes[i][1] + boxes[i][3]) - max(boxes[k][1], boxes[i][1])
            smaller = min(boxes[k][2] * boxes[k][3], boxes[i][2] * boxes[i][3])
            if max(across, 0) * max(down, 0) > overlap * smaller:
                hits[place] += 1
                break
        else:
            kept.append(i)
            hits.append(1)
    return kept, hits


@pytest.mark.parametrize("overlap", [0.0, 0.3, 0.7, 1.0])
def test_suppression_agrees_with_its_twin(overlap: float) -> None:
    rng = np.random.default_rng(1)
    boxes = np.column_stack([rng.integers(0, 40, (80, 2)), rng.integers(5, 25, (80, 2))]).astype(float)
    scores = rng.integers(0, 20, 80).astype(float)  # with ties
    kept, hits = non_maximum_suppression(boxes, scores, overlap)
    slow_kept, slow_hits = slow_suppression(boxes, scores, overlap)
    assert kept.tolist() == slow_kept
    assert hits.tolist() == slow_hits
    assert hits.sum() == 80


def test_suppression_of_nothing() -> None:
    kept, hits = non_maximum_suppression(np.empty((0, 4)), np.empty(0))
    assert len(kept) == len(hits) == 0


def test_finds_objects_of_two_sizes_where_they_are(zeros: CascadeClassifier) -> None:
    places = [(8, 10, 2), (12, 50, 4)]
    boxes, scores = Detector(zeros, min_hits=3).detect(scene(*places))
    assert (np.diff(scores) <= 0).all()
    for top, left, times in places:
        truth = (left, top, 8 * times, 8 * times)
        assert max(intersection_over_union(box, truth) for box in boxes) > 0.5


def test_windows_at_full_size_are_those_the_cascade_accepts(zeros: CascadeClassifier) -> None:
    picture = np.random.default_rng(2).random((30, 40)) * 3 + scene((4, 6, 1), (15, 20, 1), shape=(30, 40))
    boxes, scores = Detector(zeros, max_size=8).windows(picture)
    views = np.lib.stride_tricks.sliding_window_view(picture, (8, 8))
    verdicts = zeros.decision_function(views.reshape(-1, 8, 8)).reshape(views.shape[:2])
    rows, columns = np.nonzero(verdicts > 0)
    assert len(rows)
    np.testing.assert_array_equal(boxes, np.column_stack([columns, rows, 8 + 0 * rows, 8 + 0 * rows]))
    np.testing.assert_allclose(scores, verdicts[rows, columns], rtol=1e-9)


def test_steps_and_sizes(zeros: CascadeClassifier) -> None:
    picture = scene((8, 10, 2), (12, 50, 4))
    every, second = (Detector(zeros, step=step, max_size=16).windows(picture)[0] for step in (1, 2))
    assert {tuple(box) for box in second if box[2] == 8} == {
        tuple(box) for box in every if box[2] == 8 and box[0] % 2 == box[1] % 2 == 0
    }
    boxes, _ = Detector(zeros, min_size=20, max_size=40).windows(picture)
    assert len(boxes)
    assert boxes[:, 3].min() >= 20
    assert boxes[:, 3].max() <= 40


def test_colour_integers_and_threads_change_nothing(zeros: CascadeClassifier) -> None:
    picture = (scene((8, 10, 2), (12, 50, 4)) * 15).astype(np.uint8)
    one = Detector(zeros, n_jobs=1).detect(picture)
    for other in (
        Detector(zeros, n_jobs=2).detect(picture),
        Detector(zeros).detect(picture.astype(np.float32)),
        Detector(zeros).detect(np.asfortranarray(picture)),
    ):
        np.testing.assert_array_equal(one[0], other[0])
        np.testing.assert_array_equal(one[1], other[1])
    coloured, _ = Detector(zeros).detect(np.stack([picture] * 3, axis=2))
    assert len(coloured) == len(one[0])


def test_an_empty_picture_has_no_boxes() -> None:
    X = np.random.default_rng(3).random((60, 6, 6))
    X[:30, :3] += 1
    cascade = CascadeClassifier(random_state=0, max_candidates=100).fit(X, np.repeat([1, 0], 30))
    cascade.stage_thresholds_ = cascade.stage_thresholds_ + 1e6
    boxes, scores = Detector(cascade).detect(np.zeros((20, 20)))
    assert boxes.shape == (0, 4)
    assert scores.shape == (0,)


@pytest.mark.parametrize("shape", [(7, 40), (40, 7), (1, 1)])
def test_images_smaller_than_the_window(zeros: CascadeClassifier, shape: tuple[int, int]) -> None:
    message = f"image of {shape[0]} × {shape[1]} pixels is smaller than the window of 8 × 8"
    with pytest.raises(ValueError, match=message):
        Detector(zeros).detect(np.zeros(shape))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scale_factor": 1.0}, "Detector: scale_factor must be a number > 1"),
        ({"step": 0}, "Detector: step must be a whole number ≥ 1"),
        ({"overlap": 2.0}, "Detector: overlap must be"),
        ({"min_size": 4}, "min_size is 4, but the cascade's window is 8 pixels high"),
        ({"cascade": "none"}, "Detector: cascade must be a CascadeClassifier"),
    ],
)
def test_bad_parameters_get_a_sentence(zeros: CascadeClassifier, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Detector(zeros).set_params(**changes).detect(np.zeros((20, 20)))


def test_memory_is_checked_before_a_picture(zeros: CascadeClassifier, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_free_memory", lambda: 10_000)
    with pytest.raises(MemoryError, match=r"Looking through 20 × 20 pixels would take .* Instead, make the picture"):
        Detector(zeros).detect(np.zeros((20, 20)))


def test_an_unfitted_cascade_says_so() -> None:
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError, match="CascadeClassifier"):
        Detector(CascadeClassifier()).detect(np.zeros((20, 20)))


def test_parameters_are_scikit_learns(zeros: CascadeClassifier) -> None:
    copy = clone(Detector(zeros, step=3))
    assert copy.step == 3
    assert "scale_factor=1.5" in repr(Detector(zeros, scale_factor=1.5))


def test_boxes_are_drawn(zeros: CascadeClassifier) -> None:
    import matplotlib.pyplot as plt

    from corollary.ensemble.cascade.plots import draw_features

    picture = scene((8, 10, 2))
    detector = Detector(zeros, min_hits=2)
    ax = detector.plot(picture)
    assert len(ax.patches) == 2 * len(detector.detect(picture)[0]) > 0
    figure, axes = plt.subplots(1, 3)
    draw_features(zeros, np.zeros(64), axes)
    assert all(2 <= len(each.patches) <= 4 for each in axes)
    plt.close(ax.figure)
    plt.close(figure)
