"""Figures of how good the held-out predictions are: ROC, precision and recall, calibration, residuals."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import metrics as measure

from corollary.evaluate.calibration import calibration
from corollary.evaluate.comparison import Comparison
from corollary.evaluate.metrics import Prediction
from corollary.report.charts import Chart, Scale, density, key_of_colours, thinned
from corollary.report.document import figure
from corollary.tabular.messages import shortened

_MOST_CLASSES = 10
_MOST_POINTS = 800
_UNIT = Scale(0.0, 1.0)

Weights = NDArray[np.float64] | None


def prediction_figures(comparison: Comparison) -> list[str]:
    """The figures for the best model's out-of-fold predictions."""
    said = comparison.out_of_fold[comparison.best]
    truth, weights = comparison.truth, comparison.judged_weights
    classes = comparison.target.classes
    if classes is None:
        weighed = "" if weights is None else " Every row is drawn alike, whatever its weight."
        return [predicted_against_actual(truth, said, comparison.target.name, weighed), residuals(truth, said, weighed)]
    if said.probabilities is None:
        return []
    return [
        roc_figure(truth, said.probabilities, classes, weights),
        precision_figure(truth, said.probabilities, classes, weights),
        calibration_figure(truth, said.probabilities, classes, weights),
    ]


def _targets(
    truth: NDArray[Any], probabilities: NDArray[np.float64], classes: NDArray[Any], weights: Weights
) -> list[tuple[str, Any, Any, Weights]]:
    """One yes/no question for each curve: (name, is it so, probability said, weights)."""
    if len(classes) == 2:
        return [(str(classes[1]), truth == classes[1], probabilities[:, 1], weights)]
    each = [(str(value), truth == value, probabilities[:, index], weights) for index, value in enumerate(classes)]
    if len(classes) <= _MOST_CLASSES:
        return each
    pooled = truth[:, None] == classes[None, :]
    repeated = None if weights is None else np.repeat(weights, len(classes))
    return [("all classes pooled", pooled.ravel(), probabilities.ravel(), repeated)]


def _by_weight(weights: Weights) -> str:
    return "" if weights is None else " Rows count by their weights."


def roc_figure(
    truth: NDArray[Any], probabilities: NDArray[np.float64], classes: NDArray[Any], weights: Weights = None
) -> str:
    """Share of positives found against share of negatives disturbed, for every threshold."""
    chart = Chart(_UNIT, _UNIT, title="ROC curve", description="True positive rate against false positive rate.",
                  x_label="false positive rate", y_label="true positive rate")  # fmt: skip
    chart.line([0, 1], [0, 1], "soft", dashed=True)
    areas = {}
    for index, (name, positive, score, w) in enumerate(_targets(truth, probabilities, classes, weights)):
        fpr, tpr, _ = measure.roc_curve(positive, score, sample_weight=w)
        areas[name] = f"AUC {measure.auc(fpr, tpr):.3f}"
        chart.line(*thinned(fpr, tpr), f"s{index % 10}")
    if len(areas) == 1:
        chart.text(1, 0, areas[name], "end", (-8, -12))
    caption = "The dashed line is guessing. Held-out predictions only." + _by_weight(weights)
    return figure(
        chart.svg(),
        _heading("ROC curve", classes),
        caption,
        _areas(areas),
    )


def precision_figure(
    truth: NDArray[Any], probabilities: NDArray[np.float64], classes: NDArray[Any], weights: Weights = None
) -> str:
    """Precision against recall, for every threshold."""
    chart = Chart(_UNIT, _UNIT, title="Precision and recall", description="Precision against recall.",
                  x_label="recall", y_label="precision")  # fmt: skip
    areas = {}
    for index, (name, positive, score, w) in enumerate(_targets(truth, probabilities, classes, weights)):
        precision, recall, _ = measure.precision_recall_curve(positive, score, sample_weight=w)
        areas[name] = f"AP {measure.average_precision_score(positive, score, sample_weight=w):.3f}"
        chart.line(*thinned(recall[::-1], precision[::-1]), f"s{index % 10}")
    if len(areas) == 1:
        chart.line([0, 1], [np.average(positive, weights=w)] * 2, "soft", dashed=True)
        chart.text(0, 0, areas[name].replace("AP", "average precision"), "start", (8, -12))
    caption = "Of those called positive, how many are; of those positive, how many are called." + _by_weight(weights)
    return figure(
        chart.svg(),
        _heading("Precision and recall", classes),
        caption,
        _areas(areas),
    )


def calibration_figure(
    truth: NDArray[Any], probabilities: NDArray[np.float64], classes: NDArray[Any], weights: Weights = None
) -> str:
    """Observed share against predicted probability, in bins that hold equally much."""
    found = calibration(truth, probabilities, classes=classes, sample_weight=weights)
    heading, what = "Calibration of the class chosen", "probability of the class chosen"
    if len(classes) == 2:
        heading, what = _heading("Calibration", classes), "predicted probability"
    reach = 1.1 * float(max(found.predicted.max(), found.observed.max()))
    axis = Scale(0.0, reach) if reach < 0.7 else _UNIT  # of a rare class, only the low end is used
    chart = Chart(axis, axis, title="Calibration curve", description="Observed share against predicted probability.",
                  x_label=what, y_label="observed share")  # fmt: skip
    chart.line([0, axis.high], [0, axis.high], "soft", dashed=True)
    for x, low, high in zip(found.predicted, found.low, found.high, strict=True):
        chart.line([x, x], [low, high])
    chart.line(found.predicted, found.observed)
    chart.points(found.predicted, found.observed, radius=3.5)
    each = "rows of which equally many should be so" if found.strategy == "events" else "equally many rows"
    caption = (
        f"On the dashed line, 30% means 30%. Dots stand for {each}; bars are 95% intervals. The probabilities are off "
        f"by {found.expected_error:.3f} on average (by chance alone: {found.by_chance:.3f}); {found.verdict}."
    ) + _by_weight(weights)
    return figure(chart.svg(), heading, caption)


def predicted_against_actual(truth: NDArray[np.float64], said: Prediction, name: str, more: str = "") -> str:
    """Each row's prediction against what was so."""
    scale = Scale.around(np.concatenate([truth, np.clip(said.values, *_reach(truth))]))
    chart = Chart(scale, scale, title="Predicted against actual", description="Predictions against the truth.",
                  x_label=f"predicted {shortened(name, 30)}", y_label=f"actual {shortened(name, 30)}")  # fmt: skip
    _cloud(chart, said.values, truth)
    chart.line([scale.low, scale.high], [scale.low, scale.high], "soft", dashed=True)
    return figure(chart.svg(), "Predicted against actual", f"On the dashed line the prediction is exact.{more}")


def residuals(truth: NDArray[np.float64], said: Prediction, more: str = "") -> str:
    """What is left over, against the prediction."""
    left_over = truth - said.values
    low, high = np.quantile(left_over, [0.002, 0.998])
    inside = Scale.around([low, high])
    across = Scale.around(np.clip(said.values, *_reach(truth)))
    chart = Chart(across, inside, title="Residuals", description="Actual minus predicted, against predicted.",
                  x_label="predicted", y_label="actual − predicted")  # fmt: skip
    _cloud(chart, said.values, left_over)
    chart.line([across.low, across.high], [0, 0], "soft", dashed=True)
    chart.line(*_running_median(said.values, left_over), "s1")
    caption = "A flat line at zero is what you want; a curve or a fan means the model misses something." + more
    key = '<ul class="legend"><li><i class="s1"></i>running median</li></ul>'
    return figure(chart.svg(), "Residuals", caption, key)


def _reach(truth: NDArray[np.float64]) -> tuple[float, float]:
    """How far a wild prediction may stretch an axis: half a range beyond what was seen."""
    room = 0.5 * float(np.ptp(truth))
    return float(truth.min()) - room, float(truth.max()) + room


def _cloud(chart: Chart, x: NDArray[np.float64], y: NDArray[np.float64]) -> None:
    if len(x) > _MOST_POINTS:
        density(chart, x, y)
    else:
        chart.points(x, y, "s0 faint")


def _running_median(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    parts = np.array_split(np.argsort(x, kind="stable"), max(1, min(25, len(x) // 20)))
    return np.array([np.median(x[part]) for part in parts]), np.array([np.median(y[part]) for part in parts])


def _areas(areas: dict[str, str]) -> str:
    return key_of_colours([f"{shortened(name, 24)} ({area})" for name, area in areas.items()])


def _heading(words: str, classes: NDArray[Any]) -> str:
    if len(classes) == 2:
        return f"{words} for {shortened(classes[1], 24)}"
    return f"{words}, one class against the rest" if len(classes) <= _MOST_CLASSES else f"{words}, classes pooled"
