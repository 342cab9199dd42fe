"""One stage of a cascade: gentle AdaBoost over stumps of Haar features, until the stage keeps its two promises."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from corollary._compiled.trees.haar import codes_block, even_codes_block, gains_block
from corollary.core.parallel import each_block
from corollary.core.types import Array
from corollary.solvers.trees.cascade.features import BLOCK, Corners, FeatureSpace
from corollary.solvers.trees.cascade.stages import Stages

CODES = 256
FEATURES_IN_A_BLOCK = 256
SAMPLE = 512  # windows whose responses give the range of a feature's codes
NEGLIGIBLE_GAP = 1e-9  # a cut between responses closer than this part of their range would cut rounding errors


@dataclass(frozen=True)
class Goals:
    """What a stage must reach: detection at least, false positives at most, with at most so many stumps."""

    detection_rate: float
    false_positive_rate: float
    max_features: int


@dataclass(frozen=True)
class Windows:
    """Integral images of the positive and negative windows of one part, (n, p) each."""

    positive: Array
    negative: Array

    def columns(self) -> Array:
        """All windows, positives first, as columns."""
        return np.ascontiguousarray(np.concatenate([self.positive, self.negative]).T)


def train_stage(
    space: FeatureSpace, normalize: bool, train: Windows, check: Windows, goals: Goals, limit: int | None, rng: Any
) -> Stages:
    """A stage boosted on ``train`` whose threshold is lowered, from 0, until it detects enough of ``check``.

    Each round adds the stump that minimises the weighted squared error Σ w (y − f)², y = ±1, over all candidate
    features (``limit`` of them, drawn at random; None: all), and multiplies weights by exp(−y f).

    Cost: candidates × windows bytes for the codes; a round reads them once. No response is kept in floating point.
    """
    features = space.rows(space.sample(limit, rng))
    corners = Corners.of(features, space.window[1] + 1)
    columns, check_columns = train.columns(), check.columns()
    codes = _codes(corners, columns)
    n_positive, n_check = len(train.positive), len(check.positive)
    y = np.where(np.arange(columns.shape[1]) < n_positive, 1.0, -1.0)
    weights = np.where(y > 0, 0.5 / n_positive, 0.5 / (len(y) - n_positive))
    score, threshold = np.zeros(check_columns.shape[1]), 0.0
    chosen: list[tuple[int, float, float, float]] = []
    open_to_choice = np.ones(len(features), dtype=bool)
    while len(chosen) < goals.max_features and open_to_choice.any():
        best = _best_feature(codes, n_positive, weights, open_to_choice)
        response = corners.responses(columns, best, best + 1)[0]
        cut, left, right = _best_cut(response, y, weights)
        if min(abs(left), abs(right)) > 1 - 1e-9:  # it separates the training part: choosing it again would add nothing
            open_to_choice[best] = False
        chosen.append((best, cut, left, right))
        weights *= np.exp(-y * np.where(response <= cut, left, right))
        weights /= weights.sum()
        score += np.where(corners.responses(check_columns, best, best + 1)[0] <= cut, left, right)
        threshold = _threshold(score[:n_check], goals.detection_rate)
        if np.mean(score[n_check:] >= threshold) <= goals.false_positive_rate or left == right:
            break  # the goal, or no feature that tells the classes apart
    numbers, cuts, lefts, rights = (np.array(part) for part in zip(*chosen, strict=True))
    ends, thresholds = np.array([len(chosen)], dtype=np.int32), np.array([threshold])
    return Stages(space.window, normalize, features[numbers], cuts, lefts, rights, ends, thresholds)


def _codes(corners: Corners, columns: Array) -> Array:
    """Responses (features × windows) as codes 0 … 255 that keep their order.

    Of at most 256 windows the codes are ranks, so nothing is lost; of more, they are even steps through the middle
    98 % of a sample of responses, and what is beyond has the first or the last code.
    """
    m, n = len(corners.counts), columns.shape[1]
    codes = np.empty((m, n), dtype=np.uint8)
    sample = np.unique(np.linspace(0, n - 1, min(n, SAMPLE)).astype(np.intp))

    def fill(start: int, stop: int) -> None:
        responses = corners.responses(columns, start, stop)
        if n <= CODES:
            codes_block(responses, np.sort(responses, axis=1)[:, :-1], codes[start:stop])
        else:
            even_codes_block(responses, *_range(responses[:, sample]), codes[start:stop])

    each_block(fill, m, BLOCK)
    return codes


def _range(sample: Array) -> tuple[Array, Array]:
    """(lowest response, codes per unit) for each row of a sample of responses."""
    edge = sample.shape[1] // 100
    parts = np.partition(sample, (edge, sample.shape[1] - 1 - edge), axis=1)
    low, high = parts[:, edge], parts[:, -1 - edge]
    rare = low == high  # most responses are alike: look at those that are not
    low, high = np.where(rare, sample.min(axis=1), low), np.where(rare, sample.max(axis=1), high)
    width = high - low
    return low, np.where(width > 0, (CODES - 1e-6) / np.where(width > 0, width, 1.0), 0.0)


def _best_feature(codes: Array, n_positive: int, weights: Array, open_to_choice: Array) -> int:
    gains = np.empty(len(codes))

    def measure(start: int, stop: int) -> None:
        gains_block(codes, n_positive, weights, start, stop, gains)

    each_block(measure, len(codes), FEATURES_IN_A_BLOCK)
    gains[~open_to_choice] = -1.0
    return int(np.argmax(gains))  # the first of equals, so that threads cannot choose


def _best_cut(response: Array, y: Array, weights: Array) -> tuple[float, float, float]:
    """(cut, left, right) of the least-squares stump on one feature, over all cuts between different responses."""
    order = np.argsort(response, kind="stable")
    sorted_response = response[order]
    weight, signed = np.cumsum(weights[order]), np.cumsum((weights * y)[order])
    gap = np.diff(sorted_response)
    least = 1e-12 * weight[-1]
    valid = gap > NEGLIGIBLE_GAP * (sorted_response[-1] - sorted_response[0])
    valid &= (weight[:-1] > least) & (weight[-1] - weight[:-1] > least)
    places = np.flatnonzero(valid)
    if not places.size:
        value = float(signed[-1] / weight[-1])
        return 0.0, value, value
    left_weight, left_signed = weight[places], signed[places]
    right_weight, right_signed = weight[-1] - left_weight, signed[-1] - left_signed
    best = int(np.argmax(left_signed**2 / left_weight + right_signed**2 / right_weight))
    place = places[best]
    cut = float(sorted_response[place] + 0.5 * gap[place])
    left, right = left_signed[best] / left_weight[best], right_signed[best] / right_weight[best]
    return cut, float(np.clip(left, -1, 1)), float(np.clip(right, -1, 1))


def _threshold(positive_scores: Array, rate: float) -> float:
    """The highest threshold, 0 at most, that at least ``rate`` of the scores reach."""
    needed = math.ceil(rate * len(positive_scores) - 1e-9)
    if needed <= 0:
        return 0.0
    return min(0.0, float(np.sort(positive_scores)[-needed]))
