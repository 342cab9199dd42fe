"""``corollary warmup``: compile every kernel into the on-disk cache."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from corollary.core.thread_count import n_threads
from corollary.registry import Entry, all_estimators

_WITH_TARGET = ("regression", "classification")


def run_warmup(package: bool = False) -> int:
    """Fit each estimator on small data of every kind, families side by side in processes; 1 if something failed.

    With ``package`` the machine code is for any processor of this machine's level and is put into the package itself,
    from where it is used without compiling: what a wheel is then built from carries it.
    """
    console, started, entries = Console(), time.perf_counter(), all_estimators()
    failures = []
    with _target(package), _progress() as bar:
        line = bar.add_task("compiling", total=len(entries))
        for name, took, failure in _compile_all(entries, in_processes=package):
            mark = "[red]✗[/]" if failure else "[green]✓[/]"
            console.print(f"{mark} {name:<24} {took:6.2f} s", highlight=False)
            failures += [f"{name}: {failure}"] if failure else []
            bar.advance(line)
    for failure in failures:
        console.print(failure, style="red", markup=False, highlight=False)
    console.print(f"{len(entries)} estimators in {time.perf_counter() - started:.1f} s", highlight=False)
    if package:
        console.print(_what_is_shipped(), highlight=False)
    return 1 if failures else 0


def _progress() -> Progress:
    terminal = Console(stderr=True)
    columns = BarColumn(bar_width=28), TextColumn("{task.completed}/{task.total}"), TextColumn("{task.description}")
    return Progress(*columns, console=terminal, transient=True, disable=not terminal.is_terminal)


@contextmanager
def _target(package: bool) -> Iterator[None]:
    """What processes started here compile for: this processor and its cache, or a level and the package."""
    if not package:
        yield
        return
    from corollary._compiled._cache import LEVELS, SHIP, SHIPPED, machine

    if machine() not in LEVELS:
        raise ValueError(f"Code can be packaged for {' and '.join(LEVELS)}, but this machine is {machine()}.")
    with tempfile.TemporaryDirectory() as empty:
        wanted = {SHIP: os.path.join(empty, "shipped"), "NUMBA_CACHE_DIR": os.path.join(empty, "cache")}
        wanted |= {"NUMBA_CPU_NAME": LEVELS[machine()][0], "NUMBA_CPU_FEATURES": ""}
        before = {name: os.environ.get(name) for name in wanted}
        os.environ.update(wanted)
        try:
            yield
            shutil.rmtree(SHIPPED, ignore_errors=True)
            shutil.copytree(wanted[SHIP], SHIPPED)
        finally:
            for name, value in before.items():
                os.environ.pop(name) if value is None else os.environ.__setitem__(name, value)


def _what_is_shipped() -> str:
    from corollary._compiled._cache import SHIPPED

    sizes = [path.stat().st_size for path in Path(SHIPPED).rglob("*.nbc")]
    return f"{len(sizes)} kernels, {sum(sizes) / 1e6:.1f} MB, in {SHIPPED}"


def _compile_all(entries: Sequence[Entry], in_processes: bool) -> Iterator[tuple[str, float, str]]:
    """Name, seconds and failure of each estimator. A family is compiled by one process: its members share kernels."""
    families: dict[str, list[Entry]] = {}
    for entry in entries:
        families.setdefault(entry.module.rpartition(".")[0], []).append(entry)
    workers = min(n_threads(), len(families))
    if workers == 1 and not in_processes:
        for family in families.values():
            yield from map(_compile_one, family)
        return
    fresh = multiprocessing.get_context("spawn")  # a forked child would not read the environment again
    with ProcessPoolExecutor(max(1, workers), mp_context=fresh) as pool:
        largest_first = sorted(families.values(), key=len, reverse=True)
        for done in as_completed([pool.submit(_compile_family, family) for family in largest_first]):
            yield from done.result()


def _compile_family(entries: Sequence[Entry]) -> list[tuple[str, float, str]]:
    return [_compile_one(entry) for entry in entries]


def _compile_one(entry: Entry) -> tuple[str, float, str]:
    began = time.perf_counter()
    failure = _fit_everywhere(entry)
    return entry.name, time.perf_counter() - began, failure


def _fit_everywhere(entry: Entry) -> str:
    """Fit on every kind of data the estimator takes; the first thing that went wrong, or an empty string."""
    try:
        from sklearn.utils import get_tags

        takes_sparse = "sparse" in entry.capabilities
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for target in dict.fromkeys(task if task in _WITH_TARGET else None for task in entry.tasks):
                counts = get_tags(entry.load()(**entry.arguments)).input_tags.positive_only
                for X, y in _kinds(target, takes_sparse, counts):
                    model = entry.load()(**entry.arguments)
                    classifier = get_tags(model).classifier_tags  # None of a model that does both tasks
                    if target != "classification" or len(set(y)) == 2 or classifier is None or classifier.multi_class:
                        _use(model, X, y)
    except Exception as error:
        return " ".join(str(error).split()) or type(error).__name__
    return ""


def _use(model: Any, X: Any, y: Any) -> None:
    model.fit(X, y)
    for method in ("predict", "predict_proba", "transform", "kneighbors"):
        if hasattr(model, method):
            getattr(model, method)(X)
    if hasattr(model, "query"):  # a network: samplers have kernels of their own, and so has text
        import pandas as pd

        text = pd.DataFrame({"a": ["no", "yes"] * 20, "b": ["no", "no", "yes", "yes"] * 10})
        type(model)(**model.get_params()).fit(text, None if y is None else text["a"])
        known = {str(model.variables_[-1]): model.states_[-1].tolist()[0]}
        for method in ("likelihood_weighting", "gibbs", "mean_field"):
            model.query(None, known, method=method, n_samples=100, random_state=0)


def _kinds(target: str | None, takes_sparse: bool, counts: bool = False) -> Iterator[tuple[Any, Any]]:
    """Numbers, or for models that take no others counts: dense in both orders and sparse in both, float64 and float32.

    For classes, two and three of them.

    Wide once, and once with rows enough for the kernels that small data do without.
    """
    import numpy as np
    from scipy import sparse

    layouts = [np.ascontiguousarray, np.asfortranarray, *([sparse.csr_array, sparse.csc_array] if takes_sparse else [])]
    rng = np.random.default_rng(0)
    for rows, columns in ((120, 6), (40, 60), (5000, 8)):
        X = rng.normal(size=(rows, columns)) * (rng.random((rows, columns)) < 0.7)
        signal = X[:, :3].sum(axis=1) + 0.1 * rng.normal(size=rows)
        thirds = np.digitize(signal, np.quantile(signal, [1 / 3, 2 / 3]))
        X = np.floor(2 * np.abs(X)) if counts else X
        every = (rows, columns) == (120, 6)
        targets = {"classification": [(signal > 0).astype(int), thirds], "regression": [signal]}
        for y in targets.get(target or "", [None]):
            for dtype in (np.float64, np.float32) if every else (np.float64,):
                for layout in layouts if every else layouts[:1]:
                    yield layout(X.astype(dtype)), y
