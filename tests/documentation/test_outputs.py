"""Every program and every command on every page runs, in order, and prints what the page shows."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from tests.documentation.matching import difference
from tests.documentation.pages import TEXTS, blocks, steps, texts_alone
from tests.documentation.running import place, run

# console and python run; text is what the python block before it printed; py, sh and formula are to be read
LANGUAGES = {"console", "python", "text", "py", "sh", "formula"}


# the gallery's commands are run one by one, pictures and all, in tests/test_examples.py
@pytest.mark.parametrize("page", [page for page in TEXTS if page.stem != "gallery"], ids=lambda page: page.stem)
def test_what_a_page_shows_is_what_is_printed(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with place(page.stem) as module:
        for step in steps(page.read_text(encoding="utf-8")):
            code, printed = run(step, module, str(page))
            where = f"{page.name}, line {step.line}: {step.code.splitlines()[0]}"
            if step.shown is None:
                assert code == 0, f"{where}: {printed}"
            else:
                assert not (found := difference(printed, step.shown)), f"{where}: {found}"


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: page.stem)
def test_nothing_printed_stands_unchecked(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert {block.language for block in blocks(text)} <= LANGUAGES
    assert texts_alone(text) == [], "a text block is the output of the python block before it; commands are `console`"
    assert text.count("```") == 2 * len(blocks(text)), "a fence that is not closed"


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: page.stem)
def test_code_to_be_read_is_code(page: Path) -> None:
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.language == "py":
            body = textwrap.indent(textwrap.dedent(block.content), "    ")  # it may be a piece of a function
            compile(f"def piece():\n{body}", f"{page.name}, line {block.line}", "exec")


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        ("a b", "a"),
        ("a", "a b"),
        ("0.5 of it", "0.6 of it"),
        ("x 1 y", "… z"),
        ("x 1 y 2", "x … y 3"),
        ("x 1 y 2", "1 … 2"),
    ],
)
def test_a_stale_output_is_found(printed: str, shown: str) -> None:
    assert difference(printed, shown)
