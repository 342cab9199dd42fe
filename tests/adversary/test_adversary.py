"""Hostile fits over every estimator: a fit may be not proved; it may not be proved and wrong."""

from __future__ import annotations

import os

import pytest
from hostile_fits import FAILURES, many_fits, table
from hostile_models import TABLE

from corollary.registry import ESTIMATORS


def test_every_estimator_is_attacked():
    assert set(TABLE) == set(ESTIMATORS)


def _attack(seed: int, fits: int, processes: int) -> None:
    found = list(many_fits(seed, range(fits), processes))
    failed = [fit for fit in found if fit.outcome in FAILURES]
    failures = [f"--seed {seed} --number {fit.number}: {fit.outcome}: {fit.label}: {fit.words}" for fit in failed]
    assert len(found) == fits
    assert not failures, "\n".join([*failures, table(found)])


def test_a_few_hundred_hostile_fits_find_no_false_proof():
    _attack(seed=1, fits=5 * len(TABLE), processes=1)


@pytest.mark.slow
def test_many_hostile_fits_find_no_false_proof():
    _attack(seed=2, fits=20_000, processes=os.cpu_count() or 1)
