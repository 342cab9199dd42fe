"""Models whose predictions are sums over trees or over columns: their Shapley values are exact."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
import scipy.sparse

from corollary.core.evidence import Certificate, Kind
from corollary.core.explanation import Explanation
from corollary.core.memory import check_memory
from corollary.core.trees import Trees
from corollary.core.types import Array
from corollary.explaining.frames import Rows
from corollary.tree.shap import Additive, column_names, output_names, shap_values

ADDS_UP = "relative distance of the sums from the predictions"


@runtime_checkable
class Linear(Protocol):
    """A model whose raw prediction is X βᵀ + b."""

    def _linear_terms(self) -> tuple[Array, Array, str]:
        """(β of shape (outputs, columns), b of shape (outputs,), what the raw prediction is)."""

    def _raw_prediction(self, X: Any) -> Array: ...

    def _validate_predict(self, X: Any) -> Any: ...


def trees_of(model: Any) -> bool:
    """Whether Shapley values can be read off the model's trees."""
    if isinstance(model, Additive):
        try:
            model._additive_trees()
        except TypeError:  # it boosts something else
            return False
        return True
    return isinstance(getattr(model, "trees_", None), Trees) and not hasattr(model, "_init_model")


def explain_trees(model: Any, X: Any, background: Any) -> Explanation:
    """Shapley values of trees; of the probabilities of two classes, which mirror each other, those of the second."""
    found = one_of_two(shap_values(model, X, background=background))
    table = Rows.of(X)
    return found if not table.framed else found.by_column(list(found.feature_names), table.as_pandas())


def explain_linear(model: Any, X: Any, known: Any, method: str = "") -> Explanation:
    """β (x − mean of the known rows), for each output; ``method`` says what these are, if not some rows."""
    coef, intercept, meaning = model._linear_terms()
    rows, against = model._validate_predict(X), model._validate_predict(known)
    k = len(coef)
    check_memory(
        8 * rows.shape[0] * rows.shape[1] * (k + 1), "Contributions to these rows", "explain fewer rows at a time"
    )
    centre = np.asarray(against.mean(axis=0, dtype=np.float64)).ravel()
    away = np.asarray(rows.toarray() if scipy.sparse.issparse(rows) else rows, dtype=np.float64) - centre
    values = away[:, :, None] * coef.T
    base = coef @ centre + intercept
    raw = np.asarray(model._raw_prediction(X), dtype=np.float64).reshape(len(away), k)
    table = Rows.of(X)
    return Explanation(
        values=values[:, :, 0] if k == 1 else values,
        base_values=base[0] if k == 1 else base,
        data=table.as_pandas() if table.framed else rows,
        feature_names=tuple(column_names(model)),
        output_names=output_names(model, k),
        meaning=meaning,
        certificate=adding_up(values, base, raw, 1e-9 if rows.dtype == np.float64 else 1e-4),
        method=method or f"Coefficient × distance from the mean of {Rows.of(known).count:,} rows",
        index=table.index,
    )


def adding_up(values: Array, base: Array, raw: Array, tolerance: float = 1e-9) -> Certificate:
    """How far base and values are from adding up to the predictions, against the largest of all these numbers."""
    away = float(np.max(np.abs(base + values.sum(axis=1) - raw), initial=0.0))
    size = max(float(np.max(np.abs(part), initial=np.finfo(float).tiny)) for part in (raw, base, values))
    return Certificate(Kind.CHECKED, ADDS_UP, away / size, tolerance)


def one_of_two(found: Explanation) -> Explanation:
    """The second of two outputs that are probabilities and sum to one; other explanations as they are."""
    from dataclasses import replace

    if found.meaning != "probability" or len(found.output_names) != 2:
        return found
    return replace(
        found, values=found.values[:, :, 1], base_values=found.base_values[1], output_names=found.output_names[1:]
    )
