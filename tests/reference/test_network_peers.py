"""Marginals of networks that everybody has, against pgmpy and pyAgrum to 1e-10."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from corollary import BayesianNetwork, read_bif

FOLDER = Path(__file__).parents[3] / "shared" / "data" / "bayesnet"
NAMES = ("alarm", "asia", "cancer", "child", "earthquake", "sachs", "survey")

pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason="needs ../shared/data/bayesnet")


def findings(network: BayesianNetwork, seed: int) -> dict[str, str]:
    """What was found of a few variables of a row drawn from the network: never impossible."""
    row = network.sample(1, random_state=seed).iloc[0]
    chosen = np.random.default_rng(seed).choice(len(row), min(5, len(row) // 3 + 1), replace=False)
    return {row.index[i]: row.iloc[i] for i in chosen}


def assert_same(ours: Any, theirs: dict[str, Any], network: BayesianNetwork) -> None:
    for name, shares in ours.items():
        np.testing.assert_allclose(list(shares.values()), theirs[name], atol=1e-10, err_msg=name)
    assert set(ours) == set(theirs)


def in_pyagrum(gum: Any, network: BayesianNetwork) -> Any:
    """The network with the very same numbers: its reader of files keeps about eight digits."""
    peer, names = gum.BayesNet(), network.variables_.tolist()
    for name, states in zip(names, network.states_, strict=True):
        peer.add(gum.LabelizedVariable(name, name, states.tolist()))
    for parent, child in network.edges:
        peer.addArc(parent, child)
    for v, table in enumerate(network.tables_):
        axes, cpt = [names[m] for m in (*network.parents_[v].tolist(), v)], peer.cpt(names[v])
        cpt[:] = np.ascontiguousarray(table.transpose([axes.index(name) for name in reversed(cpt.names)]))
    return peer


@pytest.mark.parametrize("name", NAMES)
def test_against_pyagrum(name: str) -> None:
    gum = pytest.importorskip("pyagrum")
    network = read_bif(FOLDER / f"{name}.bif")
    peer = in_pyagrum(gum, network)
    for seed in range(3):
        given = findings(network, seed) if seed else {}
        engine = gum.LazyPropagation(peer)
        engine.setEvidence(given)
        engine.makeInference()
        theirs = {}
        for variable in set(peer.names()) - set(given):
            posterior = engine.posterior(variable)
            theirs[variable] = posterior.toarray()
        ours = network.marginals(given)
        assert_same(ours, theirs, network)
        if given:
            assert ours.log_evidence == pytest.approx(np.log(engine.evidenceProbability()), abs=1e-9)


@pytest.mark.parametrize("name", ["asia", "cancer", "earthquake", "survey", "sachs"])
def test_against_pgmpy(name: str) -> None:
    pytest.importorskip("pgmpy")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pgmpy.factors.discrete import TabularCPD
        from pgmpy.inference import VariableElimination
        from pgmpy.models import DiscreteBayesianNetwork

        network = read_bif(FOLDER / f"{name}.bif")
        names, states = network.variables_.tolist(), [each.tolist() for each in network.states_]
        peer = DiscreteBayesianNetwork(network.edges)
        for v, table in enumerate(network.tables_):
            above = network.parents_[v].tolist()
            values, every = table.reshape(-1, table.shape[-1]).T, {names[m]: states[m] for m in (v, *above)}
            evidence = {"evidence": [names[p] for p in above], "evidence_card": [len(states[p]) for p in above]}
            peer.add_cpds(TabularCPD(names[v], len(states[v]), values, state_names=every, **evidence if above else {}))
        given = findings(network, 1)
        engine, theirs = VariableElimination(peer), {}
        for variable in set(names) - set(given):
            factor = engine.query([variable], evidence=given, show_progress=False)
            order = factor.state_names[variable]
            theirs[variable] = [factor.values[order.index(s)] for s in states[names.index(variable)]]
    assert_same(network.marginals(given), theirs, network)
