"""Every example runs by itself, says something, and draws one picture; the documentation shows the same pictures."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
LARGEST = 60_000  # bytes of a picture in the documentation


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs_and_draws(example: Path, tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, str(example), "--out", "picture.png"],
        cwd=tmp_path,
        env=os.environ | {"MPLBACKEND": "Agg", "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert len(run.stdout.splitlines()) >= 4
    assert "Warning" not in run.stderr
    with Image.open(tmp_path / "picture.png") as picture:
        assert picture.width >= 800
        assert len(set(picture.convert("L").resize((64, 64)).tobytes())) > 10  # not an empty canvas
    assert [path.name for path in tmp_path.iterdir()] == ["picture.png"]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_picture_is_in_the_documentation(example: Path) -> None:
    picture = ROOT / "docs" / "images" / f"{example.stem}.png"
    assert picture.stat().st_size < LARGEST
    pages = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs").glob("*.md"))
    assert f"images/{picture.name}" in pages
