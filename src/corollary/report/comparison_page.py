"""The report of a comparison: sections in the order a reader asks for them, as one self-contained HTML text."""

from __future__ import annotations

import math

import numpy as np

from corollary.evaluate.comparison import Comparison, Row, decimals_for, shown_score, shown_seconds
from corollary.evaluate.metrics import Score
from corollary.report.charts import Scale, drawing, escaped
from corollary.report.confusion import confusion_figure
from corollary.report.document import again, columns_table, document, header, pair, section, table, tiles
from corollary.report.model_figures import convergence_figure, influence_figure
from corollary.report.prediction_figures import prediction_figures
from corollary.report.words import evidence_words, kinds_explained, plain_summary
from corollary.tabular.messages import shortened

_SECTIONS = {
    "leaderboard": "Leaderboard",
    "predictions": "Predictions",
    "influence": "What it relies on",
    "evidence": "Evidence",
    "checks": "Checks",
    "data": "Data",
    "again": "Do it again",
}


def comparison_page(comparison: Comparison) -> str:
    """The whole report as HTML that needs nothing else: no network, no script, no fonts."""
    facts, target, settings = comparison.facts, comparison.target, comparison.settings
    about = f"Target {shortened(target.name, 60)}: {target.task}, {target.reason}."
    parts = [
        _header(comparison),
        _leaderboard(comparison),
        _predictions(comparison),
        _influence(comparison),
        _evidence(comparison),
        _checks(comparison),
        _section("data", columns_table(facts, comparison.notes), about),
        _section("again", again("compare", "corollary.compare", facts, settings)),
    ]
    return document(f"{target.name} · model comparison", parts, settings["versions"])


def _section(key: str, body: str, lead: str = "") -> str:
    return section(key, _SECTIONS[key], body, lead)


def _header(comparison: Comparison) -> str:
    warnings = "".join(
        f'<p class="note"><b>{escaped(check.title)}.</b> {escaped(check.detail)}</p>'
        for check in comparison.checks
        if not check.fine and check.title in ("Leakage", "Class balance")
    )
    title = f"Predicting {shortened(comparison.target.name, 80)}"
    rest = warnings + _tiles(comparison)
    return header("Model comparison", title, comparison.facts, _SECTIONS, plain_summary(comparison), rest)


def _tiles(comparison: Comparison) -> str:
    row = comparison.best_row
    others = sum(not each.baseline for each in comparison.rows)
    found = [("Best model", row.model, f"of {others} tried" if others > 1 else "the only one tried")]
    for metric in comparison.metrics[:3]:
        score = row.scores[metric.name]
        decimals = decimals_for(score)
        base = comparison.baseline.scores.get(metric.name) if comparison.baseline else None
        beside = f"baseline {shown_score(base, decimals)}" if base is not None else ""
        found.append((metric.title, shown_score(score, decimals, interval=True), beside))
    return tiles(found)


def _leaderboard(comparison: Comparison) -> str:
    metric = comparison.metric
    others = [f">{escaped(each.title)}" for each in comparison.metrics[1:]]
    titles = [">#", "model", f">{escaped(metric.title)}", "95% interval", *others, ">fit s",
              '<a href="#evidence">evidence</a>']  # fmt: skip
    scale = _interval_scale(comparison)
    failed = "".join(
        f'<p class="why"><b>{escaped(row.model)}</b>: {escaped(row.error)}</p>' for row in comparison.rows if row.error
    )
    folds = len(comparison.best_row.scores[metric.name].folds)
    lead = f"Means over {folds} folds, ranked by {metric.label}; seconds are those of one fit."
    if any(row.tied for row in comparison.rows):
        lead += " Models marked ≈ cannot be told apart from the best."
    rows = (_leaderboard_row(comparison, row, scale) for row in comparison.rows)
    return _section("leaderboard", table(titles, rows) + failed, lead)


def _leaderboard_row(comparison: Comparison, row: Row, scale: Scale) -> str:
    metric = comparison.metric
    kind = "first" if row.model == comparison.best else "dim" if row.baseline or row.error else ""
    name = f"{escaped(shortened(row.model, 40))}{' ≈' if row.tied else ''}"
    cells = [f'<td class="n">{row.rank or "–"}</td><th scope="row" class="keep">{name}</th>']
    main = row.scores.get(metric.name)
    decimals = decimals_for(comparison.best_row.scores[metric.name])
    cells.append(f'<td class="n">{escaped(shown_score(main, decimals, interval=True))}</td>')
    drawn = ""
    if main is not None and math.isfinite(main.mean):
        drawn = _interval(row.model, main, scale, "s0" if row.model == comparison.best else "s7")
    cells.append(f'<td class="interval">{drawn}</td>')
    for each in comparison.metrics[1:]:
        best = comparison.best_row.scores[each.name]
        cells.append(f'<td class="n">{escaped(shown_score(row.scores.get(each.name), decimals_for(best)))}</td>')
    seconds = shown_seconds(row.fit_seconds, comparison.slowest)
    cells.append(f'<td class="n">{seconds}</td><td class="keep {row.tone}">{row.verdict}</td>')
    return f'<tr class="{kind}">{"".join(cells)}</tr>'


def _interval_scale(comparison: Comparison) -> Scale:
    """Room for the intervals near the best; a model or baseline that is far off must not squeeze them."""
    best = comparison.best_row.scores[comparison.metric.name]
    scores = [row.scores[comparison.metric.name] for row in comparison.rows if row.rank is not None]
    scores = [score for score in scores if abs(score.mean - best.mean) <= 8 * best.half_width] or [best]
    ends = np.array([score.mean + side * score.half_width for score in scores for side in (-1, 1)])
    return Scale.around(ends[np.isfinite(ends)], pad=0.3)


def _interval(name: str, score: Score, scale: Scale, style: str) -> str:
    """A dot for the mean and a line for its interval, or an arrow to where it lies outside the picture."""
    words = shown_score(score, decimals_for(score), interval=True)
    low, middle, high = (
        10 + scale.place([score.mean - score.half_width, score.mean, score.mean + score.half_width]) * 170
    )
    parts = [
        f'<line class="line {style}" x1="{low:.1f}" x2="{high:.1f}" y1="8" y2="8"/>',
        f'<circle class="fill {style}" cx="{middle:.1f}" cy="8" r="4"/>',
    ]
    if not scale.low <= score.mean <= scale.high:
        beyond = score.mean > scale.high
        parts = [f'<text x="{186 if beyond else 4}" y="12" text-anchor="{"end" if beyond else "start"}">'
                 f"{'far off →' if beyond else '← far off'}</text>"]  # fmt: skip
    return drawing(190, 16, f"Interval of {name}", words, parts)


def _predictions(comparison: Comparison) -> str:
    figures = prediction_figures(comparison)
    if comparison.target.classes is not None:
        figures.insert(0, confusion_figure(comparison))
    lead = f"What {comparison.best} said about every row while that row was held out of the fit."
    return _section("predictions", pair(figures), lead)


def _influence(comparison: Comparison) -> str:
    if comparison.best_ is None:
        return _section("influence", "", "Not known: the comparison was interrupted before the last fit.")
    return _section("influence", influence_figure(comparison), f"{comparison.best}, fitted to every row.")


def _evidence(comparison: Comparison) -> str:
    rows = [row for row in comparison.rows if not row.error and not row.baseline]
    body = (
        f'<tr><th scope="row" class="keep">{escaped(shortened(row.model, 40))}</th>'
        f'<td class="keep {row.tone}">{row.verdict}</td><td>{escaped(row.certificate or "–")}</td>'
        f"<td>{escaped(evidence_words(row))}</td></tr>"
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
    whole = table(("model", "claim", "certificate", "how it was fitted"), body) + kinds_explained(comparison.kinds)
    return _section("evidence", whole + (pair(figures) if figures else ""), lead)


def _checks(comparison: Comparison) -> str:
    items = "".join(
        f'<li><span class="{"good" if check.fine else "warn"}">{"✓" if check.fine else "!"}</span>'
        f"<b>{escaped(check.title)}</b><span>{escaped(check.detail)}</span></li>"
        for check in comparison.checks
    )
    return _section("checks", f'<ul class="checks">{items}</ul>')
