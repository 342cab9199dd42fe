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

from corollary.core.explanation import Explanation
from corollary.evaluate.comparison import Comparison
from corollary.explaining.explain import explain, stands_alone
from corollary.report.exchanged import Exchange, outputs, split
from corollary.tabular.messages import one_line
from corollary.tabular.roles import Column, Role
from corollary.tabular.values import dates, labels, numbers

_SHAP_ROWS = 500
_BACKGROUND = 16
_DRAWS = 32
_PREDICTIONS = 50_000  # of made-up rows, where values are estimated
_FEWEST = 5  # rows of which a mean says something


def explained(comparison: Comparison, rows: Any) -> Explanation:
    """What each column adds to the predictions of the best model for ``rows``, as ``predict --explain`` has it.

    A model that does not know what to hold a row against (a blend, naive Bayes) gets some rows of the table for it.
    """
    model = comparison.best_
    background = None if stands_alone(model, rows) else _sample(comparison, _BACKGROUND)
    return explain(model, rows, background=background, draws=_DRAWS)


def explained_sample(comparison: Comparison) -> Explanation | str:
    """The same for a sample of rows, as many as there is time for; or why not."""
    if comparison.best_ is None:
        return "the comparison was interrupted before the last fit"
    few = _sample(comparison, 2)
    rows = _SHAP_ROWS
    try:
        if not _read_off(comparison.best_, few):
            rows = min(rows, _PREDICTIONS // (_DRAWS * len(few.columns)))
        if rows < _FEWEST:
            return f"{len(few.columns):,} columns would take too many predictions for a report"
        return explained(comparison, _sample(comparison, rows))
    except (TypeError, ValueError, MemoryError) as error:
        return one_line(error)


def _read_off(model: Any, rows: Any) -> bool:
    """Whether the values are exact, and cost no predictions of made-up rows."""
    return explain(model, rows, background=rows, draws=4).standard_errors is None


def unit_of(comparison: Comparison, found: Explanation) -> str:
    """What is added up, in words."""
    if comparison.target.classes is None and found.meaning == "prediction":
        return "the target’s own units"
    return found.meaning


def method_of(found: Explanation) -> str:
    """How the values came about, and how well they are known."""
    if found.standard_errors is None:
        return found.method
    return f"{found.method}, no standard error above {np.max(found.standard_errors, initial=0.0):.2g}"


def _sample(comparison: Comparison, rows: int) -> Any:
    chosen = np.random.default_rng(0).permutation(len(comparison.features))[:rows]
    return comparison.features.iloc[chosen]


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
    here = Exchange(model, comparison.features.iloc[rows])
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
    here = Exchange(comparison.best_, _sample(comparison, rows))
    givers = Exchange(comparison.best_, comparison.features.iloc[picks])
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
