"""The referee of boosting: rounds are walked through again, and losses, errors and votes counted after each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from corollary.referee.ensembles import leaves_of
from corollary.referee.linear.losses import SMOOTH, pieces, softmax
from corollary.referee.rows import LONG
from corollary.referee.steps import Steps, slope_left
from corollary.referee.trees import Nodes, misshapen
from corollary.referee.verdict import Verification

Array = Any
MOST = 20_000_000  # rows × trees that are walked
SLOPE = 1e-6  # of the rows' slopes at the start: steps that leave more are not the best, whichever leaf was checked
LOUDEST = 400.0  # the largest α that is documented


def mean_loss(name: str, parameter: Any, y: Array, raw: Array, w: Array) -> Any:
    """Σ w · loss / Σ w; None for a loss that is not known here."""
    with np.errstate(over="ignore"):
        if name == "softmax":
            value = softmax(y.astype(np.intp), raw)[0]
        elif name in SMOOTH:
            value = SMOOTH[name](y.astype(LONG), raw[:, 0], parameter)[0]
        elif (parts := pieces(name, y.astype(LONG), parameter)) is not None:
            value = sum(np.maximum(low * (raw[:, 0] - c), high * (raw[:, 0] - c)) for c, low, high in parts)
        else:
            return None
        return (w @ value) / w.sum()


def gradient_boosting(
    X: Any, y: Array, weights: Array, start: Array, trees: Sequence[Nodes], said: Array, loss: tuple[str, Any],
    history: dict[int, float], tolerance: float, every_round: bool, begun: int = 0,
    steps: Steps | None = None,
) -> Verification:  # fmt: skip
    """Raw predictions as start + Σ trees, the mean training loss after each round, and the slopes that steps leave.

    Refuted where predictions differ, where a loss that the fit tells (``history``, by rounds) is another one, where
    the loss rises by more than ``tolerance`` of its start (with ``every_round`` in any round, else from first to last),
    or where the step of a leaf, if it is told how they are taken, leaves a slope. The first ``begun`` rounds are of an
    earlier fit, whose rows may have been others: losses and steps are judged from there.
    """
    X = (X.toarray() if hasattr(X, "toarray") else np.asarray(X)).astype(np.float64)
    if np.isnan(X).any() or len(X) * len(trees) > MOST:
        return Verification(None, "the referee does not walk with gaps, nor through so many trees")
    wrong = next((bad for nodes in trees if (bad := misshapen(nodes, X.shape[1])) is not None), None)
    if wrong is not None:
        return wrong
    if not (np.isfinite(np.asarray(y, dtype=np.float64)).all() and np.isfinite(weights).all()):
        return Verification(None, "y or the weights have gaps")
    k, w = len(start), np.asarray(weights, dtype=LONG) / np.max(weights)
    first = np.repeat(np.asarray(start, dtype=LONG)[None], len(X), axis=0)
    raw, losses = first.copy(), [mean_loss(*loss, y, first, w)]
    slope, judged, leaves = 0.0, 0, 0
    if losses[0] is None:
        return Verification(None, f"the referee does not know the loss {loss[0]!r}")
    if steps is not None:  # whose penalties are in units of the weights
        steps = replace(steps, l1=steps.l1 / np.max(weights), l2=steps.l2 / np.max(weights))
    begin = first
    for t in range(0, len(trees), k):
        begin = raw.copy() if t == begun * k else begin
        ends = [leaves_of(X, nodes) for nodes in trees[t : t + k]]
        if steps is not None and t >= steps.first * k:
            given = (loss, y, w, raw, first[0])
            for j, at in enumerate(ends):
                left, some, all_ = slope_left(*given, at, trees[t + j].value[:, 0], j, steps)
                slope, judged, leaves = max(slope, left), judged + some, leaves + all_
        for j, at in enumerate(ends):
            raw[:, j] += trees[t + j].value[at, 0]
        losses.append(mean_loss(*loss, y, raw, w))
    begin = raw if begun * k >= len(trees) else begin
    losses = losses[begun:]
    size = max(np.abs(raw).max(initial=0), np.finfo(LONG).tiny)
    off = float(np.abs(raw - np.asarray(said, dtype=LONG).reshape(raw.shape)).max(initial=0) / size)
    if not off <= (1e-5 if np.asarray(said).dtype == np.float32 else 1e-9):
        return Verification(False, f"predictions differ from the start and the sum of the trees by {off:.2g}", off)
    # what the last bits of raw predictions, which are float64, make of the loss is no difference
    bits = 8 * np.finfo(np.float64).eps * max(size, np.abs(start).max(initial=0))
    rounding = max(abs(mean_loss(*loss, y, begin + side * bits, w) - losses[0]) for side in (-1, 1))
    rounding = max(rounding, LONG(np.finfo(np.float64).tiny))
    scale = max(abs(losses[0]), np.finfo(LONG).tiny)
    # the loss of classes is a difference of raw predictions, so the last bit of the largest (or of one, whose log is
    # taken) is that of the loss; all of them moved at once, as above, would not change it
    rounded = rounding + (np.finfo(np.float64).eps * max(size, LONG(1)) if loss[0] == "softmax" else 0)
    away = [
        np.maximum(abs(losses[t - begun] - LONG(own)) - rounded, 0)
        for t, own in history.items()
        if 0 <= t - begun < len(losses)
    ]
    told = float(np.max(away, initial=0) / scale)
    if not told <= 1e-7:
        return Verification(False, f"the training loss of a round is another one, by {told:.2g} of its start", told)
    rises = np.diff(np.array(losses)) if every_round else np.array([losses[-1] - losses[0]])
    rise = float(np.maximum(rises.max(initial=0) - rounding, 0) / scale)
    # both losses are sums of n terms: in float64, as the fit has them, each is off by n / 2 last bits of it at most
    if not rise <= tolerance + len(y) * float(np.finfo(np.float64).eps):
        return Verification(False, f"the training loss rises by {rise:.2g} of its start", rise)
    words = f"predictions are the start and the sum of {len(trees)} trees, and the loss of each round is as told"
    words += f" (but for {begun}, which are of earlier fits)" * (begun > 0)
    words = f"{words}; it never rises by more than {rise:.2g} of its start"
    if steps is None:
        return Verification(True, words, rise)
    what = f"the step of a leaf leaves a slope, {slope:.2g} of its rows' at the start"
    if not slope <= tolerance:  # the claim is about some leaves: of others so little decides nothing
        return Verification(False if not slope <= SLOPE else None, f"{what}; {words}", slope)
    which = "all leaves" if judged == leaves else f"{judged} of {leaves} leaves (sums of the others are too faint)"
    return Verification(True if judged or not leaves else None, f"{words}; of {which} {what} at most", max(rise, slope))


def adaboost(
    said: Sequence[Array], y: Array, weights: Array, n_classes: int, rate: float, errors: Array, alphas: Array,
    predicted: Array,
) -> Verification:  # fmt: skip
    """SAMME once more, from what each learner says of the rows: ε and α of each round, votes, errors and bounds."""
    live = np.asarray(weights) > 0
    base = np.asarray(weights, dtype=LONG)[live]
    base = base / base.sum()
    y, w, votes = y[live], base.copy(), np.zeros((int(live.sum()), n_classes), LONG)
    rows, bound, before, worst = np.arange(len(y)), LONG(1), LONG(0), 0.0
    for t, answer in enumerate(said):
        wrong = answer[live] != y
        error, given = w[wrong].sum() / w.sum(), LONG(alphas[t])
        if error == 0:
            alpha = 1 + before
        elif error >= (1 - LONG(1) / n_classes) * (1 - 1e-9):
            alpha = LONG(0) if len(said) == 1 else given  # a learner of chance is kept only if it is the first
        else:
            alpha = min(rate * (np.log1p(-error) - np.log(error) + np.log(LONG(n_classes - 1))), LONG(LOUDEST))
        off = abs(error - LONG(errors[t])) / np.maximum(np.maximum(error, LONG(errors[t])), LONG(1e-300))
        off = np.maximum(off, abs(alpha - given))
        worst = float(np.maximum(worst, off if error > 0 or errors[t] > 0 else abs(alpha - given)))
        w[wrong] *= np.exp(given)
        w = w / w.sum()
        bound *= ((1 - error) * np.exp(-given / 2) + error * np.exp(given / 2)) if error else LONG(0)
        votes[rows, answer[live]] += given
        before += given
        own = votes[rows, y].copy()
        lead = votes.max(axis=1)
        missed = float(base[own < lead * (1 - 1e-12)].sum())
        if not missed <= float(bound) + 1e-9:
            return Verification(False, f"the training error of round {t + 1} is above its bound, by {missed:.3g}")
    if not worst <= 1e-6:
        return Verification(False, f"an error or a vote's weight is another one, by {worst:.2g}", worst)
    clear = votes[rows, predicted[live]] >= votes.max(axis=1) - 1e-9 * max(before, LONG(1))
    if not clear.all():
        return Verification(False, f"{int((~clear).sum())} rows are not given the class with most votes")
    words = f"errors and weights of {len(said)} rounds are those of the learners' answers (off by {worst:.2g})"
    return Verification(
        True, f"{words}; the training error, {missed:.3g}, is within its bound {float(bound):.3g}", worst
    )
