"""``compare``: every suitable model on one table, cross-validated with its preparation, ranked with intervals."""

from __future__ import annotations

import os
import platform
import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from corollary.evaluate.comparison import Comparison, DataFacts, Row
from corollary.evaluate.data_checks import run_checks
from corollary.evaluate.folds import PreparedFolds, evidence_of, make_splits, one_line, sentences
from corollary.evaluate.metrics import metrics_for
from corollary.evaluate.race import PRESETS, Candidate, Progress, Race, candidates_for, ranked, with_seed
from corollary.evaluate.task import MINIMUM_ROWS, TASKS, Target, check_target_name, missing_target, read_target
from corollary.tabular.columns import preparation
from corollary.tabular.errors import InputError, as_option, count, shown
from corollary.tabular.reading import Table, read_table
from corollary.tabular.roles import Column, Role, find_roles


def compare(
    data: Any,
    target: str,
    *,
    task: str = "auto",
    preset: str = "fast",
    folds: int | None = None,
    metric: str | None = None,
    drop: Sequence[str] = (),
    seed: int = 0,
    time_budget: float | None = None,
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
        CSV, TSV or Parquet (each also ``.gz``), or a pandas, polars or pyarrow table.
    target : str
        The column to predict.
    task : {"auto", "regression", "classification"}
    preset : {"fast", "full"}
        How many models of the registry to try.
    folds : int, optional
        5, or fewer if the rarest class has fewer rows.
    metric : str, optional
        What ranks: ``log-loss`` (default), ``auc``, ``accuracy``, ``balanced-accuracy``, ``f1``, ``brier``; or
        ``rmse`` (default), ``mae``, ``r2``.
    drop : sequence of str
        Columns to leave out.
    seed : int
        Of the folds and of every model that has a ``random_state``.
    time_budget : float, optional
        Seconds after which no further fit is started.
    n_jobs : int
        Folds fitted at the same time, in processes; −1 for all cores.
    drop_missing_target : bool
        Leave out rows without a target instead of refusing them.
    header, encoding
        Of a text file.
    models : mapping of str to estimator, optional
        Your own candidates instead of the registry's.
    progress : callable, optional
        Called with (fits done, fits in all, what is being done).

    Returns
    -------
    Comparison

    Cost: folds × models fits, and one more; the prepared folds stay in memory up to 2 GB.

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
    _check_choice("--task", task, TASKS)
    _check_choice("--preset", preset, PRESETS)
    if time_budget is not None and not time_budget > 0:
        raise InputError(f"--time-budget {time_budget}: expected more than 0 seconds")
    settings = {
        "target": target, "task": task, "preset": preset, "folds": folds, "metric": metric, "drop": tuple(drop),
        "seed": seed, "time_budget": time_budget, "drop_missing_target": drop_missing_target, "header": header,
        "encoding": encoding, "from_file": isinstance(data, str | os.PathLike), "versions": versions(),
    }  # fmt: skip
    table = read_table(data, header=header, encoding=encoding)
    X, found, facts = _prepare_data(table, target, task, tuple(drop), drop_missing_target)
    shown_metrics = metrics_for(found.task, metric)
    splits, note = make_splits(found, folds, seed, table.source)
    used = [column for column in facts.columns if column.role is not Role.UNUSED]
    checks = run_checks(X, found, facts.columns, seed)
    X = X[[column.name for column in used]]
    prepared = PreparedFolds(preparation(used, len(X)), X, found.values, splits)
    candidates = candidates_for(found.task, preset, models)
    deadline = None if time_budget is None else time.monotonic() + time_budget
    race = Race(prepared, found, shown_metrics, seed, n_jobs, deadline, progress)
    rows = ranked(race.run(candidates), shown_metrics[0])
    rows, best, pipeline = _refit(rows, candidates, preparation(used, len(X)), X, found, seed)
    notes = (*table.notes, *([note] if note else []), *prepared.notes)
    return Comparison(facts, found, shown_metrics, rows, best, pipeline, race.out_of_fold, X, checks, notes, settings)


def _check_choice(option: str, value: str, allowed: Iterable[str]) -> None:
    if value not in allowed:
        raise InputError(f"{option} {value}: expected one of {', '.join(allowed)}")


def versions() -> dict[str, str]:
    """Of Python and of the packages that decide the numbers."""
    packages = ("corollary", "scikit-learn", "numpy", "scipy", "pandas")
    return {"Python": platform.python_version()} | {name: version(name) for name in packages}


def _prepare_data(
    table: Table, target: str, task: str, drop: tuple[str, ...], drop_missing: bool
) -> tuple[Any, Target, DataFacts]:
    """Features, target and facts; the rows without a target are gone."""
    frame, source = table.frame, table.source
    check_target_name(frame, target, source)
    if unknown := [name for name in drop if name not in frame.columns]:
        raise InputError(f"{as_option('--drop', unknown[0])}: {source} has no such column")
    if target in drop:
        raise InputError(f"{as_option('--drop', target)}: this is the target")
    _check_rows(len(frame), source)
    gone = missing_target(frame[target])
    if gone.all():
        raise InputError(f"{source}: target {shown(target)} is missing in every row")
    if gone.any() and not drop_missing:
        first = int(np.flatnonzero(gone)[0]) + 1
        raise InputError(
            f"{source}: target {shown(target)} is missing in {count(int(gone.sum()), 'row')} (first: row {first:,}); "
            "fill them in, or leave these rows out with --drop-missing-target"
        )
    frame = frame[~gone]  # the index stays, so that messages name the rows of the table as it was given
    _check_rows(len(frame), source)
    found = read_target(frame[target], task, source)
    X = frame.drop(columns=[target, *drop])
    columns: tuple[Column, ...] = find_roles(X, source)
    return X, found, DataFacts(source, table.sha256, len(frame), columns, int(gone.sum()))


def _check_rows(rows: int, source: str) -> None:
    if rows < MINIMUM_ROWS:
        raise InputError(f"{source}: has {count(rows, 'row')} of data; comparing models needs at least {MINIMUM_ROWS}")


def _refit(
    rows: tuple[Row, ...], candidates: list[Candidate], prepare: Any, X: Any, target: Target, seed: int
) -> tuple[tuple[Row, ...], str, Pipeline]:
    """Fit the best model to every row; if that fails, the next best."""
    order = np.random.default_rng(seed).permutation(len(X))  # as in the folds: files are often sorted
    makers = {candidate.name: candidate.make for candidate in candidates}
    reasons = [f"{row.model}: {row.error}" for row in rows if row.error]
    for index, row in enumerate(rows):
        if row.error or row.baseline:
            continue
        pipeline = Pipeline([("prepare", clone(prepare)), ("model", with_seed(clone(makers[row.model]()), seed))])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                pipeline.fit(X.iloc[order], target.values[order])
            except Exception as error:
                reasons.append(f"{row.model}: {one_line(error)}")
                continue
            evidence = evidence_of(pipeline[-1])
        notes = tuple(dict.fromkeys((*row.notes, *sentences(caught))))
        rows = (*rows[:index], replace(row, evidence=evidence, notes=notes), *rows[index + 1 :])
        return rows, row.model, pipeline
    raise InputError(f"no model could be fitted ({'; '.join(reasons[:3]) or 'none suits this task'})")
