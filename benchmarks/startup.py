"""What a user waits for before the first answer, each figure from fresh processes.

- ``import corollary`` after ``import sklearn``: what the import adds.
- Cold first fit: importing the estimator and fitting 200 rows with an empty cache of compiled code.
- Warm first fit: the same with a filled cache; the first fit less the second fit of the same model.

One estimator of each module is measured: the others of it run the same kernels. The slowest counts; the slowest few
stand beside it.
"""

from __future__ import annotations

import functools
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.workload import OURS, Check, load

ROOT = Path(__file__).resolve().parents[1]
QUICK = ("LinearRegression", "Lasso")
OF_IMAGES = ("HaarFeatures", "CascadeClassifier")  # a column is a pixel to these
SHOWN = 6  # estimators beside the slowest figure
SLOW = 0.2  # seconds from which a warm start is measured again, as it may have been chance

_IMPORT = """
import time, {first}
start = time.perf_counter()
{second}
print(time.perf_counter() - start)
"""

_FIRST_FIT = """
import json, sys, time, warnings
import numpy as np
import sklearn.base
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = rng.standard_normal((200, 5))
y = X @ np.arange(5.0) + rng.standard_normal(200)
if sys.argv[2] != "regression":
    y = (y > 0).astype(int) if sys.argv[2] == "classification" else None
clock = time.perf_counter
marks = [clock()]
import corollary
model = getattr(corollary, sys.argv[1])
marks.append(clock())
for _ in range(2):
    model().fit(X, y)
    marks.append(clock())
print(json.dumps([b - a for a, b in zip(marks, marks[1:])]))
"""


def _python(code: str, *arguments: str, cache: str | None = None) -> str:
    environment = dict(os.environ)
    if cache is not None:
        environment["NUMBA_CACHE_DIR"] = cache
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "the child process failed")
    return done.stdout.splitlines()[-1]


def _milliseconds(first: str, second: str, quick: bool) -> float:
    code = _IMPORT.format(first=first, second=second)
    return 1e3 * statistics.median(float(_python(code)) for _ in range(3 if quick else 9))


def imports(quick: bool) -> Iterator[tuple[str, float]]:
    """Milliseconds that ``import corollary`` adds to a process that has imported scikit-learn."""
    yield OURS, _milliseconds("sklearn", "import corollary", quick)


def one_estimator(quick: bool) -> Iterator[tuple[str, float]]:
    """Milliseconds until the class is there, beside scikit-learn's own."""
    yield "scikit-learn", _milliseconds("sklearn", "from sklearn.linear_model import Lasso", quick)
    yield OURS, _milliseconds("sklearn", "from corollary import Lasso", quick)


def _seconds(name: str, task: str, cache: str) -> list[float]:
    """Of the import, the first fit and the second, in a fresh process."""
    times: list[float] = json.loads(_python(_FIRST_FIT, name, task, cache=cache))
    return times


@functools.cache
def _first_fits(quick: bool) -> dict[str, tuple[float, float, float]]:
    """By estimator: seconds of the cold import and fit, of the warm first fit above the second, of the warm import."""
    found: dict[str, tuple[float, float, float]] = {}
    seen: set[str] = set()
    for entry in load("corollary.registry", "all_estimators")():
        if entry.name in OF_IMAGES or entry.module in seen or (quick and entry.name not in QUICK):
            continue
        seen.add(entry.module)
        with tempfile.TemporaryDirectory() as cache:
            cold, *warm = (_seconds(entry.name, entry.tasks[0], cache) for _ in range(2))
            while warm[0][1] - warm[0][2] > SLOW and len(warm) < (1 if quick else 3):
                warm.append(_seconds(entry.name, entry.tasks[0], cache))
        above = statistics.median(first - second for _, first, second in warm)
        found[entry.name] = (cold[0] + cold[1], above, statistics.median(times[0] for times in warm))
    return found


def _worst(which: int, quick: bool) -> Iterator[tuple[str, float]]:
    values = {name: times[which] for name, times in _first_fits(quick).items()}
    slowest_first = sorted(values.items(), key=lambda item: -item[1])
    yield from slowest_first[:SHOWN]
    yield OURS, slowest_first[0][1]


CHECKS = (
    Check("import", "import corollary, above import sklearn", "ms", 60.0, False, imports),
    Check("import-estimator", "from corollary import Lasso, above import sklearn", "ms", None, False, one_estimator),
    Check("first-fit-cold", "import and first fit, nothing compiled", "s", 5.0, False, functools.partial(_worst, 0)),
    Check("first-fit-warm", "first fit above the second, cache warm", "s", 0.3, False, functools.partial(_worst, 1)),
    Check("first-import-warm", "import of an estimator, cache warm", "s", None, False, functools.partial(_worst, 2)),
)
