"""What cascades and Haar features claim, in the plain words of the referee: windows, rectangles, stumps, as arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from corollary.core.types import Array
from corollary.ensemble.cascade.windows import is_normalized
from corollary.referee import cascades, haar
from corollary.referee.verdict import Verification, weakest

WINDOWS, FEATURES = 50, 300  # whose responses are added up again


def _some(n: int, most: int) -> Array:
    return np.unique(np.linspace(0, n - 1, most).astype(np.intp))


def verify_haar(model: Any, X: Array) -> Verification:
    """The list of features, and the responses of some windows to some of them."""
    window, features = model.window_, np.asarray(model.features_)
    wrong = haar.misplaced(features, window)
    if wrong is not None:
        return wrong
    if len(np.unique(features, axis=0)) != len(features):
        return Verification(False, "a feature is listed more than once")
    all_of_them = haar.count(window, model.stride)
    wanted = all_of_them if model.max_features is None else min(model.max_features, all_of_them)
    if len(features) != wanted:
        return Verification(False, f"there are {len(features)} features, where {wanted} were to be listed")
    columns, rows = _some(len(features), FEATURES), X[_some(len(X), WINDOWS)]
    told = model.transform(rows)[:, columns]
    normalize, tolerance = is_normalized(model.normalize, window), model.evidence_.certificate.tolerance
    return haar.features_and_responses(rows, window, normalize, features[columns], told, tolerance)


def verify_cascade(model: Any, X: Array, y: Any) -> Verification:
    """Every stage once more: what the model says, and on the windows set aside the rates and thresholds.

    Where all windows came from X, the votes of the stumps too. That no other feature would have been better for a stump
    is not judged: candidates are drawn at random.
    """
    names = ("features", "cuts", "left", "right", "stage_ends", "stage_thresholds")
    stumps = cascades.Stumps(*(np.asarray(getattr(model, f"{name}_")) for name in names))
    wrong = stumps.misshapen(model.window_)
    if wrong is not None:
        return wrong
    if X.size * len(stumps.cuts) > cascades.MOST:
        return Verification(None, "too many windows and stumps to add up pixel by pixel")
    walk = cascades.Walk.of(X, model.window_, model.normalized_, stumps)
    parts = [cascades.decisions(walk, stumps.thresholds, model.decision_function(X))]
    held = getattr(model, "validation_rows_", None)
    if held is None or y is None or not parts[0].stands:
        return parts[0] if parts[0].stands is not True else Verification(None, f"{parts[0].words}; {_MISSING}")
    if held.max(initial=0) >= len(X):
        return Verification(False, "windows that are said to be set aside are not among these")
    aside, positive = np.isin(np.arange(len(X)), held), np.asarray(y) == model.classes_[1]
    if not ((aside & positive).any() and (aside & ~positive).any()):
        return Verification(False, "windows set aside are not of both classes")
    found = _rates(model, walk, stumps, aside, positive)
    return found if not found.stands else Verification(True, f"{parts[0].words}; {found.words}", found.found)


_MISSING = "rates need the y of the fit, and to know which windows were set aside"


def _rates(model: Any, walk: Any, stumps: Any, aside: Array, positive: Array) -> Verification:
    evidence, least = model.evidence_, model.min_detection_rate
    history, tolerance = evidence.history, evidence.certificate.tolerance
    own = "windows scanned" not in evidence.facts  # all windows are rows of X, not cut out of pictures
    parts = [cascades.rates(walk, aside & positive, "detection rate", history, least, tolerance)]
    wrong = [cascades.wrong_thresholds(walk, aside & positive, stumps.thresholds, least)]
    if own:
        parts.append(cascades.rates(walk, aside & ~positive, "false positive rate", history, 0.0, tolerance))
        trained = ~aside
        for side in (positive, ~positive):
            if side.sum() == 1:  # the only window of a class is both learnt from and set aside
                trained = trained | side
        wrong.append(cascades.wrong_votes(walk, trained, positive, stumps))
    found = weakest([*parts, *(each for each in wrong if each is not None)])
    words = "rates and thresholds are those of the windows set aside" + ", votes of stumps those of the others" * own
    return Verification(True, words, parts[0].found) if found.stands else found
