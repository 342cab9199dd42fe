"""Evidence that knows its model, and the door through which the rows of a fit come to have its claim judged."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.utils import get_tags
from sklearn.utils.validation import validate_data

from corollary.core.blocks import as_blocks
from corollary.core.door.target import refuse_missing
from corollary.core.door.weights import check_weights, counted
from corollary.core.evidence import Evidence
from corollary.core.fitted import check_state
from corollary.core.types import Array
from corollary.referee.verdict import Verification, of_claim

ONE_ARRAY = (
    "verify takes the rows as one array: pass np.vstack of the blocks, and y and sample_weight of all rows beside it."
)


class OfItsModel:
    """The attribute ``evidence_``: kept in the instance like any other, and handed out knowing its model.

    The model holds evidence that does not know it, so there is no circle, and whoever keeps what is handed out keeps
    the model with it.
    """

    of_instance = True  # a file may hold what the instance keeps under this name

    def __get__(self, model: Any, owner: type[Any]) -> Evidence:
        kept = None if model is None else model.__dict__.get("evidence_")
        if not isinstance(kept, Evidence):
            raise AttributeError(f"{owner.__name__!r} object has no attribute 'evidence_'")
        return kept.bound_to(model)

    def __set__(self, model: Any, evidence: Evidence) -> None:
        model.__dict__["evidence_"] = evidence

    def __delete__(self, model: Any) -> None:
        del model.__dict__["evidence_"]


class Judged:
    """A model whose evidence can be put to the referee."""

    evidence_ = OfItsModel()

    def _verify(self, X: Any, y: Any, sample_weight: Any) -> Verification:
        """What the referee says about the evidence, given the rows of the fit: see ``Evidence.verify``."""
        evidence = self.evidence_
        claim = f"{evidence.claim}: {evidence.certificate}"
        if evidence.holds and (amiss := amiss_in(self)) is not None:  # before anything is computed with it
            return Verification(False, amiss, claim=claim)
        X = _check_columns(self, X)
        y = _check_target(self, y, rows := int(X.shape[0]))
        if sample_weight is not None:
            sample_weight = counted(check_weights(sample_weight, X))
        _check_labels(self, y, sample_weight)
        _check_rows(self, rows, rows if sample_weight is None else int(np.count_nonzero(sample_weight)))
        if evidence.holds:
            check: Any = self
            check._check_parameters()  # which may have been set to anything since the fit
            with warnings.catch_warnings():  # names were compared above; members are asked with arrays
                warnings.filterwarnings("ignore", message="X does not have valid feature names")
                found = self._referee(X, y, sample_weight)
        else:
            found = Verification(None, "nothing was claimed")
        return of_claim(found, claim)

    def _referee(self, X: Any, y: Any, sample_weight: Any) -> Verification:
        """Put fitted attributes and rows to the referee as plain arrays; each family has its own."""
        return Verification(None, f"there is no referee for {type(self).__name__} yet")


def amiss_in(model: Any) -> str | None:
    """What no fit leaves behind, in the model or in the models that it holds, as files are checked for it; else None.

    Compiled code looks neither at shapes nor at indices, so a claim about such a model must not even be looked into.
    """
    declared, state = getattr(type(model), "fitted", None), vars(model)
    try:
        if declared is not None:
            check_state(declared, state)
            if "n_features_in_" in state:  # a model that is held may be a parameter, which no one has fitted
                with np.errstate(all="ignore"):
                    model._check_state()
    except (ValueError, TypeError, ArithmeticError, AttributeError, LookupError) as error:
        return f"{type(model).__name__}: {error}"
    given = model._get_param_names()  # models that are parameters are fitted as copies, if at all
    held = _models_in([value for name, value in state.items() if name not in given])
    return next((found for other in held if (found := amiss_in(other)) is not None), None)


def _models_in(values: list[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, Judged):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _models_in(list(value))
        elif isinstance(value, dict):
            yield from _models_in(list(value.values()))


def _check_columns(model: Any, X: Any) -> Any:
    """X as something that has a shape, with the columns of the fit."""
    try:
        in_blocks = as_blocks(X) is not None
    except (TypeError, ValueError):
        in_blocks = True
    if in_blocks:
        raise ValueError(ONE_ARRAY)
    known = any(hasattr(X, name) for name in ("shape", "__array__", "__dataframe__")) and not hasattr(X, "collect")
    if not known and not (isinstance(X, (list, tuple)) and len(X)):
        told = "; call its collect() first" if hasattr(X, "collect") else ""
        raise ValueError(f"X must be an array, a sparse matrix or a table in memory, but it is a {type(X)!r}{told}.")
    try:
        X = X if getattr(X, "shape", None) else np.asarray(X)
        if type(model)._referee is not Judged._referee and hasattr(model, "n_features_in_"):
            validate_data(model, X, reset=False, skip_check_array=True)
    except TypeError as error:
        raise ValueError(f"X must have two dimensions, rows and columns: {error}") from None
    if not X.shape:
        raise ValueError(f"X must have two dimensions, rows and columns, but it is a {type(X)!r}.")
    return X


def _check_rows(model: Any, rows: int, counted_rows: int) -> None:
    """Refuse more rows or fewer than the fit had, if it has left behind how many (of them, that counted)."""
    labels, seen = vars(model).get("labels_"), vars(model).get("n_samples_")
    if isinstance(labels, np.ndarray) and len(labels) != rows:
        raise ValueError(f"X must be the {len(labels)} rows of the fit, but it has {rows}.")
    if seen is not None and seen != counted_rows:
        raise ValueError(f"X must be the rows of the fit: {seen} had a weight then, and {counted_rows} have now.")


def _check_target(model: Any, y: Any, rows: int) -> Any:
    """y as an array with an entry for each row, and as many targets as the fit had; None stays None.

    What was learnt from y is claimed of X and y together: without y, half of it would be looked at and called all.
    """
    supervised = is_classifier(model) or is_regressor(model)
    if y is None:
        if supervised:
            raise ValueError("verify needs the y of the fit.")
        return None
    if hasattr(y, "collect"):
        raise ValueError(f"y must be an array in memory, but it is a {type(y)!r}; call its collect() first.")
    if supervised:
        refuse_missing(y, numeric=is_regressor(model))
    try:
        values = np.asarray(y)
    except (TypeError, ValueError) as error:
        raise ValueError(f"y must be an array with one entry for each row of X: {error}") from None
    if values.ndim == 0:
        raise ValueError(f"y must be an array with one entry for each row of X, but it is a {type(y)!r}.")
    if len(values) != rows:
        raise ValueError(f"y must have one entry for each row of X ({rows}), but it has {len(values)}.")
    if not supervised:
        return values
    targets, given = _targets_of_the_fit(model), 1 if values.ndim == 1 else int(np.prod(values.shape[1:]))
    if values.ndim > 2:
        raise ValueError(f"y must have one or two dimensions, but its shape is {values.shape}.")
    if targets is not None and given != targets:
        raise ValueError(f"y must have the targets of the fit ({targets}), but it has {given}.")
    if is_regressor(model):
        try:
            values = values.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"y must be numbers, as it was in the fit: {error}") from None
    return values.ravel() if given == 1 else values


def _targets_of_the_fit(model: Any) -> int | None:
    """How many numbers or labels the fit had for each row; None if that cannot be told."""
    state = vars(model)
    if "n_outputs_" in state:
        return int(state["n_outputs_"])
    if is_regressor(model) and "coef_" in state:
        return 1 if np.ndim(state["coef_"]) == 1 else len(state["coef_"])
    if isinstance(state.get("classes_"), list):
        return len(state["classes_"])
    if "_y" in state:  # neighbours keep the targets themselves
        return 1 if np.ndim(state["_y"]) == 1 else int(np.shape(state["_y"])[1])
    return None if get_tags(model).target_tags.multi_output else 1


def _check_labels(model: Any, y: Any, weights: Array | None) -> None:
    """Refuse labels that the model does not know, except in rows that do not count."""
    classes = vars(model).get("classes_")
    if y is None or not is_classifier(model) or not isinstance(classes, np.ndarray) or y.ndim != 1:
        return
    known, by_class = set(classes.tolist()), getattr(model, "class_weight", None)
    if isinstance(by_class, dict):
        known |= {label for label, weight in by_class.items() if not weight}
    known |= {getattr(model, "unknown", None)}  # a label that stands for none
    try:
        strange = {label for label in (y if weights is None else y[weights > 0]).tolist() if label not in known}
    except TypeError:
        raise ValueError("y must be labels, one for each row of X.") from None
    if strange:
        told = sorted(strange, key=repr)[:5]
        raise ValueError(
            f"y has classes that the model was not fitted to: {told!r}; it knows {classes.tolist()[:5]!r}."
        )
