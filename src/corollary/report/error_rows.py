"""The rows on which the best model was most wrong while they were held out, and what moved it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corollary.core.explanation import Explanation
from corollary.evaluate.comparison import Comparison
from corollary.report.charts import compact, escaped
from corollary.report.column_effects import explained, method_of, unit_of
from corollary.report.document import table
from corollary.tabular.messages import shortened
from corollary.tabular.values import row_number

_ROWS = 8
_REASONS = 4


def error_section(comparison: Comparison, known: bool) -> tuple[str, str]:
    """A table of the worst rows, and the sentence that leads to it; ``known``: predictions can be explained."""
    said = comparison.out_of_fold[comparison.best]
    wrongness, given = _wrongness(comparison)
    worst = np.argsort(-wrongness, kind="stable")[:_ROWS]
    if comparison.target.classes is not None and said.probabilities is None:
        worst = worst[wrongness[worst] > 0]
    if not len(worst):
        return "", "Every held-out row was predicted rightly."
    places = comparison.judged_rows[worst]
    rows = comparison.features.iloc[places]
    found = explained(comparison, rows) if known else None
    body = []
    for index, (row, place) in enumerate(zip(worst, places, strict=True)):
        moved = "" if found is None else _reasons(found, rows, index, said.values[row])
        actual, claimed = (
            escaped(shortened(_shown(each), 24)) for each in (comparison.target.values[place], said.values[row])
        )
        body.append(
            f'<tr><td class="n" data-title="row">{row_number(comparison.features, place)}</td>'
            f'<td class="keep" data-title="actual">{actual}</td>'
            f'<td class="keep" data-title="predicted">{claimed}</td>'
            f'<td class="n" data-title="{given[0]}">{given[1][row]}</td><td data-title="moved by">{moved}</td></tr>'
        )
    lead = "Rows that were held out and predicted worst. Look whether the label, the row, or the model is wrong."
    head = (">row", "actual", "predicted", f">{given[0]}", "what moved it")
    return table(head, body, "stack") + _how(comparison, found), lead


def _how(comparison: Comparison, found: Explanation | None) -> str:
    if found is None:
        return ""
    what = "towards what was predicted" if len(found.output_names) > 1 else "to the prediction"
    if found.output_names[0] and len(found.output_names) == 1:
        what = f"towards {shortened(found.output_names[0], 24)}"
    words = f"In brackets: what the value added {what}, in {unit_of(comparison, found)}. {method_of(found)}."
    return (
        f'<p class="why">{escaped(words)} '
        "Explained is the model fitted to every row; the predictions are those of the fold that held the row out.</p>"
    )


def _wrongness(comparison: Comparison) -> tuple[NDArray[np.float64], tuple[str, list[str]]]:
    """How wrong each held-out row was, and the number that shows it."""
    said, truth, classes = comparison.out_of_fold[comparison.best], comparison.truth, comparison.target.classes
    if classes is None:
        away = said.values - truth
        largest = float(np.abs(away).max()) or 1.0
        return np.abs(away), ("off by", [compact(float(each), largest) for each in away])
    if said.probabilities is None:
        wrong = (said.values != truth).astype(float)
        return wrong, ("right", ["no" if each else "yes" for each in wrong])
    given = said.probabilities[np.arange(len(truth)), np.searchsorted(classes, truth)]
    return 1.0 - given, ("p(actual)", [f"{each:.4f}" if each < 0.001 else f"{each:.3f}" for each in given])


def _reasons(found: Explanation, rows: Any, index: int, predicted: Any) -> str:
    """The columns that moved this prediction most, with their values."""
    values = found.values[index]
    if values.ndim == 2:
        names = found.output_names
        values = values[:, names.index(str(predicted)) if str(predicted) in names else 0]
    order = np.argsort(-np.abs(values), kind="stable")[:_REASONS]
    largest = float(np.abs(values).max()) or 1.0
    parts = []
    for each in order:
        name = found.feature_names[each]
        value = _shown(rows[name].iloc[index]) if name in rows.columns else ""
        words = f"{shortened(name, 24)} {shortened(value, 24)}".strip()
        parts.append(f"{escaped(words)} ({compact(float(values[each]), largest)})")
    return "; ".join(parts)


def _shown(value: Any) -> str:
    if isinstance(value, float | np.floating):
        return "missing" if np.isnan(value) else f"{float(value):,.6g}"
    return "missing" if value is None or str(value) in ("nan", "NaT", "<NA>", "?", "") else str(value)
