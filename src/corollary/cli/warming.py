"""``corollary warmup``: compile every kernel into the on-disk cache."""

from __future__ import annotations

import importlib
import pkgutil
import time
import warnings
from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from corollary.registry import Entry, all_estimators

_WITH_TARGET = ("regression", "classification")


def run_warmup() -> int:
    """Import the compiled modules and fit each estimator on small data of every kind; 1 if something failed."""
    console = Console()
    started = time.perf_counter()
    failures: list[str] = []
    entries = all_estimators()
    with Progress(
        BarColumn(bar_width=28), TextColumn("{task.completed}/{task.total}"), TextColumn("{task.description}"),
        console=Console(stderr=True), transient=True, disable=not Console(stderr=True).is_terminal,
    ) as bar:  # fmt: skip
        line = bar.add_task("importing the kernels", total=len(entries))
        failures += _import_kernels()
        for entry in entries:
            bar.update(line, description=entry.name)
            began = time.perf_counter()
            failure = _fit_everywhere(entry)
            took = time.perf_counter() - began
            mark = "[red]✗[/]" if failure else "[green]✓[/]"
            console.print(f"{mark} {entry.name:<24} {took:6.2f} s", highlight=False)
            if failure:
                failures.append(f"{entry.name}: {failure}")
            bar.advance(line)
    for failure in failures:
        console.print(failure, style="red", markup=False, highlight=False)
    console.print(f"{len(entries)} estimators in {time.perf_counter() - started:.1f} s", highlight=False)
    return 1 if failures else 0


def _import_kernels() -> list[str]:
    from corollary import _compiled

    failures = []
    for module in pkgutil.walk_packages(_compiled.__path__, f"{_compiled.__name__}."):
        try:
            importlib.import_module(module.name)
        except Exception as error:
            failures.append(f"{module.name}: {error}")
    return failures


def _fit_everywhere(entry: Entry) -> str:
    """Fit on every kind of data the estimator takes; the first thing that went wrong, or an empty string."""
    try:
        from sklearn.utils import get_tags

        takes_sparse = "sparse" in entry.capabilities
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for target in dict.fromkeys(task if task in _WITH_TARGET else None for task in entry.tasks):
                for X, y in _kinds(target, takes_sparse):
                    model = entry.load()(**entry.arguments)
                    if target != "classification" or len(set(y)) == 2 or get_tags(model).classifier_tags.multi_class:
                        _use(model, X, y)
    except Exception as error:
        return " ".join(str(error).split()) or type(error).__name__
    return ""


def _use(model: Any, X: Any, y: Any) -> None:
    model.fit(X, y)
    for method in ("predict", "predict_proba", "transform", "kneighbors"):
        if hasattr(model, method):
            getattr(model, method)(X)


def _kinds(target: str | None, takes_sparse: bool) -> Iterator[tuple[Any, Any]]:
    """Dense in both orders and sparse in both, float64 and float32; wide once; for classes, two and three of them."""
    import numpy as np
    from scipy import sparse

    layouts = [np.ascontiguousarray, np.asfortranarray, *([sparse.csr_array, sparse.csc_array] if takes_sparse else [])]
    rng = np.random.default_rng(0)
    for rows, columns in ((120, 6), (40, 60)):
        X = rng.normal(size=(rows, columns)) * (rng.random((rows, columns)) < 0.7)
        signal = X[:, :3].sum(axis=1) + 0.1 * rng.normal(size=rows)
        thirds = np.digitize(signal, np.quantile(signal, [1 / 3, 2 / 3]))
        tall = rows > columns
        targets = {"classification": [(signal > 0).astype(int), thirds], "regression": [signal]}
        for y in targets.get(target or "", [None]):
            for dtype in (np.float64, np.float32) if tall else (np.float64,):
                for layout in layouts if tall else layouts[:1]:
                    yield layout(X.astype(dtype)), y
