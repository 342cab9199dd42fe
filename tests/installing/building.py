"""The two files of a release: a source archive of the checkout, and a wheel made from that archive alone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SMOKE = Path(__file__).with_name("smoke.py")
PROJECT = ("pyproject.toml", "MANIFEST.in", "README.md", "LICENSE", "src", "tests")  # tests, to see that they stay out
UNWANTED = shutil.ignore_patterns("__pycache__", "*.egg-info", "shipped")
BACKEND = "import sys, setuptools.build_meta as backend; getattr(backend, sys.argv[1])(sys.argv[2])"


def build(out: Path, work: Path) -> tuple[Path, Path]:
    """Build (archive, wheel) into ``out``, in copies below ``work``; the checkout stays as it is."""
    source = work / "checkout"
    source.mkdir(parents=True)
    for place in (ROOT / name for name in PROJECT):
        if place.is_dir():
            shutil.copytree(place, source / place.name, ignore=UNWANTED)
        else:
            shutil.copy(place, source)
    archive = _backend("build_sdist", source, out)
    with tarfile.open(archive) as packed:
        packed.extractall(work / "unpacked", filter="data")
    (unpacked,) = (work / "unpacked").iterdir()
    return archive, _backend("build_wheel", unpacked, out)


def _backend(hook: str, source: Path, out: Path) -> Path:
    """Call one hook of the build backend in a process of its own, and return the file it made."""
    out.mkdir(parents=True, exist_ok=True)
    before = set(out.iterdir())
    command = [sys.executable, "-c", BACKEND, hook, str(out.resolve())]
    run = subprocess.run(command, cwd=source, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    (made,) = set(out.iterdir()) - before
    return made


def contents(wheel: Path) -> list[str]:
    """The names of the files in a wheel."""
    with zipfile.ZipFile(wheel) as packed:
        return packed.namelist()


def says(*command: str | Path, **settings: str) -> str:
    """What a command prints; it must succeed and complain of nothing."""
    run = subprocess.run(
        [str(part) for part in command],
        env=os.environ | settings | {"PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert not run.stderr, run.stderr
    return run.stdout
