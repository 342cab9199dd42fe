"""On what the figures were measured."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from pathlib import Path

import corollary

PACKAGES = (
    "numpy",
    "scipy",
    "scikit-learn",
    "numba",
    "scikit-learn-intelex",
    "celer",
    "skglm",
    "liblinear-official",
)
HARDWARE = ("processor", "cores", "memory", "system")


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _memory() -> str:
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return "unknown"
    return f"{total / 2**30:.0f} GiB"


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def describe() -> dict[str, str]:
    """Processor, cores, memory, system, Python and the versions of every library that takes part."""
    hardware = {
        "processor": _processor(),
        "cores": str(_cores()),
        "memory": _memory(),
        "system": platform.system(),
        "Python": platform.python_version(),
        "corollary": corollary.__version__,
    }
    return hardware | {package: _version(package) for package in PACKAGES}


def same_hardware(one: dict[str, str], other: dict[str, str]) -> bool:
    """Whether figures taken on the two may stand in one table."""
    return all(one.get(key) == other.get(key) for key in HARDWARE)
