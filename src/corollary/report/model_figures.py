"""Figures of the model itself: its coefficients or importances, and how its fit converged."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.inspection import permutation_importance

from corollary.core.evidence import Evidence
from corollary.evaluate.comparison import Comparison
from corollary.report.charts import Chart, Scale, compact, sideways_bars
from corollary.report.document import figure, heat_cell, heat_table
from corollary.report.words import lowered
from corollary.tabular.columns import readable_names
from corollary.tabular.messages import shortened

_TOP = 20


def influence_figure(comparison: Comparison) -> str:
    """What the best model relies on: coefficients, importances, or (for any other model) permutation importances."""
    model = comparison.best_[-1]
    coefficients = getattr(model, "coef_", None)
    if coefficients is not None:
        return _coefficients(comparison, np.asarray(coefficients))
    importances = getattr(model, "feature_importances_", None)
    if importances is not None:
        names, values = readable_names(comparison.best_), np.asarray(importances)
        return _bars(names, values, "Importances", "How much each feature contributes to the model, as it measures it.")
    return _permutation(comparison)


def _coefficients(comparison: Comparison, values: NDArray[np.float64]) -> str:
    names = readable_names(comparison.best_)
    classes = comparison.target.classes
    kept = int(np.count_nonzero(np.any(np.atleast_2d(values) != 0, axis=0)))
    zero = f" {kept:,} of {len(names):,} coefficients are not zero." if kept < len(names) else ""
    if classes is not None and values.ndim == 2 and values.shape[0] > 1:
        return _class_table(names, values, [str(value) for value in classes], zero)
    if classes is not None:
        effect = f"towards (+) or away from (−) {shortened(classes[-1], 24)}, in log-odds"
    else:
        effect = f"on {shortened(comparison.target.name, 30)}, in its own units"
    caption = f"Effect {effect}: of one standard deviation for a number or a date, of being so for a category.{zero}"
    return _bars(names, values.ravel(), "Coefficients", caption)


def _bars(names: list[str], values: NDArray[np.float64], heading: str, caption: str) -> str:
    order = np.argsort(-np.abs(values), kind="stable")[:_TOP]
    drawing = sideways_bars(
        [names[index] for index in order], [float(values[index]) for index in order], title=heading, description=caption
    )
    more = f", the {len(order)} largest of {len(values):,}" if len(values) > len(order) else ""
    return figure(drawing, heading + more, caption)


def _class_table(names: list[str], values: NDArray[np.float64], classes: list[str], zero: str) -> str:
    """A coefficient for each feature and class, shaded by sign and size."""
    values = values[:10]
    order = np.argsort(-np.abs(values).max(axis=0), kind="stable")[:_TOP]
    largest = float(np.abs(values).max()) or 1.0
    rows = [
        (names[feature], "".join(heat_cell(compact(value, largest), value / largest) for value in values[:, feature]))
        for feature in order
    ]
    caption = "Log-odds for each class: of one standard deviation for a number or a date, of being so for a category."
    heading = f"Coefficients, the {len(order)} largest of {len(names):,}" if len(names) > _TOP else "Coefficients"
    return figure(heat_table("", classes[: len(values)], rows), heading, caption + zero)


def _permutation(comparison: Comparison) -> str:
    """How much the score suffers when one column is shuffled (on at most 2 000 rows)."""
    rows = np.random.default_rng(0).permutation(len(comparison.features))[:2000]
    X, y = comparison.features.iloc[rows], comparison.target.values[rows]
    found = permutation_importance(comparison.best_, X, y, n_repeats=3, random_state=0)
    names = [str(name) for name in X.columns]
    what = "accuracy" if comparison.target.classes is not None else "R²"
    caption = f"How much {what} on the training rows falls when the column is shuffled."
    return _bars(names, np.asarray(found.importances_mean), "Importances", caption)


def convergence_figure(name: str, evidence: Evidence) -> str:
    """The certificate's value after each iteration, or else the objective's; empty if there is nothing to draw."""
    iterations = np.asarray(evidence.history.get("iteration", ()), dtype=float)
    values = evidence.certificate_history
    good = np.isfinite(values) & (values > 0)
    if values.size == iterations.size and good.sum() >= 3:
        return _certificate_figure(name, evidence, iterations[good], values[good])
    objective = np.asarray(evidence.history.get("objective", ()), dtype=float)
    if objective.size < 3 or objective.size != iterations.size or not np.isfinite(objective).all():
        return ""
    if not lowered(evidence):
        return ""
    what = "What the fit lowers, after each iteration."
    chart = Chart(
        Scale(0.0, max(float(iterations.max()), 1.0), whole=True), Scale.around(objective),
        title=f"Learning curve of {name}", description=what, x_label="iteration", y_label="objective",
    )  # fmt: skip
    chart.line(iterations, objective)
    return figure(chart.svg(), f"Learning curve of {name}", what)


def _certificate_figure(
    name: str, evidence: Evidence, iterations: NDArray[np.float64], values: NDArray[np.float64]
) -> str:
    """On a logarithmic scale, with the tolerance as a dashed line."""
    what, tolerance = evidence.certificate.name, evidence.certificate.tolerance
    shown = [*values, *([tolerance] if tolerance > 0 else [])]
    chart = Chart(
        Scale(0.0, max(float(iterations.max()), 1.0), whole=True), Scale.around(shown, log=True),
        title=f"Convergence of {name}", description=f"{what} at each iteration.", x_label="iteration", y_label=what,
    )  # fmt: skip
    if tolerance > 0:
        chart.line([chart.x.low, chart.x.high], [tolerance, tolerance], "soft", dashed=True)
        chart.text(chart.x.low, tolerance, "tolerance", "start", (4, -5))
    chart.line(iterations, values)
    if len(values) <= 60:
        chart.points(iterations, values)
    caption = f"{evidence.certificate.kind.word} once the {what} is at or below the dashed line."
    return figure(chart.svg(), f"Convergence of {name}", caption)
