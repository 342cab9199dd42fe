"""A blend of the best: weights on what they said of held-out rows, judged on folds that did not choose them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from corollary.evaluate.leaderboard import BLEND, Row
from corollary.evaluate.metrics import Prediction
from corollary.evaluate.search.tried import Judge, Tried

_LEAST = 0.03  # a share below this is not worth a fit
_MOST, _OF_ONE_MODEL = 10, 3
_STEPS = 100


@dataclass(frozen=True)
class Blend:
    """Members and their shares, chosen on all folds; predictions of each fold by weights that it had no say in."""

    members: tuple[Tried, ...]
    shares: NDArray[np.float64]
    said: list[Prediction]
    row: Row


def members_of(done: Sequence[Tried], judge: Judge) -> list[Tried]:
    """Who may be blended: the best configurations with all folds (and probabilities), not too many of one model."""
    sign = -1.0 if judge.metric.greater_is_better else 1.0
    found: list[Tried] = []
    for tried in sorted(done, key=lambda each: sign * each.mean):
        classes = judge.target.classes
        said = [fit.prediction for fit in tried.fits]
        complete = classes is None or all(each is not None and each.probabilities is not None for each in said)
        if complete and sum(each.name == tried.name for each in found) < _OF_ONE_MODEL and len(found) < _MOST:
            found.append(tried)
    return found


def blend(done: Sequence[Tried], judge: Judge) -> Blend | None:
    """The blend of configurations with all folds; None if there are fewer than two, or one alone is best.

    For class probabilities the weights are those of the mixture with the highest likelihood (by EM, from equal weights,
    with so few steps that small gains do not count), for numbers those of least squares; they are ≥ 0 and sum to one.
    """
    members = members_of(done, judge)
    if len(members) < 2:
        return None
    folds = len(judge.folds)
    said = [[fit.prediction for fit in tried.fits if fit.prediction is not None] for tried in members]
    tables = [_table([each[fold] for each in said], judge, fold) for fold in range(folds)]
    weights = [_row_weights(judge, fold) for fold in range(folds)]
    parts: list[Prediction] = []
    for fold in range(folds):
        others = [each for each in range(folds) if each != fold]
        shares = _shares([tables[each] for each in others], [weights[each] for each in others], judge, others)
        parts.append(mixed(shares, [each[fold] for each in said], judge.target.classes))
    shares = _shares(tables, weights, judge, list(range(folds)))
    if np.count_nonzero(shares) < 2:
        return None
    kept = np.flatnonzero(shares)
    seconds = float(sum(members[each].seconds for each in kept))
    chosen = tuple(members[each] for each in kept)
    settings = dict(zip(member_names(chosen), (round(float(share), 2) for share in shares[kept]), strict=True))
    row = Row(BLEND, "T6", judge.scores(parts), seconds, tried=len(members), folds_done=folds, settings=settings)
    return Blend(chosen, shares[kept], parts, row)


def member_names(members: Sequence[Tried]) -> list[str]:
    """The names of the models, with a number for a second configuration of one."""
    names: list[str] = []
    for index, tried in enumerate(members):
        before = sum(each.name == tried.name for each in members[:index])
        names.append(f"{tried.name} {before + 1}" if before else tried.name)
    return names


def mixed(shares: NDArray[np.float64], said: Sequence[Prediction], classes: NDArray[np.generic] | None) -> Prediction:
    """The weighted mean of predictions; its label is the class of the highest probability."""
    if classes is None:
        return Prediction(np.tensordot(shares, np.stack([each.values for each in said]), 1))
    probabilities = np.tensordot(
        shares, np.stack([each.probabilities for each in said if each.probabilities is not None]), 1
    )
    return Prediction(classes[probabilities.argmax(axis=1)], probabilities)


def _row_weights(judge: Judge, fold: int) -> NDArray[np.float64]:
    rows = judge.folds.held_out(fold)
    return np.ones(len(rows)) if judge.target.weights is None else judge.target.weights[rows]


def _table(said: Sequence[Prediction], judge: Judge, fold: int) -> NDArray[np.float64]:
    """(rows, members): the probability of what came true, or the predicted number."""
    truth, classes = judge.target.values[judge.folds.held_out(fold)], judge.target.classes
    if classes is None:
        return np.column_stack([each.values for each in said])
    at = np.searchsorted(classes, truth)
    rows = np.arange(len(truth))
    return np.column_stack([each.probabilities[rows, at] for each in said if each.probabilities is not None])


def _shares(
    tables: list[NDArray[np.float64]], weights: list[NDArray[np.float64]], judge: Judge, folds: list[int]
) -> NDArray[np.float64]:
    table, w = np.concatenate(tables), np.concatenate(weights)
    if judge.target.classes is None:
        truth = np.concatenate([judge.target.values[judge.folds.held_out(fold)] for fold in folds])
        shares = _least_squares(table, truth, w)
    else:
        shares = _likeliest(table, w)
    shares = np.where(shares < _LEAST, 0.0, shares)
    return shares / shares.sum()


def _likeliest(table: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mixture weights that make what came true likely, by EM."""
    table = np.maximum(table, 1e-15)
    w = weights / weights.sum()
    shares = np.full(table.shape[1], 1.0 / table.shape[1])
    for _ in range(_STEPS):
        shares = shares * ((w / (table @ shares)) @ table)
        shares /= shares.sum()
    return shares


def _least_squares(
    table: NDArray[np.float64], truth: NDArray[np.float64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Weights ≥ 0 that sum to one, of the smallest weighted squares."""
    root = np.sqrt(weights / weights.sum())[:, None]
    errors = root * (table - truth[:, None])  # as the weights sum to one, the error of the mean is the mean of errors
    gram = errors.T @ errors
    size = np.trace(gram)
    if not size > 0:  # all are exact
        return np.full(table.shape[1], 1.0 / table.shape[1])
    gram[np.diag_indices_from(gram)] += 1e-6 * size / len(gram)
    # min s'Gs on the simplex is, up to scale, min |L's|² + (1's − 1)²
    factor = np.linalg.cholesky(gram / size).T
    rows = np.vstack([factor, np.full(table.shape[1], 1.0)])
    shares, _ = nnls(rows, np.r_[np.zeros(len(factor)), 1.0])
    return shares / shares.sum() if shares.sum() > 0 else np.full(table.shape[1], 1.0 / table.shape[1])
