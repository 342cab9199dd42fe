"""``model.report(X, y)``: one page on one fitted model, as HTML that is complete in itself or as text."""

from __future__ import annotations

import html
import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import confusion_matrix
from sklearn.utils.validation import check_is_fitted

from corollary import __version__
from corollary.core.evidence import Evidence
from corollary.core.explanation import Explanation
from corollary.evaluate.calibration import calibration
from corollary.evaluate.metrics import Prediction
from corollary.explaining.explain import explain
from corollary.explaining.frames import Rows
from corollary.report.charts import drawing, escaped
from corollary.report.document import document, figure, heat_cell, heat_table, pair, section, table, tiles
from corollary.report.model_figures import convergence_figure
from corollary.report.model_scores import ModelScore, predictions_of, read_target, scores_of
from corollary.report.prediction_figures import calibration_figure, predicted_against_actual, residuals
from corollary.tabular.messages import shortened
from corollary.tabular.writing import check_output, write_text

_EXPLAINED = 200  # rows that are explained, of those that came
_MOST_CLASSES = 12
_YOURS = (
    "The rows are those that were passed. If the model was fitted to them, the scores say how well it remembers, not "
    "how well it predicts."
)


@dataclass(frozen=True, eq=False)
class ModelReport:
    """What ``model.report(X, y)`` found.

    ``print`` shows it as text, a notebook as a page, and ``save(path)`` writes that page.

    Attributes
    ----------
    scores : tuple of ModelScore
        Each with ``value``, the ends ``low`` and ``high`` of its 95% interval, and ``constant``.
    explanation : Explanation or None
        Of at most 200 of the rows; None if there was none (``unexplained`` says why).
    evidence : Evidence or None
        Of the fit, if the model keeps it.
    """

    model: str
    target: str
    classes: NDArray[Any] | None
    truth: NDArray[Any]
    said: Prediction
    scores: tuple[ModelScore, ...]
    evidence: Evidence | None
    explanation: Explanation | None
    unexplained: str = ""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to ``path``, all of it or nothing."""
        check_output(path, "report")
        write_text(path, page(self))

    def _repr_html_(self) -> str:
        framed = html.escape(page(self), quote=True)  # a frame keeps the style of the page to itself
        return f'<iframe srcdoc="{framed}" title="Report" style="width:100%;height:640px;border:0"></iframe>'

    def __str__(self) -> str:
        wide = max(len(score.metric.title) for score in self.scores)
        lines = [f"{self.model} predicts {self.target}, on {len(self.truth):,} rows (95% intervals in brackets)"]
        lines += [f"  {score.metric.title.ljust(wide)}  {score}   {score.beside}".rstrip() for score in self.scores]
        lines += [f"  {_told(self)}"]
        lines += [str(self.explanation) if self.explanation is not None else f"Not explained: {self.unexplained}"]
        lines += [f"Evidence of the fit: {self.evidence}" if self.evidence is not None else "It keeps no evidence."]
        return "\n".join([*lines, _YOURS])


def model_report(model: Any, X: Any, y: Any, *, background: Any = None, random_state: Any = 0) -> ModelReport:
    """Say how well a fitted model does on rows X with answers y, why it says what it says, and what its fit showed.

    Parameters
    ----------
    model : fitted classifier or regressor, or a pipeline that ends in one
        Of this library or any other.
    X, y : rows, and one answer for each
        Rows that the model has not seen, unless it is to be flattered.
    background : rows, optional
        What stands for "not known" in explanations: see :func:`corollary.explain`.
    random_state : int, Generator or None
        Of the rows that are drawn for intervals and for explanations.

    Returns
    -------
    ModelReport
        ``str()`` is text, a notebook shows the page, ``save(path)`` writes it.

    Cost: one prediction of all rows, 200 bootstrap samples of its scores (100 of more than 20 000 rows), and the
    explanation of at most 200 rows. The intervals are about the choice of these rows, not about that of the fit's.

    References
    ----------
    Efron (1979), Bootstrap methods: another look at the jackknife.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> import corollary
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = corollary.GradientBoostingClassifier(n_estimators=20).fit(X[:400], y[:400])
    >>> print(model.report(X[400:], y[400:]))
    GradientBoostingClassifier predicts target, on 169 rows (95% intervals in brackets)
      log-loss ↓  0.183 (0.149 to 0.216)   best constant 0.540
    ...
    """
    check_is_fitted(model)
    table = Rows.of(X)
    truth = read_target(model, y, table.count)
    classes = np.asarray(model.classes_) if hasattr(model, "classes_") else None
    said = predictions_of(model, X)
    last = model[-1] if hasattr(model, "steps") else model
    evidence = vars(last).get("evidence_") if hasattr(last, "__dict__") else None
    explanation, why_not = _explained(model, table, background, random_state)
    return ModelReport(
        model=type(last).__name__,
        target=str(getattr(y, "name", None) or "the target"),
        classes=classes,
        truth=truth,
        said=said,
        scores=scores_of(truth, said, classes, random_state),
        evidence=evidence if isinstance(evidence, Evidence) else None,
        explanation=explanation,
        unexplained=why_not,
    )


def _explained(model: Any, table: Rows, background: Any, seed: Any) -> tuple[Explanation | None, str]:
    rng = np.random.default_rng(seed)
    part = table.take(np.sort(rng.permutation(table.count)[:_EXPLAINED]))
    try:
        return explain(model, part, background=background, random_state=rng), ""
    except (ValueError, MemoryError) as error:
        return None, str(error)


def _told(report: ModelReport) -> str:
    """Its mistakes, in a line."""
    if report.classes is None:
        off = report.truth - report.said.values.astype(float)
        low, middle, high = np.quantile(off, [0.05, 0.5, 0.95])
        text = f"actual − predicted: median {middle:,.3g}, nine of ten rows between {low:,.3g} and {high:,.3g}"
        return text.replace(" -", " −")
    wrong = report.truth != report.said.values
    text = f"{int(wrong.sum()):,} of {len(wrong):,} rows are wrong"
    if report.said.probabilities is None or not len(wrong):
        return text
    score, happened = _chosen(report)
    if happened.all() or not happened.any():  # one outcome only: there are no shares to compare
        return text
    far = calibration(happened, score).expected_error
    return f"{text}; predicted and observed shares differ by {far:.2g} on average"


def _chosen(report: ModelReport) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """A probability for each row and whether it came true: of the second of two classes, or of the one chosen."""
    proba, classes = report.said.probabilities, report.classes
    assert proba is not None
    assert classes is not None
    if len(classes) == 2:
        return proba[:, 1], report.truth == classes[1]
    return proba.max(axis=1), report.truth == classes[proba.argmax(axis=1)]


def page(report: ModelReport) -> str:
    """The whole page as HTML that needs nothing else."""
    cells = [(score.metric.title, str(score), score.beside) for score in report.scores]
    summary = f"{_told(report)[:1].upper()}{_told(report)[1:]}."
    top = (
        f'<header><p class="eyebrow">Model report</p><h1>{escaped(report.model)} predicts '
        f"{escaped(shortened(report.target, 60))}</h1>"
        f'<p class="meta">{len(report.truth):,} rows · 95% intervals in brackets, over rows drawn anew</p>'
        f'<p class="summary">{escaped(summary)}</p>{tiles(cells)}<p class="why">{escaped(_YOURS)}</p></header>'
    )
    parts = [
        top,
        section("predictions", "Predictions", pair(_figures(report))),
        section("reasons", "What moves its predictions", _reasons(report)),
        section("evidence", "Evidence", _evidence(report)),
    ]
    return document(f"{report.model} · model report", parts, {"corollary": __version__})


def _figures(report: ModelReport) -> list[str]:
    truth, said = report.truth, report.said
    if report.classes is None:
        numbers = Prediction(said.values.astype(float))
        return [predicted_against_actual(truth, numbers, report.target), residuals(truth, numbers)]
    found = [_confusion(report)]
    if said.probabilities is not None:
        found.append(calibration_figure(truth, said.probabilities, report.classes))
    return found


def _confusion(report: ModelReport) -> str:
    assert report.classes is not None
    counts = confusion_matrix(report.truth, report.said.values, labels=report.classes)
    keep = np.sort(np.argsort(-counts.sum(axis=1), kind="stable")[:_MOST_CLASSES])
    names = [str(report.classes[each]) for each in keep]
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    rows = [
        (
            names[at],
            "".join(
                heat_cell(f"{shares[row, column]:.1%}<small>{counts[row, column]:,}</small>",
                          shares[row, column] if row == column else -shares[row, column])
                for column in keep
            ),
        )
        for at, row in enumerate(keep)
    ]  # fmt: skip
    more = f" The {len(keep)} commonest of {len(report.classes)} classes." if len(report.classes) > len(keep) else ""
    caption = f"Shares of each row of the matrix; right on the diagonal.{more}"
    return figure(heat_table("actual ╲ predicted", names, rows), "Confusion matrix", caption, whole=len(names) > 4)


def _reasons(report: ModelReport) -> str:
    found = report.explanation
    if found is None:
        return f'<p class="why">Not explained: {escaped(report.unexplained)}</p>'
    sizes = found.importances()
    order = [int(each) for each in np.argsort(-sizes, kind="stable")[:15] if sizes[each] > 0]
    largest = max((float(sizes[each]) for each in order), default=1.0)
    rows = [
        f'<tr><th scope="row">{escaped(shortened(found.feature_names[each], 40))}</th>'
        f'<td class="n">{sizes[each]:,.3g}</td><td class="interval">{_bar(float(sizes[each]) / largest)}</td></tr>'
        for each in order
    ]
    opening = f'<p class="lead">{escaped(str(found))}</p>'
    return opening + table(("column", f">mean size, in {escaped(found.meaning)}", ""), rows)


def _bar(share: float) -> str:
    shape = f'x="0" y="2" width="{max(190 * share, 0.5):.1f}" height="10"'
    return drawing(190, 14, "mean size", f"{share:.0%} of the largest", [f'<rect class="fill s0" {shape}/>'])


def _evidence(report: ModelReport) -> str:
    if report.evidence is None:
        return '<p class="why">This model keeps no evidence of its fit.</p>'
    said = f'<p class="{report.evidence.tone}">{escaped(report.evidence)}</p>'
    kind = report.evidence.certificate.kind
    said += f'<p class="why">{kind.word}: {escaped(kind.value)}.</p>'
    return said + convergence_figure(report.model, report.evidence)
