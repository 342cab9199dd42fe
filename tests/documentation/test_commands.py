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

READ = re.compile(r"^[A-Z-]|…|\[")  # stands for something else, or is an option of all commands


def commands(page: Path) -> Iterator[list[str]]:
    """Commands of ``sh`` blocks and of code within the text, as words."""
    text = page.read_text(encoding="utf-8")
    lines = [line for block in blocks(text) if block.language == "sh" for line in block.content.splitlines()]
    lines += [code for code in re.findall(r"(?<!`)`([^`\n]+)`(?!`)", FENCE.sub("", text)) if "'" not in code]
    for line in lines:
        yield from (shlex.split(part, comments=True) for part in re.split(r"&&|\|", line))


def targets() -> list[str]:
    """What ``make help`` lists."""
    return re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize("page", [page for page in TEXTS if page.stem != "CHANGELOG"], ids=lambda page: page.stem)
def test_commands_exist(page: Path) -> None:
    ours = typer.main.get_command(app)
    for words in commands(page):
        if words[:1] != ["corollary"] or len(words) < 2 or program(words[1:]) or READ.search(words[1]):
            continue
        assert words[1] in ours.commands, f"{page.name}: {' '.join(words)}"
        command = ours.commands[words[1]]
        known = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
        for option in words[2:]:
            if option.startswith("-") and not re.search("[]…]", option):
                assert option.partition("=")[0] in known | {"--help", "-h"}, f"{page.name}: {' '.join(words)}"


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: page.stem)
def test_targets_of_make_exist(page: Path) -> None:
    for words in commands(page):
        named = [word for word in words[1:] if re.fullmatch("[a-z-]+", word)] if words[:1] == ["make"] else []
        assert set(named) <= {*targets(), "help"}, f"{page.name}: {' '.join(words)}"


def test_contributing_lists_every_target() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^\| `make ([a-z-]+)` \|", page, re.MULTILINE)) == sorted(targets())
