"""``compare``: every suitable model on one table, cross-validated with its preparation, ranked with intervals."""

from __future__ import annotations

import os
import platform
import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from corollary import __version__
from corollary.evaluate.candidates import PRESETS, Candidate, candidates_for
from corollary.evaluate.comparison import Comparison, Row, ranked
from corollary.evaluate.cross_validation import CrossValidation, Progress, evidence_of
from corollary.evaluate.data_checks import run_checks
from corollary.evaluate.folds import PreparedFolds, make_splits
from corollary.evaluate.metrics import metrics_for
from corollary.tabular.columns import preparation
from corollary.tabular.messages import InputError, one_line, sentences
from corollary.tabular.reading import read_table
from corollary.tabular.target import TASKS, Target, separate_target


class Interrupted(KeyboardInterrupt):
    """Ctrl-C ended a comparison; ``comparison`` has the models that were finished, and no ``best_``."""

    def __init__(self, comparison: Comparison) -> None:
        rows = [row for row in comparison.rows if not row.baseline]
        super().__init__(f"{sum(not row.skipped for row in rows)} of {len(rows)} models were finished")
        self.comparison = comparison


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

    Raises
    ------
    InputError
        A file, a column or an option cannot be used; the message is one line: what, and where.
    Interrupted
        A KeyboardInterrupt whose ``comparison`` holds the models that were finished when Ctrl-C was pressed.

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
    if n_jobs == 0:
        raise InputError("--n-jobs 0: expected 1 or more folds at the same time, or -1 for all cores")
    if time_budget is not None and not time_budget > 0:
        raise InputError(f"--time-budget {time_budget}: expected more than 0 seconds")
    settings = {
        "target": target, "task": task, "preset": preset, "folds": folds, "metric": metric, "seed": seed,
        "time_budget": time_budget, "drop": tuple(drop), "drop_missing_target": drop_missing_target, "header": header,
        "encoding": encoding, "from_file": isinstance(data, str | os.PathLike), "versions": versions(),
    }  # fmt: skip
    table = read_table(data, header=header, encoding=encoding)
    X, found, facts = separate_target(table, target, task, tuple(drop), drop_missing_target)
    shown_metrics = metrics_for(found.task, metric)
    splits, note = make_splits(found, folds, seed, table.source)
    checks = run_checks(X, found, facts.columns, seed)
    X = X[[column.name for column in facts.used]]
    prepare = preparation(facts.used, len(X))
    prepared = PreparedFolds(prepare, X, found.values, splits)
    candidates = candidates_for(found.task, preset, models)
    deadline = None if time_budget is None else time.monotonic() + time_budget
    validation = CrossValidation(prepared, found, shown_metrics, seed, n_jobs, deadline, progress)
    rows = ranked(validation.run(candidates), shown_metrics[0])
    notes = (*table.notes, *([note] if note else []), *prepared.notes)
    result = partial(
        Comparison, facts, found, shown_metrics, out_of_fold=validation.out_of_fold, features=X, checks=checks,
        notes=notes, settings=settings,
    )  # fmt: skip
    try:
        if validation.interrupted:
            raise KeyboardInterrupt
        return result(**_refit(rows, candidates, prepare, X, found, seed))
    except KeyboardInterrupt:
        finished = next((row.model for row in rows if row.rank is not None and not row.baseline), None)
        if finished is None:
            raise
        raise Interrupted(result(rows=rows, best=finished, best_=None)) from None


def _check_choice(option: str, value: str, allowed: Iterable[str]) -> None:
    if value not in allowed:
        raise InputError(f"{option} {value}: expected one of {', '.join(allowed)}")


def versions() -> dict[str, str]:
    """Of Python and of the packages that decide the numbers."""
    packages = ("scikit-learn", "numpy", "scipy", "pandas")
    own = {"Python": platform.python_version(), "corollary": __version__}
    return own | {name: version(name) for name in packages}


def _refit(
    rows: tuple[Row, ...], candidates: list[Candidate], prepare: Any, X: Any, target: Target, seed: int
) -> dict[str, Any]:
    """Fit the best model to every row; if that fails, the next best."""
    order = np.random.default_rng(seed).permutation(len(X))  # as in the folds: files are often sorted
    by_name = {candidate.name: candidate for candidate in candidates}
    reasons = [f"{row.model}: {row.error}" for row in rows if row.error]
    for index, row in enumerate(rows):
        if row.error or row.baseline:
            continue
        pipeline = Pipeline([("prepare", clone(prepare)), ("model", by_name[row.model].make(seed))])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                pipeline.fit(X.iloc[order], target.values[order])
            except Exception as error:
                reasons.append(f"{row.model}: {one_line(error)}")
                continue
        evidence = evidence_of(pipeline[-1])
        notes = tuple(dict.fromkeys((*row.notes, *sentences(caught, evidence))))
        fitted = (*rows[:index], replace(row, evidence=evidence, notes=notes), *rows[index + 1 :])
        return {"rows": fitted, "best": row.model, "best_": pipeline}
    raise InputError(f"no model could be fitted ({'; '.join(reasons[:3]) or 'none suits this task'})")
