"""The short way through the door: plain arrays of numbers, of which scikit-learn's checks would change nothing.

Those checks ask for frames of many libraries, names of columns, types and shapes, and sum up X with one thread. Before
a fit of a few hundred rows that is most of the time, and so it is before one of many megabytes on many threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from corollary.core.parallel import n_threads, together

LARGE = 1 << 20  # numbers from which threads pay
OPTIONS = frozenset({"y_numeric", "multi_output", "reset", "ensure_min_samples", "ensure_all_finite"})


def plain(model: Any, X: Any, y: Any, options: dict[str, Any]) -> bool:
    """Whether X, with y or without ("no_validation"), would come out of ``validate_data`` as it is.

    Then the number of columns is kept by the model, or compared with what it was fitted to. y has been looked at for
    missing numbers before. False says nothing: scikit-learn is to look.
    """
    if not (options.keys() <= OPTIONS and _is_table(X) and (type(y) is str or _is_vector(y, len(X)))):
        return False
    kept = model.__dict__
    if not options.get("reset", True) and not as_fitted(model, X):
        return False
    if len(X) < options.get("ensure_min_samples", 1):
        return False
    if options.get("ensure_all_finite", True) is not False and not all_finite(X):
        return False
    kept.pop("feature_names_in_", None)
    kept["n_features_in_"] = X.shape[1]
    return True


def as_fitted(model: Any, X: Any) -> bool:
    """Whether the door of a fitted model would hand X on as it is, unless a number is missing or infinite.

    To look for that is a pass over X by one thread, which can take longer than trees do on many.
    """
    kept = model.__dict__
    named = "feature_names_in_" in kept or bool(kept.get("categories_"))
    return _is_table(X) and not named and bool(kept.get("n_features_in_") == X.shape[1])


def _is_table(X: Any) -> bool:
    return type(X) is np.ndarray and X.ndim == 2 and X.dtype in (np.float64, np.float32) and X.size > 0


def _is_vector(y: Any, length: int) -> bool:
    return type(y) is np.ndarray and y.shape == (length,) and y.dtype.kind in "iuf" and y.dtype.isnative


def all_finite(X: Any) -> bool:
    """Whether the numbers of X add up to a number, hence are numbers; if not they may just be large.

    Only this is asked of the sums, so it does not matter how threads share them out.
    """
    count = n_threads() if X.size >= LARGE and (X.flags.c_contiguous or X.flags.f_contiguous) else 1
    numbers = X.ravel(order="K") if count > 1 else X

    def finite(rank: int) -> bool:
        own = numbers[len(numbers) * rank // count : len(numbers) * (rank + 1) // count]
        with np.errstate(over="ignore", invalid="ignore"):
            return bool(np.isfinite(own.sum()))

    return all(together(finite, count))
