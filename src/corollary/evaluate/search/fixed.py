"""A comparison without a time: a short list of configurations of each model, by rules that never ask the clock."""

from __future__ import annotations

from collections.abc import Sequence

from corollary.evaluate.candidates import Candidate
from corollary.evaluate.search.runner import Runner
from corollary.evaluate.search.sampling import Sampler
from corollary.evaluate.search.tried import Tried
from corollary.tabular.messages import count

_ROWS, _CELLS = 5000, 2_000_000  # up to so many rows, and cells times classes, every configuration gets every fold


def run_short_list(runner: Runner, candidates: Sequence[Candidate], rows: int, seed: int) -> None:
    """Folds in turn for all models, cheap ones first; of a large table, each fold halves a model's configurations."""
    spaces = [(candidate, candidate.space(rows)) for candidate in candidates]
    ordered = sorted(spaces, key=lambda pair: -1 if pair[0].baseline else pair[1].cost)
    groups: list[list[Tried]] = []
    for candidate, space in ordered:
        found = Sampler(candidate, space, seed).first(space.short)
        groups.append([runner.start(each, space.wide) for each in found])
    folds = len(runner.folds)
    classes = runner.judge.target.classes
    cells = runner.folds.part("plain", 0).train.shape[1] * rows * (1 if classes is None else max(1, len(classes) - 1))
    halve = rows > _ROWS or cells > _CELLS
    runner.planned = sum(_fits(len(group), folds, halve) for group in groups)
    for _ in range(folds):
        runner.run([tried for group in groups for tried in group if tried.alive])
        if halve:
            for group in groups:
                _drop_half(group, runner.judge.metric.greater_is_better)
    if runner.progress is not None:
        runner.progress(runner.fits, runner.fits, "")


def _fits(configurations: int, folds: int, halve: bool) -> int:
    """How many fits a model's configurations need."""
    total, alive = 0, configurations
    for _ in range(folds):
        total += alive
        alive = (alive + 1) // 2 if halve else alive
    return total


def _drop_half(group: list[Tried], greater_is_better: bool) -> None:
    alive = [tried for tried in group if tried.alive]
    best_first = sorted(alive, key=lambda tried: tried.mean, reverse=greater_is_better)
    for tried in best_first[(len(alive) + 1) // 2 :]:
        tried.dropped = f"another configuration was better after {count(len(tried.scores), 'fold')}"
