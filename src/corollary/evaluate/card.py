"""The model card of a comparison's winner."""

from __future__ import annotations

import math
from pathlib import PurePath
from typing import TYPE_CHECKING

from corollary.io.card import CLASSES, COLUMNS, ColumnOfCard, ModelCard, plain_line
from corollary.tabular.messages import count
from corollary.tabular.roles import Column, Role

if TYPE_CHECKING:
    from corollary.evaluate.comparison import Comparison


def model_card(comparison: Comparison) -> ModelCard:
    """What ``inspect`` will say of the winner: what it predicts, from what, how well that was shown to work."""
    facts, target, row, settings = comparison.facts, comparison.target, comparison.best_row, comparison.settings
    name = comparison.metric.name
    score = row.scores[name]
    classes = [plain_line(each) for each in target.class_counts]
    base = comparison.baseline
    return ModelCard(
        model=plain_line(row.model),
        target=plain_line(target.name),
        task=target.task,
        source=plain_line(PurePath(facts.source).name),
        sha256=facts.sha256,
        rows=facts.rows,
        metric=comparison.metric.label,
        score=_known(score.mean),
        low=_known(score.low),
        high=_known(score.high),
        baseline=None if base is None else _known(base.scores[name].mean),
        validation=validation_words(comparison),
        seed=int(settings.get("seed", 0)),
        classes=tuple(classes[:CLASSES]),
        n_classes=len(classes),
        columns=tuple(_column(comparison, each) for each in facts.columns[:COLUMNS]),
        n_columns=len(facts.columns),
        luck=plain_line(comparison.luck(detail=True), 900),
        holdout={each: value for each, value in (comparison.holdout or {}).items() if math.isfinite(value)},
        settings={each: plain_line(value) for each, value in row.settings.items()},
        versions=dict(settings.get("versions", {})),
    )


def _column(comparison: Comparison, column: Column) -> ColumnOfCard:
    if comparison.split == f"group:{column.name}":  # a column that the model was not given
        return ColumnOfCard(plain_line(column.name), Role.UNUSED.value, "says which rows belong together")
    return ColumnOfCard(plain_line(column.name), column.role.value, plain_line(column.note))


def validation_words(comparison: Comparison) -> str:
    """How the score was found: ``"over 5 random folds"``, ``"over 5 folds, each later than what it learnt from …"``."""
    folds = len(comparison.best_row.scores[comparison.metric.name].folds)
    kind, _, column = comparison.split.partition(":")
    if kind == "time":
        each = "each later" if folds > 1 else "later"
        return f"over {count(folds, 'fold')}, {each} in {plain_line(column)} than what it learnt from"
    if kind == "group":
        return f"over {count(folds, 'fold')}, whose {plain_line(column)} is in no other part"
    return f"over {count(folds, 'random fold')}"


def _known(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
