"""What a model compiles at its first fit on an installation is compiled on a few rows, before its time counts."""

from __future__ import annotations

import time
import warnings
from contextlib import suppress
from typing import Any

import numpy as np
from sklearn.base import clone

from corollary.base import Estimator
from corollary.evaluate.cross_validation import weights_for
from corollary.evaluate.folds import Part

_ROWS = 60
_NOTICED = 0.5  # seconds: a shorter fit has compiled nothing


def compile_first(model: Any, part: Part) -> float:
    """Fit a small copy of a model of ours to a few rows, and the seconds that went into compiling; 0 if none did."""
    if not isinstance(model, Estimator):
        return 0.0
    first = _seconds_of_a_small_fit(model, part)
    return max(0.0, first - _seconds_of_a_small_fit(model, part)) if first > _NOTICED else 0.0


def _seconds_of_a_small_fit(model: Any, part: Part) -> float:
    began = time.monotonic()
    rows = np.union1d(np.unique(part.y, return_index=True)[1][:_ROWS], np.arange(min(_ROWS, len(part.y))))
    small = clone(model)
    if "n_estimators" in small.get_params(deep=False):
        small.set_params(n_estimators=2)
    weights = None if part.weights is None else part.weights[rows]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with suppress(Exception):  # so few rows may not do; the fit of the fold says what is wrong, if anything is
            small.fit(part.train[rows], part.y[rows], **weights_for(small, weights)).predict(part.test[:_ROWS])
    return time.monotonic() - began
