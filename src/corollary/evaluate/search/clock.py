"""The time of a search: what is left, and what a fit may take."""

from __future__ import annotations

import math
import time

_AFTER = 0.03  # share of the time for what comes after the last fit: the blend, its luck, leaving


class Clock:
    """Counts down from ``seconds`` since ``began``; without seconds there is no end."""

    def __init__(self, seconds: float | None, began: float | None = None) -> None:
        self.began = time.monotonic() if began is None else began
        self.seconds = math.inf if seconds is None else seconds

    @property
    def limited(self) -> bool:
        """Whether there is an end."""
        return math.isfinite(self.seconds)

    @property
    def elapsed(self) -> float:
        """Seconds since the beginning."""
        return time.monotonic() - self.began

    @property
    def left(self) -> float:
        """Seconds for fits; less than zero when they are used up."""
        return self.seconds * (1 - _AFTER) - self.elapsed if self.limited else math.inf

    def pause(self, seconds: float) -> None:
        """Do not count these seconds, which have just gone by."""
        self.began += seconds

    def share(self, part: float) -> float | None:
        """Seconds that one fit may take of which ``part`` of the time is meant; None if there is no end."""
        return max(0.3, part * self.seconds) if self.limited else None
