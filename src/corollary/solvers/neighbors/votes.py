"""Neighbours' votes counted, and their numbers averaged, on threads where that pays."""

from __future__ import annotations

from typing import Any

import numpy as np

from corollary._compiled.neighbors import votes as kernels
from corollary.core.parallel import run_team
from corollary.core.types import Array

_WORTH = 50_000  # votes for each thread: about a tenth of a millisecond


def count_votes(rows: Array, votes: Array, codes: Array, target: int, shares: Array) -> None:
    """Add the shares of the votes (m, k) of ``rows`` for the classes of one target to ``shares``, which are zeros."""
    _run(kernels.tally, rows.size // _WORTH, rows, votes, codes, target, shares)


def average(rows: Array, votes: Array, y: Array, means: Array) -> None:
    """Fill ``means`` (m, targets) with those of y over ``rows`` (m, k), weighted by their votes."""
    _run(kernels.average, rows.size * y.shape[1] // _WORTH, rows, votes, y, means)


def _run(kernel: Any, most: int, *args: Any) -> None:
    fault = np.zeros(1, dtype=np.bool_)
    run_team(kernel, *args, fault, most=most)
    if fault[0]:
        raise ValueError("The model's rows and its targets do not fit together.")
