"""``fit(monitor=…)``: a function that is shown the model after every round and may end the fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from corollary.solvers.loop import Observer


class Monitored:
    """An observer that also asks scikit-learn's kind of monitor, ``monitor(round, model, variables)``.

    The model has the rounds so far while the monitor looks at it.
    """

    def __init__(
        self,
        monitor: Callable[[int, Any, dict[str, Any]], bool],
        model: Any,
        begun: int,
        attributes: Callable[[Any], dict[str, Any]],
        observer: Observer | None,
    ) -> None:
        self.monitor, self.model, self.attributes, self.observer = monitor, model, attributes, observer
        self.shown = begun

    def __call__(self, record: dict[str, float], snapshot: Callable[[], Any]) -> Any:
        if self.observer is not None and (asked := self.observer(record, snapshot)):
            return asked
        rounds = int(record["iteration"])
        if rounds <= self.shown:
            return False
        before = dict(vars(self.model))
        vars(self.model).update(self.attributes(snapshot()))
        self.shown = rounds
        try:
            return bool(self.monitor(rounds - 1, self.model, dict(record)))
        finally:
            vars(self.model).clear()
            vars(self.model).update(before)

    def last(self, record: dict[str, float], snapshot: Callable[[], Any]) -> Any:
        """The last round, told to callbacks; the monitor is shown it with the fitted model."""
        last = getattr(self.observer, "last", None)
        return last(record, snapshot) if last is not None else False

    def end(self, rounds: int) -> None:
        """Show the last round too, of which the loop asks nobody."""
        if rounds > self.shown:
            self.shown = rounds
            self.monitor(rounds - 1, self.model, {"iteration": float(rounds)})
