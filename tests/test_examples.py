"""Every example runs by itself, draws one picture and prints what the gallery shows; the gallery shows them all."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image
from tests.documentation.matching import difference
from tests.documentation.pages import DOCS, ROOT, steps

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
GALLERY = (DOCS / "gallery.md").read_text(encoding="utf-8")
SHOWN = {step.code.strip(): step.shown or "" for step in steps(GALLERY)}
LARGEST = 60_000  # bytes of a picture in the documentation


def named(path: Path) -> str:
    return path.stem


@pytest.mark.parametrize("example", EXAMPLES, ids=named)
def test_example_draws_and_prints_what_the_gallery_shows(example: Path, tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, str(example), "--out", f"{example.stem}.png"],
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
    assert not (found := difference(run.stdout, SHOWN[f"python examples/{example.name}"])), found
    with Image.open(tmp_path / f"{example.stem}.png") as picture:
        assert picture.width >= 800
        assert len(set(picture.convert("L").resize((64, 64)).tobytes())) > 10  # not an empty canvas
    assert [path.name for path in tmp_path.iterdir()] == [f"{example.stem}.png"]


def test_the_gallery_shows_every_example_and_no_other() -> None:
    assert sorted(SHOWN) == [f"python examples/{example.name}" for example in EXAMPLES]


@pytest.mark.parametrize("example", EXAMPLES, ids=named)
def test_the_gallery_has_the_picture_in_small_and_large_and_the_program(example: Path) -> None:
    picture = DOCS / "images" / f"{example.stem}.png"
    assert picture.stat().st_size < LARGEST
    assert f'<img src="images/{picture.name}" alt=""' in GALLERY
    assert re.search(rf"!\[[^]]{{20,}}\]\(images/{picture.name}\)", GALLERY)  # with words for those who cannot see it
    assert f"[The program](../examples/{example.name})" in GALLERY


def test_small_pictures_lead_to_their_parts() -> None:
    headings = set(re.findall(r"^### (.+)$", GALLERY, re.MULTILINE))
    assert set(re.findall(r'<a href="#[^"]+"><img[^>]*>([^<]+)</a>', GALLERY)) == headings


def test_pictures_of_all_pages_have_words_and_exist() -> None:
    for page in [*DOCS.glob("*.md"), ROOT / "README.md"]:
        for words, picture in re.findall(r"!\[([^]]*)\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
            assert len(words) > 15, f"{page.name}: {picture}"
            assert (page.parent / picture).is_file(), f"{page.name}: {picture}"
