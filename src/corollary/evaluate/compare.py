"""``compare``: every suitable model on one table, searched, cross-validated with its preparation, ranked with
intervals."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from typing import Any

from corollary import __version__
from corollary.evaluate.arguments import check_numbers, check_texts, column_name, column_names, own_models
from corollary.evaluate.candidates import PRESETS, candidates_for
from corollary.evaluate.comparison import Comparison
from corollary.evaluate.cross_validation import Progress
from corollary.evaluate.data_checks import run_checks
from corollary.evaluate.folds import PreparedFolds
from corollary.evaluate.metrics import metrics_for
from corollary.evaluate.notebook import notebook_progress
from corollary.evaluate.search.clock import Clock
from corollary.evaluate.search.diary import Diary
from corollary.evaluate.search.holdout import HoldOut
from corollary.evaluate.search.preparations import Preparing, kinds_of
from corollary.evaluate.search.runner import Runner
from corollary.evaluate.search.search import Search
from corollary.evaluate.search.tried import Judge
from corollary.evaluate.splits import Split, kept_together, make_splits
from corollary.tabular.messages import InputError, count
from corollary.tabular.reading import read_table
from corollary.tabular.target import TASKS, separate_target

_MANY_ROWS, _FEW_FOLDS = 20_000, 3  # with a time, the folds of a large table, unless somebody asks for others


class Interrupted(KeyboardInterrupt):
    """Ctrl-C ended a comparison; ``comparison`` has what was finished.

    Its ``best_`` is the best so far as it was fitted to the training part of one fold, or None if that was not kept.
    """

    def __init__(self, comparison: Comparison, folds: int) -> None:
        rows = [row for row in comparison.rows if not row.baseline]
        whole = sum(row.folds_done == folds and not row.error for row in rows)
        part = sum(0 < row.folds_done < folds for row in rows)
        more = f", and {part} in part" if part else ""
        super().__init__(f"{whole} of {count(len(rows), 'model')} were finished{more}")
        self.comparison = comparison


def compare(
    data: Any,
    target: str,
    *,
    task: str = "auto",
    preset: str = "fast",
    minutes: float | None = None,
    time_budget: float | None = None,
    folds: int | None = None,
    metric: str | None = None,
    drop: Sequence[str] = (),
    seed: int = 0,
    split: str = "random",
    holdout: Any = None,
    weights: str | None = None,
    id: str | None = None,
    categorical: Sequence[str] = (),
    resume: Any = None,
    n_jobs: int = 1,
    drop_missing_target: bool = False,
    header: bool = True,
    encoding: str = "utf-8",
    models: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Cross-validate every suitable model on a table and fit the best one to all of it.

    Parameters
    ----------
    data : path or data frame
        Text (CSV, TSV), JSON lines, Parquet, Arrow, Feather or Excel, also packed (``.gz``, ``.zip``, …); ``"-"`` is
        standard input; or a pandas, polars or pyarrow table.
    target : str
        The column to predict.
    task : {"auto", "regression", "classification"}
    preset : {"fast", "full"}
        How many models of the registry to try, each in a short list of configurations. With a time, all of them are.
    minutes, time_budget : float, optional
        The time in minutes, or in seconds: configurations are searched until it is used (kept to a tenth, the last fit
        included) or, of a small table, until no more are worth trying (40 and one for every 25 rows), and the best are
        blended. Without one the answer does not depend on the clock.
    folds : int, optional
        5, or fewer if the rarest class has fewer rows; with a time 3 for more than 20 000 rows.
    metric : str, optional
        What ranks: ``log-loss`` (default), ``auc``, ``accuracy``, ``balanced-accuracy``, ``f1``, ``brier``; or
        ``rmse`` (default), ``mae``, ``r2``.
    drop : str, or sequence of str
        Columns to leave out.
    seed : int
        Of the folds and of every model that has a ``random_state``.
    split : str
        ``"random"``, ``"time:COLUMN"`` (learn from earlier rows, judge on the next) or ``"group:COLUMN"`` (no group on
        both sides; the column is no feature).
    holdout : path or data frame, optional
        Rows with the same columns that have no say in anything; the winner is scored on them once.
    weights : str, optional
        A column of weights ≥ 0, used in fits (a model that takes none says so) and in scores; no feature.
    id : str, optional
        A column that names the rows; no feature.
    categorical : str, or sequence of str
        Columns of numbers that are categories.
    resume : path, optional
        A file to which finished fits are written, and from which a search that was broken off goes on.
    n_jobs : int
        Folds fitted at the same time, in processes; −1 for all cores.
    drop_missing_target : bool
        Leave out rows without a target instead of refusing them.
    header, encoding
        Of a text file.
    models : mapping of str to estimator, optional
        Your own candidates instead of the registry's.
    progress : callable, optional
        Called with (fits done, fits in all, what is being done); in a notebook there is a bar without one.

    Returns
    -------
    Comparison

    Raises
    ------
    InputError
        A file, a column or an option cannot be used; the message is one line: what, and where.
    Interrupted
        A KeyboardInterrupt whose ``comparison`` holds what was finished when Ctrl-C was pressed.

    Cost: without a time, folds × configurations fits (of a large table, each fold halves a model's
    configurations), and one more; the prepared folds stay in memory up to 2 GB.

    Examples
    --------
    >>> import corollary, pandas as pd
    >>> frame = pd.DataFrame({"x": range(40), "y": [3 * i + i % 2 for i in range(40)]})
    >>> result = corollary.compare(frame, "y", models={"ridge": corollary.Ridge()})
    >>> result.best, result.best_row.rank, result.target.task
    ('ridge', 1, 'regression')
    >>> result.best_.predict(pd.DataFrame({"x": [100]})).round(-2)
    array([300.])
    """
    check_texts({"--task": task, "--preset": preset, "--metric": metric, "--split": split, "--encoding": encoding})
    whole = {"--folds": folds, "--seed": seed, "--n-jobs": n_jobs}
    check_numbers(whole, {"--minutes": minutes, "--time-budget": time_budget})
    target, models = column_name("target", target), own_models(models)
    weights = None if weights is None else column_name("--weights", weights)
    id = None if id is None else column_name("--id", id)
    drop, categorical = column_names("--drop", drop), column_names("--categorical", categorical)
    _check_choice("--task", task, TASKS)
    _check_choice("--preset", preset, PRESETS)
    if n_jobs == 0:
        raise InputError("--n-jobs 0: expected 1 or more folds at the same time, or -1 for all cores")
    clock, how = Clock(_seconds(minutes, time_budget)), Split.read(split)
    settings = {
        "target": target, "task": task, "preset": preset, "minutes": minutes, "time_budget": time_budget,
        "folds": folds, "metric": metric, "seed": seed, "drop": drop, "split": split, "weights": weights,
        "id": id, "categorical": categorical, "drop_missing_target": drop_missing_target, "header": header,
        "encoding": encoding, "holdout": os.fspath(holdout) if _is_path(holdout) else holdout is not None or None,
        "models": None if models is None else tuple(models), "from_file": _is_path(data), "versions": versions(),
    }  # fmt: skip
    table = read_table(data, header=header, encoding=encoding)
    X, found, facts = separate_target(
        table, target, task, drop, drop_missing_target, categorical=categorical, weights=weights, id=id
    )
    shown_metrics = metrics_for(found.task, metric)
    if clock.limited and folds is None and len(X) > _MANY_ROWS:
        folds = _FEW_FOLDS
    frame = table.frame.loc[X.index]
    splits, note = make_splits(found, folds, seed, table.source, how, frame)
    checks = run_checks(X, found, facts.columns, seed, split)
    used = [column for column in facts.used if (how.kind, how.column) != ("group", column.name)]
    X = X[[column.name for column in used]]
    kept = None if holdout is None else HoldOut(holdout, used, found, weights, header, encoding)
    prepared = PreparedFolds(kinds_of(used, len(X)), X, found.values, splits, found.weights)
    about = {name: settings[name] for name in _DECIDING} | {"sha256": facts.sha256, "folds": len(splits)}
    judge, progress = Judge(prepared, found, shown_metrics), progress or notebook_progress()
    runner = Runner(prepared, judge, Preparing(prepared, used), seed, n_jobs, clock, Diary(resume, about), progress)
    candidates = candidates_for(found.task, "full" if clock.limited else preset, models)
    groups = frame[how.column].astype(str).to_numpy() if how.kind == "group" else None
    search = Search(runner, candidates, seed, groups)
    outcome = search.run()
    of_data = (*table.notes, note, "" if kept is None else kept.note, *prepared.notes)
    result = partial(
        Comparison, facts, found, shown_metrics, out_of_fold=outcome.out_of_fold, features=X, checks=checks,
        notes=_notes(of_data, how, runner), settings=settings, bias=outcome.bias,
        trials=outcome.trials, split=split, judged=outcome.judged, groups=kept_together(how, frame, table.source),
    )  # fmt: skip
    try:
        if search.interrupted:
            raise KeyboardInterrupt
        fitted = search.finish(outcome, X)
        scores = None if kept is None else kept.scores(fitted["best_"], found, shown_metrics)
        return result(**fitted, holdout=scores, seconds=clock.elapsed)
    except KeyboardInterrupt:
        best = next((row.model for row in outcome.rows if row.rank is not None and not row.baseline), None)
        if best is None:
            raise
        last = runner.fitted(outcome.leaders[best]) if best in outcome.leaders else None
        part = result(rows=outcome.rows, best=best, best_=last, seconds=clock.elapsed)
        what = "the model has seen the training part of one fold only" if last is not None else "there is no model"
        told = (*part.notes, f"interrupted before the last fit: {what}")
        raise Interrupted(replace(part, notes=told), len(splits)) from None


# what decides the outcome of one fit, beside the data and the configuration
_DECIDING = (
    "target",
    "task",
    "seed",
    "drop",
    "split",
    "weights",
    "id",
    "categorical",
    "drop_missing_target",
    "versions",
)


def _is_path(data: Any) -> bool:
    return isinstance(data, str | os.PathLike)


def _seconds(minutes: float | None, time_budget: float | None) -> float | None:
    if minutes is not None and time_budget is not None:
        raise InputError("--minutes and --time-budget: give one of them, they say the same")
    for option, value, unit in (("--minutes", minutes, 60.0), ("--time-budget", time_budget, 1.0)):
        if value is not None:
            if not value > 0:
                raise InputError(f"{option} {value}: expected more than 0 {'minutes' if unit > 1 else 'seconds'}")
            return unit * value
    return None


def _notes(of_data: Sequence[str], how: Split, runner: Runner) -> tuple[str, ...]:
    found = [note for note in of_data if note]
    if how.kind == "group":
        found.append(f"column {how.column!r} says which rows belong together, and is no feature")
    if runner.ended:
        found.append(runner.ended)
    if runner.diary.found:
        found.append(f"{count(runner.diary.found, 'fit')} of an earlier search did not have to be done again")
    if runner.compiling > 0.5:
        once = "which happens once on an installation; `corollary warmup` does it beforehand"
        found.append(f"{runner.compiling:.0f} s beyond the time went into compiling, {once}")
    return tuple(found)


def _check_choice(option: str, value: str, allowed: Iterable[str]) -> None:
    if value not in allowed:
        raise InputError(f"{option} {value}: expected one of {', '.join(allowed)}")


def versions() -> dict[str, str]:
    """Of Python and of the packages that decide the numbers."""
    packages = ("scikit-learn", "numpy", "scipy", "pandas")
    own = {"Python": platform.python_version(), "corollary": __version__}
    return own | {name: version(name) for name in packages}
