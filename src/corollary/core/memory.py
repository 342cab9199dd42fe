"""Say how much memory an operation would take, before it starts."""

from __future__ import annotations

import math
import os
import time

LASTS = 0.05  # seconds that a reading counts: of fits that take less, one reading would be a tenth

READABLE = 10**16  # larger numbers are powers of ten

_read = -LASTS, 0  # when, and what it was


def check_memory(needed: int, what: str, instead: str) -> None:
    """Raise MemoryError before anything is allocated if ``what`` takes more bytes than the machine has free."""
    free = _free_memory()
    if needed > free:
        size = f"{needed / 1e9:.1f} GB" if needed < READABLE else f"{readable(needed)} bytes"
        raise MemoryError(f"{what} would take {size} and about {free / 1e9:.1f} GB are free. Instead, {instead}.")


def readable(number: int) -> str:
    """A whole number of any size in a few digits."""
    return f"{number:.3g}" if number < READABLE else f"10^{math.log10(number):.0f}"


def _free_memory() -> int:
    global _read
    now = time.monotonic()
    if now - _read[0] >= LASTS:
        _read = now, _read_free()
    return _read[1]


def _read_free() -> int:
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return int(os.sysconf("SC_PAGE_SIZE")) * int(os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):  # the system does not say: no check is possible
        return 2**62
