"""The written list of where corollary differs from scikit-learn on purpose: ``differences.txt``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

LIST = Path(__file__).with_name("differences.txt")


@dataclass(frozen=True)
class Difference:
    """Tests of one family that fail on purpose, and why."""

    family: str
    pattern: str
    reason: str

    @property
    def words(self) -> re.Pattern[str]:
        return re.compile(".*".join(re.escape(part) for part in self.pattern.split("*")), re.DOTALL)

    def covers(self, test: str) -> bool:
        """Whether a test such as ``test_ridge.py::test_sag[0.5]`` is meant; only ``*`` is not literal."""
        return self.words.fullmatch(test) is not None


def read(text: str) -> list[Difference]:
    """The patterns of such a list; a line has one reason for one or more, with `` + `` between them."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        parts = [part.strip() for part in line.split(" | ", 2)]
        if len(parts) != 3 or not all(parts):
            raise ValueError(f"line {number} is not 'family | pattern | reason': {line!r}")
        family, patterns, reason = parts
        found += [Difference(family, pattern, reason) for pattern in patterns.split(" + ")]
    return found


def stale(differences: Iterable[Difference], failed: Iterable[str]) -> list[Difference]:
    """Those that no failing test answers to any more."""
    failed = list(failed)
    return [each for each in differences if not any(each.covers(test) for test in failed)]
