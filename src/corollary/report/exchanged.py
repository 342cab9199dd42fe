"""Rows as a model sees them, in which one column of the table can be exchanged without preparing them again."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from corollary.evaluate.cross_validation import predict
from corollary.evaluate.metrics import Prediction
from corollary.tabular.columns import feature_sources

_DENSE_CELLS = 20_000_000


def said_by(model: Any, rows: Any) -> Prediction:
    """What a fitted model says about rows of the table, which are prepared once for labels and probabilities."""
    return predict(model[-1], model[:-1].transform(rows)) if isinstance(model, Pipeline) else predict(model, rows)


class Exchange:
    """Rows of a table and a fitted model.

    Where every feature comes from one column (all of a preparation's do, but components of many columns), the rows are
    prepared once, and a column is exchanged by exchanging its features: the same as preparing the changed rows.
    """

    def __init__(self, model: Any, table: Any) -> None:
        self.model, self.table = model, table
        self.features: NDArray[Any] | None = None
        self._places: dict[str, list[int]] = {}
        if isinstance(model, Pipeline) and len(model) == 2:
            sources = feature_sources(model)
            if set(sources) <= set(map(str, table.columns)) and len(table) * len(sources) <= _DENSE_CELLS:
                prepared = model[:-1].transform(table)
                self.features = np.asarray(prepared.toarray() if hasattr(prepared, "toarray") else prepared)
                for place, source in enumerate(sources):
                    self._places.setdefault(source, []).append(place)

    def __len__(self) -> int:
        return len(self.table)

    def said(self) -> Prediction:
        """What the model says about the rows as they are."""
        return said_by(self.model, self.table) if self.features is None else predict(self.model[-1], self.features)

    def exchanged(self, column: str, taken: NDArray[np.intp], givers: Exchange, given: NDArray[np.intp]) -> Prediction:
        """What the model says about rows ``taken``, each with the ``column`` of the row ``given`` of ``givers``."""
        if self.features is None or givers.features is None:
            changed = self.table.iloc[taken].copy()
            changed[column] = givers.table[column].iloc[given].array
            return said_by(self.model, changed)
        features = self.features[taken]
        places = self._places.get(column, [])
        features[:, places] = givers.features[given][:, places]
        return predict(self.model[-1], features)


def split(said: Prediction, parts: int) -> list[Prediction]:
    """A prediction for the same rows several times over, taken apart."""
    values = np.split(said.values, parts)
    shares: list[Any] = [None] * parts if said.probabilities is None else np.split(said.probabilities, parts)
    return [Prediction(*each) for each in zip(values, shares, strict=True)]


def outputs(said: Prediction, classes: NDArray[Any] | None) -> NDArray[np.float64]:
    """Probabilities; of a model without them a column for each class, 1 where it is said; or numbers."""
    if said.probabilities is not None:
        return said.probabilities
    if classes is None:
        return np.asarray(said.values, dtype=float).reshape(len(said.values), -1)
    return np.asarray(said.values[:, None] == classes[None, :], dtype=float)
