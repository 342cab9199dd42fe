"""Figures of the model itself: its coefficients, and how its fit converged."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from corollary.core.evidence import Evidence
from corollary.evaluate.comparison import Comparison
from corollary.report.charts import Chart, Scale, bars, compact
from corollary.report.document import figure, heat_cell, heat_table
from corollary.report.words import lowered
from corollary.tabular.columns import readable_names
from corollary.tabular.messages import shortened

_TOP = 20


def coefficients_figure(comparison: Comparison) -> str:
    """The coefficients of a linear model, feature by feature; empty for other models."""
    model = comparison.best_[-1] if isinstance(comparison.best_, Pipeline) else None
    values = getattr(model, "coef_", None)
    if values is None or np.shape(values)[-1] != len(readable_names(comparison.best_)):
        return ""
    return _coefficients(comparison, np.asarray(values))


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
    drawing = bars([names[index] for index in order], [float(values[index]) for index in order], title=heading)
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
    what = "What the fit lowers, after each iteration: about training rows, and no word about others."
    chart = Chart(
        Scale(0.0, max(float(iterations.max()), 1.0), whole=True), Scale.around(objective),
        title=f"Training objective of {name}", description=what, x_label="iteration", y_label="objective",
    )  # fmt: skip
    chart.line(iterations, objective)
    return figure(chart.svg(), f"Training objective of {name}", what)


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
