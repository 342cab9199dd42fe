"""What scikit-learn's parameters of logistic regression say: the strength, the mix, and who may solve it.

``penalty`` is scikit-learn's older way to say ``l1_ratio`` and ``C``. A ``solver`` of scikit-learn's is a hint to us,
but what it stands for is kept: "liblinear" penalises the intercept, and each of them takes the penalties that it takes
there.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from corollary.base import caller_level
from corollary.core.evidence import Evidence, Status
from corollary.core.limits import Choice, Limit, Real
from corollary.core.types import Array

OURS = ("auto", "newton", "lbfgs", "prox-newton")
SOLVER = Choice(*OURS, "liblinear", "newton-cg", "newton-cholesky", "sag", "saga")
PENALTY: Limit = Choice("deprecated", "l1", "l2", "elasticnet", None)
MIX = Real(low=0, high=1)
ONLY_L2 = ("lbfgs", "newton-cg", "newton-cholesky", "sag")
FAILED = {  # scikit-learn's words, which people search for and filter by; of "lbfgs" they are true of ours as well
    "lbfgs": "lbfgs failed to converge after {} iteration(s).",
    "liblinear": "Liblinear failed to converge, increase the number of iterations.",
    "newton-cg": "newton-cg failed to converge after {} iteration(s). Increase the number of iterations.",
    "newton-cholesky": "Newton solver did not converge after {} iterations.",
    "sag": "The max_iter was reached which means the coef_ did not converge.",
    "saga": "The max_iter was reached which means the coef_ did not converge.",
}


def told_as_known(solver: str, evidence: Evidence, sentence: str) -> str:
    """What a fit that fell short says, with the words that scikit-learn has for that solver, where iterations ran out.

    Words that name a solver which did not run are shown as a quotation, beside the one that did.
    """
    if evidence.status is not Status.MAX_ITER or solver not in FAILED:
        return sentence
    words = FAILED[solver].format(evidence.n_iter)
    if solver in ("liblinear", "newton-cg", "newton-cholesky"):
        words = f'solver={solver!r} was run as {evidence.solver}; where scikit-learn says "{words}":'
    return f"{words} {sentence}"


def strength_and_mix(model: Any) -> tuple[float, float]:
    """C and ρ of a logistic regression, whichever way they were given."""
    mix = {"l1": 1.0, "l2": 0.0}.get(model.penalty, model.l1_ratio or 0.0)
    return (np.inf, 0.0) if model.penalty is None else (float(model.C), float(mix))


def mixes(model: Any) -> Array:
    """All ρ that are tried in a cross-validation."""
    given = (0.0,) if without_mixes(model) else model.l1_ratios
    if model.penalty in ("l1", "l2"):
        return np.full(len(given), 1.0 if model.penalty == "l1" else 0.0)
    return np.asarray(given, dtype=np.float64)


def without_mixes(model: Any) -> bool:
    """Whether the parameter ``l1_ratios`` was left out."""
    return model.l1_ratios is None or (isinstance(model.l1_ratios, str) and model.l1_ratios == "warn")


def check_terms(model: Any, Cs: Array, ratios: Array) -> None:
    """Raise ValueError where a solver of scikit-learn's is asked for what it is not for."""
    if model.solver in OURS and model.solver not in ONLY_L2 and not model.dual:
        return
    solver, penalised = model.solver, bool(np.isfinite(Cs).any())
    sparse = penalised and bool((ratios > 0).any())
    mixed = sparse and (len(set(ratios.tolist())) > 1 or bool((ratios < 1).any()))
    anyone = 'leave solver at "auto", which takes every penalty'
    if solver in ONLY_L2 and sparse:
        asked = "elasticnet" if mixed else "l1"
        raise ValueError(f"Solver {solver} supports only 'l2' or None penalties, got {asked} penalty: {anyone}.")
    if solver != "liblinear" and model.dual:
        raise ValueError(
            f"Solver {solver} supports only dual=False, got dual={model.dual}, which changes no answer: leave it out."
        )
    if solver == "liblinear" and mixed:
        raise ValueError(
            "Only 'saga' solver supports elasticnet penalty, got solver=liblinear (of scikit-learn's solvers): "
            f"{anyone}."
        )
    if solver == "liblinear" and not np.isfinite(Cs).all():
        raise ValueError(
            f"C=np.inf as well as penalty=None is not supported for the liblinear solver: {anyone}, or none."
        )
    if model.dual and sparse:
        raise ValueError(
            "The combination of penalty='l1' and dual=True is not supported: leave dual out, it changes no answer."
        )


def check_classes(model: Any, n_classes: int) -> None:
    """What "liblinear" penalises is said of two classes only."""
    if model.solver == "liblinear" and n_classes > 2:
        raise ValueError(
            f"The 'liblinear' solver does not support multiclass classification, and y has {n_classes} classes: leave "
            'solver at "auto", or wrap the estimator in a OneVsRestClassifier.'
        )


def deprecated(sentence: str) -> None:
    """What scikit-learn will drop, we accept as long as it does, with its kind of warning."""
    warnings.warn(sentence, FutureWarning, stacklevel=caller_level())


def _advise(sentence: str) -> None:
    warnings.warn(sentence, UserWarning, stacklevel=caller_level())


def warn_of_penalty(model: Any) -> None:
    """Of one strength and mix."""
    if model.penalty == "deprecated":
        if model.l1_ratio is None:
            deprecated("'l1_ratio=None' was deprecated in scikit-learn 1.8: use a number between 0 and 1; 0 is L2.")
        return
    deprecated(
        "'penalty' was deprecated in scikit-learn 1.8. Say it with l1_ratio and C: l1_ratio=0 is 'l2', l1_ratio=1 is "
        "'l1', a number in between 'elasticnet', and C=np.inf is None."
    )
    if model.penalty == "elasticnet" and model.l1_ratio is None:
        raise ValueError("l1_ratio must be specified when penalty is elasticnet: a number between 0 and 1.")
    if model.penalty != "elasticnet" and model.l1_ratio is not None and 0 < model.l1_ratio < 1:
        _advise(
            f"l1_ratio parameter is only used when penalty is 'elasticnet'. Got (penalty={model.penalty}), so "
            f"l1_ratio={model.l1_ratio} counts for nothing."
        )
    if (model.penalty, model.l1_ratio) not in (("l1", 1), ("l2", 0)) and model.penalty in ("l1", "l2"):
        _advise(
            f"Inconsistent values: penalty={model.penalty} with l1_ratio={model.l1_ratio}. penalty decides; leave it "
            "out and say it with l1_ratio alone."
        )
    if model.penalty is None and model.C != 1.0:
        _advise(f"Setting penalty=None will ignore the C and l1_ratio parameters, and C is {model.C}.")


def warn_of_penalties(model: Any) -> None:
    """Of a cross-validation, whose defaults scikit-learn is about to change."""
    if isinstance(model.l1_ratios, str):
        deprecated(
            "The default value for l1_ratios will change from None to (0.0,) in scikit-learn 1.10; the fit is the "
            "same. Set l1_ratios=(0.0,) to have the new shapes now."
        )
    if model.penalty != "deprecated":
        deprecated(
            "'penalty' was deprecated in scikit-learn 1.8. Say it with l1_ratios: (0,) is 'l2', (1,) is 'l1', numbers "
            "in between 'elasticnet'."
        )
        if model.penalty != "elasticnet" and not without_mixes(model):
            _advise(f"l1_ratios parameter is only used when penalty is 'elasticnet'. Got (penalty={model.penalty}).")
    elif model.l1_ratios is None:
        deprecated("'l1_ratios=None' was deprecated in scikit-learn 1.8: use (0.0,), which is the L2 penalty.")
    if isinstance(model.scoring, str) and model.scoring == "warn":
        deprecated(
            "The default value of the parameter 'scoring' will change from None, which is accuracy, to 'neg_log_loss' "
            "in scikit-learn 1.11. Set scoring to one of them; 'neg_log_loss' judges probabilities."
        )
    if isinstance(model.use_legacy_attributes, str):
        deprecated(
            "The default value of use_legacy_attributes will change from True to False in scikit-learn 1.10. With "
            "False C_ and l1_ratio_ are numbers, and scores_, coefs_paths_ and n_iter_ one array each."
        )
    given = () if without_mixes(model) else model.l1_ratios
    if not all(map(MIX.accepts, given)) or (len(given) == 0 and not without_mixes(model)):
        raise ValueError(
            f"l1_ratios must be an array-like of numbers between 0 and 1, one at least; got (l1_ratios={given!r})."
        )
    if model.penalty == "elasticnet" and without_mixes(model):
        raise ValueError("l1_ratios must be an array-like of numbers between 0 and 1 when penalty is 'elasticnet'.")
