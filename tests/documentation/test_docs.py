"""The documentation is whole and its tables are right; what pages print is checked in ``tests/documentation``."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import numpy as np
import pytest
from tests.documentation.pages import DOCS, FENCE, PAGES, ROOT, TEXTS, anchors

from corollary import LinearModel, Status
from corollary.core.loss import LOSSES
from corollary.core.penalty import PENALTIES


def named(path: Path) -> str:
    return path.stem


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


def test_tables_are_made_not_kept() -> None:
    """What is in the repository is ours: data of others come with a package, or a program makes data up."""
    kept = [path.name for path in DOCS.rglob("*") if path.suffix in {".csv", ".tsv", ".jsonl", ".parquet", ".xlsx"}]
    assert kept == []


def test_a_table_that_is_made_is_always_the_same() -> None:
    table = runpy.run_path(str(DOCS / "data" / "fruit.py"))["table"]
    assert table() == table()


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


def test_formulas_are_written_in_characters() -> None:
    """The site runs no program that would set TeX."""
    assert [page.name for page in TEXTS if re.search(r"\\\(|\\\[|\$\$", page.read_text(encoding="utf-8"))] == []
