"""Links: from a model's raw prediction to the mean or the probabilities it stands for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from scipy.special import expit, log_expit, logit, softmax

from corollary.core.types import Array


class Link(ABC):
    """The inverse link: raw prediction → mean of y (or class probabilities)."""

    name: ClassVar[str]
    in_units_of_y: ClassVar[bool] = False  # whether scaling y by 10 scales raw predictions by 10
    probabilistic: ClassVar[bool] = False  # whether raw predictions stand for probabilities of classes

    @abstractmethod
    def inverse(self, raw: Array) -> Array:
        """The mean that the raw prediction stands for."""

    def forward(self, mean: Array) -> Array:
        """The raw prediction that stands for a mean, or for probabilities."""
        raise TypeError(f"the {self.name} link does not know which raw prediction stands for a mean.")

    def raw_name(self, n_classes: int | None) -> str:
        """What a raw prediction is, in words; None classes for a regression."""
        return "score"

    def probabilities(self, raw: Array) -> Array:
        """One column per class, from the decision values of two classes (n,) or of k classes (n, k)."""
        raise TypeError(f"the {self.name} link has no probabilities of classes.")


class Identity(Link):
    name, in_units_of_y = "identity", True

    def raw_name(self, n_classes: int | None) -> str:
        return "prediction" if n_classes is None else "score"

    def inverse(self, raw: Array) -> Array:
        return raw

    def forward(self, mean: Array) -> Array:
        return mean


class Log(Link):
    name = "log"

    def raw_name(self, n_classes: int | None) -> str:
        return "logarithm of the prediction"

    def inverse(self, raw: Array) -> Array:
        """exp(raw), in float64 where float32 does not hold it; an error where that does not either."""
        top = float(np.max(raw, initial=-np.inf))
        if top > np.log(np.finfo(raw.dtype).max):
            raw = raw.astype(np.float64)
            if top > np.log(np.finfo(np.float64).max):
                raise ValueError(
                    f"The largest prediction is exp({top:.3g}), which is no number of float64: a row lies far outside "
                    "the data that the model was fitted to (rows of weight zero count as none)."
                )
        result: Array = np.exp(raw)
        return result

    def forward(self, mean: Array) -> Array:
        result: Array = np.log(np.maximum(mean, np.finfo(np.float64).tiny))
        return result


class Logit(Link):
    """Probability of the class +1. ``scale`` is 2 for the exponential loss, whose minimiser is half the log-odds."""

    name, probabilistic = "logit", True

    def __init__(self, scale: float = 1.0) -> None:
        self.scale = scale

    def raw_name(self, n_classes: int | None) -> str:
        return "log-odds" if self.scale == 1.0 else "score"

    def inverse(self, raw: Array) -> Array:
        result: Array = expit(self.scale * raw)
        return result

    def forward(self, mean: Array) -> Array:
        result: Array = logit(mean) / self.scale
        return result

    def probabilities(self, raw: Array) -> Array:
        """For more than two classes, each was held against the rest: their probabilities are made to sum to one."""
        odds = raw if self.scale == 1.0 else self.scale * raw
        if raw.ndim == 1:
            return np.column_stack([expit(-odds), expit(odds)])
        result: Array = softmax(log_expit(odds), axis=1)
        return result


class Softmax(Link):
    name, probabilistic = "softmax", True

    def raw_name(self, n_classes: int | None) -> str:
        return "log-odds" if n_classes == 2 else "score"

    def inverse(self, raw: Array) -> Array:
        result: Array = softmax(raw, axis=1)
        return result

    def forward(self, mean: Array) -> Array:
        logs = np.log(mean)
        result: Array = logs - logs.mean(axis=1, keepdims=True)
        return result

    def probabilities(self, raw: Array) -> Array:
        """The one decision value of two classes is the difference of their scores."""
        return Logit().probabilities(raw) if raw.ndim == 1 else self.inverse(raw)
