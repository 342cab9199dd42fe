"""How well one fitted model does on some rows: scores with intervals, beside the best constant."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier, is_regressor
from sklearn.utils import check_consistent_length

from corollary.core.door.target import refuse_missing
from corollary.evaluate.metrics import METRICS, Metric, Prediction

_WITH_PROBABILITIES = ("log-loss", "auc", "accuracy")
_WITHOUT = ("accuracy", "balanced-accuracy", "f1")
_OF_NUMBERS = ("rmse", "mae", "r2")


@dataclass(frozen=True)
class ModelScore:
    """A metric on the rows, the 95% interval of it over rows drawn anew, and what the best constant has."""

    metric: Metric
    value: float
    low: float
    high: float
    constant: float

    def __str__(self) -> str:
        places = _decimals(self.low, self.high, self.value)
        between = f" ({self.low:,.{places}f} to {self.high:,.{places}f})" if np.isfinite(self.low + self.high) else ""
        return f"{self.value:,.{places}f}{between}".replace("-", "−")

    @property
    def beside(self) -> str:
        """What a constant has, in words."""
        if not np.isfinite(self.constant):
            return ""
        shown = f"{self.constant:,.{_decimals(self.low, self.high, self.value)}f}".replace("-", "−")
        return f"best constant {shown}"


def _decimals(low: float, high: float, value: float) -> int:
    """As many as show two digits of the interval's width."""
    width = high - low
    if not np.isfinite(width) or width <= 0:
        return 3 if abs(value) < 1000 else 0
    return min(6, max(0, 1 - int(np.floor(np.log10(width)))))


def read_target(model: Any, y: Any, rows: int) -> NDArray[Any]:
    """The answers as an array with one for each row, of labels that the model knows or of numbers."""
    name = type(model).__name__
    if not (is_classifier(model) or is_regressor(model)):
        raise TypeError(f"a report is about predictions of a target, and {name} makes none.")
    refuse_missing(y, numeric=is_regressor(model))
    truth = np.asarray(y)
    truth = truth[:, 0] if truth.ndim == 2 and truth.shape[1] == 1 else truth
    if truth.ndim != 1 or isinstance(getattr(model, "classes_", None), list):
        raise ValueError("a report is about one target: give y with one column, and a model that was fitted to one.")
    check_consistent_length(np.empty(rows), truth)
    if is_regressor(model):
        return truth.astype(np.float64)
    unknown = sorted(set(truth.tolist()) - set(np.asarray(model.classes_).tolist()), key=str)
    if unknown:
        raise ValueError(
            f"y has labels that {name} was not fitted to: {unknown[:5]!r}; it knows {list(model.classes_[:5])}."
        )
    return truth


def predictions_of(model: Any, X: Any) -> Prediction:
    """What the model says of the rows."""
    proba = is_classifier(model) and hasattr(model, "predict_proba")
    return Prediction(np.asarray(model.predict(X)), np.asarray(model.predict_proba(X)) if proba else None)


def scores_of(truth: NDArray[Any], said: Prediction, classes: Any, seed: Any) -> tuple[ModelScore, ...]:
    """Each metric with its percentile interval over bootstrap samples of the rows (Efron 1979)."""
    names = _OF_NUMBERS if classes is None else _WITH_PROBABILITIES if said.probabilities is not None else _WITHOUT
    rng, n = np.random.default_rng(seed), len(truth)
    samples = [rng.integers(n, size=n) for _ in range(200 if n <= 20_000 else 100)]
    flat = _constant(truth, classes, said.probabilities is not None)
    found = []
    for metric in (METRICS[name] for name in names):
        drawn = np.array([_score(metric, truth, said, classes, rows) for rows in samples])
        enough = np.isfinite(drawn).mean() > 0.9  # a sample may miss a class, which leaves some metrics undefined
        low, high = np.nanquantile(drawn, [0.025, 0.975]) if enough else (np.nan, np.nan)
        value = _score(metric, truth, said, classes, slice(None))
        found.append(
            ModelScore(metric, value, float(low), float(high), _score(metric, truth, flat, classes, slice(None)))
        )
    return tuple(found)


def _score(metric: Metric, truth: NDArray[Any], said: Prediction, classes: Any, rows: Any) -> float:
    part = Prediction(said.values[rows], None if said.probabilities is None else said.probabilities[rows])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of classes that a sample has not
        try:
            return metric(truth[rows], part, classes)
        except ValueError:
            return float("nan")


def _constant(truth: NDArray[Any], classes: Any, probabilities: bool) -> Prediction:
    """What one could say of all rows alike if one knew their answers: their mean, or the shares of the classes."""
    if classes is None:
        return Prediction(np.full(len(truth), truth.mean()))
    shares = np.array([(truth == label).mean() for label in classes])
    said = np.full(len(truth), classes[int(np.argmax(shares))])
    return Prediction(said, np.tile(shares, (len(truth), 1)) if probabilities else None)
