"""Fitted attributes of ``LogisticRegressionCV`` in scikit-learn's two shapes, of which one is kept.

What is kept has one array for all classes: folds × mixes × Cs (× scores × coefficients). Scikit-learn's older shapes
repeat that for every class, under its label; they are made when they are asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from corollary.core.types import Array
from corollary.linear.logistic_terms import without_mixes


class InBothShapes:
    """An attribute that is kept as it is with ``use_legacy_attributes=False``, and shown as that parameter says."""

    of_instance = True  # a file may hold what the instance keeps under this name

    def __init__(self, older: Callable[[Any, Any], Any]) -> None:
        self.older = older

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self.name = name

    def __get__(self, model: Any, owner: type[Any]) -> Any:
        if model is None or self.name not in vars(model):
            raise AttributeError(f"{owner.__name__!r} object has no attribute {self.name!r}")
        kept = vars(model)[self.name]
        return kept if model.use_legacy_attributes is False else self.older(model, kept)

    def __set__(self, model: Any, value: Any) -> None:
        vars(model)[self.name] = value

    def __delete__(self, model: Any) -> None:
        del vars(model)[self.name]


def _by_class(model: Any, each: list[Any]) -> dict[Any, Any]:
    labels = model.classes_[1:] if len(model.classes_) == 2 else model.classes_
    return dict(zip(labels.tolist(), each, strict=True))


def _count(model: Any) -> int:
    return 1 if len(model.classes_) == 2 else len(model.classes_)


def repeated(model: Any, value: float) -> Array:
    """The same number for every class."""
    return np.full(_count(model), value)


def _turned(model: Any, values: Array, mixes: int) -> Array:
    """Cs before mixes, and no mixes at all if the parameter ``l1_ratios`` was left out."""
    turned = np.swapaxes(values, mixes, mixes + 1)
    return np.take(turned, 0, axis=mixes + 1) if without_mixes(model) else turned


def scores_by_class(model: Any, scores: Array) -> dict[Any, Array]:
    """(folds, Cs) or (folds, Cs, mixes) for every class, all the same."""
    return _by_class(model, [_turned(model, scores, 1)] * _count(model))


def paths_by_class(model: Any, paths: Array) -> dict[Any, Array]:
    """(folds, Cs, d) or (folds, Cs, mixes, d) of each class, the intercept last."""
    return _by_class(model, list(_turned(model, np.moveaxis(paths, 3, 0), 2)))


def counts_for_all(model: Any, counts: Array) -> Array:
    """(1, folds, Cs) or (1, folds, Cs, mixes)."""
    return counts if counts.ndim == 1 else _turned(model, counts[None], 2)  # files of version 0.1 count the refit
