"""The winner, fitted to every row: one configuration, or the members of a blend."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from corollary.base import Estimator
from corollary.core.evidence import Evidence
from corollary.core.parallel import one_blas_thread
from corollary.ensemble.combine.voting import VotingClassifier, VotingRegressor
from corollary.evaluate.cross_validation import evidence_of, limited, weights_for
from corollary.evaluate.folds import PreparedFolds
from corollary.evaluate.search.blend import Blend, member_names
from corollary.evaluate.search.tried import Tried
from corollary.tabular.messages import sentences
from corollary.tabular.target import Target

_MORE_ROWS = 1.1  # rounds for the rows that early stopping had set aside, which the last fit has


@dataclass(frozen=True)
class Refitted:
    """The fitted winner, its evidence, and what it warned of."""

    model: Any
    evidence: Evidence | None
    notes: tuple[str, ...]


def last_settings(tried: Tried) -> dict[str, Any]:
    """What differs in the last fit: as many rounds as the folds had, on all rows."""
    rounds = [fit.rounds for fit in tried.fits]
    parameters = tried.model.get_params(deep=False)
    early = parameters.get("early_stopping") is True
    if not early and all(each is None for each in rounds):
        return {}
    found = np.mean([parameters["n_estimators"] if each is None else each for each in rounds])
    count = max(1, round(float(found) * (_MORE_ROWS if early else 1.0)))
    return {"n_estimators": count} | ({"early_stopping": False} if early else {})


def pipeline_of(tried: Tried, folds: PreparedFolds) -> Pipeline:
    """Preparation and model of a configuration, not fitted."""
    model = clone(tried.model).set_params(**last_settings(tried))
    return Pipeline([("prepare", folds.make(tried.kind)), ("model", model)])


def vote_of(found: Blend, folds: PreparedFolds, target: Target) -> Any:
    """The blend as a vote of pipelines, not fitted."""
    members = list(zip(member_names(found.members), (pipeline_of(each, folds) for each in found.members), strict=True))
    shares = [float(share) for share in found.shares]
    if target.classes is None:
        return VotingRegressor(members, weights=shares)
    return VotingClassifier(members, voting="soft", weights=shares)


def refit(model: Any, X: Any, target: Target, seed: int, seconds: float | None) -> Refitted:
    """Fit to every row, in an order that is drawn as in the folds; a pipeline of ours stops after ``seconds``."""
    order = np.random.default_rng(seed).permutation(len(X))  # files are often sorted
    weights = None if target.weights is None else target.weights[order]
    X, y = X.iloc[order], target.values[order]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if isinstance(model, Pipeline):  # step by step: the time is for the model
            began, (prepare, last) = time.monotonic(), (model[0], model[-1])
            with one_blas_thread():
                rows = prepare.fit_transform(X)
            limited(last, None if seconds is None else max(0.5, seconds - (time.monotonic() - began)))
            last.fit(rows, y, **weights_for(last, weights))
            if seconds is not None and isinstance(last, Estimator):
                last.set_callbacks()
        else:
            last = model.fit(X, y, **weights_for(model, weights))
    evidence = evidence_of(last)
    return Refitted(model, evidence, sentences(caught, evidence))
