"""What all tests share. This file is read before anything imports SciPy."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator

import matplotlib
import pytest

# scikit-learn runs its array-API check only if SciPy was told of it before its first import
os.environ.setdefault("SCIPY_ARRAY_API", "1")
matplotlib.use("Agg")
# shells start jobs in the background with Ctrl-C ignored; tests of it are to hear it there, too
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _close_figures() -> Iterator[None]:
    """Figures of one test are not there in the next: matplotlib warns of many, and warnings are errors."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
