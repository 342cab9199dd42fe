"""Rows drawn from a network, and likelihood weighting, at equally accurate marginals.

The network is alarm, from ``../shared/data`` beside the repository; where that is absent, a random one of its size.
"""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.workload import OURS, Candidate, Data, Quality, Workload, load

ALARM = Path(__file__).resolve().parents[2] / ".." / "shared" / "data" / "bayesnet" / "alarm.bif"
FINDINGS = 5


@functools.cache
def _written(d: int) -> str:
    """The path of the network's file, and with another number of variables of a random network's."""
    if d == 37 and ALARM.exists():
        return str(ALARM)
    rng = np.random.default_rng(0)
    tables: dict[str, Any] = {}
    for v in range(d):
        parents = [f"v{p}" for p in rng.choice(v, min(v, int(rng.integers(0, 4))), replace=False)]
        cards = [tables[p][1].shape[-1] for p in parents]
        tables[f"v{v}"] = (parents, rng.dirichlet(np.ones(int(rng.integers(2, 5))), size=tuple(cards)))
    network = load("corollary.graphical", "BayesianNetwork").from_tables(tables)
    path = Path(tempfile.mkdtemp()) / "network.bif"
    load("corollary.graphical", "to_bif")(network, path)
    return str(path)


@functools.cache
def _ours(path: str) -> Any:
    return load("corollary.graphical", "read_bif")(path)


@functools.cache
def _pgmpy(path: str) -> Any:
    return load("pgmpy.readwrite", "BIFReader")(path).get_model()


@functools.cache
def _pyagrum(path: str) -> Any:
    return load("pyagrum", "loadBN")(path)


def rows(n: int, d: int) -> Data:
    """The true marginals, as what rows drawn are held against."""
    path = _written(d)
    return Data(np.empty((n, d), dtype=np.int32), _ours(path).marginals().marginals, {"path": path, "given": {}})


def findings(n: int, d: int) -> Data:
    """Five states of leaves, from a row that was drawn."""
    path = _written(d)
    network = _ours(path)
    leaves = [name for v, name in enumerate(network._names) if not network.dag.children[v]][:FINDINGS]
    drawn = network.sample(1, random_state=3).iloc[0]
    given = {name: str(drawn[name]) for name in leaves}
    truth = network.marginals(given).marginals
    return Data(np.empty((n, d), dtype=np.int32), truth, {"path": path, "given": given})


def farthest(data: Data, fit: Any) -> float:
    """The largest difference of a marginal probability from the truth."""
    found = fit() if callable(fit) else fit
    return max(abs(found[name].get(state, 0.0) - p) for name, each in data.y.items() for state, p in each.items())


def _counted(frame: Any, weights: Any = None) -> dict[str, dict[str, float]]:
    """Shares of states in the columns of a frame."""
    weights = np.ones(len(frame)) if weights is None else np.asarray(weights, dtype=float)
    return {
        name: {str(s): float(weights[frame[name] == s].sum() / weights.sum()) for s in frame[name].unique()}
        for name in frame
    }


def _draw_ours(data: Data, _: float) -> Any:
    frame = _ours(data.settings["path"]).sample(len(data.X), random_state=0)
    return lambda: _counted(frame)


def _draw_pgmpy(data: Data, _: float) -> Any:
    sampling = load("pgmpy.sampling", "BayesianModelSampling")(_pgmpy(data.settings["path"]))
    frame = sampling.forward_sample(size=len(data.X), seed=0, show_progress=False)
    return lambda: _counted(frame.astype(str))


def _draw_pyagrum(data: Data, _: float) -> Any:
    generator = load("pyagrum", "BNDatabaseGenerator")(_pyagrum(data.settings["path"]))
    generator.drawSamples(len(data.X))
    return lambda: _counted(generator.to_pandas().astype(str))


def _weigh_ours(data: Data, _: float) -> Any:
    network, given = _ours(data.settings["path"]), data.settings["given"]
    return network.query(None, given, method="likelihood_weighting", n_samples=len(data.X), random_state=0).marginals


def _weigh_pgmpy(data: Data, _: float) -> Any:
    state = load("pgmpy.factors.discrete", "State")
    sampling = load("pgmpy.sampling", "BayesianModelSampling")(_pgmpy(data.settings["path"]))
    known = [state(name, value) for name, value in data.settings["given"].items()]
    frame = sampling.likelihood_weighted_sample(evidence=known, size=len(data.X), seed=0, show_progress=False)
    weights = frame.pop("_weight")
    return lambda: _counted(frame.astype(str), weights)


def _weigh_pyagrum(data: Data, _: float) -> Any:
    network = _pyagrum(data.settings["path"])
    inference = load("pyagrum", "WeightedSampling")(network)
    inference.setEvidence(data.settings["given"])
    inference.setMaxIter(len(data.X))
    inference.setPeriodSize(len(data.X))
    inference.setEpsilon(1e-12)
    inference.setMinEpsilonRate(1e-12)
    inference.makeInference()

    def shares(name: str) -> dict[str, float]:
        labels = network.variableFromName(name).labels()
        return dict(zip(labels, inference.posterior(name).toarray().tolist(), strict=True))

    return lambda: {name: shares(name) for name in data.y}


WORKLOADS = (
    Workload(
        "forward-samples",
        "Rows drawn from alarm (pyAgrum: not turned into a table)",
        rows,
        sizes=(100_000, 37),
        quick_sizes=(2_000, 12),
        candidates=(
            Candidate(OURS, OURS, _draw_ours),
            Candidate("pyAgrum", "pyagrum", _draw_pyagrum),
            Candidate("pgmpy", "pgmpy", _draw_pgmpy),
        ),
        quality=Quality("largest error of a marginal", farthest, 0.05, absolute=True),
    ),
    Workload(
        "likelihood-weighting",
        "All marginals of alarm given 5 findings, by as many weighted samples",
        findings,
        sizes=(20_000, 37),
        quick_sizes=(4_000, 12),
        candidates=(
            Candidate(OURS, OURS, _weigh_ours),
            Candidate("pyAgrum", "pyagrum", _weigh_pyagrum),
            Candidate("pgmpy", "pgmpy", _weigh_pgmpy),
        ),
        quality=Quality("largest error of a marginal", farthest, 0.1, absolute=True),
    ),
)
