"""The door for numbers that are none: a look at large tables by all threads, where one thread would hold up the others.

scikit-learn sums up X and looks closer if the sum is no number. For tables of many megabytes this one pass, by one
thread, can take longer than the fit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from corollary.core.parallel import n_threads, together

LARGE = 1 << 20  # numbers from which threads pay


def seen_finite(X: Any) -> bool:
    """Whether X is a large array of floats that are all numbers; False says that it has yet to be looked at.

    Only whether sums are numbers is asked, so it does not matter how the threads divide them.
    """
    if type(X) is not np.ndarray or X.dtype not in (np.float64, np.float32) or X.ndim != 2 or X.size < LARGE:
        return False
    if not (X.flags.c_contiguous or X.flags.f_contiguous):
        return False
    numbers, count = X.ravel(order="K"), n_threads()

    def finite(rank: int) -> bool:
        with np.errstate(over="ignore", invalid="ignore"):
            own = numbers[X.size * rank // count : X.size * (rank + 1) // count]
            return bool(np.isfinite(own.sum()))

    return all(together(finite, count))
