"""Scores agree with their definitions; intervals with the corrected variance, and they cover."""

from __future__ import annotations

import numpy as np
import pytest

from corollary.evaluate.metric_names import METRIC_NAMES
from corollary.evaluate.metrics import METRICS, Prediction, Score, metrics_for
from corollary.tabular.messages import InputError

Y = np.array(["a", "b", "b", "a"])
CLASSES = np.array(["a", "b"])
P = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.7, 0.3]])
SAID = Prediction(CLASSES[P.argmax(axis=1)], P)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("log-loss", -np.mean(np.log([0.9, 0.8, 0.4, 0.7]))),
        ("accuracy", 0.75),
        ("balanced-accuracy", 0.75),
        ("auc", 1.0),
        ("brier", np.mean([0.01, 0.04, 0.36, 0.09])),
        ("f1", (0.8 + 2 / 3) / 2),
    ],
)
def test_classification(name: str, expected: float) -> None:
    assert METRICS[name](Y, SAID, CLASSES) == pytest.approx(expected)


def test_regression() -> None:
    y, said = np.array([1.0, 2.0, 4.0]), Prediction(np.array([1.0, 3.0, 3.0]))
    assert METRICS["rmse"](y, said, None) == pytest.approx(np.sqrt(2 / 3))
    assert METRICS["mae"](y, said, None) == pytest.approx(2 / 3)
    assert METRICS["r2"](y, said, None) == pytest.approx(1 - 2 / (14 / 3))


def test_a_metric_that_is_a_mean_over_rows_says_so_truly() -> None:
    numbers = Prediction(np.array([1.0, 3.0, 3.0, 0.5]))
    means = [metric for metric in METRICS.values() if metric.of_rows is not None]
    assert {metric.name for metric in means} == {"log-loss", "accuracy", "brier", "rmse", "mae"}
    for metric in means:
        y, said = (Y, SAID) if metric.task == "classification" else (np.array([1.0, 2.0, 4.0, 0.0]), numbers)
        assert metric.of_rows is not None
        mean = metric.of_rows(y, said, CLASSES).mean()
        assert metric(y, said, CLASSES) == pytest.approx(np.sqrt(mean) if metric.root else mean)


def test_the_command_line_offers_every_metric() -> None:
    assert {task: tuple(name for name, metric in METRICS.items() if metric.task == task) for task in METRIC_NAMES} == (
        METRIC_NAMES
    )


def test_without_probabilities_there_is_no_such_score() -> None:
    assert np.isnan(METRICS["log-loss"](Y, Prediction(Y), CLASSES))
    assert METRICS["accuracy"](Y, Prediction(Y), CLASSES) == 1.0


def test_the_ranking_metric_comes_first_and_suits_the_task() -> None:
    assert [metric.name for metric in metrics_for("classification", "accuracy")] == ["accuracy", "log-loss", "auc"]
    with pytest.raises(InputError, match="--metric auc: not a metric for regression"):
        metrics_for("regression", "auc")


def test_the_interval_uses_the_corrected_variance() -> None:
    score = Score((1.0, 2.0, 3.0, 4.0, 5.0), test_share=0.25)
    t = 2.7764451051977934  # 97.5 % point of the t distribution with 4 degrees of freedom
    assert score.mean == 3.0
    assert score.half_width == pytest.approx(t * np.sqrt(2.5 * (1 / 5 + 0.25)))
    assert (score - score).half_width == 0.0
    assert not (score - score).excludes_zero
    assert (score - Score((-9.0, -8.0, -7.0, -6.0, -5.0), 0.25)).excludes_zero
