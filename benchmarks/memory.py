"""Peak memory of one fit beyond the data, measured in a process of its own.

The child first fits small data of the same kind, so that imports, compilation and the buffers of thread pools are
already paid for; then it makes the data, hands freed pages back to the system, resets the peak and fits.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import gc
import json
import resource
import subprocess
import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TIMEOUT = 600.0


def _status(key: str) -> int:
    """A line of /proc/self/status, in bytes."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1]) * 1024
    raise OSError(f"/proc/self/status has no {key}")


def _largest() -> int:
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def extra_peak(action: Callable[[], object]) -> int:
    """Bytes by which the peak of ``action`` exceeds what was resident before it.

    Where the system cannot reset the peak, the growth of the peak of the whole process, which is a lower bound.
    """
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)
    peak: Callable[[], int] = partial(_status, "VmHWM")
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        before = _status("VmRSS")
    except OSError:
        before, peak = _largest(), _largest
    kept = action()
    extra = max(0, peak() - before)
    del kept
    return extra


def measure(family: str, name: str, candidate: str, tolerance: float, quick: bool) -> int | None:
    """Run the child; None when it failed or took too long."""
    command = [sys.executable, "-m", "benchmarks.memory", family, name, candidate, repr(tolerance)]
    try:
        done = subprocess.run(
            command + ["--quick"] * quick, cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT, check=True
        )
        return int(json.loads(done.stdout.splitlines()[-1])["extra"])
    except (subprocess.SubprocessError, ValueError, LookupError):
        return None


def child(arguments: list[str]) -> None:
    """Measure one candidate in this process and print the result as JSON."""
    from benchmarks import find

    parser = argparse.ArgumentParser()
    for argument in ("family", "name", "candidate"):
        parser.add_argument(argument)
    parser.add_argument("tolerance", type=float)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args(arguments)
    workload = find(options.family, options.name)
    candidate = workload.candidate(options.candidate)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loosest = candidate.tolerances[0] if candidate.tolerances else options.tolerance
        candidate.fit(workload.make(*workload.quick_sizes), loosest)
        data = workload.make(*(workload.quick_sizes if options.quick else workload.sizes))
        extra = extra_peak(lambda: candidate.fit(data, options.tolerance))
    print(json.dumps({"extra": extra}))


if __name__ == "__main__":
    child(sys.argv[1:])
