"""How numbers are written in sentences and tables: with as many decimals as their interval deserves."""

from __future__ import annotations

import math


def decimals(width: float) -> int:
    """Decimals that show two digits of an interval of this half width; three for one without a width."""
    if not math.isfinite(width) or width <= 0:
        return 3
    return min(6, max(0, 1 - math.floor(math.log10(width))))


def number(value: float, places: int) -> str:
    """``"−1,234.50"``: with so many decimals, a true minus sign, and no negative zero."""
    if not math.isfinite(value):
        return "–"
    return f"{round(value, places) + 0.0:,.{places}f}".replace("-", "−")


def between(interval: tuple[float, float], places: int | None = None) -> str:
    """``"95 % interval 0.12 to 0.18"``."""
    low, high = interval
    places = decimals((high - low) / 2) if places is None else places
    return f"95 % interval {number(low, places)} to {number(high, places)}"


def shown_p(p: float) -> str:
    """``"p = 0.03"``, or ``"p < 0.001"``."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"
