"""What criteria ask for: y that has a Poisson deviance; and names that scikit-learn takes with a warning."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np

from corollary.base import caller_level
from corollary.core.types import Array

F = TypeVar("F", bound=Callable[..., Any])


def renaming_criterion(init: F) -> F:
    """Wrap an ``__init__``: ``criterion="friedman_mse"`` becomes "squared_error", which finds the same splits."""

    @functools.wraps(init)
    def rename(self: Any, *args: Any, **kwargs: Any) -> None:
        given = kwargs.get("criterion")
        if isinstance(given, str) and given == "friedman_mse":
            warnings.warn(
                f'{type(self).__name__}: criterion="friedman_mse" is deprecated and will go with scikit-learn 1.11. It '
                'has always found the splits of "squared_error", which is used; write that instead.',
                FutureWarning,
                stacklevel=caller_level(),
            )
            kwargs["criterion"] = "squared_error"
        init(self, *args, **kwargs)

    return cast(F, rename)


def refuse_for_poisson(criterion: str, y: Any, weights: Array | None = None) -> None:
    """Raise ValueError for numbers y that are negative or without a positive sum, if the criterion is "poisson".

    What are no numbers is left to those who read y.
    """
    if criterion != "poisson":
        return
    try:
        values = np.asarray(y)
    except (TypeError, ValueError):
        return
    if values.dtype.kind not in "biuf":
        return
    if (values < 0).any():
        raise ValueError(
            "Some value(s) of y are negative which is not allowed for Poisson regression. "
            f"There are {int((values < 0).sum())}; shift y, or use criterion='squared_error'."
        )
    sums = values.sum(axis=0) if weights is None else weights @ values
    if values.size and (sums <= 0).any():  # a sum that is missing is for those who read y to refuse
        raise ValueError(
            "Sum of y is not strictly positive which is necessary for Poisson regression. Where y is not positive in "
            "any row, a Poisson deviance has no mean to start from."
        )
