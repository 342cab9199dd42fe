"""``corollary doctor``: what this machine gives us to work with, what is wrong with it, and what to do."""

from __future__ import annotations

import importlib
import json
import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from rich.console import Console

from corollary.cli.say import say

_REQUIRED = {"numpy": "numpy", "scipy": "scipy", "sklearn": "scikit-learn", "numba": "numba", "pandas": "pandas",
             "narwhals": "narwhals", "threadpoolctl": "threadpoolctl", "matplotlib": "matplotlib", "rich": "rich",
             "typer": "typer"}  # fmt: skip
_OPTIONAL = {"pyarrow": "reads Parquet and Arrow", "openpyxl": "reads Excel", "polars": "tables of polars",
             "shap": "plots of others for our explanations", "IPython": "notebooks"}  # fmt: skip
_MARKS = {"ok": ("✓", "green"), "note": ("·", "dim"), "look": ("!", "yellow"), "fault": ("✗", "red")}


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at. ``state`` is "ok", "note", "look" (works, but not as well as it could) or
    "fault" (something does not work); ``do`` says what to do."""

    subject: str
    text: str
    state: str = "ok"
    do: str = ""


def run_doctor(as_json: bool = False) -> int:
    """Look at everything and say it; 1 if there is a fault."""
    found = [finding for look in LOOKS for finding in _looked(look)]
    faults = sum(finding.state == "fault" for finding in found)
    if as_json:
        print(json.dumps({"faults": faults, "findings": [asdict(finding) for finding in found]}, indent=2))
        return min(1, faults)
    console, before = Console(), ""
    for finding in found:
        mark, style = _MARKS[finding.state]
        label = "" if finding.subject == before else finding.subject
        say(console, label, f"{mark} {finding.text}" + (f": {finding.do}" if finding.do else ""), "bold", style)
        before = finding.subject
    looks = sum(finding.state == "look" for finding in found)
    words = f"{faults} faults" if faults != 1 else "1 fault"
    more = f"; {looks} to look at (!)" if looks else ""
    console.print()
    say(console, "Result", (words if faults else "no faults") + more, "bold", "red" if faults else "")
    return min(1, faults)


def _looked(look: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    """What it finds; a look that itself fails is a fault, and the others go on."""
    try:
        yield from look()
    except Exception as error:
        name = look.__name__.strip("_").replace("_", " ")
        yield Finding(
            name.capitalize()[:10], " ".join(f"{type(error).__name__}: {error}".split()), "fault", "report this"
        )


def _versions() -> Iterator[Finding]:
    from corollary import __version__

    yield Finding("Versions", f"corollary {__version__} on Python {platform.python_version()}, {platform.platform()}")
    told = []
    for module, name in _REQUIRED.items():
        try:
            importlib.import_module(module)
            told.append(f"{name} {version(name)}")
        except (ImportError, PackageNotFoundError) as error:
            yield Finding("Versions", f"{name} cannot be imported ({error})", "fault", f"pip install {name}")
    yield Finding("Versions", ", ".join(told))


def _optional() -> Iterator[Finding]:
    for name, purpose in _OPTIONAL.items():
        if find_spec(name) is None:
            yield Finding("Optional", f"{name} is not installed ({purpose})", "note", f"pip install {name}")
        else:
            yield Finding("Optional", f"{name} {_version(name)} ({purpose})")


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "of unknown version"


def _threads() -> Iterator[Finding]:
    from threadpoolctl import threadpool_info

    from corollary.core.thread_count import n_threads, usable_cores

    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    limit = cgroup_cores()
    container = f", {limit:.3g} by the container's limit" if limit else ", no limit by a container"
    yield Finding("Threads", f"{os.cpu_count()} cores, {affinity} for this process{container}")
    variables = [name for name in ("COROLLARY_NUM_THREADS", "OMP_NUM_THREADS") if os.environ.get(name)]
    why = f" ({variables[0]}={os.environ[variables[0]]})" if variables else ""
    used, cores = n_threads(), usable_cores()
    if used > cores:
        advice = f"more threads than cores only wait; unset {variables[0] if variables else 'the number'}"
        yield Finding("Threads", f"fits use {used} threads{why} on {cores} usable cores", "look", advice)
    else:
        yield Finding("Threads", f"fits use {used} of {cores} usable cores{why}")
    import numpy as np

    np.ones((2, 2)) @ np.ones((2, 2))  # so that its library is loaded
    for pool in threadpool_info():
        name = f"{pool['internal_api']} {pool.get('version') or ''}".strip()
        text = f"{name} ({pool['user_api']}) with {pool['num_threads']} threads"
        if pool["num_threads"] > cores:
            yield Finding("Threads", text, "look", f"set OPENBLAS_NUM_THREADS or OMP_NUM_THREADS to {cores}")
        else:
            yield Finding("Threads", text)


def cgroup_cores(root: Path = Path("/sys/fs/cgroup")) -> float | None:
    """Cores that the control group allows (version 2, or 1), or None without a limit."""
    try:
        quota, period = (root / "cpu.max").read_text().split()
    except (OSError, ValueError):
        try:
            quota, period = ((root / "cpu" / f"cpu.cfs_{name}_us").read_text().strip() for name in ("quota", "period"))
        except OSError:
            return None
    if not quota.isdecimal() or int(quota) <= 0 or int(period) <= 0:
        return None
    return int(quota) / int(period)


def _memory() -> Iterator[Finding]:
    free = shutil.disk_usage(tempfile.gettempdir()).free
    if free < 100_000_000:
        yield Finding("Places", f"{tempfile.gettempdir()} has only {free / 1e6:.0f} MB left", "look", "make room there")
    try:
        lines = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
        total, left = (int(lines[name].split()[0]) / 1e6 for name in ("MemTotal", "MemAvailable"))
    except (OSError, KeyError, ValueError):
        return
    yield Finding("Memory", f"{total:.1f} GB, of which {left:.1f} GB are free")


def _kernel_cache() -> Iterator[Finding]:
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        yield Finding(
            "Kernels", "are not compiled, because NUMBA_DISABLE_JIT is set", "look", "unset it; fits are slow"
        )
        return
    from corollary._compiled import codes
    from corollary._compiled._cache import SHIPPED

    folder = Path(cache_folder(codes.__file__))
    place = folder if "NUMBA_CACHE_DIR" in os.environ else Path(codes.__file__).parent
    files = [*place.rglob("*.nbc")] if place.exists() else []
    megabytes = sum(file.stat().st_size for file in files) / 1e6
    if not writable(folder):
        yield Finding("Kernels", f"cannot be kept: {folder} cannot be written to, so that every process compiles anew",
                      "look", "set NUMBA_CACHE_DIR to a folder that can")  # fmt: skip
    else:
        yield Finding("Kernels", f"are kept in {place}: {len(files)} files, {megabytes:.1f} MB")
    if os.path.isdir(SHIPPED):
        yield Finding("Kernels", f"came with the package: {len([*Path(SHIPPED).rglob('*.nbc')])} files")
    elif len(files) < 20:
        yield Finding("Kernels", "few are compiled yet; first fits wait for that", "note", "corollary warmup")


def cache_folder(source: str) -> str:
    """The folder in which Numba keeps the code of this source file: the first that can be written to."""
    from numba.core.caching import CompileResultCacheImpl

    for locator in CompileResultCacheImpl._locator_classes:
        found = locator.from_function(cache_folder, source)
        if found is not None:
            return str(found.get_cache_path())
    return os.path.join(os.path.dirname(source), "__pycache__")


def writable(folder: Path) -> bool:
    """Whether a file can be made there (or the folder itself, if it is not there yet)."""
    there = folder
    while not there.exists() and there != there.parent:
        there = there.parent
    try:
        with tempfile.TemporaryFile(dir=there):
            return True
    except OSError:
        return False


def _terminal() -> Iterator[Finding]:
    encoding = (getattr(sys.stdout, "encoding", None) or "unknown").lower()
    if "utf" not in encoding:
        yield Finding("Terminal", f"writes {encoding}, which lacks some signs", "look", "set PYTHONIOENCODING=utf-8")
    else:
        yield Finding("Terminal", f"{Console().width} columns, {encoding}")


def _self_test() -> Iterator[Finding]:
    import numpy as np

    import corollary

    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    y = (X[:, 0] + rng.normal(size=200) > 0).astype(int)
    for model in (corollary.LogisticRegression(), corollary.DecisionTreeClassifier(random_state=0)):
        began = time.perf_counter()
        evidence = model.fit(X, y).evidence_
        took = f"in {time.perf_counter() - began:.2f} s"
        name = type(model).__name__
        if evidence.holds:
            yield Finding("Self-test", f"{name} on 200 rows: {evidence.verdict[2:]}, {took}")
        else:
            yield Finding("Self-test", f"{name} on 200 rows: {evidence}", "fault", "report this")


LOOKS = (_versions, _optional, _threads, _memory, _kernel_cache, _terminal, _self_test)
