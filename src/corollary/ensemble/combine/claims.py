"""What combinations of models claim, in the plain words of the referee: what members say, as arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import check_cv

from corollary.base import check_weights
from corollary.core.door.weights import within_reach
from corollary.core.judging import Judged
from corollary.core.types import Array
from corollary.ensemble.combine.held_out import HeldOut
from corollary.ensemble.combine.votes import take_rows
from corollary.ensemble.members import weight_argument
from corollary.ensemble.routing import Told
from corollary.labels import encode_labels
from corollary.referee import ensembles, held_out
from corollary.referee.verdict import Verification, together

ROWS = 200  # whose predictions are put together again
OUT_OF_BAG_ROWS = 1000  # beyond which a bag judges itself by some of its rows, unless it is asked for more


def verify_votes(model: Any, X: Any, members: list[tuple[Any, Any]], shares: Array | None, total: Any) -> Verification:
    """Predictions of some rows from those of ``members``, pairs of (model, its rows), asked one by one."""
    whole, labels = getattr(model, "voting", "soft") == "hard", getattr(model, "_labels", None)
    if not hasattr(model, "classes_"):
        return ensembles.mean_of_members([member.predict(part) for member, part in members], shares, model.predict(X),
                                         total)  # fmt: skip
    labels = np.arange(len(model.classes_)) if labels is None else labels
    said = []
    for member, part in members:
        votes = np.zeros((part.shape[0], len(labels)))
        if whole or not hasattr(member, "predict_proba"):
            votes[np.arange(len(votes)), np.searchsorted(labels, member.predict(part))] = 1.0
        else:
            votes[:, np.searchsorted(labels, member.classes_)] = member.predict_proba(part)
        said.append(votes)
    return ensembles.mean_of_members(said, shares, model._mean_vote(X), total)


def verify_voting(model: Any, X: Any, y: Any, sample_weight: Any) -> Verification:
    """Predictions from those of the members; and of held-out rows, errors from what is kept, made once more."""
    wrong = refuted_member(model, X, y, sample_weight)
    if wrong is not None:
        return wrong
    table = model._table(X, reset=False)
    few = take_rows(table, np.arange(min(table.shape[0], ROWS)))
    sums = verify_votes(model, few, [(member, few) for member in model.estimators_], model._shares, None)
    if not sums.stands or "held_out_rows_" not in vars(model):
        return sums
    if y is None:
        return Verification(None, f"{sums.words}; errors on held-out rows need the y of the fit")
    rows, said, n = model.held_out_rows_, model.held_out_votes_, table.shape[0]
    weights = counting(model, X, y, sample_weight)[0]
    codes = np.searchsorted(model.classes_, y) if hasattr(model, "classes_") else y.ravel().astype(np.float64)
    if rows.max(initial=0) >= n or not (weights[rows] > 0).all():
        return Verification(False, "rows that are said to be held out are not among those that count")
    errors = held_out.vote(
        said, model._shares, codes[rows], weights[rows], model.held_out_error_, model.held_out_excess_
    )
    if not errors.stands:
        return errors
    return together(errors, _same_held_out(model, X, codes, sample_weight, weights), sums)


def counting(model: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Array, Array | None]:
    """What rows count, by their own weights and those of their classes; and what members were told, None if nothing."""
    weights, unit = within_reach(check_weights(sample_weight, X))
    by_class = getattr(model, "class_weight", None)
    if by_class is not None:
        weights = encode_labels(y, weights, by_class, one_class=True)[2]
    return weights, None if sample_weight is None and by_class is None else weights / unit


def _held_out_again(model: Any, X: Any, codes: Array, sample_weight: Any) -> HeldOut:
    """What members say of held-out rows that are fitted without them once more."""
    y = model.classes_[codes] if hasattr(model, "classes_") else codes
    given = counting(model, X, y, sample_weight)[1]
    found: HeldOut = model._held_out(model._members(), model._table(X, reset=False), codes, Told(given))
    return found


def _unless_random(
    refuted: Verification, first: HeldOut, model: Any, X: Any, codes: Array, sample_weight: Any
) -> Verification:
    """Refuted, unless predictions that are made yet another time are not the same: then nothing is decided."""
    second = _held_out_again(model, X, codes, sample_weight)
    pairs = zip(first.votes, second.votes, strict=True)
    if np.array_equal(first.rows, second.rows) and all(np.array_equal(a, b, equal_nan=True) for a, b in pairs):
        return refuted
    return Verification(None, "members or folds are random, so that held-out predictions cannot be made once more")


def _same_held_out(model: Any, X: Any, codes: Array, sample_weight: Any, weights: Array) -> Verification:
    """Whether what is kept of held-out rows is what members say that are fitted without them once more."""
    unknown = Verification(
        None, "which rows were held out cannot be told again: errors follow from what is kept of them"
    )
    if model.cv is None or hasattr(model.cv, "__next__"):
        return unknown

    again = _held_out_again(model, X, codes, sample_weight)
    counted, seen = weights[again.rows] > 0, again.seen
    rows, said = again.rows[counted], np.stack([votes[counted] for votes in again.votes])
    if not np.array_equal(rows, model.held_out_rows_) or said.shape != model.held_out_votes_.shape:
        return unknown
    if seen:
        return Verification(False, f"{seen:.1%} of the held-out predictions are by a model that had seen the row", seen)
    off = np.abs(said - model.held_out_votes_).max() / max(np.abs(said).max(), np.finfo(np.float64).tiny)
    if off <= 1e-6:
        return Verification(True, "held-out predictions, made once more, are those that were kept", float(off))
    differ = Verification(False, f"held-out predictions are not those that members make, by {off:.2g}", float(off))
    return _unless_random(differ, again, model, X, codes, sample_weight)


def refuted_member(model: Any, X: Any, y: Any, sample_weight: Any) -> Verification | None:
    """Members of ours were fitted to these rows, each with a claim of its own; the first that is refuted, or None."""
    if y is None or getattr(model, "_prefit", False):
        return None  # then they were fitted to other rows than these
    table, k = model._table(X, reset=False), len(getattr(model, "classes_", ()))
    target = np.minimum(np.searchsorted(model.classes_, y), k - 1) if k else y
    told = counting(model, X, y, sample_weight)[1]
    for name, member in zip(model._names, model.estimators_, strict=True):
        if isinstance(member, Judged):
            weights = None if weight_argument(member) is None else told
            found = member.evidence_.verify(table, target, weights)
            if found.stands is False:
                return Verification(False, f"the member {name}: {found.words}", found.found)
    return None


def verify_bag(model: Any, X: Any, y: Any, sample_weight: Any) -> Verification:
    """The mean of members, the rows that each was given, and the error on those that it was not given."""
    few = X.tocsr()[:ROWS] if hasattr(X, "tocsr") else np.asarray(X)[:ROWS]
    pairs = zip(model.estimators_, model.estimators_features_, strict=True)
    found = verify_votes(model, few, [(member, few[:, columns]) for member, columns in pairs], None, None)
    size, bootstrap, _ = model._sampling
    others = model._taken_over[1]  # members that drew from rows of an earlier fit
    drawn = {len(sample) for sample in model.estimators_samples_[others:]} if bootstrap else {size}
    if drawn - {size}:
        return Verification(False, f"members drew {sorted(drawn)} rows, where {size} were to be drawn")
    told = {name: error for name, error in model.evidence_.facts.items() if name in ensembles.OUT_OF_BAG}
    if not found.stands or not told:
        return found
    if y is None or X.shape[0] > OUT_OF_BAG_ROWS:
        why = "need the y of the fit" if y is None else f"are judged up to {OUT_OF_BAG_ROWS} rows"
        return Verification(None, f"{found.words}; each drew as many rows as it was to; errors out of bag {why}")
    weights, y = within_reach(check_weights(sample_weight, X))[0], np.asarray(y)
    rows = X.tocsr() if hasattr(X, "tocsr") else np.asarray(X)
    truth = (y[:, None] == model.classes_[None, :]) if hasattr(model, "classes_") else y.reshape(len(y), -1)
    seen = [np.isin(np.arange(len(y)), sample) for sample in model.estimators_samples_[others:]]
    pairs = zip(model.estimators_[others:], model.estimators_features_[others:], strict=True)
    said = (model._votes(member, rows[:, columns]) for member, columns in pairs)
    wrong = ensembles.out_of_bag(said, seen, truth.astype(np.float64), weights, told)
    return found if wrong is None else wrong


def verify_blend(model: Any, X: Any, y: Any, sample_weight: Any) -> Verification:
    """Predictions from those of the members; and the weights, on held-out predictions that are made once more."""
    few = model._table(X, reset=False)[:ROWS]
    sums = verify_votes(model, few, [(member, few) for member in model.estimators_], model.weights_, 1)
    wrong = refuted_member(model, X, y, sample_weight)
    if wrong is not None or not sums.stands or model.weighting != "linear":
        return sums if wrong is None else wrong
    if y is None:
        return Verification(None, f"{sums.words}; whether other weights are better needs the y of the fit")
    if model._prefit or not isinstance(model.cv, (int, type(None))) or getattr(model, "class_weight", None) is not None:
        return Verification(None, "on which rows weights were found cannot be told again from these settings")
    weights, k = within_reach(check_weights(sample_weight, X))[0], len(getattr(model, "classes_", ()))
    codes = np.searchsorted(model.classes_, y) if k else y.ravel().astype(np.float64)

    again = _held_out_again(model, X, codes, sample_weight)
    counted = weights[again.rows] > 0
    rows, P = again.rows[counted], np.stack([votes[counted].reshape(-1) for votes in again.votes], axis=1)
    truth, s = np.eye(k)[codes[rows]].ravel() if k else codes[rows], np.repeat(weights[rows], k or 1)
    to_one = bool(k) or model.sum_to_one
    found = ensembles.blend(P, truth, s, model.weights_, to_one, model.evidence_.certificate.tolerance)
    if found.stands is False:
        return _unless_random(found, again, model, X, codes, sample_weight)
    return together(found, sums)


def verify_stack(model: Any, X: Any, y: Any, sample_weight: Any) -> Verification:
    """The final model's answer to what members say; and whether a fold predicts rows that its models had seen."""
    few = model._table(X, reset=False)[:ROWS]
    if model.passthrough or model._prefit or isinstance(model.cv, float) or y is None:
        return Verification(None, "which rows were held out cannot be told again from these settings")
    wrong = refuted_member(model, X, y, sample_weight)
    if wrong is not None:
        return wrong
    labels, columns = model._labels, []
    for method, member in zip(model.stack_method_, model.estimators_, strict=True):
        said = np.asarray(getattr(member, method)(few))
        if method == "predict_proba" and labels is not None:
            said, part = np.zeros((len(said), len(labels))), said
            said[:, np.searchsorted(labels, member.classes_)] = part
            said = said[:, 1:] if len(labels) == 2 else said
        columns.append(said.reshape(len(said), -1).astype(np.float64))
    table, final = np.hstack(columns), model.final_estimator_
    if hasattr(final, "predict_proba") and labels is not None:
        found = ensembles.mean_of_members([final.predict_proba(table)], None, model.predict_proba(few))
    else:
        own, said = final.predict(table), model.predict(few)
        own, said = (np.asarray(own == said, dtype=float), np.ones(len(said))) if labels is not None else (own, said)
        found = ensembles.mean_of_members([own], None, said)
    if not found.stands:
        return found
    if not isinstance(model.cv, (int, type(None))):
        return Verification(None, f"{found.words}; which rows such a cv holds out is not told again")
    codes = np.minimum(np.searchsorted(model.classes_, y), len(labels) - 1) if labels is not None else y.ravel()
    folds = check_cv(model.cv, codes, classifier=labels is not None).split(np.zeros(len(codes)), codes)
    seen = sum(len(np.intersect1d(fit, held)) for fit, held in folds)
    if seen:
        return Verification(False, f"{seen} rows are predicted by a model that had seen them")
    wrong = _refuted_final(model, X, codes, sample_weight)
    return found if wrong is None else wrong


def _refuted_final(model: Any, X: Any, codes: Array, sample_weight: Any) -> Verification | None:
    """What is wrong with the claim of the final model, on held-out predictions that are made once more; else None."""
    final = model.final_estimator_
    if not isinstance(final, Judged) or getattr(model, "class_weight", None) is not None:
        return None

    again = _held_out_again(model, X, codes, sample_weight)
    table, rows = np.hstack(again.votes), again.rows
    target = model.classes_[codes[rows]] if hasattr(model, "classes_") else codes[rows].astype(np.float64)
    kept = sample_weight is not None and weight_argument(final) is not None
    weights = check_weights(sample_weight, X)[rows] if kept else None
    found = final.evidence_.verify(table, target, weights)
    if found.stands is not False:
        return None
    refuted = Verification(False, f"the final model: {found.words}", found.found)
    return _unless_random(refuted, again, model, X, codes, sample_weight)
