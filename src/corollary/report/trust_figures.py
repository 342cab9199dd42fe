"""How far the best score can be trusted: luck of the search, more rows, bias and variance, a hold-out table."""

from __future__ import annotations

import math
import time
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from corollary.evaluate.bias_variance import bias_variance
from corollary.evaluate.comparison import Comparison, decimals_for, shown_score
from corollary.evaluate.cross_validation import weights_for
from corollary.evaluate.scoring import take
from corollary.evaluate.wording import decimals, number
from corollary.report.charts import Chart, Scale, bars, escaped
from corollary.report.document import figure, listing
from corollary.report.study import NotStudied, Study
from corollary.tabular.messages import count, one_line

_SAMPLE = 900
_DRAWS = 15
_SECONDS = 2.0


def luck(comparison: Comparison) -> str:
    """What the search's choice among many has added to its best score, in sentences."""
    words = comparison.luck(detail=True)
    if not words:
        models = sum(not row.baseline for row in comparison.rows)
        one = "<p>Only one configuration was tried, so nothing was gained by choosing.</p>"
        return one if models == 1 and len(comparison.trials) <= 1 else ""
    score = comparison.best_row.scores[comparison.metric.name]
    shown = shown_score(score, decimals_for(score))
    whose = f"The {comparison.metric.label} of {comparison.best}, {shown}, was measured on the folds that chose it."
    return f"<p>{escaped(f'{whose} {words}')}</p>"


def holdout(comparison: Comparison) -> str:
    """Scores on a table that no model had seen."""
    if not comparison.holdout:
        return ""
    pairs = []
    for metric in comparison.metrics:
        if metric.name in comparison.holdout:
            score, value = comparison.best_row.scores[metric.name], comparison.holdout[metric.name]
            where = "inside" if score.low <= value <= score.high else "outside"
            said = f"{number(value, decimals_for(score))} ({where} the interval of the folds)"
            pairs.append((f"{metric.label} on the hold-out", escaped(said)))
    return listing(pairs)


def learning_figure(comparison: Comparison, found: Study | NotStudied) -> str:
    """Score on training and on held-out rows against the number of rows it was fitted to; or why it is not known."""
    if isinstance(found, NotStudied):
        return figure("", "Learning curve", f"Not measured: {found.why}.")
    metric = comparison.metric
    both = np.concatenate([found.training, found.testing])
    chart = Chart(
        Scale(0.0, float(found.sizes[-1]) * 1.04), Scale.around(both, pad=0.08), title="Learning curve",
        description=f"{metric.label} on training and on held-out rows.", x_label="rows it was fitted to",
        y_label=metric.title,
    )  # fmt: skip
    for style, scores in (("s0", found.testing), ("s1", found.training)):
        if len(scores) > 1:
            chart.band(found.sizes, scores.min(axis=0), scores.max(axis=0), style)
        chart.line(found.sizes, scores.mean(axis=0), style)
        chart.points(found.sizes, scores.mean(axis=0), style)
    key = '<ul class="legend"><li><i class="s0"></i>held-out rows</li><li><i class="s1"></i>training rows</li></ul>'
    some = f"{found.rows:,} rows" if found.rows < comparison.facts.rows else f"all {found.rows:,} rows"
    caption = (
        f"{comparison.best} fitted to parts of {some}, {found.how}, {count(len(found.testing), 'time')}; "
        f"bands run from the least to the greatest score. {_reading(comparison, found)}"
    )
    return figure(chart.svg(), "Learning curve", caption, key)


def _reading(comparison: Comparison, found: Study) -> str:
    """What the last doubling of rows has shown."""
    gain, error = found.gain
    better = gain if comparison.metric.greater_is_better else -gain
    gap = abs(float((found.training[:, -1] - found.testing[:, -1]).mean()))
    places = decimals(error if error > 0 else max(abs(gain), 1e-6))
    said = f"Twice the rows changed the held-out score by {number(gain, places)}"
    if math.isfinite(error):
        said += f" (standard error {number(error, places)})"
    further = "more rows may well help" if better > 2 * error else "more rows of the same kind promise little"
    if not math.isfinite(error):
        further = "whether more rows help is not known"
    return f"{said}: {further}. The gap between the curves at the end is {number(gap, places)}."


def parts_figure(comparison: Comparison) -> str:
    """What the error on new rows is made of: bias (with noise) and variance, from fits to random halves."""
    rows = np.random.default_rng(1).permutation(len(comparison.features))[:_SAMPLE]
    seconds = comparison.best_row.fit_seconds
    if math.isfinite(seconds) and seconds * len(rows) / comparison.facts.rows * _DRAWS > _SECONDS:
        rows = rows[: _SAMPLE // 3]
    began = time.monotonic()

    def in_time(done: int, *_: object) -> None:
        if time.monotonic() - began > 2 * _SECONDS:
            raise TimeoutError

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model, X = comparison.best_, comparison.features.iloc[rows]
            if isinstance(model, Pipeline):  # prepared once: what differs from fit to fit is the model
                model, X = model[-1], model[:-1].transform(X)
            sets, how = _training_and_others(comparison, X, rows)
            if not weights_for(model, sets["sample_weight"]):  # it takes none
                sets["sample_weight"] = None
            found = bias_variance(model, **sets, draws=_DRAWS, method="resample", progress=in_time)
        except (TimeoutError, ValueError, TypeError, AttributeError) as error:
            slow = isinstance(error, TimeoutError)
            why = (
                "its fits take too long for a report"
                if slow
                else f"it cannot be fitted to few rows ({one_line(error)})"
            )
            return figure("", "Bias and variance", f"Not measured: {why}.")
    what = "error rate" if found.loss == "0-1" else "mean squared error"
    names = ["bias and noise", "variance"]
    drawn = bars(names, [found.bias, found.variance], title=f"Parts of the {what}")
    more = "Variance is the larger part: more rows or a stiffer model should help."
    if found.variance <= found.bias:
        more = "What all fits share is the larger part: unless it is noise, better columns or a suppler model may help."
    places = 4 if found.total < 10 else 0
    caption = (
        f"{comparison.best} fitted to {found.draws} random halves of {how}: "
        f"{what} {number(found.total, places)}. Variance is what differs from fit to fit; bias is what all fits get "
        f"wrong, with the noise that no model can know. {more}"
    )
    if comparison.target.weights is not None:
        caption += " The weights are in the fits; the parts count rows."
    return figure(drawn, "Bias and variance", caption)


def _training_and_others(comparison: Comparison, X: Any, rows: NDArray[np.intp]) -> tuple[dict[str, Any], str]:
    """What ``bias_variance`` draws training sets from and predicts, as the comparison holds rows out; and in words."""
    y, groups = comparison.target.values[rows], take(comparison.groups, rows)
    everything = {"X": X, "y": y, "sample_weight": take(comparison.target.weights, rows)}
    if groups is None:
        return everything, f"{len(rows):,} rows and asked about the others"
    if comparison.split.startswith("group:"):
        known = f"the {count(len(np.unique(groups)), 'group')} in {len(rows):,} rows and asked about the other groups"
        return everything | {"groups": groups}, known
    later = groups >= np.quantile(groups, 0.75, method="nearest")
    if later.all():
        raise ValueError("its rows are of one moment")
    early, late = np.flatnonzero(~later), np.flatnonzero(later)
    sets = {name: take(each, early) for name, each in everything.items()}
    sets |= {"X_test": take(X, late), "y_test": y[late]}
    return sets, f"{len(early):,} rows and asked about {len(late):,} later ones"
