"""The words of a tree: column names, class names, the question a node asks, the answer a leaf gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from corollary.core.trees import Trees
from corollary.core.types import Array

_SHOWN = 4  # categories named before the rest is counted


@dataclass(frozen=True)
class Question:
    """What a node asks: a row for which ``left`` is true goes left, one for which ``right`` is true goes right."""

    feature: str
    left: str
    right: str
    missing_left: bool


@dataclass(frozen=True)
class Words:
    """The names and numbers of one tree model, as people read them."""

    trees: Trees
    features: Sequence[str]
    classes: Sequence[str] | None  # of a single target; None for numbers and for several targets
    categories: dict[int, Array]
    decimals: int = 3

    @staticmethod
    def of(model: Any, feature_names: Sequence[str] | None = None, class_names: Sequence[str] | None = None,
           decimals: int = 3) -> Words:  # fmt: skip
        """The words of a fitted model, with names of its own or given ones."""
        check_is_fitted(model)
        known = getattr(model, "feature_names_in_", None)
        names = feature_names if feature_names is not None else known
        features = [f"x{f}" for f in range(model.n_features_in_)] if names is None else [str(name) for name in names]
        if len(features) != model.n_features_in_:
            raise ValueError(
                f"feature_names has {len(features)} names, but the tree has {model.n_features_in_} columns."
            )
        classes = getattr(model, "classes_", None)
        labels = [str(label) for label in classes] if isinstance(classes, np.ndarray) else None
        if class_names is not None:
            if labels is None or len(class_names) != len(labels):
                raise ValueError(f"class_names has {len(class_names)} names, which do not fit the classes of the tree.")
            labels = [str(name) for name in class_names]
        return Words(model.trees_, features, labels, getattr(model, "categories_", {}), decimals)

    def number(self, value: float) -> str:
        """A number with as many decimals as it needs, at most ``decimals``, or in short scientific form."""
        if value != 0 and not 10.0**-self.decimals <= abs(value) < 1e7:
            return f"{value:.{self.decimals}g}"
        text = f"{value:.{self.decimals}f}"
        return text.rstrip("0").rstrip(".") if "." in text else text

    def question(self, node: int) -> Question:
        """What an inner node asks."""
        f = int(self.trees.feature[node])
        missing_left = bool(self.trees.missing_left[node])
        if self.trees.category[node] < 0:
            threshold = float(self.trees.threshold[node])
            if np.isinf(threshold):
                return Question(self.features[f], "is known", "is missing", missing_left)
            return Question(
                self.features[f], f"≤ {self.number(threshold)}", f"> {self.number(threshold)}", missing_left
            )
        bits = self.trees.bitsets[self.trees.category[node]]
        names = [str(name) for name in self.categories.get(f, np.arange(32 * len(bits)))]
        inside = [name for c, name in enumerate(names) if bits[c // 32] >> np.uint32(c % 32) & 1]
        outside = [name for c, name in enumerate(names) if not bits[c // 32] >> np.uint32(c % 32) & 1]
        return Question(self.features[f], f"in {_listed(inside)}", f"in {_listed(outside)}", missing_left)

    def answer(self, node: int) -> str:
        """What a node would predict."""
        value = self.trees.value[node]
        if self.classes is not None:
            return self.classes[int(value.argmax())]
        return ", ".join(f"{v:.{self.decimals + 1}g}" for v in value)


def _listed(names: list[str]) -> str:
    """{a, b, c, d, +7}"""
    more = f", +{len(names) - _SHOWN}" if len(names) > _SHOWN else ""
    return "{" + ", ".join(names[:_SHOWN]) + more + "}"
