"""The referee of cascades: every stage judges the windows once more, from their pixels; rates, thresholds, votes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from corollary.referee.haar import Array, Pixels, misplaced
from corollary.referee.verdict import Verification

MOST = 1_000_000_000  # pixels that are added up: windows × stumps × pixels of a window
CLOSE = 1e-9


@dataclass(frozen=True)
class Stumps:
    """The fitted arrays: stage k is the stumps up to ``ends[k]`` and passes scores that reach ``thresholds[k]``."""

    features: Array
    cuts: Array
    left: Array
    right: Array
    ends: Array
    thresholds: Array

    def misshapen(self, window: tuple[int, int]) -> Verification | None:
        wrong, m = misplaced(self.features, window), len(self.features)
        if wrong is not None:
            return wrong
        ends = np.asarray(self.ends, dtype=np.int64)
        fits = all(np.shape(part) == (m,) for part in (self.cuts, self.left, self.right))
        if not fits or np.shape(self.thresholds) != ends.shape or not len(ends) or ends[-1] != m:
            return Verification(False, "stumps and stages do not fit together")
        return None if (np.diff(ends, prepend=0) > 0).all() else Verification(False, "a stage has no stumps")


@dataclass(frozen=True)
class Walk:
    """What every stage says of every window: scores (n, K), what the stumps say (n, m), and of which it is sure."""

    says: Array
    scores: Array
    sure: Array  # (n, K): no stump up to here hangs on rounding
    passes: Array  # (n, K): this stage and all before it
    reaches: Array  # (n, K): all before it

    @staticmethod
    def of(X: Any, window: tuple[int, int], normalize: bool, stumps: Stumps) -> Walk:
        pixels = Pixels.of(X, window, normalize)
        responses = pixels.responses(stumps.features)
        cuts = np.asarray(stumps.cuts, dtype=np.float64)
        near = np.abs(responses - cuts) <= pixels.rounding(stumps.features, responses)
        says: Array = np.where(responses <= cuts, stumps.left, stumps.right)
        doubt = near & (stumps.left != stumps.right)[None, :] | ~pixels.sure[:, None]
        first = [0, *map(int, stumps.ends[:-1])]
        scores, sure = np.zeros((len(says), len(first))), np.zeros((len(says), len(first)), bool)
        for k, (start, stop) in enumerate(zip(first, stumps.ends, strict=True)):
            for t in range(start, int(stop)):  # in float64 and in this order, as it is defined: thresholds are scores
                scores[:, k] += says[:, t]
            sure[:, k] = ~doubt[:, : int(stop)].any(axis=1)
        passes = np.logical_and.accumulate(~(scores - stumps.thresholds[None, :] < 0), axis=1)
        reaches = np.concatenate([np.ones((len(says), 1), bool), passes[:, :-1]], axis=1)
        return Walk(says, scores, sure, passes, reaches)

    def verdicts(self, thresholds: Array) -> tuple[Array, Array]:
        """(decision values as documented, of which they are sure)."""
        margins, (n, stages) = self.scores - thresholds[None, :], self.scores.shape
        last = np.where(self.passes.all(axis=1), stages, (~self.passes).argmax(axis=1))
        at = np.minimum(last, stages - 1)
        refused = last - stages + np.exp(np.minimum(margins[np.arange(n), at], 0))
        return np.where(last == stages, 1 + margins.sum(axis=1), refused), self.sure[np.arange(n), at]


def decisions(walk: Walk, thresholds: Array, told: Array) -> Verification:
    """Whether the model says of each window what its stages say."""
    mine, sure = walk.verdicts(thresholds)
    told = np.asarray(told)
    close = 1e-5 if told.dtype == np.float32 else CLOSE
    off = np.abs(told - mine) / np.maximum(1, np.abs(mine))
    bad = sure & (~(off <= close) | ((told > 0) != (mine > 0)))
    if bad.any():
        return Verification(
            False, f"{bad.sum()} windows are not judged as the stages judge them", float(off[bad].max())
        )
    words = f"{sure.sum()} of {len(sure)} windows are judged as the stages judge them"
    return Verification(True if sure.any() else None, words, float(off[sure].max(initial=0)))


def rates(
    walk: Walk, which: Array, name: str, history: Mapping[str, Sequence[float]], least: float, tolerance: float
) -> Verification:
    """Whether, of the windows ``which`` that reach a stage, the told share passes it, and at least ``least`` do."""
    shortfall = 0.0
    for k, told in enumerate(history[name][: walk.passes.shape[1]]):
        here = which & walk.reaches[:, k]
        if not here.any():
            break
        passed = walk.passes[here, k]
        share, unsure = float(passed.mean()), float((~walk.sure[here, k]).mean())
        if abs(share - told) > unsure + CLOSE:
            return Verification(False, f"the {name} of stage {k + 1} is {share:.4g}, not {told:.4g}", abs(share - told))
        if least - share > tolerance + unsure:
            return Verification(False, f"stage {k + 1} has a {name} of {share:.4g}, below {least:.4g}", least - share)
        shortfall = max(shortfall, least - share)
    whole, told = float(walk.passes[which].all(axis=1).mean()), float(history[f"cumulative {name}"][-1])
    unsure = float((~walk.sure[which]).any(axis=1).mean())
    if abs(whole - told) > unsure + CLOSE:
        return Verification(
            False, f"all stages together have a {name} of {whole:.4g}, not {told:.4g}", abs(whole - told)
        )
    return Verification(True, f"the {name}s are those of these windows", max(0.0, shortfall))


def wrong_thresholds(walk: Walk, positives: Array, thresholds: Array, rate: float) -> Verification | None:
    """Refuted where a threshold is not the highest, 0 at most, that ``rate`` of the positives which reach it reach."""
    for k, threshold in enumerate(thresholds):
        here = positives & walk.reaches[:, k]
        needed = math.ceil(rate * here.sum() - 1e-9)
        if not walk.sure[here, k].all() or not here.any():
            break
        mine = min(0.0, float(np.sort(walk.scores[here, k])[::-1][needed - 1])) if needed > 0 else 0.0
        if abs(mine - threshold) > CLOSE:
            return Verification(False, f"the threshold of stage {k + 1} is {threshold:.6g}, but should be {mine:.6g}")
    return None


def wrong_votes(walk: Walk, trained: Array, positive: Array, stumps: Stumps) -> Verification | None:
    """Refuted where a stump does not say the weighted mean of y = ±1 on either side of its cut (gentle AdaBoost).

    Weights begin with one half for either class, and are multiplied by exp(−y f) after each stump.
    """
    first = 0
    for k, end in enumerate(map(int, stumps.ends)):
        here = trained & walk.reaches[:, k]
        y = np.where(positive[here], 1.0, -1.0)
        if not walk.sure[here, k].all() or not ((y > 0).any() and (y < 0).any()):
            break
        w = np.where(y > 0, 0.5 / (y > 0).sum(), 0.5 / (y < 0).sum())
        for t in range(first, end):
            said, both = walk.says[here, t], stumps.left[t] == stumps.right[t]
            for side in (stumps.left[t], stumps.right[t]):
                on = np.ones(len(w), bool) if both else said == side
                mean = float((w * y)[on].sum() / w[on].sum()) if on.any() else math.nan
                # the sums of one side are differences of sums over both, so rounding counts by what is left of it
                if not abs(side - mean) <= CLOSE + 16 * len(w) * 2.3e-16 / max(w[on].sum(), 1e-300):
                    return Verification(False, f"stump {t + 1} says {side:.6g}, but its rows say {mean:.6g}")
            w = w * np.exp(-y * said)
            w /= w.sum()
        first = end
    return None
