"""Names of criteria that scikit-learn still takes, with a warning."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, TypeVar, cast

from corollary.base import caller_level

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
