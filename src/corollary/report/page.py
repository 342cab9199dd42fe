"""The page: sections in the order a reader asks for them, as one self-contained HTML text."""

from __future__ import annotations

import math
from pathlib import PurePath

import numpy as np

from corollary.evaluate.comparison import Comparison, Row, decimals_for, shown_score, shown_seconds
from corollary.evaluate.metrics import Score
from corollary.report.charts import Scale, drawing, escaped, shortened
from corollary.report.confusion import confusion_figure
from corollary.report.document import document, section
from corollary.report.model_figures import convergence_figure, influence_figure
from corollary.report.predictions import prediction_figures
from corollary.report.words import command_line, evidence_words, plain_summary
from corollary.tabular.roles import Role, tally

_SECTIONS = (
    ("leaderboard", "Leaderboard"),
    ("predictions", "Predictions"),
    ("influence", "What it relies on"),
    ("evidence", "Evidence"),
    ("checks", "Checks"),
    ("data", "Data"),
    ("again", "Do it again"),
)


def render(comparison: Comparison) -> str:
    """The whole report as HTML that needs nothing else: no network, no script, no fonts."""
    parts = [
        _header(comparison),
        _leaderboard(comparison),
        _predictions(comparison),
        _influence(comparison),
        _evidence(comparison),
        _checks(comparison),
        _data(comparison),
        _again(comparison),
    ]
    title = f"{comparison.target.name} · model comparison"
    return document(title, parts, comparison.settings["versions"])


def _section(key: str, body: str, lead: str = "") -> str:
    return section(key, dict(_SECTIONS)[key], body, lead)


def _header(comparison: Comparison) -> str:
    facts = comparison.facts
    meta = f"{PurePath(facts.source).name} · {facts.rows:,} rows · {tally(facts.columns)}"
    links = "".join(f'<a href="#{key}">{heading}</a>' for key, heading in _SECTIONS)
    warnings = "".join(
        f'<p class="note"><b>{escaped(check.title)}.</b> {escaped(check.detail)}</p>'
        for check in comparison.checks
        if not check.fine and check.title in ("Leakage", "Class balance")
    )
    return (
        f'<header><p class="eyebrow">Model comparison</p>'
        f"<h1>Predicting {escaped(shortened(comparison.target.name, 80))}</h1>"
        f'<p class="meta">{escaped(meta)}</p><nav aria-label="Sections">{links}</nav>'
        f'<p class="summary">{escaped(plain_summary(comparison))}</p>{warnings}{_tiles(comparison)}</header>'
    )


def _tiles(comparison: Comparison) -> str:
    row = comparison.best_row
    others = sum(not each.baseline for each in comparison.rows)
    tried = f"of {others} tried" if others > 1 else "the only one tried"
    tiles = [("Best model", escaped(row.model), tried)]
    for metric in comparison.metrics[:3]:
        score = row.scores[metric.name]
        decimals = decimals_for(score)
        base = comparison.baseline.scores.get(metric.name) if comparison.baseline else None
        beside = f"baseline {shown_score(base, decimals)}" if base is not None else ""
        tiles.append((escaped(metric.title), escaped(shown_score(score, decimals, interval=True)), escaped(beside)))
    cells = "".join(f"<div><dt>{name}</dt><dd>{value}<small>{small}</small></dd></div>" for name, value, small in tiles)
    return f'<dl class="tiles">{cells}</dl>'


def _leaderboard(comparison: Comparison) -> str:
    metric, others = comparison.metric, comparison.metrics[1:]
    scale = _interval_scale(comparison)
    columns = "".join(f'<th scope="col" class="n">{escaped(each.title)}</th>' for each in others)
    head = (
        '<tr><th scope="col" class="n">#</th><th scope="col">model</th>'
        f'<th scope="col" class="n">{escaped(metric.title)}</th><th scope="col" class="interval">95% interval</th>'
        f'{columns}<th scope="col" class="n">fit s</th><th scope="col">evidence</th></tr>'
    )
    body = "".join(_leaderboard_row(comparison, row, scale) for row in comparison.rows)
    failed = "".join(
        f'<p class="why"><b>{escaped(row.model)}</b>: {escaped(row.error)}</p>' for row in comparison.rows if row.error
    )
    folds = len(comparison.best_row.scores[metric.name].folds)
    lead = f"Means over {folds} folds, ranked by {metric.label}; seconds are those of one fit."
    if any(row.tied for row in comparison.rows):
        lead += " Models marked ≈ cannot be told apart from the best."
    return _section(
        "leaderboard",
        f'<div class="wide"><table><thead>{head}</thead><tbody>{body}</tbody></table></div>{failed}',
        lead,
    )


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
    colour = {"✓": "good", "✗": "bad"}.get(row.verdict[0], "")
    seconds = shown_seconds(row.fit_seconds, comparison.slowest)
    cells.append(f'<td class="n">{seconds}</td><td class="keep {colour}">{row.verdict}</td>')
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
    return _section("predictions", f'<div class="pair">{"".join(figures)}</div>', lead)


def _influence(comparison: Comparison) -> str:
    return _section("influence", influence_figure(comparison), f"{comparison.best}, fitted to every row.")


def _evidence(comparison: Comparison) -> str:
    rows = [row for row in comparison.rows if not row.error]
    body = "".join(
        f'<tr><th scope="row" class="keep">{escaped(shortened(row.model, 40))}</th>'
        f'<td class="keep">{escaped(row.certificate or "–")}</td>'
        f"<td>{escaped(evidence_words(row))}</td></tr>"
        for row in rows
        if not row.baseline
    )
    head = '<tr><th scope="col">model</th><th scope="col">certificate</th><th scope="col">what it says</th></tr>'
    drawn = [convergence_figure(row.model, row.evidence) for row in rows if row.evidence is not None]
    figures = "".join([each for each in drawn if each][:6])
    lead = "Is the fit what it claims to be? The best model's fit to every row; for the others, their worst fold."
    pair = f'<div class="pair">{figures}</div>' if figures else ""
    return _section(
        "evidence", f'<div class="wide"><table><thead>{head}</thead><tbody>{body}</tbody></table></div>{pair}', lead
    )


def _checks(comparison: Comparison) -> str:
    items = "".join(
        f'<li><span class="{"good" if check.fine else "warn"}">{"✓" if check.fine else "!"}</span>'
        f"<b>{escaped(check.title)}</b><span>{escaped(check.detail)}</span></li>"
        for check in comparison.checks
    )
    return _section("checks", f'<ul class="checks">{items}</ul>')


def _data(comparison: Comparison) -> str:
    facts, target = comparison.facts, comparison.target
    body = "".join(
        f"<tr{' class=dim' if column.role is Role.UNUSED else ''}>"
        f'<th scope="row">{escaped(shortened(column.name, 60))}</th>'
        f'<td>{column.role.value}</td><td class="n">{column.missing:,}</td><td class="n">{column.distinct:,}</td>'
        f'<td class="why">{escaped(column.note)}</td></tr>'
        for column in facts.columns
    )
    head = (
        '<tr><th scope="col">column</th><th scope="col">role</th><th scope="col" class="n">missing</th>'
        '<th scope="col" class="n">distinct</th><th scope="col">note</th></tr>'
    )
    table = f'<div class="wide"><table><thead>{head}</thead><tbody>{body}</tbody></table></div>'
    if len(facts.columns) > 40:
        table = f"<details><summary>All {len(facts.columns):,} columns</summary>{table}</details>"
    lead = f"Target {shortened(target.name, 60)}: {target.task}, {target.reason}."
    notes = "".join(f'<p class="why">{escaped(note)}</p>' for note in comparison.notes)
    return _section("data", notes + table, lead)


def _again(comparison: Comparison) -> str:
    facts, settings = comparison.facts, comparison.settings
    pairs = [
        ("Data SHA-256", facts.sha256),
        ("Seed", str(settings["seed"])),
        ("Versions", ", ".join(f"{name} {number}" for name, number in settings["versions"].items())),
    ]
    listing = "".join(f"<dt>{name}</dt><dd>{escaped(value)}</dd>" for name, value in pairs)
    return _section(
        "again", f'<pre><code>{escaped(command_line(comparison))}</code></pre><dl class="facts">{listing}</dl>'
    )
