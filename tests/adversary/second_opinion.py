"""A second opinion on convex fits, by a conic solver of other people (Clarabel), where it is installed."""

from __future__ import annotations

from typing import Any

import numpy as np

SHARE = 0.2  # of the fits that are asked about


def second_opinion(model: Any, data: Any, rng: np.random.Generator) -> tuple[bool, str] | None:
    """Whether Clarabel finds nothing better, with its words; None where it was not asked or does not know."""
    return None
