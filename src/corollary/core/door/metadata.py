"""Metadata of a fit, a prediction or a score: whether scikit-learn routes them, and what of them is about some rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import get_config

from corollary.core.types import Array


def enabled() -> bool:
    """Whether ``sklearn.set_config(enable_metadata_routing=True)`` is in force."""
    return bool(get_config().get("enable_metadata_routing", False))


def refuse(owner: Any, method: str, metadata: dict[str, Any]) -> None:
    """Raise ValueError for metadata that nobody routes."""
    if metadata and not enabled():
        raise ValueError(
            f"Passing {sorted(metadata)} to {type(owner).__name__}.{method} is only supported if "
            "enable_metadata_routing=True (sklearn.set_config) and somebody has asked for them, as by set_fit_request."
        )


def of_rows(value: Any, rows: Array, n: int) -> Any:
    """The entries of some rows, of what has one for each of the n; anything else, a longer list too, as it is."""
    if isinstance(value, (str, bytes, dict, set, frozenset)) or _length(value) != n:
        return value
    if isinstance(value, (list, tuple)):
        return [value[row] for row in rows]
    if hasattr(value, "iloc"):
        return value.iloc[rows]
    if hasattr(value, "tocsr"):
        return value.tocsr()[rows]
    return np.asarray(value)[rows]


def _length(value: Any) -> int | None:
    shape = getattr(value, "shape", None)  # a sparse matrix has no len
    if shape is not None:
        return shape[0] if len(shape) else None
    return len(value) if hasattr(value, "__len__") else None
