"""The referee of networks: tables that are their counts stand, others are refuted; steps of EM are made anew."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from corollary import BayesianNetwork, BayesianNetworkClassifier


def frame(gaps: float = 0.0) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2, 80)
    made = pd.DataFrame({"a": a, "b": a ^ (rng.random(80) < 0.2), "c": rng.integers(0, 3, 80)}).astype(float)
    return made.mask(rng.random(made.shape) < gaps)


EDGES = [("a", "b"), ("b", "c")]


@pytest.mark.parametrize("options", [{}, {"pseudo_counts": 0.0}, {"equivalent_sample_size": 7.0}])
def test_tables_that_are_their_counts_stand(options: dict[str, Any]) -> None:
    rows, weights = frame(), np.random.default_rng(1).uniform(0, 3, 80)
    model = BayesianNetwork(EDGES, **options).fit(rows, sample_weight=weights)
    assert model.evidence_.verify(rows, sample_weight=weights)
    assert model.evidence_.verify(rows).stands is False  # other weights than those of the fit
    table = model.tables_[1].copy()
    table[0] = table[0][::-1]
    model.tables_ = [model.tables_[0], table, model.tables_[2]]
    assert model.evidence_.verify(rows, sample_weight=weights).stands is False


def test_steps_of_em_are_made_anew() -> None:
    rows = frame(0.2)
    model = BayesianNetwork(EDGES, pseudo_counts=0.5).fit(rows)
    assert model.evidence_.certificate.kind.name == "STATIONARY"
    found = model.evidence_.verify(rows)
    assert found.stands
    assert found.found <= model.evidence_.certificate.tolerance
    model.tables_ = [np.array([0.3, 0.7]), *model.tables_[1:]]
    assert model.evidence_.verify(rows).stands is False


def test_classifiers_are_judged_with_their_classes() -> None:
    rows = frame()
    y = np.where(rows.pop("a") > 0, "yes", "no")
    for options in ({}, {"class_weight": "balanced"}, {"edges": [("b", "class"), ("class", "c")]}):
        model = BayesianNetworkClassifier(**options).fit(rows, y)
        assert model.evidence_.verify(rows, y)
        assert model.evidence_.verify(rows, y[::-1]).stands is False
