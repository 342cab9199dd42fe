"""Why the best model predicts as it does, by columns of the table: their weight, their worth, and their effect."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from corollary.core.explanation import Explanation
from corollary.evaluate.comparison import Comparison
from corollary.report.charts import Chart, Scale, bars, compact, escaped, key_of_colours
from corollary.report.column_effects import Dependence, Shuffled, dependence, method_of, shuffled, unit_of
from corollary.report.document import figure, pair
from corollary.report.study import NotStudied, Study
from corollary.tabular.messages import count, shortened
from corollary.tabular.roles import Role

_TOP = 15
_DRAWN = 4
_SECONDS = 2.0
_CURVES = 5


def order_of_columns(comparison: Comparison, found: Explanation | str) -> list[str]:
    """The used columns, those that move predictions most first (as they stand in the table, if that is not known)."""
    names = [str(name) for name in comparison.features.columns]
    if isinstance(found, str):
        return names
    size = dict(zip(found.feature_names, found.importances(), strict=True))
    return sorted(names, key=lambda name: -size.get(name, 0.0))


def important_columns(comparison: Comparison, found: Explanation | str, lost: Shuffled | NotStudied) -> list[str]:
    """The used columns, those that are worth most first."""
    order = order_of_columns(comparison, found)
    worth_of = {} if isinstance(lost, NotStudied) else dict(zip(lost.columns, lost.losses, strict=True))
    return sorted(order, key=lambda name: -worth_of.get(name, -np.inf))


def worth(comparison: Comparison, studied: Study | NotStudied, order: list[str]) -> Shuffled | NotStudied:
    """How much the held-out score suffers when each column is shuffled, in bounded time."""
    if isinstance(studied, NotStudied):
        return studied
    return shuffled(comparison, studied.model, studied.held_out, order, time.monotonic() + _SECONDS)


def column_figures(comparison: Comparison, found: Explanation | str, lost: Shuffled | NotStudied) -> str:
    """How far each column moves predictions, what it is worth, and partial dependence on the columns that matter."""
    figures = [_worth_figure(comparison, lost), _sizes_figure(comparison, found)]
    roles = {column.name: column for column in comparison.facts.used if column.role is not Role.TEXT}
    ranked = [name for name in important_columns(comparison, found, lost) if name in roles]
    drawn = [dependence(comparison, roles[name]) for name in ranked[:_DRAWN]]
    curves = [_dependence_figure(comparison, each) for each in drawn if each is not None]
    return pair(figures) + (pair(curves) if curves else "")


def _worth_figure(comparison: Comparison, lost: Shuffled | NotStudied) -> str:
    if isinstance(lost, NotStudied):
        return figure("", "What each column is worth", f"Not measured: {lost.why}.")
    order = np.argsort(-lost.losses, kind="stable")[:_TOP]
    drawn = bars([lost.columns[each] for each in order], [float(lost.losses[each]) for each in order],
                 errors=[float(lost.errors[each]) for each in order], title="Worth of each column")  # fmt: skip
    caption = (
        f"By how much {comparison.metric.label} on {lost.rows:,} held-out rows gets worse when the column is shuffled "
        "(± standard error over shuffles). Columns that say the same share their worth: each looks less needed."
    )
    if lost.left_out:
        caption += f" There was no time for {count(lost.left_out, 'column')}."
    return figure(drawn, f"What each column is worth{_more(len(order), len(lost.columns))}", caption)


def _sizes_figure(comparison: Comparison, found: Explanation | str) -> str:
    heading = "How far each column moves predictions"
    if isinstance(found, str):
        return figure("", heading, f"Not measured: {found}.")
    sizes, names = found.importances(), found.feature_names
    order = np.argsort(-sizes, kind="stable")[:_TOP]
    drawn = bars([names[each] for each in order], [float(sizes[each]) for each in order], title=heading)
    caption = (
        f"Mean size of what the column adds to a prediction (its Shapley value), in {unit_of(comparison, found)}, over "
        f"{len(found.values):,} rows. {method_of(found)}. Features that came from the column are taken together."
    )
    return figure(drawn, f"{heading}{_more(len(order), len(names))}", caption)


def _more(shown: int, whole: int) -> str:
    return f", the first {shown} of {whole:,}" if whole > shown else ""


def _dependence_figure(comparison: Comparison, found: Dependence) -> str:
    classes = comparison.target.classes
    if classes is None:
        shown, names, what = [0], [""], f"mean prediction of {shortened(comparison.target.name, 30)}"
    elif found.means.shape[1] == 2:
        shown, names, what = [1], [""], f"probability of {shortened(classes[-1], 30)}"
    else:
        spread = np.ptp(found.means, axis=0)
        shown = sorted(np.argsort(-spread, kind="stable")[:_CURVES].tolist())
        names, what = [str(classes[each]) for each in shown], "probability"
    heading = f"Effect of {shortened(found.column, 40)}"
    some = (
        f" The {len(shown)} classes that it moves most."
        if classes is not None and len(classes) > len(shown) > 1
        else ""
    )
    caption = f"The mean over 200 rows when {shortened(found.column, 40)} has this value in all of them.{some}"
    if found.places is None:
        return figure(_label_bars(found, shown, names, what), heading, caption, key_of_colours(names))
    values = found.means[:, shown]
    chart = Chart(
        _across(found.places), Scale.around(values, pad=0.1), title=heading, description=caption,
        x_label=shortened(found.column, 40), y_label=what, height=250,
    )  # fmt: skip
    for index in range(values.shape[1]):
        chart.line(found.places, values[:, index], f"s{index}")
        chart.points(found.places, values[:, index], f"s{index}")
    return figure(chart.svg(), heading, f"{caption} Dots are quantiles of the column.", key_of_colours(names))


def _across(places: NDArray[np.float64]) -> Scale:
    around = Scale.around(places)
    return Scale(around.low, around.high, whole=bool(np.all(places == np.floor(places))))


def _label_bars(found: Dependence, shown: list[int], names: list[str], what: str) -> str:
    """For labels: a bar for each value (and class)."""
    largest = float(np.abs(found.means[:, shown]).max()) or 1.0
    lines = []
    for index, name in enumerate(found.names):
        inside = "".join(
            f'<i class="s{code}" style="width:{abs(found.means[index, output]) / largest:.1%}"></i>'
            for code, output in enumerate(shown)
        )
        numbers = " ".join(
            compact(found.means[index, output], largest)[1 if found.means[index, output] >= 0 else 0 :]
            for output in shown
        )
        lines.append(
            f'<tr><th scope="row">{escaped(shortened(name, 30))}</th><td class="bar under">{inside}</td>'
            f'<td class="n">{numbers}</td></tr>'
        )
    return f'<table class="bars" aria-label="{escaped(what)}"><tbody>{"".join(lines)}</tbody></table>'
