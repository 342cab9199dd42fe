"""What each column of the table does to the predictions of the best model, measured in bounded time.

Three measurements: what a column adds to each prediction (Shapley values, summed over the features that came from the
column), how much the score on held-out rows suffers when a column is shuffled, and the mean prediction as one column
is varied (partial dependence).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from corollary.evaluate.comparison import Comparison
from corollary.report.exchanged import Rows, outputs, split
from corollary.tabular.columns import feature_sources
from corollary.tabular.roles import Column, Role
from corollary.tabular.values import dates, labels, numbers
from corollary.tree.shap import shap_values

_SHAP_ROWS = 500
_BACKGROUND = 24


@dataclass(frozen=True)
class Contributions:
    """What each column adds to the outputs of some rows.

    Attributes
    ----------
    values : array of shape (rows, columns, outputs)
    columns : list of str
    outputs : list of str
        Names of classes, or one empty name.
    unit : str
        What is added up: ``"log-odds"``, ``"probability"``, ``"score"`` or the target's own units.
    method : str
        How it was measured, in a sentence.
    exact : bool
        Whether the values add up to the predictions.
    """

    values: NDArray[np.float64]
    columns: list[str]
    outputs: list[str]
    unit: str
    method: str
    exact: bool = True

    @property
    def sizes(self) -> NDArray[np.float64]:
        """The mean size of each column's contribution, over rows; of several outputs their sum."""
        return np.abs(self.values).mean(axis=0).sum(axis=1)


def contributions(comparison: Comparison, rows: Any, only: Sequence[str] | None = None) -> Contributions:
    """What each column adds to the predictions for ``rows`` (a part of ``comparison.features``).

    Trees: Shapley values along the paths. Linear models: coefficient times the distance from the mean, which is their
    Shapley value for independent features. Any other model: how far the prediction moves when the column's value is
    replaced by those of other rows, one column at a time (``only`` of these columns, if given).
    """
    model = comparison.best_
    if isinstance(model, Pipeline) and len(model) == 2:
        for attempt in (_of_trees, _of_lines):
            found = attempt(comparison, model, rows)
            if found is not None:
                return found
    return _by_replacing(comparison, model, rows, only)


def explained_exactly(comparison: Comparison) -> bool:
    """Whether contributions add up to predictions for this model (trees and linear models)."""
    return contributions(comparison, comparison.features.iloc[:2]).exact


def _of_trees(comparison: Comparison, pipeline: Pipeline, rows: Any) -> Contributions | None:
    try:
        found = shap_values(pipeline[-1], pipeline[:-1].transform(rows))
    except (TypeError, ValueError, AttributeError):  # not trees of this library
        return None
    values = np.asarray(found.values)
    values = values[:, :, None] if values.ndim == 2 else values
    unit = {"score": "log-odds", "raw prediction": "raw prediction"}.get(found.meaning, found.meaning)
    if comparison.target.classes is None:
        unit = "own units" if found.meaning == "prediction" else unit
    columns, summed = _by_column(pipeline, values)
    return Contributions(summed, columns, list(found.output_names), unit, "Shapley values along the paths of its trees")


def _of_lines(comparison: Comparison, pipeline: Pipeline, rows: Any) -> Contributions | None:
    model = pipeline[-1]
    if not hasattr(model, "coef_"):
        return None
    slopes = np.atleast_2d(np.asarray(model.coef_, dtype=float))
    prepared, typical = (_dense(pipeline[:-1].transform(each)) for each in (rows, _sample(comparison, 1000)))
    score = getattr(model, "decision_function", None) or model.predict
    raw = np.asarray(score(prepared)).reshape(len(prepared), -1)
    whole = prepared @ slopes.T if slopes.shape[1] == prepared.shape[1] else np.empty((0, 0))
    if whole.shape != raw.shape or not np.allclose(raw - raw[:1], whole - whole[:1], rtol=1e-6, atol=1e-9):
        return None  # a link or a kernel in between: not a line
    values = (prepared - typical.mean(axis=0))[:, :, None] * slopes.T[None, :, :]
    classes = comparison.target.classes
    outputs = [""] if classes is None else [str(each) for each in (classes if len(slopes) > 1 else classes[-1:])]
    unit = "own units" if classes is None else "log-odds" if hasattr(model, "predict_proba") else "score"
    columns, summed = _by_column(pipeline, values)
    return Contributions(summed, columns, outputs, unit, "coefficient times the distance from the mean")


def _by_replacing(comparison: Comparison, model: Any, rows: Any, only: Sequence[str] | None) -> Contributions:
    columns = list(only) if only is not None else [str(name) for name in rows.columns]
    here, others = Rows(model, rows), Rows(model, _sample(comparison, _BACKGROUND))
    classes = comparison.target.classes
    now = outputs(here.said(), classes)
    taken, given = np.repeat(np.arange(len(here)), len(others)), np.tile(np.arange(len(others)), len(here))
    values = np.zeros((len(rows), len(columns), now.shape[1]))
    for index, name in enumerate(columns):
        then = outputs(here.exchanged(name, taken, others, given), classes)
        values[:, index] = now - then.reshape(len(here), len(others), -1).mean(axis=1)
    names = [""] if classes is None else [str(each) for each in classes]
    unit = "own units" if classes is None else "probability"
    return Contributions(values, columns, names, unit, "replacing the column's value by those of other rows", False)


def _by_column(pipeline: Pipeline, values: NDArray[np.float64]) -> tuple[list[str], NDArray[np.float64]]:
    """The contributions of features, summed over those that came from one column of the table."""
    sources = feature_sources(pipeline)
    columns = list(dict.fromkeys(sources))
    place = {name: index for index, name in enumerate(columns)}
    summed = np.zeros((values.shape[0], len(columns), values.shape[2]))
    for feature, source in enumerate(sources):
        summed[:, place[source]] += values[:, feature]
    return columns, summed


def _dense(prepared: Any) -> NDArray[np.float64]:
    return np.asarray(prepared.toarray() if hasattr(prepared, "toarray") else prepared, dtype=float)


def _sample(comparison: Comparison, rows: int) -> Any:
    chosen = np.random.default_rng(0).permutation(len(comparison.features))[:rows]
    return comparison.features.iloc[chosen]


def global_contributions(comparison: Comparison) -> Contributions | None:
    """Contributions for a sample of rows; None for a model whose contributions do not add up."""
    if comparison.best_ is None or not explained_exactly(comparison):
        return None
    return contributions(comparison, _sample(comparison, _SHAP_ROWS))


@dataclass(frozen=True)
class Shuffled:
    """How much worse the score on held-out rows gets when a column is shuffled: mean and standard error."""

    columns: list[str]
    losses: NDArray[np.float64]
    errors: NDArray[np.float64]
    rows: int
    left_out: int = 0  # columns for which there was no time


def shuffled(
    comparison: Comparison, model: Any, rows: NDArray[np.intp], columns: Sequence[str], until: float, repeats: int = 4
) -> Shuffled:
    """Shuffle one column after another among ``rows``, which ``model`` has not seen, until the time is up."""
    metric, target = comparison.metric, comparison.target
    y, weights = target.values[rows], None if target.weights is None else target.weights[rows]
    here = Rows(model, comparison.features.iloc[rows])
    sign = -1.0 if metric.greater_is_better else 1.0
    before = metric(y, here.said(), target.classes, weights)
    rng = np.random.default_rng(0)
    taken = np.tile(np.arange(len(rows)), repeats)
    found: list[list[float]] = []
    for name in columns:
        if time.monotonic() > until and found:
            break
        mixed = np.concatenate([rng.permutation(len(rows)) for _ in range(repeats)])
        said = split(here.exchanged(name, taken, here, mixed), repeats)
        found.append([sign * (metric(y, part, target.classes, weights) - before) for part in said])
    losses_, done = np.array(found), list(columns[: len(found)])
    errors = losses_.std(axis=1, ddof=1) / np.sqrt(repeats)
    return Shuffled(done, losses_.mean(axis=1), errors, len(rows), len(columns) - len(done))


@dataclass(frozen=True)
class Dependence:
    """The mean output when a column has one value in every row: (values, outputs); ``places`` are None for labels."""

    column: str
    names: list[str]
    places: NDArray[np.float64] | None
    means: NDArray[np.float64]


def dependence(comparison: Comparison, column: Column, rows: int = 200, most: int = 12) -> Dependence | None:
    """Partial dependence on one column: quantiles of numbers and dates, the commonest labels of other columns."""
    picks, names, places = _grid(comparison.features[column.name], column, most)
    if len(picks) < 2:
        return None
    here = Rows(comparison.best_, _sample(comparison, rows))
    givers = Rows(comparison.best_, comparison.features.iloc[picks])
    taken, given = np.tile(np.arange(len(here)), len(picks)), np.repeat(np.arange(len(picks)), len(here))
    found = outputs(here.exchanged(column.name, taken, givers, given), comparison.target.classes)
    return Dependence(column.name, names, places, found.reshape(len(picks), len(here), -1).mean(axis=1))


def _grid(series: Any, column: Column, most: int) -> tuple[NDArray[np.intp], list[str], NDArray[np.float64] | None]:
    """Rows whose values of the column are looked at, the names of these values, and their places on an axis."""
    if column.role in (Role.NUMBER, Role.DATE):
        if column.role is Role.NUMBER:
            order = numbers(series)
        else:
            when = dates(series, column.date_format)
            order = ((when - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(days=1)).to_numpy(float, na_value=np.nan)
        known = np.flatnonzero(np.isfinite(order))
        by_size = known[np.argsort(order[known], kind="stable")]
        picks = by_size[np.linspace(0.01 * len(by_size), 0.99 * (len(by_size) - 1), most).astype(int)]
        if len(np.unique(order[picks])) < most // 2:  # most rows have one value: take some of the others too
            others = by_size[np.unique(order[by_size], return_index=True)[1]]
            picks = np.concatenate([picks, others[np.linspace(0, 0.98 * (len(others) - 1), most // 2).astype(int)]])
        picks = picks[np.unique(order[picks], return_index=True)[1]]
        return picks, [str(each) for each in series.iloc[picks]], order[picks]
    texts = pd.Series(labels(series))
    counts = texts.value_counts()[: min(most, 8)]
    first = texts.drop_duplicates()
    picks = np.array([int(first.index[first == name][0]) for name in counts.index], dtype=np.intp)
    return picks, [str(name) for name in counts.index], None
