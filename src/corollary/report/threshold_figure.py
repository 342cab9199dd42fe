"""From which probability on to say yes: what each threshold would have done on held-out rows of two classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corollary.evaluate.threshold import Threshold, threshold
from corollary.report.charts import Chart, Scale, escaped, key_of_colours, thinned
from corollary.report.document import figure, table
from corollary.tabular.messages import shortened

_DRAWS = 40
_COLUMNS = ("from", "precision", "recall", "F1", "called")
_AIMS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("highest F1", {"by": "f"}),
    ("a miss costs 5 false alarms", {"by": "cost", "false_negative": 5.0}),
    ("a false alarm costs 5 misses", {"by": "cost", "false_positive": 5.0}),
    ("precision of 90%, most found", {"by": "precision", "at_least": 0.9}),
    ("recall of 90%, fewest disturbed", {"by": "recall", "at_least": 0.9}),
)


def threshold_figures(
    truth: NDArray[Any], probability: NDArray[np.float64], label: Any, weights: NDArray[np.float64] | None = None
) -> list[str]:
    """Precision, recall and F1 against the threshold, and the thresholds that common aims call for."""
    found = []
    for words, aim in _AIMS:
        try:
            found.append(
                (words, threshold(truth, probability, label=label, sample_weight=weights, draws=_DRAWS, **aim))
            )
        except ValueError:  # no threshold keeps that precision
            continue
    weighed = "" if weights is None else " Rows count by their weights."
    return [_curves(found[0][1], str(label), weighed), _aims(found, str(label), weighed)]


def _curves(found: Threshold, name: str, weighed: str) -> str:
    chart = Chart(
        Scale(0.0, 1.0), Scale(0.0, 1.0), title="Precision, recall and F1 by threshold",
        description="Against the probability from which on a row is called positive.",
        x_label=f"threshold for {shortened(name, 30)}", y_label="share",
    )  # fmt: skip
    where = found.table["threshold"]
    for index, column in enumerate(("precision", "recall", "f")):
        known = np.isfinite(found.table[column]) & (where <= 1.0)
        chart.line(*thinned(where[known], found.table[column][known]), f"s{index}")
    chart.line([0.5, 0.5], [0, 1], "soft", dashed=True)
    caption = "On held-out rows. The dashed line is the usual threshold, 0.5." + weighed
    key = key_of_colours(["precision", "recall", "F1"])
    return figure(chart.svg(), f"Where to say {shortened(name, 24)}", caption, key)


def _aims(found: list[tuple[str, Threshold]], name: str, weighed: str) -> str:
    rows = [_line("usual", "0.500", found[0][1].usual)]
    for words, chosen in found:
        interval = f"{chosen.value:.3f} ({chosen.interval[0]:.2f}–{chosen.interval[1]:.2f})"
        rows.append(_line(words, interval, chosen.at))
    whole = table(("aim", *(f">{name}" for name in _COLUMNS)), rows, "stack")
    caption = (
        f"Called: the share of rows that would be called {shortened(name, 24)}. In brackets: how far the choice moves "
        f"with the rows (bootstrap, {_DRAWS} draws). Thresholds were chosen on the rows they are judged by here, so "
        f"expect a little less on new rows.{weighed}"
    )
    return figure(whole, "Thresholds for common aims", caption, whole=True)


def _line(words: str, value: str, at: dict[str, float]) -> str:
    shown = [value, *("–" if np.isnan(at[each]) else f"{at[each]:.3f}" for each in ("precision", "recall", "f"))]
    pairs = zip(_COLUMNS, (*shown, f"{at['called']:.1%}"), strict=True)
    cells = "".join(f'<td class="n" data-title="{name}">{each}</td>' for name, each in pairs)
    return f'<tr><th scope="row">{escaped(words)}</th>{cells}</tr>'
