"""Scores of a fold, and their mean with an interval that is honest about overlapping training sets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn import metrics as measure

from corollary.tabular.messages import InputError


@dataclass(frozen=True)
class Prediction:
    """What a model said about some rows: labels or numbers, and class probabilities where it has them."""

    values: NDArray[Any]
    probabilities: NDArray[np.float64] | None = None


@dataclass(frozen=True)
class Metric:
    """A measure of quality: its option name, its label, which way is better, and how it is computed."""

    name: str
    label: str
    task: Literal["regression", "classification"]
    greater_is_better: bool
    function: Callable[[NDArray[Any], Prediction, Any], float]
    needs_probabilities: bool = False

    @property
    def title(self) -> str:
        """The label with an arrow towards better: ``"log-loss ↓"``."""
        return f"{self.label} {'↑' if self.greater_is_better else '↓'}"

    def __call__(self, y: NDArray[Any], prediction: Prediction, classes: Any) -> float:
        if self.needs_probabilities and prediction.probabilities is None:
            return float("nan")
        return float(self.function(y, prediction, classes))

    def better(self, a: float, b: float) -> bool:
        """Whether score ``a`` is strictly better than ``b``."""
        return a > b if self.greater_is_better else a < b


def _log_loss(y: NDArray[Any], p: Prediction, classes: Any) -> float:
    return float(measure.log_loss(y, p.probabilities, labels=classes))


def _area(y: NDArray[Any], p: Prediction, classes: Any) -> float:
    assert p.probabilities is not None
    if len(classes) == 2:
        return float(measure.roc_auc_score(y == classes[1], p.probabilities[:, 1]))
    return float(measure.roc_auc_score(y, p.probabilities, multi_class="ovr", labels=classes))


def _brier(y: NDArray[Any], p: Prediction, classes: Any) -> float:
    return float(measure.brier_score_loss(y, p.probabilities, labels=classes, scale_by_half=True))


METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("log-loss", "log-loss", "classification", False, _log_loss, needs_probabilities=True),
        Metric("auc", "AUC", "classification", True, _area, needs_probabilities=True),
        Metric("accuracy", "accuracy", "classification", True, lambda y, p, _: measure.accuracy_score(y, p.values)),
        Metric("balanced-accuracy", "balanced accuracy", "classification", True,
               lambda y, p, _: measure.balanced_accuracy_score(y, p.values)),
        Metric("f1", "F1 (macro)", "classification", True,
               lambda y, p, _: measure.f1_score(y, p.values, average="macro", zero_division=0.0)),
        Metric("brier", "Brier", "classification", False, _brier, needs_probabilities=True),
        Metric("rmse", "RMSE", "regression", False, lambda y, p, _: measure.root_mean_squared_error(y, p.values)),
        Metric("mae", "MAE", "regression", False, lambda y, p, _: measure.mean_absolute_error(y, p.values)),
        Metric("r2", "R²", "regression", True, lambda y, p, _: measure.r2_score(y, p.values)),
    )
}  # fmt: skip

_SHOWN = {"classification": ("log-loss", "auc", "accuracy"), "regression": ("rmse", "mae", "r2")}


def metrics_for(task: str, ranking: str | None) -> tuple[Metric, ...]:
    """The metrics to show for a task; the one that ranks comes first."""
    usual = _SHOWN[task]
    first = ranking or usual[0]
    if first not in METRICS or METRICS[first].task != task:
        names = ", ".join(name for name, metric in METRICS.items() if metric.task == task)
        raise InputError(f"--metric {first}: not a metric for {task}; choose one of {names}")
    return tuple(METRICS[name] for name in dict.fromkeys((first, *usual)))


@dataclass(frozen=True)
class Score:
    """A metric over the folds.

    The interval is a t interval with the corrected variance of Nadeau and Bengio (2003): the folds' training sets
    overlap, so the naive variance s²/k is too small; (1/k + n_test/n_train) s² accounts for it.
    """

    folds: tuple[float, ...]
    test_share: float  # n_test / n_train

    @property
    def mean(self) -> float:
        return float(np.mean(self.folds))

    @property
    def half_width(self) -> float:
        """Half the width of the 95% interval."""
        k = len(self.folds)
        variance = np.var(self.folds, ddof=1) * (1 / k + self.test_share)
        return float(stats.t.ppf(0.975, k - 1) * np.sqrt(variance))

    def __sub__(self, other: Score) -> Score:
        """The score of the paired differences, fold by fold."""
        return Score(tuple(np.subtract(self.folds, other.folds)), self.test_share)

    @property
    def excludes_zero(self) -> bool:
        """Whether zero lies outside the interval."""
        return abs(self.mean) > self.half_width
