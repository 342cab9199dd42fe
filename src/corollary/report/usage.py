"""What was asked, how to use the model, and how to do it all again: lines that can be copied."""

from __future__ import annotations

import math
import shlex
from pathlib import PurePath

from corollary.evaluate.comparison import Comparison
from corollary.report.charts import escaped
from corollary.report.document import again, asked_line, code, is_command, listing, pieces
from corollary.tabular.messages import count, shortened

_SPLITS = {
    "random": "random folds",
    "time": "each fold trains on the past of {} and is tested on what came next",
    "group": "no value of {} is on both sides of a fold",
}


def asked(comparison: Comparison) -> str:
    """The command or call, and what it meant."""
    facts, target, settings = comparison.facts, comparison.target, comparison.settings
    score = comparison.best_row.scores[comparison.metric.name]
    kind, _, column = comparison.split.partition(":")
    split = f"{count(len(score.folds), 'fold')}: {_SPLITS[kind].format(shortened(column, 40))}"
    classes = "" if target.classes is None else f", {count(len(target.classes), 'class', 'classes')}"
    pairs = [
        ("Asked", f"<code>{pieces(asked_line('compare', 'corollary.compare', facts, settings))}</code>"),
        ("Target", escaped(f"{shortened(target.name, 60)}: {target.task}{classes}, {target.reason}")),
        ("Judged by", escaped(f"{comparison.metric.label} ({_better(comparison)}); {split}")),
        ("Rows", escaped(_rows(comparison))),
        ("Time", escaped(_time(comparison))),
    ]
    return listing((name, value) for name, value in pairs if value)


def _better(comparison: Comparison) -> str:
    return "greater is better" if comparison.metric.greater_is_better else "smaller is better"


def _rows(comparison: Comparison) -> str:
    facts = comparison.facts
    gone = f"; {count(facts.rows_without_target, 'row')} without a target left out" if facts.rows_without_target else ""
    named = f"; named by {shortened(facts.id, 40)}" if facts.id else ""
    return f"{facts.rows:,} of {PurePath(facts.source).name}{gone}{named}"


def _time(comparison: Comparison) -> str:
    settings = comparison.settings
    limit = (settings.get("minutes") and settings["minutes"] * 60) or settings.get("time_budget")
    used = f"{_span(comparison.seconds)} used" if math.isfinite(comparison.seconds) else ""
    given = f"{_span(limit)} given" if limit else "no limit" if used else ""
    return ", ".join(each for each in (used, given) if each)


def _span(seconds: float) -> str:
    return f"{seconds:,.1f} s" if seconds < 120 else f"{seconds / 60:,.1f} min"


def usage(comparison: Comparison) -> str:
    """Lines of Python and of the shell that keep the model, load it, and predict with it."""
    facts, settings = comparison.facts, comparison.settings
    probabilities = hasattr(comparison.best_, "predict_proba")
    names = [str(name) for name in comparison.features.columns]
    first = ", ".join(repr(shortened(name, 30)) for name in names[:4]) + (", …" if len(names) > 4 else "")
    steps = ["import corollary, pandas", "", 'model = corollary.load("model.corollary")',
             f'rows = pandas.read_csv("new.csv")  # columns {first}', "model.predict(rows)"]  # fmt: skip
    if probabilities:
        steps.append("model.predict_proba(rows)  # in the order of model.classes_")
    keep = 'corollary.save(result.best_, "model.corollary")  # result is what corollary.compare returned'
    blocks = []
    if is_command(settings):
        line = f"{asked_line('compare', 'corollary.compare', facts, settings)} --save model.corollary"
        blocks.append("<p>Keep the model, then predict the rows of another file:</p>")
        blocks.append(code(f"{line}\n{_predict()}", "shell"))
        blocks.append("<p>In Python:</p>")
    else:
        blocks.append("<p>Keep the model:</p>")
        blocks.append(code(keep, "python"))
        blocks.append("<p>Use it, later and elsewhere:</p>")
    blocks.append(code("\n".join(steps), "python"))
    if not is_command(settings):
        blocks.append("<p>In the shell:</p>")
        blocks.append(code(_predict(), "shell"))
    return "".join(blocks) + '<p class="why">A model file holds data only: loading it runs no code of its own.</p>'


def _predict() -> str:
    return shlex.join(["corollary", "predict", "model.corollary", "new.csv", "--out", "predictions.csv"])


def once_more(comparison: Comparison) -> str:
    """The command with everything that fixes its numbers."""
    return again("compare", "corollary.compare", comparison.facts, comparison.settings)
