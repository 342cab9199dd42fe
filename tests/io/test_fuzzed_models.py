"""Saved models of every estimator, changed in every way: a refusal, an answer or a ValueError, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from fuzz_subjects import subjects

from corollary.registry import ESTIMATORS, TRANSFORMERS

MANY = os.environ.get("COROLLARY_FUZZ_MUTATIONS", "10000")


def test_every_estimator_is_fuzzed():
    found = {type(subject.model).__name__ for subject in subjects()}
    assert found == {*ESTIMATORS, *TRANSFORMERS}


def test_some_changed_files():
    fuzz("300", seed="0", processes="1")


@pytest.mark.slow
def test_many_changed_files():
    """``COROLLARY_FUZZ_MUTATIONS`` is how many; there are as many processes as cores."""
    fuzz(MANY, seed="1", processes=str(os.cpu_count() or 1))


def fuzz(mutations, **options):
    """In a process of its own, whose children may crash."""
    arguments = [word for name, value in options.items() for word in (f"--{name}", value)]
    command = [sys.executable, str(Path(__file__).with_name("fuzz.py")), "--mutations", mutations, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-5000:]
    assert "; 0 failures" in done.stdout
