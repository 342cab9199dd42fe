"""The report of a comparison: sections in the order a reader asks for them, as one self-contained HTML text."""

from __future__ import annotations

from corollary.core.explanation import Explanation
from corollary.evaluate.comparison import Comparison, decimals_for, shown_score
from corollary.evaluate.data_checks import BALANCE, BELONGING, DATED, LEAKAGE
from corollary.report.charts import escaped
from corollary.report.column_effects import Shuffled, explained_sample
from corollary.report.confusion import confusion_figures
from corollary.report.data_figures import data_section
from corollary.report.document import columns_table, document, folded, header, pair, section, table, tiles
from corollary.report.effect_figures import column_figures, order_of_columns, worth
from corollary.report.error_rows import error_section
from corollary.report.leaderboard_section import leaderboard
from corollary.report.model_figures import coefficients_figure, convergence_figure
from corollary.report.prediction_figures import prediction_figures
from corollary.report.study import NotStudied, Study, study
from corollary.report.threshold_figure import threshold_figures
from corollary.report.trust_figures import holdout, learning_figure, luck, parts_figure
from corollary.report.usage import asked, once_more, usage
from corollary.report.words import evidence_words, kinds_explained, plain_summary
from corollary.tabular.messages import count, shortened

_SECTIONS = {
    "asked": "What was asked",
    "data": "Data",
    "leaderboard": "Leaderboard",
    "why": "Why it predicts so",
    "trust": "How far to trust it",
    "predictions": "Predictions",
    "errors": "Errors worth a look",
    "evidence": "Evidence",
    "use": "Use the model",
    "again": "Do it again",
}
_UNFINISHED = "Not known: not all folds of the best model were finished, so some rows were never held out."
_LOUD = (LEAKAGE, BALANCE, DATED, BELONGING)  # checks that are said at the top


def comparison_page(comparison: Comparison) -> str:
    """The whole report as HTML that needs nothing else: no network, no script, no fonts.

    Cost: a dozen fits of the best model to at most 3 000 rows and some thousand predictions, a few seconds in all.
    """
    studied = study(comparison)
    found = explained_sample(comparison)
    lost = worth(comparison, studied, order_of_columns(comparison, found))
    parts = [
        _header(comparison),
        _section("asked", asked(comparison)),
        _data(comparison),
        _section("leaderboard", *leaderboard(comparison)),
        _why(comparison, found, lost),
        _trust(comparison, studied),
        _predictions(comparison),
        _errors(comparison, not isinstance(found, str)),
        _evidence(comparison),
        _section("use", usage(comparison)),
        _section("again", once_more(comparison)),
    ]
    return document(f"{comparison.target.name} · model comparison", parts, comparison.settings["versions"])


def _section(key: str, body: str, lead: str = "") -> str:
    return section(key, _SECTIONS[key], body, lead)


def _header(comparison: Comparison) -> str:
    warnings = "".join(
        f'<p class="note"><b>{escaped(check.title)}.</b> {escaped(check.detail)}</p>'
        for check in comparison.checks
        if not check.fine and check.title in _LOUD
    )
    title = f"Predicting {shortened(comparison.target.name, 80)}"
    rest = warnings + _tiles(comparison)
    return header("Model comparison", title, comparison.facts, _SECTIONS, plain_summary(comparison), rest)


def _tiles(comparison: Comparison) -> str:
    row = comparison.best_row
    others = sum(not each.baseline for each in comparison.rows)
    tried = f"of {count(others, 'model')}" if others > 1 else "the only one tried"
    if len(comparison.trials) > others:
        tried += f" in {len(comparison.trials):,} configurations"
    found = [("Best model", row.model, tried)]
    for metric in comparison.metrics[:3]:
        score = row.scores[metric.name]
        decimals = decimals_for(score)
        base = comparison.baseline.scores.get(metric.name) if comparison.baseline else None
        beside = f"baseline {shown_score(base, decimals)}" if base is not None else ""
        found.append((metric.title, shown_score(score, decimals, interval=True), beside))
    return tiles(found)


def _data(comparison: Comparison) -> str:
    """Checks, a picture of each column, and what became of the columns."""
    items = "".join(
        f'<li><span class="{"good" if check.fine else "warn"}">{"✓" if check.fine else "!"}</span>'
        f"<b>{escaped(check.title)}</b><span>{escaped(check.detail)}</span></li>"
        for check in comparison.checks
    )
    pictures, lead = data_section(comparison)
    columns = folded("What became of every column", columns_table(comparison.facts, ()))
    notes = "".join(f'<p class="why">{escaped(note)}</p>' for note in comparison.notes)
    said = f'<p class="lead">{escaped(lead)}</p>'
    return _section("data", f'<ul class="checks">{items}</ul>{notes}{said}{pictures}{columns}')


def _why(comparison: Comparison, found: Explanation | str, lost: Shuffled | NotStudied) -> str:
    if comparison.best_ is None:
        return _section("why", "", "Not known: the comparison was interrupted before the last fit.")
    features = coefficients_figure(comparison)
    body = column_figures(comparison, found, lost)
    body += folded("Coefficients, feature by feature", features) if features else ""
    return _section("why", body, f"{comparison.best}, by columns of the table.")


def _trust(comparison: Comparison, studied: Study | NotStudied) -> str:
    figures = [learning_figure(comparison, studied)]
    if comparison.best_ is not None:
        figures.append(parts_figure(comparison))
    return _section("trust", luck(comparison) + holdout(comparison) + pair(figures))


def _predictions(comparison: Comparison) -> str:
    if comparison.best not in comparison.out_of_fold:
        return _section("predictions", "", _UNFINISHED)
    target, said = comparison.target, comparison.out_of_fold[comparison.best]
    figures = prediction_figures(comparison)
    if target.classes is not None:
        figures = confusion_figures(comparison) + figures
        if len(target.classes) == 2 and said.probabilities is not None:
            positive, weights = said.probabilities[:, 1], comparison.judged_weights
            figures += threshold_figures(comparison.truth, positive, target.classes[1], weights)
    lead = f"What {comparison.best} said about every row while that row was held out of the fit."
    if len(comparison.truth) < comparison.facts.rows:
        lead = f"What {comparison.best} said about the {len(comparison.truth):,} rows that were held out of a fit."
    return _section("predictions", pair(figures), lead)


def _errors(comparison: Comparison, known: bool) -> str:
    if comparison.best not in comparison.out_of_fold:
        return _section("errors", "", _UNFINISHED)
    return _section("errors", *error_section(comparison, known))


def _evidence(comparison: Comparison) -> str:
    rows = [row for row in comparison.rows if not row.error and not row.baseline]
    body = (
        f'<tr><th scope="row" class="keep">{escaped(shortened(row.model, 40))}</th>'
        f'<td class="keep {row.tone}" data-title="claim">{row.verdict}</td>'
        f'<td data-title="certificate">{escaped(row.certificate or "–")}</td>'
        f'<td data-title="how">{escaped(evidence_words(row))}</td></tr>'
        for row in rows
    )
    drawn = [convergence_figure(row.model, row.evidence) for row in rows if row.evidence is not None]
    figures = [each for each in drawn if each][:6]
    whose = "In the weakest fold of each model."
    if comparison.best_ is not None:
        whose = "Of the best model it is the fit to every row, of the others the weakest fold."
    lead = (
        f"What is known about the fits as answers to their training problems; the scores say how they predict. {whose}"
    )
    whole = table(("model", "claim", "certificate", "how it was fitted"), body, "stack claims")
    return _section("evidence", whole + kinds_explained(comparison.kinds) + (pair(figures) if figures else ""), lead)
