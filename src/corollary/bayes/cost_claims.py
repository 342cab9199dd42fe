"""What decisions by cost claim, in the plain words of the referee."""

from __future__ import annotations

from typing import Any

import numpy as np

from corollary.base import check_weights
from corollary.bayes.temperature import COLDEST, HOTTEST, LEAST
from corollary.core.door.weights import within_reach
from corollary.core.inner_models import take_rows, weight_argument
from corollary.core.judging import Judged
from corollary.core.types import Array
from corollary.referee import decisions
from corollary.referee.verdict import Verification, together

ROWS = 5000  # whose decisions are tried again


def verify_decisions(model: Any, X: Any, y: Any, sample_weight: Any) -> Verification:
    """Decisions of some rows, each tried again; what the classifier claims; a temperature, on folds made once more."""
    table, inner = model._table(X, reset=False), model.estimator_
    if isinstance(inner, Judged) and not model._prefit:
        known = None if weight_argument(inner) is None else sample_weight
        found = inner.evidence_.verify(table, y, known)
        if found.stands is False:
            return Verification(False, f"the classifier: {found.words}", found.found)
    few = take_rows(table, np.arange(min(table.shape[0], ROWS)))
    p, said = model.predict_proba(few), model.predict(few)
    places = {label: place for place, label in enumerate(model.decisions_.tolist())}
    decided = np.array([places.get(label, -1) for label in said.tolist()], dtype=np.intp)
    if (decided < 0).any():
        return Verification(False, "a decision is none of decisions_")
    result = decisions.cheapest(p, model.cost_, decided, model.evidence_.certificate.tolerance)
    same = decisions.tempered(model._said(inner, few), p, model.temperature_, LEAST)
    if model.calibration is None or not (result.stands and same.stands):
        return together(result, same)
    return together(result, same, _temperature(model, table, y, sample_weight))


def _temperature(model: Any, X: Any, y: Array, sample_weight: Any) -> Verification:
    if hasattr(model.cv, "__next__"):
        return Verification(None, "which rows were held out cannot be told again")
    weights = within_reach(check_weights(sample_weight, X))[0]
    name = weight_argument(model._given())
    told = {} if sample_weight is None or name is None else {name: sample_weight}
    (rows, said), _ = model._held_out(X, y, told)
    counted = weights[rows] > 0
    rows, said = rows[counted], said[counted]
    codes = model._codes(y, weights)[rows]
    found = decisions.likeliest_temperature(said, codes, weights[rows], model.temperature_, LEAST, (COLDEST, HOTTEST))
    if found.stands is not False:
        return found
    again = model._held_out(X, y, told)[0][1][counted]
    return found if np.array_equal(again, said) else Verification(None, "held-out predictions are random")
