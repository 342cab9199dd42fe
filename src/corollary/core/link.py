"""Links: from a model's raw prediction to the mean or the probabilities it stands for."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from scipy.special import expit, softmax

from corollary.core.types import Array


class Link(ABC):
    """The inverse link: raw prediction → mean of y (or class probabilities)."""

    name: str

    @abstractmethod
    def inverse(self, raw: Array) -> Array:
        """The mean that the raw prediction stands for."""


class Identity(Link):
    name = "identity"

    def inverse(self, raw: Array) -> Array:
        return raw


class Log(Link):
    name = "log"

    def inverse(self, raw: Array) -> Array:
        result: Array = np.exp(raw)
        return result


class Logit(Link):
    """Probability of the class +1. ``scale`` is 2 for the exponential loss, whose minimiser is half the log-odds."""

    name = "logit"

    def __init__(self, scale: float = 1.0) -> None:
        self.scale = scale

    def inverse(self, raw: Array) -> Array:
        result: Array = expit(self.scale * raw)
        return result


class Softmax(Link):
    name = "softmax"

    def inverse(self, raw: Array) -> Array:
        result: Array = softmax(raw, axis=1)
        return result
