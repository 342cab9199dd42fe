"""What scikit-learn says of data that a model cannot take, told better: which column, which value, what to do."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from sklearn.base import is_classifier, is_regressor

from corollary.registry import ESTIMATORS, all_estimators, models_with

NO_NUMBER = "Input X contains NaN."  # as scikit-learn says it
NO_TEXT = "could not convert string to float"  # as NumPy does
NO_DATE = "could not be promoted"


def better_told(error: BaseException, model: Any, X: Any) -> ValueError | None:
    """The error to raise instead, if this one is about gaps, text or dates in X; None for any other.

    Words by which scikit-learn's checks and other people's code know these errors stay in it.
    """
    text = str(error)
    if isinstance(error, ValueError) and NO_NUMBER in text and "Fill them in" not in text:
        return ValueError(f"{text.partition(NO_NUMBER)[0]}{NO_NUMBER}\n{type(model).__name__} {_without_gaps(model)}")
    of_text = isinstance(error, ValueError) and text.startswith(NO_TEXT)
    if of_text or (isinstance(error, TypeError) and NO_DATE in text):
        found = _first_without_numbers(X)
        return None if found is None else ValueError(_without_text(model, *found))
    return None


def _without_gaps(model: Any) -> str:
    """What to do about missing values, of which a model takes none."""
    return (
        "does not accept missing values encoded as NaN natively. Fill them in (SimpleImputer in a pipeline does), "
        f"leave out rows or columns that have them{_others(model, 'missing', ', or take a model that does: ')}."
    )


def _without_text(model: Any, column: str, value: Any, dates: bool) -> str:
    """What to do about a column that holds text, categories or dates."""
    compare = ", or let corollary.compare prepare the table" if _task(model) in ("classification", "regression") else ""
    opening = f"{type(model).__name__} takes numbers, but column {column} holds"
    if dates:
        return f"{opening} dates or times such as {value}. Make numbers of them, such as year and month{compare}."
    opening = f"{opening} text such as {value!r} ({NO_TEXT})."
    if "categorical_features" in model.get_params(deep=False):
        return f"{opening} Name it in categorical_features, or encode it (OneHotEncoder in a pipeline does)."
    others = _others(model, "categories", ", or take a model that reads categorical columns: ")
    compare = compare.replace(", or let", ", let") if others else compare
    return f"{opening} Encode it (OneHotEncoder in a pipeline does){compare}{others}."


def _others(model: Any, capability: str, opening: str) -> str:
    """Which models of the same task have a capability, after some opening words; nothing if there are none."""
    task, own = _task(model), ESTIMATORS.get(type(model).__name__)
    alike = [each for each in all_estimators(task) if own is not None and each.canon == own.canon]
    kin = [each.name for each in alike if capability in each.capabilities]
    *names, last = dict.fromkeys((*models_with(capability, task), *kin)) or ("",)
    return f"{opening}{', '.join(names)} or {last}" if names else f"{opening}{last}" if last else ""


def _task(model: Any) -> str:
    if is_classifier(model) or is_regressor(model):
        return "classification" if is_classifier(model) else "regression"
    entry = ESTIMATORS.get(type(model).__name__)
    return "" if entry is None else entry.tasks[0]


def _first_without_numbers(X: Any) -> tuple[str, Any, bool] | None:
    """(the first column that is not of numbers, one of its values, whether these are dates); None if there is none."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        for name, kind in frame.schema.items():
            series = frame.get_column(name).drop_nulls()
            if kind.is_temporal():
                return repr(name), series[0] if len(series) else "none", True
            if kind.is_numeric() or kind == nw.Boolean:
                continue
            values = np.asarray(series.to_numpy(), dtype=object)
            if (value := _first_text(values)) is not None:
                return repr(name), value, False
        return None
    cells = np.asarray(X, dtype=object)
    if cells.ndim != 2:
        return None
    found = ((number, _first_text(cells[:, number])) for number in range(cells.shape[1]))
    return next(((str(number), value, False) for number, value in found if value is not None), None)


def _first_text(values: Any) -> str | None:
    """The first value that is text and stands for no number."""
    for value in values:
        if isinstance(value, (str, bytes)):
            try:
                float(value)
            except ValueError:
                return value if isinstance(value, str) else value.decode("utf-8", "replace")
    return None
