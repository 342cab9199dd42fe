"""The pages as programs: their blocks in order, and what each of them is said to print."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.glob("*.md"))
TEXTS = [*PAGES, *sorted(ROOT.glob("*.md"))]
FENCE = re.compile(r"^( *)```([^\n]*)\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
PROMPTS = {"console": "$ ", "python": ">>> "}


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, its content, the line on which that begins and where it stands in the page."""

    language: str
    content: str
    line: int
    start: int
    end: int


@dataclass(frozen=True)
class Step:
    """Something to run: ``kind`` is python or console; ``shown`` (None: nothing) stands at ``place`` of the page."""

    kind: str
    code: str
    shown: str | None
    line: int
    place: tuple[int, int] = (0, 0)


def blocks(text: str) -> list[Block]:
    """Every fenced block of a page."""
    return [
        Block(found[2], found[3], text.count("\n", 0, found.start()) + 2, found.start(3), found.end(3))
        for found in FENCE.finditer(text)
    ]


def steps(text: str) -> Iterator[Step]:
    """What a page runs, in order: programs with the ``text`` after them, sessions with what follows each prompt."""
    found = blocks(text)
    for block, following in zip_longest(found, found[1:]):
        if block.language == "console" or (block.language == "python" and block.content.startswith(">>> ")):
            yield from _session(block)
        elif block.language == "python":
            after = following if following and following.language == "text" else None
            if after and not text[block.end : after.start].replace("```", "").removesuffix("text\n").strip():
                yield Step("python", block.content, after.content, block.line, (after.start, after.end))
            else:
                yield Step("python", block.content, None, block.line)


def _session(block: Block) -> Iterator[Step]:
    """Each command of a session, continued by ``...`` in Python, with the lines up to the next prompt."""
    prompt = PROMPTS[block.language]
    parts = re.split(f"^{re.escape(prompt)}", block.content, flags=re.MULTILINE)
    assert not parts[0], f"line {block.line}: a session begins with {prompt!r}"
    at = block.start
    for part in parts[1:]:
        size = len(prompt) + len(part)
        lines = part.splitlines(keepends=True)
        more = 1
        while block.language == "python" and more < len(lines) and lines[more].startswith("... "):
            more += 1
        code = lines[0] + "".join(line[4:] for line in lines[1:more])
        shown = "".join(lines[more:])
        yield Step(
            block.language, code, shown if shown.strip() else None, block.line, (at + size - len(shown), at + size)
        )
        at += size


def texts_alone(text: str) -> list[int]:
    """Lines of ``text`` blocks that stand behind no program: outputs that nothing checks."""
    behind = {step.place[0] for step in steps(text)}
    return [block.line for block in blocks(text) if block.language == "text" and block.start not in behind]


def anchors(text: str) -> set[str]:
    """The names that links within and into a page may use."""
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower()) for heading in headings}
