"""How much of the best score is luck, from what all configurations said of rows they had not seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corollary.evaluate.metrics import Metric, Prediction
from corollary.evaluate.optimisation_bias import OptimisationBias, bootstrap_optimisation_bias
from corollary.tabular.target import Target

_MOST = 40  # configurations: those that are far behind are never chosen, whatever the draw
_DRAWS, _FEW_DRAWS = 200, 40
_CELLS = 10_000_000


def luck_of(
    said: Sequence[Prediction], target: Target, rows: NDArray[np.intp], metric: Metric, seed: int, groups: Any = None
) -> OptimisationBias | None:
    """The luck in the best of these predictions of ``rows``; None if there are fewer than two, or no score.

    All that have a score are counted; only the best 40 are drawn from, since others would hardly ever be chosen.
    """
    if len(said) < 2:
        return None
    weights = None if target.weights is None else target.weights[rows]
    truth = target.values[rows]
    on_all = [metric(truth, each, target.classes, weights) for each in said]
    order = np.argsort(-np.array(on_all) if metric.greater_is_better else np.array(on_all))
    kept = [said[each] for each in order[:_MOST] if np.isfinite(on_all[each])]
    if len(kept) < 2:
        return None
    score = _additive(kept, truth, target, metric, weights)
    draws = _DRAWS if score is not None else _FEW_DRAWS
    draws = max(20, min(draws, _CELLS * (10 if score is not None else 1) // (len(kept) * len(rows))))

    def by_metric(configuration: int, drawn: NDArray[np.intp]) -> float:
        w = None if weights is None else weights[drawn]
        return metric(truth[drawn], _rows(kept[configuration], drawn), target.classes, w)

    try:
        found = bootstrap_optimisation_bias(
            score or by_metric, len(kept), len(rows), greater_is_better=metric.greater_is_better, draws=draws,
            seed=seed, groups=groups,
        )  # fmt: skip
        return replace(found, configurations=int(np.isfinite(on_all).sum()))
    except ValueError:  # too few rows of some class to draw from
        return None


def _rows(said: Prediction, rows: NDArray[np.intp]) -> Prediction:
    return Prediction(said.values[rows], None if said.probabilities is None else said.probabilities[rows])


def _additive(
    said: Sequence[Prediction], truth: NDArray[Any], target: Target, metric: Metric, weights: Any
) -> Callable[[int, NDArray[np.intp]], float] | None:
    """The score as a mean over rows, where the metric is one (or its root): worked out once for every row."""
    if metric.of_rows is None:
        return None
    table = np.stack([metric.of_rows(truth, each, target.classes) for each in said])

    def score(configuration: int, drawn: NDArray[np.intp]) -> float:
        losses = table[configuration][drawn]
        w = None if weights is None else weights[drawn]
        mean = float("nan") if w is not None and not w.any() else float(np.average(losses, weights=w))
        return float(np.sqrt(mean)) if metric.root else mean

    return score
