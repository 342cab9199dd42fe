"""A BIF file as words, each with the number of its line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_WORD = re.compile(
    r"(?P<space>[^\S\n]+)|(?P<line>\n)|(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<text>\"(?:[^\"\n])*\")"
    r"|(?P<mark>[{}()\[\];,|])|(?P<word>[^\s{}()\[\];,|\"]+)",
    re.DOTALL,
)


class BIFError(ValueError):
    """A BIF file that cannot be read; the message has the line."""

    def __init__(self, line: int, what: str) -> None:
        super().__init__(f"BIF, line {line}: {what}")
        self.line = line


class Word(NamedTuple):
    text: str
    line: int
    written: str  # with its quotation marks, in which nothing is a mark or a key word
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
            yield Word(found, line, found)
        elif kind == "text":
            yield Word(found[1:-1], line, found)
        elif kind == "mark":
            yield Word(found, line, found, mark=True)
        line += found.count("\n")
        place = match.end()


class Words:
    """Words that are taken one after another; nothing is read beyond the next."""

    def __init__(self, text: str) -> None:
        if (zero := text.find("\0")) >= 0:
            raise BIFError(text.count("\n", 0, zero) + 1, "there is a NUL character; is it a text, and in UTF-8?")
        self._others = _split(text)
        self._next = next(self._others, None)
        self._lines = text.count("\n") + 1

    @property
    def line(self) -> int:
        """Of the next word."""
        return self._lines if self._next is None else self._next.line

    def peek(self) -> str | None:
        """The next word as it is written, None at the end."""
        return None if self._next is None else self._next.written

    def take(self, wanted: str | None = None) -> Word:
        """The next word: a certain one, or any name."""
        word = self._next
        if word is None:
            raise BIFError(self._lines, f"the file ends where {wanted or 'a name'!r} was expected.")
        if word.mark if wanted is None else word.written != wanted:
            raise BIFError(word.line, f"{word.text!r} came where {wanted or 'a name'!r} was expected.")
        self._next = next(self._others, None)
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
        """All words up to a semicolon, which is taken too; braces are not part of a statement."""
        found = []
        while self._next is not None and self._next.written not in (";", "{", "}"):
            found.append(self._next)
            self._next = next(self._others, None)
        self.take(";")
        return found
