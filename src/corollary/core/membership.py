"""Whether a fit is one of many inside another, whose evidence nobody reads one by one.

An ensemble of hundreds of small models would spend more on proving each of them than on fitting them. While a member is
fitted it keeps to the books that cost nothing: those that its fit has in hand anyway.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_member: ContextVar[bool] = ContextVar("corollary_member", default=False)


@contextmanager
def as_member() -> Iterator[None]:
    """What is fitted within is a member of an ensemble."""
    token = _member.set(True)
    try:
        yield
    finally:
        _member.reset(token)


def is_member() -> bool:
    """Whether the fit in progress is that of a member."""
    return _member.get()
