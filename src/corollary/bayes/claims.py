"""What a fitted naive Bayes model claims, in plain arrays for the referee."""

from __future__ import annotations

from typing import Any

import numpy as np

from corollary.base import check_weights
from corollary.bayes.training import numbered
from corollary.core.distribution.totals import log
from corollary.core.door.weights import within_reach
from corollary.core.evidence import Kind
from corollary.referee.bayes import Claim, Group, naive_bayes
from corollary.referee.verdict import Verification


def judge(model: Any, X: Any, y: Any, sample_weight: Any) -> Verification:
    """Put a model, its rows, labels and weights to the referee."""
    rows = model._read_new(X)
    weights, unit = within_reach(check_weights(sample_weight, rows))
    classes, codes, weights = numbered(np.asarray(y), weights, model.class_weight, model.unknown)
    if not np.isin(classes, model.classes_).all():
        return Verification(False, "y has classes that the model does not know")
    places = np.searchsorted(model.classes_, classes)
    codes = np.where(codes >= 0, places[codes], -1)
    stationary = model.evidence_.certificate.kind is Kind.STATIONARY
    if (codes < 0).any() != stationary:
        return Verification(
            False, f"labels were {'' if stationary else 'not '}unknown in the fit, and now it is otherwise"
        )
    fixed = model._fixed_prior(len(model.classes_))
    groups, extra = model._groups(rows, codes, weights, unit)
    claim = Claim(
        model.class_count_,
        model._log_prior,
        None if fixed is None else log(fixed),
        groups,
        model.evidence_.certificate.tolerance if stationary else None,
        extra,
    )
    return naive_bayes(rows, codes, weights, claim)


def floor(X: Any, weights: Any, share: float) -> tuple[float, float]:
    """The floor of variances: a share of the largest variance of a column, by a plain computation in long doubles.

    Also how far off it may be in float64, in which the means of the classes, of which it is put together, are rounded:
    of numbers whose mean is 1e8 times their spread, not all digits are left.
    """
    rows = np.asarray(X, dtype=np.longdouble)
    there = ~np.isnan(rows)
    w = np.where(there, np.asarray(weights, dtype=np.longdouble)[:, None], 0)
    total = np.where(w.sum(axis=0) > 0, w.sum(axis=0), 1)
    filled = np.where(there, rows, 0)
    centre = (w * filled).sum(axis=0) / total
    spread = (w * (filled - centre) ** 2).sum(axis=0) / total
    blur = (2.0**-49 * centre) ** 2
    spread[spread <= blur] = 0
    largest = spread.max(initial=0)
    if not largest > 0:
        return 1.0, 0.0
    most = np.where(spread > 0, (np.sqrt(spread) + 2 * np.sqrt(blur)) ** 2, 0).max()
    return float(share * largest), float(share * (most - largest))


def gaussian_group(columns: Any, mean: Any, variance: Any, seen: Any, regular: float, **more: Any) -> Group:
    return Group("gaussian", columns, {"mean": mean, "variance": variance, "seen": seen, **more}, regular)
