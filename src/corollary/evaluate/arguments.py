"""What is passed to ``compare`` from Python, where no command line has seen to its kinds: right, or one line."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping
from typing import Any

from corollary.tabular.messages import InputError, shown


def column_name(option: str, value: Any) -> str:
    """One column's name as tables are read here, as text; frames may have names of other kinds."""
    if isinstance(value, str):
        return value
    if value is None or (not isinstance(value, tuple) and isinstance(value, Iterable)):
        kind = "None" if value is None else type(value).__name__
        raise InputError(f"{option}: expected the name of a column of the table, got {kind}")
    return str(value).strip()


def column_names(option: str, value: Any) -> tuple[str, ...]:
    """Names of columns; a name by itself is one of them."""
    if value is None:
        return ()
    several = isinstance(value, Iterable) and not isinstance(value, str)
    return tuple(column_name(option, each) for each in (value if several else (value,)))


def check_numbers(whole: Mapping[str, Any], real: Mapping[str, Any]) -> None:
    """Refuse what is no whole number, and what is no number; None is what was not said."""
    for options, kind, what in ((whole, numbers.Integral, "a whole number"), (real, numbers.Real, "a number")):
        for option, value in options.items():
            if value is not None and (isinstance(value, bool) or not isinstance(value, kind)):
                raise InputError(f"{option} {value!r}: expected {what}, got {type(value).__name__}")


def check_texts(texts: Mapping[str, Any]) -> None:
    """Refuse what is no text; None is what was not said."""
    for option, value in texts.items():
        if value is not None and not isinstance(value, str):
            raise InputError(f"{option}: expected text, got {type(value).__name__}")


def own_models(models: Any) -> dict[str, Any] | None:
    """The user's candidates by name; refuses what is no mapping of names to models that can be fitted."""
    if models is None:
        return None
    if not isinstance(models, Mapping) or not models:
        got = "an empty one" if isinstance(models, Mapping) else type(models).__name__
        raise InputError(f"models: expected a mapping of names to models, as {{'ridge': Ridge()}}, got {got}")
    for name, model in models.items():
        if isinstance(model, type) or not (hasattr(model, "fit") and hasattr(model, "get_params")):
            got = f"the class {model.__name__}" if isinstance(model, type) else type(model).__name__
            raise InputError(f"models: {shown(name)}: expected a model that can be fitted, as Ridge(), got {got}")
    return {str(name): model for name, model in models.items()}
