"""One model on one fold: fitted to the training part, within its time, and asked about the rows held out."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from corollary.base import Estimator
from corollary.callbacks import TimeBudget
from corollary.core.evidence import Evidence, Status
from corollary.evaluate.folds import Part
from corollary.evaluate.metrics import Prediction
from corollary.tabular.messages import one_line, sentences

Progress = Callable[[int, int, str], None]  # called with (fits done, fits in all, what is being done)
NO_WEIGHTS = "takes no weights: every row counted the same in its fits"
TOO_LONG = "a fit takes longer than the time it may have"


@dataclass(frozen=True)
class FoldFit:
    """One model on one fold: predictions for the held-out rows, cost, evidence, and what went wrong.

    ``stopped``: the time ended the fit. ``rounds`` are the trees or rounds that were kept, of a model that would have
    had more without early stopping or with more time.
    """

    seconds: float
    prediction: Prediction | None
    evidence: Evidence | None
    warnings: tuple[str, ...] = ()
    error: str = ""
    stopped: bool = False
    rounds: int | None = None
    fitted: Any = None


def fit_fold(model: Any, part: Part, seconds: float | None = None, keep: bool = False) -> FoldFit:
    """Fit a clone of ``model`` and predict the test part; a failure is returned, not raised (Ctrl-C is raised).

    ``seconds`` is when a fit that listens to callbacks is stopped; ``keep`` returns the fitted model too.
    """
    started = time.perf_counter()
    fitted = limited(clone(model), seconds)
    prediction = evidence = None
    reason, stopped, rounds = "", False, None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            fitted.fit(part.train, part.y, **weights_for(fitted, part.weights))
            evidence = evidence_of(fitted)
            stopped = evidence is not None and evidence.status is Status.BUDGET
            rounds = rounds_of(fitted, stopped)
            if stopped and not rounds:
                reason = TOO_LONG
            else:
                prediction = predict(fitted, part.test)
        except Exception as error:
            reason = one_line(error)
    notes = sentences(caught, evidence)
    if part.weights is not None and not weights_for(model, part.weights):
        notes = (*notes, NO_WEIGHTS)
    took = time.perf_counter() - started
    kept = fitted if keep and not reason else None
    return FoldFit(took, prediction, evidence, notes, reason, stopped, rounds, kept)


def limited(model: Any, seconds: float | None) -> Any:
    """The model, with a time after which its fit stops, if it listens to one."""
    if seconds is not None and isinstance(model, Estimator):
        model.set_callbacks(TimeBudget(max(seconds, 1e-3)))
    return model


def weights_for(model: Any, weights: NDArray[np.float64] | None) -> dict[str, Any]:
    """What ``fit`` is to be given of the weights: nothing if the model takes none."""
    if weights is None:
        return {}
    if isinstance(model, Pipeline):
        name, last = model.steps[-1]
        return {f"{name}__{key}": value for key, value in weights_for(last, weights).items()}
    return {"sample_weight": weights} if has_fit_parameter(model, "sample_weight") else {}


def rounds_of(fitted: Any, stopped: bool) -> int | None:
    """The trees or rounds of an ensemble that has fewer than its ``n_estimators``."""
    wanted = getattr(fitted, "n_estimators", None)
    if wanted is None:
        return None
    found = getattr(fitted, "n_iter_", None)
    if not isinstance(found, int):
        if not stopped:
            return None
        found = len(getattr(fitted, "estimators_", ()))
    return int(found) if found < wanted else None


def predict(fitted: Any, X: Any) -> Prediction:
    """Labels or numbers, and probabilities if the model has them; refuses numbers that are not finite."""
    values = np.asarray(fitted.predict(X))
    probabilities = np.asarray(fitted.predict_proba(X), np.float64) if hasattr(fitted, "predict_proba") else None
    for numbers in (values, probabilities):
        if numbers is not None and numbers.dtype.kind == "f" and not np.isfinite(numbers).all():
            raise ValueError("its predictions are not finite")
    return Prediction(values, probabilities)


def evidence_of(fitted: Any) -> Evidence | None:
    """The model's evidence, if it keeps any; without the model, which would otherwise stay in memory with it."""
    evidence = getattr(fitted, "evidence_", None)
    return replace(evidence) if isinstance(evidence, Evidence) else None
