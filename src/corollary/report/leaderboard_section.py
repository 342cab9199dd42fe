"""The leaderboard of a report: scores with intervals, each model against the best, and what the search chose."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from corollary.evaluate.comparison import Comparison, Row, decimals_for, shown_score, shown_seconds
from corollary.evaluate.metrics import Score
from corollary.evaluate.models_compared import holm
from corollary.evaluate.paired import corrected_t
from corollary.evaluate.wording import shown_p
from corollary.report.charts import Scale, drawing, escaped
from corollary.report.document import folded, table
from corollary.tabular.messages import count, shortened

_MOST_TRIALS = 200
_TWO_QUESTIONS = (
    "≈ and p answer two questions: ≈ stands where the 95% interval of this one difference includes zero, as if nothing "
    "else had been compared (never at a model that does not beat the baseline); p allows for all comparisons together. "
    "Without ≈ and with p above 0.05, a model can be told apart from the best by itself, but not among so many."
)


def leaderboard(comparison: Comparison) -> tuple[str, str]:
    """The table with what belongs to it, and the sentence that leads to it."""
    metric = comparison.metric
    folds = len(comparison.best_row.scores[metric.name].folds)
    lead = f"Means over {count(folds, 'fold')}, ranked by {metric.label}; ± is a 95% interval; seconds are of one fit."
    if any(row.tied for row in comparison.rows):
        lead += " Models marked ≈ cannot be told apart from the best, each looked at by itself."
    tests = against_the_best(comparison)
    titles = _titles(comparison, bool(tests))
    scale = _interval_scale(comparison)
    rows = (_line(comparison, row, scale, titles, tests) for row in comparison.rows)
    head = [f">{escaped(title)}" if number else escaped(title) for title, number in titles]
    failed = "".join(
        f'<p class="why"><b>{escaped(row.model)}</b>: {escaped(row.error)}</p>' for row in comparison.rows if row.error
    )
    said = ""
    if tests:
        said = (
            f'<p class="why">Behind the best: the paired difference in {escaped(metric.label)}, fold by fold, with an '
            "interval that allows for training rows shared between folds (Nadeau and Bengio); p is of that difference, "
            f"adjusted by Holm’s method for {count(len(tests), 'comparison')}. {_TWO_QUESTIONS}</p>"
        )
    return table(head, rows, "board") + said + failed + _blend(comparison) + _trials(comparison), lead


def against_the_best(comparison: Comparison) -> dict[str, tuple[Score, float]]:
    """For each other model the paired difference from the best, and its p value adjusted by Holm's method."""
    name, best = comparison.metric.name, comparison.best_row
    leader = best.scores[name]
    rows = [
        row
        for row in comparison.rows
        if row.model != best.model and row.rank is not None and len(row.scores[name].folds) == len(leader.folds) > 1
    ]
    p_values = holm({row.model: corrected_t(row.scores[name], leader, name).p_value for row in rows})
    return {row.model: (row.scores[name] - leader, p_values[row.model]) for row in rows}


def _titles(comparison: Comparison, tests: bool) -> list[tuple[str, bool]]:
    """Names of the columns, and whether they hold numbers."""
    between = [("behind the best", True), ("p", True)] if tests else []
    others = [(metric.title, True) for metric in comparison.metrics[1:]]
    return [("#", True), ("model", False), (comparison.metric.title, True), ("95% interval", False), *between, *others,
            ("fit s", True), ("evidence", False)]  # fmt: skip


def _line(
    comparison: Comparison, row: Row, scale: Scale, titles: list[tuple[str, bool]], tests: Mapping[str, Any]
) -> str:
    metric = comparison.metric
    main, decimals = row.scores.get(metric.name), decimals_for(comparison.best_row.scores[metric.name])
    drawn = ""
    if main is not None and math.isfinite(main.mean):
        drawn = _interval(row.model, main, scale, "s0" if row.model == comparison.best else "s7")
    cells = [str(row.rank or "–"), _named(row), escaped(shown_score(main, decimals, interval=True)), drawn]
    if tests:
        difference, p = tests.get(row.model, (None, math.nan))
        cells.append("–" if difference is None else escaped(shown_score(difference, decimals, interval=True)))
        cells.append("–" if difference is None else escaped(shown_p(p).removeprefix("p").removeprefix(" = ")))
    for each in comparison.metrics[1:]:
        best = comparison.best_row.scores[each.name]
        cells.append(escaped(shown_score(row.scores.get(each.name), decimals_for(best))))
    cells += [shown_seconds(row.fit_seconds, comparison.slowest), row.verdict]
    kind = "first" if row.model == comparison.best else "dim" if row.baseline or row.error else ""
    body = []
    for (title, number), cell in zip(titles, cells, strict=True):
        if title == "model":
            body.append(f'<th scope="row">{cell}</th>')
            continue
        style = "n" if number else "interval" if title == "95% interval" else f"keep {row.tone}"
        body.append(f'<td class="{style}" data-title="{escaped(title)}">{cell}</td>')
    return f'<tr class="{kind}">{"".join(body)}</tr>'


def _named(row: Row) -> str:
    """The model, and in small letters what the search chose for it."""
    name = f'<span class="name">{escaped(shortened(row.model, 40))}{" ≈" if row.tied else ""}</span>'
    small = []
    if row.settings:
        small.append(settings_text(row.settings))
    if row.tried > 1:
        small.append(f"best of {row.tried}")
    if not row.baseline and not row.error and not row.beats_baseline and row.rank is not None and row.folds_done:
        small.append("does not beat the baseline")
    return f"{name}<small>{escaped('; '.join(small))}</small>" if small else name


def settings_text(settings: Mapping[str, Any]) -> str:
    """``"learning_rate 0.05, max_depth 6"``."""
    return ", ".join(f"{name} {_value(value)}" for name, value in settings.items())


def _value(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else shortened(value, 30)


def _interval_scale(comparison: Comparison) -> Scale:
    """Room for the intervals near the best; a model or baseline that is far off must not squeeze them."""
    best = comparison.best_row.scores[comparison.metric.name]
    scores = [row.scores[comparison.metric.name] for row in comparison.rows if row.rank is not None]
    scores = [score for score in scores if abs(score.mean - best.mean) <= 8 * best.half_width] or [best]
    ends = np.array([end for score in scores for end in (score.low, score.mean, score.high)])
    return Scale.around(ends[np.isfinite(ends)], pad=0.12)


def _interval(name: str, score: Score, scale: Scale, style: str) -> str:
    """A dot for the mean and a line for its interval, or an arrow to where it lies outside the picture."""
    words = shown_score(score, decimals_for(score), interval=True)
    low, middle, high = 6 + scale.place(np.nan_to_num([score.low, score.mean, score.high], nan=score.mean)) * 98
    parts = [
        f'<line class="line {style}" x1="{low:.1f}" x2="{high:.1f}" y1="8" y2="8"/>',
        f'<circle class="fill {style}" cx="{middle:.1f}" cy="8" r="4"/>',
    ]
    if not scale.low <= score.mean <= scale.high:
        beyond = score.mean > scale.high
        parts = [f'<text x="{106 if beyond else 4}" y="12" text-anchor="{"end" if beyond else "start"}">'
                 f"{'far off →' if beyond else '← far off'}</text>"]  # fmt: skip
    return drawing(110, 16, f"Interval of {name}", words, parts)


def _blend(comparison: Comparison) -> str:
    if not comparison.blend:
        return ""
    members = ", ".join(f"{shortened(name, 40)} {weight:.2f}" for name, weight in comparison.blend.items())
    return f'<p class="why">{escaped(f"{comparison.best} is a weighted mean of: {members}.")}</p>'


def _trials(comparison: Comparison) -> str:
    """Every configuration that was tried, best first."""
    if len(comparison.trials) < 2:
        return ""
    sign = -1.0 if comparison.metric.greater_is_better else 1.0
    order = sorted(comparison.trials, key=lambda trial: (not trial.scores, sign * trial.mean if trial.scores else 0.0))
    rows = (
        f'<tr><th scope="row">{escaped(shortened(trial.model, 40))}</th>'
        f"<td>{escaped(settings_text(trial.settings) or 'defaults')}</td>"
        f'<td class="n">{f"{trial.mean:.4g}" if trial.scores else "–"}</td><td class="n">{len(trial.scores)}</td>'
        f'<td class="n">{trial.seconds:.1f}</td><td class="why">{escaped(trial.dropped)}</td></tr>'
        for trial in order[:_MOST_TRIALS]
    )
    head = ("model", "settings", f">{escaped(comparison.metric.label)}", ">folds", ">s", "why no more")
    more = f", the best {_MOST_TRIALS}" if len(order) > _MOST_TRIALS else ""
    return folded(f"All {len(order):,} configurations that were tried{more}", table(head, rows))
