"""Scores of a fold, and their mean with an interval that is honest about overlapping training sets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    function: Callable[[NDArray[Any], Prediction, Any, Any], float]  # of (truth, prediction, classes, weights)
    needs_probabilities: bool = False
    low: float = -np.inf  # the range of the metric, outside of which no interval reaches
    high: float = np.inf
    of_rows: Callable[[NDArray[Any], Prediction, Any], NDArray[np.float64]] | None = None  # if it is their mean …
    root: bool = False  # … or the root of that

    @property
    def title(self) -> str:
        """The label with an arrow towards better: ``"log-loss ↓"``."""
        return f"{self.label} {'↑' if self.greater_is_better else '↓'}"

    def __call__(self, y: NDArray[Any], prediction: Prediction, classes: Any, weights: Any = None) -> float:
        if self.needs_probabilities and prediction.probabilities is None:
            return float("nan")
        return float(self.function(y, prediction, classes, weights))

    def over(self, folds: Sequence[float], test_share: float) -> Score:
        """This metric's values over the folds, with an interval inside its range."""
        return Score(tuple(folds), test_share, (self.low, self.high))

    def better(self, a: float, b: float) -> bool:
        """Whether score ``a`` is strictly better than ``b``."""
        return a > b if self.greater_is_better else a < b


def _log_loss(y: NDArray[Any], p: Prediction, classes: Any, w: Any) -> float:
    return float(measure.log_loss(y, p.probabilities, labels=classes, sample_weight=w))


def _area(y: NDArray[Any], p: Prediction, classes: Any, w: Any) -> float:
    assert p.probabilities is not None
    if len(classes) == 2:
        return float(measure.roc_auc_score(y == classes[1], p.probabilities[:, 1], sample_weight=w))
    return float(measure.roc_auc_score(y, p.probabilities, multi_class="ovr", labels=classes, sample_weight=w))


def _brier(y: NDArray[Any], p: Prediction, classes: Any, w: Any) -> float:
    return float(measure.brier_score_loss(y, p.probabilities, labels=classes, scale_by_half=True, sample_weight=w))


def _log_losses(y: NDArray[Any], p: Prediction, classes: Any) -> NDArray[np.float64]:
    assert p.probabilities is not None
    tiny = np.finfo(np.float64).eps
    chances = p.probabilities[np.arange(len(y)), np.searchsorted(classes, y)]
    return np.asarray(-np.log(np.clip(chances / p.probabilities.sum(axis=1), tiny, 1 - tiny)))


def _square_losses(y: NDArray[Any], p: Prediction, classes: Any) -> NDArray[np.float64]:
    assert p.probabilities is not None
    hit = classes[None, :] == y[:, None]
    return np.asarray(0.5 * ((p.probabilities - hit) ** 2).sum(axis=1))


def _of_values(function: Callable[..., Any], **options: Any) -> Callable[[NDArray[Any], Prediction, Any, Any], float]:
    """A measure of scikit-learn that reads the predicted labels or numbers."""
    return lambda y, p, _, w: float(function(y, p.values, sample_weight=w, **options))


METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("log-loss", "log-loss", "classification", False, _log_loss, needs_probabilities=True, low=0.0,
               of_rows=_log_losses),
        Metric("auc", "AUC", "classification", True, _area, needs_probabilities=True, low=0.0, high=1.0),
        Metric("accuracy", "accuracy", "classification", True, _of_values(measure.accuracy_score), low=0.0, high=1.0,
               of_rows=lambda y, p, _: (p.values == y).astype(np.float64)),
        Metric("balanced-accuracy", "balanced accuracy", "classification", True,
               _of_values(measure.balanced_accuracy_score), low=0.0, high=1.0),
        Metric("f1", "F1 (macro)", "classification", True,
               _of_values(measure.f1_score, average="macro", zero_division=0.0), low=0.0, high=1.0),
        Metric("brier", "Brier", "classification", False, _brier, needs_probabilities=True, low=0.0, high=1.0,
               of_rows=_square_losses),
        Metric("rmse", "RMSE", "regression", False, _of_values(measure.root_mean_squared_error), low=0.0,
               of_rows=lambda y, p, _: (p.values - y) ** 2, root=True),
        Metric("mae", "MAE", "regression", False, _of_values(measure.mean_absolute_error), low=0.0,
               of_rows=lambda y, p, _: np.abs(p.values - y)),
        Metric("r2", "R²", "regression", True, _of_values(measure.r2_score), high=1.0),
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
    bounds: tuple[float, float] = (-np.inf, np.inf)  # the range of the metric

    @property
    def mean(self) -> float:
        return float(np.mean(self.folds))

    @property
    def half_width(self) -> float:
        """Half the width of the 95% interval before it is cut to the metric's range; not a number of one fold."""
        k = len(self.folds)
        if k < 2:
            return float("nan")
        variance = np.var(self.folds, ddof=1) * (1 / k + self.test_share)
        return float(stats.t.ppf(0.975, k - 1) * np.sqrt(variance))

    @property
    def low(self) -> float:
        """The lower end of the 95% interval, inside the metric's range."""
        return float(np.maximum(self.mean - self.half_width, self.bounds[0]))

    @property
    def high(self) -> float:
        """The upper end of the 95% interval, inside the metric's range."""
        return float(np.minimum(self.mean + self.half_width, self.bounds[1]))

    @property
    def cut(self) -> bool:
        """Whether the interval reaches the end of the metric's range, so that it is not the mean ± the half width."""
        return self.mean - self.half_width < self.bounds[0] or self.mean + self.half_width > self.bounds[1]

    def __sub__(self, other: Score) -> Score:
        """The score of the paired differences, fold by fold (over the folds that both have, the first ones)."""
        both = min(len(self.folds), len(other.folds))
        return Score(tuple(np.subtract(self.folds[:both], other.folds[:both])), self.test_share)

    @property
    def excludes_zero(self) -> bool:
        """Whether zero lies outside the interval."""
        return abs(self.mean) > self.half_width
