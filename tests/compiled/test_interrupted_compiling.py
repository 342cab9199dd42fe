"""Ctrl-C while Numba loads or compiles is heard right afterwards, and leaves a process that still can compile."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading

import pytest

from corollary._compiled._interrupts import held_back
from corollary._compiled._jit import HAVE_NUMBA

PROGRAM = """
    import signal

    import numpy as np
    from numba.core.typing.context import BaseContext

    from corollary import KMeans

    insert, calls = BaseContext.insert_attributes, []

    def interrupted(self, *args):
        calls.append(1)
        if len(calls) == 10:
            signal.raise_signal(signal.SIGINT)
        return insert(self, *args)

    BaseContext.insert_attributes = interrupted
    X = np.random.default_rng(0).normal(size=(50, 3))
    try:
        KMeans(3, random_state=0).fit(X)
    except KeyboardInterrupt:
        print("interrupted")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    KMeans(3, random_state=0).fit(X)
    print("fitted")
"""


@pytest.mark.skipif(not HAVE_NUMBA, reason="nothing is compiled without Numba")
def test_a_process_that_was_interrupted_at_its_first_compile_goes_on_compiling(tmp_path):
    environment = dict(os.environ, NUMBA_CACHE_DIR=str(tmp_path))
    arguments = [sys.executable, "-c", textwrap.dedent(PROGRAM)]
    done = subprocess.run(arguments, env=environment, capture_output=True, text=True, timeout=300)
    assert (done.stdout.split(), done.stderr) == (["interrupted", "fitted"], "")


def test_the_handler_that_was_there_hears_it_once_at_the_end():
    heard = []
    before = signal.signal(signal.SIGINT, lambda *args: heard.append(len(heard)))
    try:
        with held_back():
            with held_back():
                signal.raise_signal(signal.SIGINT)
                signal.raise_signal(signal.SIGINT)
            assert not heard
        assert heard == [0]
        signal.raise_signal(signal.SIGINT)
        assert heard == [0, 1]
    finally:
        signal.signal(signal.SIGINT, before)


def test_it_is_raised_in_place_of_what_was_returned():
    done = []

    def work():
        with held_back():
            signal.raise_signal(signal.SIGINT)
            done.append(True)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_other_threads_change_no_handler():
    seen = []

    def work():
        with held_back():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [signal.getsignal(signal.SIGINT)]
