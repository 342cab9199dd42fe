"""What people are told: the one error that a file, a column or an option can cause, and how its parts are written."""

from __future__ import annotations

import shlex
import warnings
from typing import Any

from corollary.base import EvidenceWarning
from corollary.core.evidence import Evidence


class InputError(ValueError):
    """Something given to ``compare`` or ``predict`` cannot be used; the message is one line: what, and where."""

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split()))


def shortened(text: object, limit: int) -> str:
    """At most ``limit`` characters, with an ellipsis in place of the rest."""
    whole = str(text)
    return whole if len(whole) <= limit else whole[: limit - 1] + "…"


def shown(value: object, limit: int = 40) -> str:
    """A value of the user's data, quoted and shortened so that it cannot break the line it stands in."""
    return repr(shortened(value, limit))


def count(number: int, noun: str, plural: str = "") -> str:
    """``count(1, "row")`` is ``"1 row"``; ``count(1200, "row")`` is ``"1,200 rows"``."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def listed(names: list[str], limit: int = 5) -> str:
    """Names as ``'a', 'b' and 3 more``."""
    head = ", ".join(shown(name) for name in names[:limit])
    return head if len(names) <= limit else f"{head} and {len(names) - limit:,} more"


def as_option(name: str, value: str) -> str:
    """An option as it is typed: ``--drop 'home dest'``."""
    return f"{name} {shlex.quote(value)}"


def one_line(error: Any) -> str:
    """The message of an exception or a warning on one line."""
    return " ".join(str(error).split())[:400] or type(error).__name__


def sentences(caught: list[warnings.WarningMessage], evidence: Evidence | None = None) -> tuple[str, ...]:
    """Distinct warnings, one line each, without those for programmers and those that ``evidence`` says anyway."""
    quiet = (DeprecationWarning, PendingDeprecationWarning, FutureWarning, ResourceWarning)
    known = quiet if evidence is None else (*quiet, EvidenceWarning)
    return tuple(dict.fromkeys(one_line(each.message) for each in caught if not issubclass(each.category, known)))
