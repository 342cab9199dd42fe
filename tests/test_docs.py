"""The documentation is true: its code runs and prints what the page says, its tables are right, its links resolve."""

from __future__ import annotations

import contextlib
import io
import re
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from corollary import LinearModel, Status
from corollary.core.loss import LOSSES
from corollary.core.penalty import PENALTIES

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.glob("*.md"))
TEXTS = [*PAGES, *sorted(ROOT.glob("*.md"))]
FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
NUMBER = re.compile(r"[-−+]?(?:\d+(?:,\d{3})*(?:\.\d*)?|\binf\b)(?:e[-+]?\d+)?")

# seconds, alone or in a table before its column of evidence
TIMED = re.compile(r"[\d.]+(?:e[-+]?\d+)?(?= s\b| +[✓✗–])|(?<=\"seconds\": )[\d.e-]+")
NOISE = 1e-8  # below it, certificates and rounding differ from machine to machine
MACHINES = {"threads"}  # pages whose numbers are those of a machine

# what a page takes for granted
GIVEN = {
    "saving": """
import pandas as pd
X = pd.DataFrame({"rooms": [3.0, 4.0, 2.0, 5.0, 4.0, 3.0], "town": ["a", "b", "a", "c", "b", "a"]})
y = [1.0, 2.0, 0.5, 3.0, 2.1, 1.1]
"""
}


def named(path: Path) -> str:
    return path.stem


def programs(text: str) -> Iterator[tuple[int, str, str | None]]:
    """(line number, code, what it should print or None) of each ``python`` block."""
    blocks = list(FENCE.finditer(text))
    for block, following in zip(blocks, [*blocks[1:], None], strict=False):
        if block.group(1) == "python":
            adjacent = following is not None and not text[block.end() : following.start()].strip()
            shown = following.group(2) if following and adjacent and following.group(1) == "text" else None
            yield text[: block.start()].count("\n") + 2, block.group(2), shown


def words(text: str) -> list[str]:
    """The text without its figures, singular or plural alike."""
    plain = NUMBER.sub("#", text.replace("iterations", "iteration"))
    return re.sub(r"([\[\](){}#,:])", r" \1 ", plain).split()


def differing(printed: str, shown: str) -> list[tuple[str, str]]:
    """Numbers that differ by more than two per cent, beyond what rounding them as on the page explains."""
    pairs = zip(*(NUMBER.findall(TIMED.sub("", text)) for text in (printed, shown)), strict=True)
    return [(real, claimed) for real, claimed in pairs if not _agree(real, claimed)]


def _agree(real: str, claimed: str) -> bool:
    a, b = (float(text.replace("−", "-").replace(",", "")) for text in (real, claimed))
    digits, _, power = claimed.partition("e")
    last = 10.0 ** (int(power or 0) - len(digits.partition(".")[2]))
    return a == b or max(abs(a), abs(b)) < NOISE or abs(a - b) <= 0.501 * last + 0.02 * abs(a)


def anchors(text: str) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower()) for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_code_runs_and_prints_what_the_page_says(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType(f"docs_{page.stem.replace('-', '_')}")
    monkeypatch.setitem(sys.modules, module.__name__, module)  # so that classes of the page can be pickled
    monkeypatch.chdir(tmp_path)
    exec(GIVEN.get(page.stem, ""), module.__dict__)
    for line, code, shown in programs(page.read_text(encoding="utf-8")):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile("\n" * (line - 1) + code, str(page), "exec"), module.__dict__)
        if shown is not None:
            assert words(printed.getvalue()) == words(shown), f"{page.name}, line {line}"
            if page.stem not in MACHINES:
                assert not differing(printed.getvalue(), shown), f"{page.name}, line {line}"
    if plt := sys.modules.get("matplotlib.pyplot"):
        plt.close("all")


def test_every_page_is_in_the_navigation_and_exists() -> None:
    _, nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").split("\nnav:\n")
    assert sorted(re.findall(r": (\S+\.md)$", nav, re.MULTILINE)) == [page.name for page in PAGES]


@pytest.mark.parametrize("page", TEXTS, ids=named)
def test_links_resolve(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)\s]+)\)", FENCE.sub("", text))
    for link in links:
        if link.startswith("http"):
            continue
        target, _, anchor = link.partition("#")
        path = (page.parent / target) if target else page
        assert path.exists(), f"{page.name}: {link}"
        assert not anchor or anchor in anchors(path.read_text(encoding="utf-8")), f"{page.name}: {link}"


@pytest.mark.parametrize("page", [page for page in TEXTS if page.stem != "CHANGELOG"], ids=named)
def test_files_that_are_named_exist(page: Path) -> None:
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    places = (ROOT, ROOT / "src" / "corollary", ROOT / "tests")
    for name in re.findall(r"`([a-z_]+/[a-z_/.]+\.py)`", text):  # FAMILY/name.py stands for any
        assert any((place / name).exists() for place in places), f"{page.name}: {name}"


def test_nothing_is_fetched_from_elsewhere() -> None:
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert "font: false" in settings
    assert "http" not in settings
    assert not [page.name for page in PAGES if re.search(r"<script|!\[[^]]*\]\(http", page.read_text(encoding="utf-8"))]


def pairs() -> list[tuple[str, str, str]]:
    """(loss, penalty, solver) of the table in linear-models.md."""
    lines = (DOCS / "linear-models.md").read_text(encoding="utf-8").splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("| loss | none"))
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[start:]]
    end = next(number for number, row in enumerate(rows) if len(row) < 3)
    penalties = rows[0][1:]
    return [
        (row[0].strip("`"), penalty, cell)
        for row in rows[2:end]
        for penalty, cell in zip(penalties, row[1:], strict=True)
    ]


def test_the_table_of_pairs_is_complete() -> None:
    assert {(loss, penalty) for loss, penalty, _ in pairs()} == {(loss, p) for loss in LOSSES for p in PENALTIES}


@pytest.mark.parametrize(("loss", "penalty", "solver"), pairs())
def test_the_table_of_pairs_is_true(loss: str, penalty: str, solver: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    f = X @ [1.0, -1.0, 0.5, 0.0] + rng.normal(size=120)
    y = {"regression": np.abs(f), "classification": np.digitize(f, [0.0])}[LOSSES[loss].task]
    if loss == "softmax":
        y = np.digitize(f, [-1.0, 1.0])
    model = LinearModel(loss, penalty, alpha=0.02, groups=[0, 0, 1, 1])
    if solver == "refused":
        with pytest.raises(ValueError, match=penalty):
            model.fit(X, y)
        return
    evidence = model.fit(X, y).evidence_
    assert evidence.holds
    assert solver == ("closed form" if evidence.status is Status.EXACT else evidence.solver)
