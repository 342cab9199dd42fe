"""A cost that rises is a mistake of the algorithm, and is said to be one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from corollary.core.evidence import Kind, Status
from corollary.solvers.kmeans.lloyd import RISE, evidence_of, lloyd


def test_a_cost_that_rose_is_a_failed_check():
    X = np.random.default_rng(0).normal(size=(200, 2))
    found = lloyd(X, np.ones(200), X[:3], max_iter=100, tol=1e-4)
    assert evidence_of(found, ()).holds
    wrong = evidence_of(replace(found, state=replace(found.state, rise=1e-3)), ())
    assert wrong.certificate.kind is Kind.CHECKED
    assert (wrong.certificate.name, wrong.certificate.value) == (RISE, 1e-3)
    assert wrong.status is Status.STALLED
    assert wrong.claim == "Check failed"
