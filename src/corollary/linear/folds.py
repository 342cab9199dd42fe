"""Folds of a cross-validation, and what they say when somebody ended it early."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import check_cv
from sklearn.utils.metadata_routing import process_routing

from corollary.core.design import Design
from corollary.core.door.metadata import enabled, refuse
from corollary.core.evidence import Status
from corollary.core.types import Array
from corollary.solvers.linear.driver import Solution

Fold = tuple[Array, Array]


def splits(cv: Any, X: Any, y: Array, weights: Array | None, *, classifier: bool = False, **routed: Any) -> list[Fold]:
    """Rows to train on and rows held out; a splitter does not see X where that is read from blocks.

    ``routed`` is what the splitter asked for by metadata routing, such as groups.
    """
    seen = np.empty((len(y), 0)) if isinstance(X, Design) else X
    found = check_cv(cv, y, classifier=classifier).split(seen, y, **routed)
    folds = [(np.asarray(train), np.asarray(test)) for train, test in found]
    for number, (train, _) in enumerate(folds):
        if weights is not None and not weights[train].any():
            raise ValueError(f"Fold {number} trains on rows of weight zero alone: leave such rows out, or change cv.")
    return folds


def routes(model: Any, method: str, extra: dict[str, Any], sample_weight: Any = None) -> Any:
    """What ``extra`` keywords of a method go to the splitter and the scorer; None unless metadata are routed.

    Weights are routed along with them if somebody has asked for weights.
    """
    refuse(model, method, extra)
    if not enabled():
        return None
    weighed = {} if sample_weight is None else {"sample_weight": sample_weight}
    return process_routing(model, method, **extra, **weighed)


def mean_over_folds(scores: Array, weights: Array, folds: list[Fold]) -> Array:
    """The mean over the last axis, each fold with the weight of the rows that it held out.

    NaN is what was not scored: folds with all their scores decide, or, if there is none yet, what the first one has.
    """
    whole = ~np.isnan(scores).any(axis=tuple(range(scores.ndim - 1)))
    if not whole.any():
        return scores[..., 0]
    shares = np.array([weights[test].sum() for _, test in folds])[whole]
    return scores[..., whole] @ shares / shares.sum()


def uninterrupted(found: Solution) -> Solution:
    """One fit of many: Ctrl-C ends all of them, since some of the fits alone give no answer."""
    if found.evidence.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return found
