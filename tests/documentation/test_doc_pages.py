"""A newcomer finds every page for users from where they start."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def pages_for_users() -> list[str]:
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").split("\nnav:\n")[1]
    section = nav.split("- Using it:")[1].split("\n  - ")[0]
    return re.findall(r": (\S+\.md)$", section, re.MULTILINE)


@pytest.mark.parametrize(("start", "folder"), [("README.md", "docs/"), ("docs/index.md", "")])
def test_every_page_for_users_is_linked_from_the_start(start: str, folder: str) -> None:
    linked = re.findall(r"\]\(([^)\s#]+)", (ROOT / start).read_text(encoding="utf-8"))
    pages = pages_for_users()
    assert "naive-bayes.md" in pages
    assert [page for page in pages if f"{folder}{page}" not in linked] == []
