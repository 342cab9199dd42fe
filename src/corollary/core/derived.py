"""What follows from a part of a fitted model, made when first asked for and kept as long as model and part are."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Derived(Generic[T]):
    """One thing for each model. It is no part of the model, so neither copied nor saved; it must not hold the model."""

    def __init__(self) -> None:
        self._known: weakref.WeakKeyDictionary[Any, tuple[Any, T]] = weakref.WeakKeyDictionary()

    def of(self, model: Any, part: Any, make: Callable[[], T]) -> T:
        """What ``make`` made of this very ``part`` of the model, now or earlier."""
        known = self._known.get(model)
        if known is None or known[0] is not part:
            known = self._known[model] = part, make()
        return known[1]
