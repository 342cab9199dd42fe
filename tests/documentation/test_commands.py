"""Commands that pages only name exist, with the options that they are named with; so do the targets of make."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from tests.documentation.pages import FENCE, ROOT, TEXTS, blocks

from corollary.cli.app import app
from corollary.cli.running import program

PLACEHOLDER = re.compile(r"^[A-Z…]|…|\[")


def commands(page: Path) -> Iterator[list[str]]:
    """Commands of ``sh`` blocks and of code within the text, as words."""
    text = page.read_text(encoding="utf-8")
    lines = [line for block in blocks(text) if block.language == "sh" for line in block.content.splitlines()]
    lines += [code for code in re.findall(r"(?<!`)`([^`\n]+)`(?!`)", FENCE.sub("", text)) if "'" not in code]
    for line in lines:
        yield from (shlex.split(part, comments=True) for part in re.split(r"&&|\|", line))


@pytest.mark.parametrize("page", [page for page in TEXTS if page.stem != "CHANGELOG"], ids=lambda page: page.stem)
def test_commands_exist(page: Path) -> None:
    ours = typer.main.get_command(app)
    for words in commands(page):
        if (
            words[:1] != ["corollary"]
            or len(words) < 2
            or program(words[1:]) is not None
            or PLACEHOLDER.search(words[1])
        ):
            continue
        if words[1].startswith("-"):
            continue
        assert words[1] in ours.commands, f"{page.name}: {' '.join(words)}"
        command = ours.commands[words[1]]
        known = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
        for option in words[2:]:
            if option.startswith("-") and not PLACEHOLDER.search(option):
                assert option.partition("=")[0] in known | {"--help", "-h"}, f"{page.name}: {' '.join(words)}"


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: page.stem)
def test_targets_of_make_exist(page: Path) -> None:
    targets = re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    for words in commands(page):
        named = [word for word in words[1:] if re.fullmatch("[a-z-]+", word)] if words[:1] == ["make"] else []
        assert set(named) <= {*targets, "help"}, f"{page.name}: {' '.join(words)}"


def test_contributing_lists_every_target() -> None:
    described = re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    listed = re.findall(
        r"^\| `make ([a-z-]+)` \|", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert sorted(listed) == sorted(described)
