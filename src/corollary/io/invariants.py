"""What must hold of a loaded object before it may be used.

Python and NumPy check what they are given; compiled code, ours and that below scikit-learn's sparse matrices, does not.
Our own classes declare what their parameters (``limits``) and fitted attributes (``fitted``) may be. An index read from
a forged file could also reach compiled code through the classes of scikit-learn below, so their state is checked here.
"""

from __future__ import annotations

import inspect as signatures
from collections.abc import Callable
from typing import Any

import numpy as np

from corollary.core.fitted import check_state
from corollary.core.penalty import Penalty
from corollary.core.types import Array
from corollary.io.errors import ModelFileError, short

_FROM_SKLEARN = {"_sklearn_output_config", "_metadata_request"}


def check(class_id: str, model: Any) -> None:
    """Raise ModelFileError unless the loaded model is safe to use."""
    penalty, columns = vars(model).get("penalty"), vars(model).get("n_features_in_")
    if isinstance(penalty, Penalty) and columns is not None:
        _penalty(model, penalty, columns)
    if class_id.startswith("corollary:"):
        _own(model)
    rule = _RULES.get(class_id)
    if rule is not None:
        rule(model)


def fill_in_parameters(model: Any) -> None:
    """Give parameters that did not exist when the file was written their defaults."""
    cls = type(model)
    for name, parameter in signatures.signature(cls.__init__).parameters.items():
        if name == "self" or name in vars(model) or parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if parameter.default is parameter.empty:
            raise ModelFileError(f"{cls.__name__} lacks its parameter {name!r}")
        vars(model)[name] = parameter.default


def _own(model: Any) -> None:
    """Parameters are within their limits, and fitted attributes are what their class declares."""
    cls, state = type(model), vars(model)
    try:
        for name, limit in getattr(cls, "limits", {}).items():
            if not limit.accepts(state[name]):
                raise ValueError(f"{name} must be {limit}, but it is {short(state[name])}")
        known = {*cls.fitted, *signatures.signature(cls.__init__).parameters, *_FROM_SKLEARN}
        strange = [name for name in state if name not in known and (name.endswith("_") or name.startswith("_"))]
        if strange:
            raise ValueError(f"{short(strange[0])} is no attribute that a fit leaves behind")
        check_state(cls.fitted, state)
        if "n_features_in_" in state and hasattr(model, "_check_state"):
            with np.errstate(all="ignore"):
                model._check_state()
    except (ValueError, TypeError, ArithmeticError, AttributeError, LookupError) as error:
        raise ModelFileError(f"{cls.__name__}: {error}") from None


def _penalty(model: Any, penalty: Penalty, columns: Any) -> None:
    """What a penalty knows of each column must be there for every column that the model was fitted to."""
    try:
        penalty.check_columns(columns)
    except (ValueError, TypeError) as error:
        raise ModelFileError(f"{type(model).__name__}: {error}") from None


def _no_cache(model: Any) -> None:
    if getattr(model, "memory", None) is not None:
        name = type(model).__name__
        raise ModelFileError(
            f"{name}.memory is a folder of pickles that fitting would read; set memory=None before saving"
        )


def _vocabulary(model: Any) -> None:
    vocabulary = vars(model).get("vocabulary_", {})
    if not isinstance(vocabulary, dict) or not _is_permutation(list(vocabulary.values())):
        raise ModelFileError(f"{type(model).__name__}.vocabulary_ must number its words 0, 1, 2, …")


def _is_permutation(numbers: list[Any]) -> bool:
    return all(isinstance(n, int | np.integer) for n in numbers) and sorted(numbers) == list(range(len(numbers)))


def _one_hot(model: Any) -> None:
    state = vars(model)
    if "categories_" not in state:
        return  # not fitted
    try:
        widths = [
            _width(categories, *grouping)
            for categories, *grouping in zip(state["categories_"], *_groupings(state), strict=True)
        ]
    except (TypeError, ValueError, AttributeError, KeyError) as error:
        raise ModelFileError(f"OneHotEncoder's categories are inconsistent: {error}") from None
    columns = state.get("_n_features_outs")
    if type(columns) is not list or columns != widths or not all(isinstance(n, int | np.integer) for n in columns):
        raise ModelFileError(f"OneHotEncoder must have {widths} output columns per input column")


def _groupings(state: dict[str, Any]) -> tuple[Any, Any, Any]:
    nothing = [None] * len(state["categories_"])
    dropped = state["_drop_idx_after_grouping"]
    if not state["_infrequent_enabled"]:
        return nothing, nothing, nothing if dropped is None else dropped
    mappings, infrequent = state["_default_to_infrequent_mappings"], state["_infrequent_indices"]
    return mappings, infrequent, nothing if dropped is None else dropped


def _width(categories: Array, mapping: Array | None, infrequent: Array | None, dropped: Any) -> int:
    """How many columns one feature becomes, after checking that no value can be encoded beyond them."""
    _require(isinstance(categories, np.ndarray) and categories.ndim == 1, "they must be one-dimensional arrays")
    _require(_is_searchable(categories), "numbers must be in increasing order")
    width = len(categories) if infrequent is None else len(categories) - infrequent.size + 1
    _require((mapping is None) == (infrequent is None), "infrequent ones must be mapped")
    if mapping is not None:
        _require(mapping.dtype.kind == "i" and mapping.shape == categories.shape, "infrequent ones must be mapped")
        _require(bool(np.all((mapping >= 0) & (mapping < width))), "infrequent ones must be mapped to a column")
    if dropped is None:
        return width
    _require(isinstance(dropped, int | np.integer) and 0 <= int(dropped) < width, "the dropped one must exist")
    return width - 1


def _is_searchable(categories: Array) -> bool:
    # scikit-learn looks numbers up by bisection, and everything else in a table, where order does not matter
    return categories.dtype.kind in "OUS" or bool(np.array_equal(np.sort(categories), categories, equal_nan=True))


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)


_RULES: dict[str, Callable[[Any], None]] = {
    "corollary:AgglomerativeClustering": _no_cache,
    "sklearn:CountVectorizer": _vocabulary,
    "sklearn:OneHotEncoder": _one_hot,
    "sklearn:Pipeline": _no_cache,
    "sklearn:TfidfVectorizer": _vocabulary,
}
