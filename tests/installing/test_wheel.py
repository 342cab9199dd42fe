"""The wheel holds the package and nothing else, and works from where it is installed."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from tests.installing.building import ROOT, SMOKE, build, contents, says

import corollary

PACKAGE = ROOT / "src" / "corollary"


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    place = tmp_path_factory.mktemp("release")
    return build(place / "dist", place / "work")


def test_the_wheel_has_every_module_and_nothing_else(release: tuple[Path, Path]) -> None:
    sources = {f"corollary/{path.relative_to(PACKAGE).as_posix()}" for path in PACKAGE.rglob("*.py")}
    packed = {name for name in contents(release[1]) if ".dist-info/" not in name}
    assert packed == sources | {"corollary/py.typed"}


def test_the_wheel_describes_itself(release: tuple[Path, Path]) -> None:
    name = f"corollary_learn-{corollary.__version__}"
    assert release[1].name == f"{name}-py3-none-any.whl"
    with zipfile.ZipFile(release[1]) as packed:
        metadata = packed.read(f"{name}.dist-info/METADATA").decode()
        scripts = packed.read(f"{name}.dist-info/entry_points.txt").decode()
        packed.getinfo(f"{name}.dist-info/licenses/LICENSE")
    assert f"Name: corollary-learn\nVersion: {corollary.__version__}\n" in metadata
    assert "Requires-Python: >=3.11" in metadata
    assert "# corollary" in metadata  # the README
    assert "corollary = corollary.cli:main" in scripts


def test_the_archive_has_what_a_build_needs(release: tuple[Path, Path]) -> None:
    with tarfile.open(release[0]) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "src/corollary/py.typed"} <= names
    assert {name.partition("/")[0] for name in names} <= {
        *("", "src", "pyproject.toml", "README.md", "LICENSE", "MANIFEST.in", "PKG-INFO", "setup.cfg"),
    }


def test_what_is_installed_works(release: tuple[Path, Path], tmp_path: Path) -> None:
    target = tmp_path / "target"
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
    command += ["--no-deps", "--no-index", "--no-compile", "--target", str(target), str(release[1])]
    subprocess.run(command, check=True, capture_output=True)
    place = {"PYTHONPATH": str(target)}
    assert says(sys.executable, SMOKE, target, **place).startswith(f"corollary {corollary.__version__}: Optimal")
    version = f"corollary {corollary.__version__}\n"
    assert says(sys.executable, target / "bin" / "corollary", "--version", **place) == version
    assert says(sys.executable, "-m", "corollary", "--version", **place) == version


def test_errors_and_pages_name_the_distribution_that_exists() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    texts = [*PACKAGE.rglob("*.py"), *(ROOT / "docs").glob("*.md"), *ROOT.glob("*.md")]
    for path in texts:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"corollary\[", text), path
        for extra in re.findall(r"corollary-learn\[(\w+)\]", text):
            assert extra in extras, f"{path}: {extra}"
