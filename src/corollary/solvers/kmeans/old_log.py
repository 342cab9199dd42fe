"""To be removed when k-means runs in the loop."""

from __future__ import annotations

import time


class Log:
    """The history of a fit, one record an iteration."""

    def __init__(self) -> None:
        self.began = time.perf_counter()
        self.history: dict[str, list[float]] = {"iteration": [], "objective": [], "gap": [], "seconds": []}

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.began

    def add(self, iteration: int, objective: float, gap: float) -> dict[str, float]:
        """Keep and return the record of this iteration."""
        values = (float(iteration), float(objective), float(gap), self.seconds)
        for entries, value in zip(self.history.values(), values, strict=True):
            entries.append(value)
        return dict(zip(self.history, values, strict=True))
