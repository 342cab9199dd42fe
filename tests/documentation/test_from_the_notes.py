"""The page that leads from topics to code names every topic once, and says of each what is true today."""

from __future__ import annotations

import importlib
import re
from typing import Any

from tests.documentation.pages import DOCS

import corollary
from corollary.registry import ESTIMATORS

PAGE = (DOCS / "from-the-notes.md").read_text(encoding="utf-8")
THERE, _, LATER = PAGE.partition("## Not there yet")
LAST = {"L": 14, "B": 6, "G": 7, "K": 8, "T": 7, "N": 1, "C": 8, "P": 1, "D": 2, "R": 3, "S": 4, "A": 4, "E": 6}


def rows(text: str) -> dict[str, list[str]]:
    """The cells of each topic."""
    found = re.findall(r"^\| ([A-Z]\d+) \|(.*)\|$", text, re.MULTILINE)
    return {topic: [cell.strip() for cell in re.split(r"(?<!\\)\|", cells)] for topic, cells in found}


def named(cell: str) -> list[str]:
    """Names of the library in a cell; code with other signs in it is left alone."""
    return re.findall(r"`([A-Za-z_]\w*(?:\.\w+)*)`", cell)


def resolved(name: str) -> Any:
    """What ``corollary.NAME`` is, or None."""
    first, *rest = name.split(".")
    value = getattr(corollary, first, None)
    for part in rest:
        try:
            value = getattr(value, part, None) or importlib.import_module(f"{value.__name__}.{part}")
        except (AttributeError, ImportError):
            return None
    return value


def test_every_topic_is_there_once() -> None:
    topics = re.findall(r"^\| ([A-Z]\d+) \|", PAGE, re.MULTILINE)
    assert sorted(topics) == sorted(f"{letter}{number + 1}" for letter, last in LAST.items() for number in range(last))


def test_every_estimator_is_under_its_topic_with_its_file() -> None:
    table = rows(THERE)
    for entry in ESTIMATORS.values():
        _, names, _, files = table[entry.canon]
        assert entry.name in named(names), f"{entry.canon}: {entry.name}"
        assert f"`{entry.module.replace('.', '/')}.py`" in files, f"{entry.canon}: {entry.module}"


def test_what_is_there_is_there_and_its_page_speaks_of_it() -> None:
    for topic, (page, names, _, files) in rows(THERE).items():
        for name in named(names):
            assert name == "compare" or resolved(name) is not None, f"{topic}: {name}"
        for file in re.findall(r"`([^`]+\.py)`", files):
            assert (DOCS.parent / "src" / "corollary" / file).is_file(), f"{topic}: {file}"
        text = (DOCS / re.findall(r"\((\S+?\.md)", page)[0]).read_text(encoding="utf-8")
        stems = [re.sub("(Classifier|Regressor)$", "", name.split(".")[-1]) for name in named(names)]
        assert any(stem in text for stem in stems), f"{topic}: {page}"


def test_what_is_not_there_is_not_there() -> None:
    for topic, (_, names, _) in rows(LATER).items():
        assert topic not in {entry.canon for entry in ESTIMATORS.values()}
        assert [name for name in named(names) if resolved(name) is not None] == [], topic
