"""``make dist``: build both files of a release into dist/, install the wheel in an environment of its own and try it.

The environment is made anew, with the dependencies that the wheel declares and nothing else.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import venv
from pathlib import Path

from tests.installing.building import ROOT, SMOKE, build, says


def main() -> None:
    out = ROOT / "dist"
    shutil.rmtree(out, ignore_errors=True)
    with tempfile.TemporaryDirectory() as work:
        archive, wheel = build(out, Path(work) / "build")
        home = Path(work) / "environment"
        print(f"installing {wheel.name} with its dependencies in an environment of its own …", flush=True)
        venv.create(home, with_pip=True)
        binaries = home / ("Scripts" if (home / "Scripts").exists() else "bin")
        pip = [binaries / "python", "-m", "pip", "--disable-pip-version-check", "--quiet", "install", wheel]
        subprocess.run([str(part) for part in pip], check=True, cwd=work)
        print(says(binaries / "python", SMOKE, home), end="")
        print(says(binaries / "corollary", "--version"), end="")
        models = json.loads(says(binaries / "corollary", "models", "--json"))
        print(f"{len(models)} models")
    for made in (archive, wheel):
        print(f"{made.relative_to(ROOT)}: {made.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
