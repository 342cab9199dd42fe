"""Where in a model something sits, in words: ``step 'clf' → alpha``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

Place: TypeAlias = tuple[str, ...]

_SINGULAR = {"steps": "step", "transformers": "transformer", "transformers_": "transformer"} | {
    "transformer_list": "transformer"
}


def describe(place: Place) -> str:
    return " → ".join(place) or "the model"


def of_element(place: Place, index: int, element: Any) -> Place:
    """The place of one element of a list; ``("clf", model)`` in a list of steps is called ``step 'clf'``."""
    if place and is_named(element):
        return (*place[:-1], f"{_SINGULAR.get(place[-1], place[-1])} '{element[0]}'")
    return (*place, f"[{index}]")


def is_named(element: Any) -> bool:
    """Whether this is a tuple that starts with a name."""
    return isinstance(element, Sequence) and not isinstance(element, str) and bool(element) and type(element[0]) is str
