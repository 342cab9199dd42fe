"""What all tests share. This file is read before anything imports SciPy."""

from __future__ import annotations

import os
import signal

import matplotlib

# scikit-learn runs its array-API check only if SciPy was told of it before its first import
os.environ.setdefault("SCIPY_ARRAY_API", "1")
matplotlib.use("Agg")
# shells start jobs in the background with Ctrl-C ignored; tests of it are to hear it there, too
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
