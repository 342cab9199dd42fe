"""A BIF file as words, each with the number of its line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_WORD = re.compile(
    r"(?P<space>[ \t\r\f\v]+)|(?P<line>\n)|(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<text>\"(?:[^\"\n])*\")"
    r"|(?P<mark>[{}()\[\];,|])|(?P<word>[^\s{}()\[\];,|\"]+)",
    re.DOTALL,
)


class BIFError(ValueError):
    """A BIF file that cannot be read; the message has the line."""

    def __init__(self, line: int, what: str) -> None:
        super().__init__(f"BIF, line {line}: {what}")
        self.line = line


@dataclass(frozen=True)
class Word:
    text: str
    line: int
    mark: bool = False  # punctuation, not a name


def _split(text: str) -> Iterator[Word]:
    line, place = 1, 0
    while place < len(text):
        match = _WORD.match(text, place)
        if match is None:
            raise BIFError(line, f"{text[place]!r} begins a text or comment that does not end.")
        kind, found = match.lastgroup, match[0]
        if kind == "word" and found.startswith("/*"):
            raise BIFError(line, "a comment begins that does not end.")
        if kind == "word":
            yield Word(found, line)
        elif kind == "text":
            yield Word(found[1:-1], line)
        elif kind == "mark":
            yield Word(found, line, mark=True)
        line += found.count("\n")
        place = match.end()


class Words:
    """Words that are taken one after another."""

    def __init__(self, text: str) -> None:
        self._all = list(_split(text))
        self._place = 0
        self._lines = text.count("\n") + 1

    @property
    def line(self) -> int:
        """Of the next word."""
        return self._all[self._place].line if self._place < len(self._all) else self._lines

    def peek(self) -> str | None:
        """The next word, None at the end."""
        return self._all[self._place].text if self._place < len(self._all) else None

    def take(self, wanted: str | None = None) -> Word:
        """The next word: a certain mark, or any name."""
        if self._place >= len(self._all):
            raise BIFError(self._lines, f"the file ends where {wanted or 'a name'!r} was expected.")
        word = self._all[self._place]
        if (wanted is None and word.mark) or (wanted is not None and word.text != wanted):
            raise BIFError(word.line, f"{word.text!r} came where {wanted or 'a name'!r} was expected.")
        self._place += 1
        return word

    def listed(self, end: str) -> list[Word]:
        """Names up to a mark, which is taken too; commas between them may be missing."""
        found: list[Word] = []
        while self.peek() != end:
            if self.peek() == "," and found:
                self.take(",")
            found.append(self.take())
        self.take(end)
        return found

    def statement(self) -> list[Word]:
        """All words up to a semicolon, which is taken too."""
        found = []
        while self.peek() not in (";", None):
            found.append(self._all[self._place])
            self._place += 1
        self.take(";")
        return found
